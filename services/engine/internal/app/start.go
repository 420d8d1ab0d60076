package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Start is a request for a run.
type Start struct {
	Workflow       string
	Version        int64
	SessionID      string
	Context        []byte
	Workspace      string
	IdempotencyKey string
	Resume         bool
}

// Start begins a run, or resumes the newest paused one when that is asked for
// and there is one (S6.2). A session that drives another run pauses it (S6.6).
func (a *App) Start(ctx context.Context, caller Caller, req Start) (view *View, resumed bool, err error) {
	context, err := parseObject("context", req.Context)
	if err != nil {
		return nil, false, err
	}
	if req.SessionID, err = confineStart(caller, req.SessionID); err != nil {
		return nil, false, err
	}
	// req keeps the version as it was asked for: a repeat of a request for the
	// latest is the same request when there is a newer one by then.
	version := req.Version
	if version == 0 {
		latest, err := a.Workflow(ctx, caller.Namespace, req.Workflow, 0)
		if err != nil {
			return nil, false, err
		}
		version = latest.Number
	}
	m, err := a.machine(ctx, caller.Namespace, req.Workflow, version)
	if err != nil {
		return nil, false, err
	}
	for i := range retry.Attempts {
		outcome, resumed, err := a.startOrResume(ctx, caller, req, m, context)
		if err == nil {
			return outcome.View, resumed, nil
		}
		if !lostRace(err) {
			return nil, false, err
		}
		if err := retry.Yield(ctx, i); err != nil {
			return nil, false, fault.From(err)
		}
	}
	return nil, false, contended("session " + req.SessionID)
}

func (a *App) startOrResume(ctx context.Context, caller Caller, req Start, m definition.Compiled, context document.Value) (*Outcome, bool, error) {
	// First, so that a repeat neither resumes another run nor pauses one.
	if outcome, err := a.startedBefore(ctx, caller, req); outcome != nil || err != nil {
		return outcome, false, err
	}
	if req.Resume {
		outcome, err := a.resume(ctx, caller, req)
		if outcome != nil || err != nil {
			return outcome, true, err
		}
	}
	outcome, err := a.start(ctx, caller, req, m, context)
	switch fault.ReasonOf(err) {
	case fault.EnforcementAlways, fault.RunHeld, fault.FailedPrecondition:
		// It may be refused for what another try of it has done meanwhile.
		if first, again := a.startedBefore(ctx, caller, req); first != nil || again != nil {
			return first, false, again
		}
	default:
	}
	return outcome, false, err
}

// startedBefore answers a repeat of a request that started a run, or nil.
func (a *App) startedBefore(ctx context.Context, caller Caller, req Start) (*Outcome, error) {
	if req.IdempotencyKey == "" {
		return nil, nil
	}
	return a.firstAnswer(ctx, *requestOwner(caller, req), requestName(req.IdempotencyKey), startDigest(req))
}

// requestOwner is what owns the idempotency key of a request for a run: the
// session's binding when it has one. It is nil when there is neither.
func requestOwner(caller Caller, req Start) *store.Key {
	switch {
	case req.SessionID != "":
		key := bindingKey(caller.Namespace, req.SessionID)
		return &key
	case req.IdempotencyKey != "":
		return &store.Key{Namespace: caller.Namespace, Kind: kindRequest, ID: req.IdempotencyKey}
	default:
		return nil
	}
}

func (a *App) start(ctx context.Context, caller Caller, req Start, m definition.Compiled, context document.Value) (*Outcome, error) {
	batch := store.Batch{}
	paused, err := a.takeSession(ctx, caller, req, &batch)
	if err != nil {
		return nil, err
	}
	anchor := requestOwner(caller, req) // the run must share its shard
	id, err := typeid.NewWhere(typeid.Run, func(id string) bool {
		shards := a.store.Shards()
		return anchor == nil || runKey(caller.Namespace, id).Shard(shards) == anchor.Shard(shards)
	})
	if err != nil {
		return nil, fault.From(err)
	}
	if req.SessionID != "" {
		batch.Puts[0].Data = []byte(id)
	}
	out := m.Start(workflow.StartParams{
		ID: id, SessionID: req.SessionID, Workspace: req.Workspace,
		Owner: caller.Principal.Name, Context: context,
	}, caller.Principal.Name, a.clock().UTC())
	if out.Rejection != nil {
		return nil, fault.New(fault.InvalidRequest, "%s", out.Rejection.Message)
	}
	key := runKey(caller.Namespace, id)
	if err := a.add(&batch, caller, key, store.Absent, &out); err != nil {
		return nil, err
	}
	if req.IdempotencyKey != "" {
		if batch.Idempotency, err = remembered(*anchor, requestName(req.IdempotencyKey), startDigest(req), place{run: &out.Run}, &Outcome{Changed: true}); err != nil {
			return nil, fault.From(err)
		}
	}
	result, err := a.store.Commit(ctx, batch)
	switch {
	case lostRace(err):
		return nil, err
	case err != nil:
		return nil, fault.From(err)
	case result.Replayed:
		return a.decodeAnswer(ctx, caller.Namespace, result.Answer)
	}
	a.changed(caller.Namespace, paused...)
	a.changed(caller.Namespace, &out.Run)
	return &Outcome{View: newView(place{run: &out.Run}, m), Changed: true}, nil
}

