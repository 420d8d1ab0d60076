package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// checkpointEvery is how many versions apart a replay remembers a run, so that the next
// one for a version nearby reads less.
const checkpointEvery = 256

// pastCacheBytes is how much memory remembered versions take.
const pastCacheBytes = 16 << 20

// checkpoint names a remembered version of a run.
type checkpoint struct {
	key     store.Key
	version int64
}

// Version returns a run as it was at a version, 0 for the newest: its history, played
// again by the workflow that it is pinned to. branches are the views of its lanes, none
// when it was in no fork.
func (rd *Reads) Version(ctx context.Context, caller ports.Caller, runID string, version int64) (view *View, branches []*View, err error) {
	now, err := rd.readableRun(ctx, caller, runID)
	if err != nil {
		return nil, nil, err
	}
	key := runKey(caller.Namespace, runID)
	if version > now.Version || version == 0 { // the copy at hand may be old
		if now, err = rd.runs.load(ctx, key); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case version == 0:
		version = now.Version
	case version > now.Version:
		return nil, nil, fault.New(fault.NotFound, "run %s has no version %d; the latest is %d", runID, version, now.Version)
	}
	run, err := rd.replay(ctx, key, now, version)
	if err != nil {
		return nil, nil, err
	}
	m, err := rd.registry.Machine(ctx, caller.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, nil, err
	}
	view = newView(run.At(""), m)
	if run.Fork != nil {
		branches = lanesOf(run, m)
	}
	return view, branches, nil
}

func lanesOf(run *workflow.Run, m definition.Compiled) []*View {
	var views []*View
	for _, at := range run.Lanes() {
		views = append(views, newView(at, m))
	}
	return views
}

// replay plays the history of a run up to a version, from the last one remembered.
func (rd *Reads) replay(ctx context.Context, key store.Key, now *workflow.Run, version int64) (*workflow.Run, error) {
	run := &workflow.Run{ID: now.ID, Workspace: now.Workspace, Claimed: now.Claimed, Owner: now.Owner, Parent: now.Parent}
	for at := version / checkpointEvery * checkpointEvery; at > 0; at -= checkpointEvery {
		if known, ok := rd.past.Get(checkpoint{key, at}); ok {
			run = known
			break
		}
	}
	for run.Version < version {
		entries, err := rd.ports.Store.History(ctx, key, run.Version, int(min(version-run.Version, readAhead)))
		if err != nil {
			return nil, fault.From(err)
		}
		if len(entries) == 0 || entries[0].Version != run.Version+1 {
			return nil, fault.New(fault.NotFound, "version %d of run %s is no longer kept", version, key.ID)
		}
		for _, h := range entries {
			entry, err := decodeHistory(h)
			if err != nil {
				return nil, fault.From(fmt.Errorf("history of %s: %w", key.ID, err))
			}
			next, err := rd.replayEntry(ctx, key, now, run, entry)
			if err != nil {
				return nil, err
			}
			run = &next
			if run.Version%checkpointEvery == 0 {
				rd.past.PutSized(checkpoint{key, run.Version}, run, runBytes+treeWeight*run.Bytes(), nil)
			}
		}
	}
	return run, nil
}

// replayEntry plays one entry, by the version of the workflow that it was made by.
func (rd *Reads) replayEntry(ctx context.Context, key store.Key, now, run *workflow.Run, entry *workflow.HistoryEntry) (workflow.Run, error) {
	m, err := rd.registry.Machine(ctx, key.Namespace, now.Workflow, cmp.Or(entry.WorkflowVersion, now.WorkflowVersion))
	if err != nil {
		return workflow.Run{}, err
	}
	var next workflow.Run
	if entry.Type == workflow.EventMigrated {
		from, err := rd.registry.Machine(ctx, key.Namespace, now.Workflow, run.WorkflowVersion)
		if err != nil {
			return workflow.Run{}, err
		}
		next, err = m.ReplayMigration(from.Machine, run, entry)
		if err != nil {
			return next, fault.New(fault.Internal, "the history of run %s cannot be played: %s", key.ID, err)
		}
		return next, nil
	}
	if next, err = m.Replay(run, entry); err != nil {
		return next, fault.New(fault.Internal, "the history of run %s cannot be played: %s", key.ID, err)
	}
	return next, nil
}

// decodeHistory reads the output of encodeEntry, as far as a replay needs it.
func decodeHistory(h store.HistoryEntry) (*workflow.HistoryEntry, error) {
	var e runcodec.Entry
	if err := json.Unmarshal(h.Data, &e); err != nil {
		return nil, fmt.Errorf("decode entry %d: %w", h.Version, err)
	}
	out := &workflow.HistoryEntry{
		Time: e.Time, Actor: e.Actor, Type: e.Type, Event: e.Event, From: e.From, To: e.To, Rationale: e.Rationale,
		WorkflowVersion: e.WorkflowVersion, RunVersion: h.Version, Status: e.Status, Reason: e.Reason, SafeNext: e.SafeNext,
		Branch: e.Branch, Interrupt: e.Interrupt, Files: e.Files, ChildRunID: e.ChildRunID, ChildStatus: e.ChildStatus,
		SessionID: e.SessionID, ApprovalID: e.ApprovalID, HoldCauses: e.HoldCauses, Cause: (*workflow.Cause)(e.Cause),
	}
	for _, g := range e.Guards {
		out.Guards = append(out.Guards, workflow.GuardResult{Name: g.Name, Passed: g.Passed})
	}
	var err error
	if len(e.Data) > 0 {
		var data document.Value
		data, err = runcodec.StoredValue(e.Data)
		out.Data = data
	}
	return out, err
}