// takeSession adds to the batch what makes a session drive another run: its
// binding, as the first put, whose data the caller fills in, and the pause of
// the run that it drove, which it answers.
func (a *App) takeSession(ctx context.Context, caller Caller, req Start, batch *store.Batch) ([]*workflow.Run, error) {
	if req.SessionID == "" {
		return nil, nil
	}
	binding, err := a.binding(ctx, caller.Namespace, req.SessionID)
	if err != nil {
		return nil, err
	}
	batch.Puts = []store.Put{{Key: binding.Key, Expect: binding.Version}}
	return a.pauseCurrent(ctx, caller, batch, binding)
}

// add puts an accepted step and its events into a batch.
func (a *App) add(batch *store.Batch, caller Caller, key store.Key, expect int64, out *workflow.Result) error {
	batch.Puts = append(batch.Puts, runPut(key, expect, out))
	return a.addEvents(batch, caller, key, out)
}

func (a *App) addEvents(batch *store.Batch, caller Caller, key store.Key, out *workflow.Result) error {
	for i := range out.Events {
		event, err := a.announce.RunEvent(key.Namespace, caller.Principal.Name, &out.Run, &out.Events[i], out.Entry.Time)
		if err != nil {
			return fault.From(err)
		}
		batch.Events = append(batch.Events, event)
	}
	return nil
}

// binding answers the record that binds a session to its run; at version Absent
// when the session drives none.
func (a *App) binding(ctx context.Context, namespace, session string) (store.Record, error) {
	key := bindingKey(namespace, session)
	record, err := a.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return store.Record{Key: key, Version: store.Absent}, nil
	}
	if err != nil {
		return store.Record{}, fault.From(err)
	}
	return record, nil
}

// pauseCurrent adds the pause of what a session drives, if that goes on. It
// answers the paused runs. A run that was resumed in another session since is
// that one's, and stays as it is; so does one whose branch the session works in.
func (a *App) pauseCurrent(ctx context.Context, caller Caller, batch *store.Batch, binding store.Record) ([]*workflow.Run, error) {
	if binding.Version == store.Absent || len(binding.Data) == 0 {
		return nil, nil
	}
	runID, branch := boundTo(binding)
	key := runKey(caller.Namespace, runID)
	if key.Shard(a.store.Shards()) != binding.Key.Shard(a.store.Shards()) {
		// Resumed from another session: it is paused by a commit of its own.
		return nil, a.pauseElsewhere(ctx, caller, key, binding.Key.ID, branch)
	}
	run, err := a.loadRun(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := mayGoOn(caller, run, binding.Key.ID, branch); err != nil {
		return nil, err
	}
	if left(run, binding.Key.ID) || run.Status == workflow.Paused && caller.Principal.Role != auth.Agent {
		// An operator may take hold of it, or another resume it, until the commit.
		batch.Checks = append(batch.Checks, store.Check{Key: key, Version: run.Version})
		return nil, a.mayLeaveBranch(ctx, caller, run, branch)
	}
	m, err := a.machine(ctx, caller.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	if err := a.mayLeave(ctx, caller, m, run); err != nil {
		return nil, err
	}
	f := newFamily(a, caller)
	pause := change{command: pauseForAnother(caller), family: true}
	top, err := f.ascend(ctx, place{key: key, run: run})
	if err != nil {
		return nil, err
	}
	if m, err = a.machine(ctx, caller.Namespace, top.run.Workflow, top.run.WorkflowVersion); err != nil {
		return nil, err
	}
	s := f.step(top.key, top.run, m, pause.command)
	switch {
	case s.out.Changed:
	case top.key != key: // it has changed since the child was read
		return nil, &store.ConflictError{Key: top.key}
	default:
		return nil, fault.New(fault.FailedPrecondition, "run %s of this session is %s and cannot be left now", run.ID, run.Status)
	}
	if err := f.follow(ctx, s, pause); err != nil {
		return nil, err
	}
	return f.addTo(batch)
}

func pauseForAnother(caller Caller) workflow.Pause {
	return workflow.Pause{Reason: "another workflow was loaded", Actor: caller.Principal.Name}
}

func (a *App) pauseElsewhere(ctx context.Context, caller Caller, key store.Key, session, branch string) error {
	run, err := a.loadRun(ctx, key)
	if err != nil {
		return err
	}
	if err := mayGoOn(caller, run, session, branch); err != nil {
		return err
	}
	if left(run, session) {
		return a.mayLeaveBranch(ctx, caller, run, branch)
	}
	_, err = a.change(ctx, caller, change{
		target: Target{RunID: key.ID}, command: pauseForAnother(caller), family: true, leaves: true,
	})
	return err
}

// changed remembers new snapshots and wakes those who watch these runs.
func (a *App) changed(namespace string, runs ...*workflow.Run) {
	for _, run := range runs {
		key := runKey(namespace, run.ID)
		a.remember(key, run)
		a.changes.Wake(key)
	}
}

func startDigest(req Start) string {
	return digest("start", req.Workflow, fmt.Sprint(req.Version), req.SessionID, req.Workspace, string(req.Context), fmt.Sprint(req.Resume))
}
