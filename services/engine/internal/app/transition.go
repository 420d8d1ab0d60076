package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/contend"
)

// Transition is a request to move a run on.
type Transition struct {
	Target          Target
	Event           string
	Data            []byte
	ExpectedVersion int64
	IdempotencyKey  string
}

// Transition asks the machine to move on (S2). A refusal is an Outcome, not an
// error; it is recorded and announced like any other decision.
func (a *App) Transition(ctx context.Context, caller Caller, req Transition) (*Outcome, error) {
	data, err := parseObject("data", req.Data)
	if err != nil {
		return nil, err
	}
	return a.change(ctx, caller, change{
		target:   req.Target,
		command:  workflow.Fire{Event: req.Event, Data: data, Actor: caller.Principal.Name},
		expected: req.ExpectedVersion,
		key:      requestName(req.IdempotencyKey),
		digest:   digest("transition", req.Event, string(req.Data)),
	})
}

// Pause stops a run (S6.2). An agent's pause lifts enforcement, so under
// meta.enforcement "always" it is refused (S6.6); an operator's holds the run.
func (a *App) Pause(ctx context.Context, caller Caller, runID, reason, key string) (*Outcome, error) {
	return a.change(ctx, caller, change{
		target:  Target{RunID: runID},
		command: workflow.Pause{Reason: reason, Operator: caller.Principal.Role != auth.Agent, Actor: caller.Principal.Name},
		key:     requestName(key),
		digest:  digest("pause", reason),
		leaves:  true,
	})
}

// Resume continues a paused run. An agent cannot lift an operator's hold.
func (a *App) Resume(ctx context.Context, caller Caller, runID, key string) (*Outcome, error) {
	return a.change(ctx, caller, change{
		target:  Target{RunID: runID},
		command: workflow.Resume{Actor: caller.Principal.Name},
		key:     requestName(key),
		digest:  digest("resume"),
		resumes: true,
	})
}

// Cancel ends a run. When its agent does, the session is free again.
func (a *App) Cancel(ctx context.Context, caller Caller, runID, reason, key string) (*Outcome, error) {
	return a.change(ctx, caller, change{
		target:  Target{RunID: runID},
		command: workflow.Cancel{Reason: reason, Actor: caller.Principal.Name},
		key:     requestName(key),
		digest:  digest("cancel", reason),
		leaves:  true,
		unbinds: true,
	})
}

// change is one command on one run.
type change struct {
	target   Target
	command  workflow.Command
	expected int64
	key      string // of the first answer, see requestName; may be empty
	digest   string
	// leaves: an agent would escape enforcement by it (S6.6).
	leaves bool
	// unbinds: an agent's own session no longer drives the run afterwards.
	unbinds bool
	// session, when set, drives the run from now on.
	session string
	// resumes: only an operator may do it to a run that is held.
	resumes bool
}

// change steps a run and commits what came of it, again from the start when
// somebody else was faster.
func (a *App) change(ctx context.Context, caller Caller, c change) (*Outcome, error) {
	key, err := a.resolve(ctx, caller.Namespace, c.target)
	if err != nil {
		return nil, err
	}
	run, err := a.cachedRun(ctx, key)
	if err != nil {
		return nil, err
	}
	for i := range contend.Attempts {
		outcome, err := a.attempt(ctx, caller, key, run, c)
		if !lostRace(err) {
			return outcome, err
		}
		if err := contend.Yield(ctx, i); err != nil {
			return nil, fault.From(err)
		}
		if run, err = a.loadRun(ctx, key); err != nil {
			return nil, err
		}
	}
	return nil, contended("run " + key.ID)
}

func (a *App) attempt(ctx context.Context, caller Caller, key store.Key, run *workflow.Run, c change) (*Outcome, error) {
	m, err := a.machine(ctx, key.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	if outcome, err := a.refuse(ctx, caller, key, run, m, c); outcome != nil || err != nil {
		return outcome, err
	}
	now := a.clock().UTC()
	out := m.Step(*run, c.command, now)
	if out.Changed && c.session != "" {
		out.Run.SessionID = c.session
	}
	batch := store.Batch{}
	if out.Changed {
		if err := a.write(ctx, &batch, caller, key, run, &out, c); err != nil {
			return nil, err
		}
	} else {
		batch.Checks = []store.Check{{Key: key, Version: run.Version}}
	}
	if err := a.addEvents(&batch, caller, key, &out); err != nil {
		return nil, err
	}
	if c.key != "" {
		if batch.Idempotency, err = remembered(key, c.key, c.digest, &out); err != nil {
			return nil, fault.From(err)
		}
	}
	return a.commit(ctx, key, m, &out, batch)
}

// refuse answers what needs no step: a stale expected version, and what the
// caller may not do. The cached run may be old, so it is read again before a
// conflict is claimed.
func (a *App) refuse(ctx context.Context, caller Caller, key store.Key, run *workflow.Run, m *workflow.Machine, c change) (*Outcome, error) {
	agent := caller.Principal.Role == auth.Agent
	conflict := c.expected != 0 && c.expected != run.Version
	held := agent && run.Held && (c.leaves || c.resumes)
	escapes := agent && c.leaves && m.AlwaysEnforce()
	switch {
	case !conflict && !held && !escapes:
		return nil, nil
	case c.key != "":
		// The request may be a repeat, whose answer is the first one (S6.5).
		if outcome, err := a.firstAnswer(ctx, key, c.key, c.digest); outcome != nil || err != nil {
			return outcome, err
		}
	}
	fresh, err := a.loadRun(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case fresh.Version != run.Version:
		return nil, &store.ConflictError{Key: key, Want: run.Version, Have: fresh.Version}
	case conflict:
		e := fault.New(fault.VersionConflict, "run %s is at version %d, not %d; read it and decide again", run.ID, run.Version, c.expected)
		e.Metadata = map[string]string{"current_version": fmt.Sprint(run.Version)}
		return nil, e
	case held:
		return nil, fault.New(fault.RunHeld, "run %s is held by an operator; only an operator can resume or cancel it", run.ID)
	case run.Status.Ended():
		return nil, nil // the machine says why this can not be
	default:
		return nil, fault.New(fault.EnforcementAlways,
			"workflow %q enforces always: an agent can not leave it before a final state; an operator can", run.Workflow)
	}
}

// write fills the batch of an accepted step.
func (a *App) write(ctx context.Context, batch *store.Batch, caller Caller, key store.Key, run *workflow.Run, out *workflow.Result, c change) error {
	batch.Puts = []store.Put{runPut(key, run.Version, out)}
	if out.Run.Entry != run.Entry {
		batch.Reset = []store.Key{key} // counters belong to one entry (S2.10)
	}
	if !c.unbinds || caller.Principal.Role != auth.Agent || run.SessionID == "" {
		return nil
	}
	binding, err := a.binding(ctx, key.Namespace, run.SessionID)
	if err != nil {
		return err
	}
	if string(binding.Data) == run.ID {
		batch.Deletes = []store.Check{{Key: binding.Key, Version: binding.Version}}
	}
	return nil
}

func runPut(key store.Key, expect int64, out *workflow.Result) store.Put {
	return store.Put{
		Key: key, Expect: expect, Data: encodeRun(&out.Run), Labels: labels(&out.Run), History: encodeEntry(&out.Entry),
	}
}

// commit makes the step durable and answers it.
func (a *App) commit(ctx context.Context, key store.Key, m *workflow.Machine, out *workflow.Result, batch store.Batch) (*Outcome, error) {
	result, err := a.store.Commit(ctx, batch)
	if err != nil {
		if lostRace(err) {
			return nil, err
		}
		// Whatever happened, the snapshot may be old now.
		a.runs.Drop(key)
		return nil, fault.From(err)
	}
	if result.Replayed {
		return a.decodeAnswer(ctx, key.Namespace, result.Answer)
	}
	run := &out.Run
	if !out.Changed {
		view, err := a.view(ctx, key, run)
		if err != nil {
			return nil, err
		}
		return &Outcome{View: view, Rejection: rejectionOf(out)}, nil
	}
	a.changed(key.Namespace, run)
	if len(batch.Reset) > 0 {
		return &Outcome{View: &View{Run: run, Machine: m}}, nil
	}
	view, err := a.view(ctx, key, run)
	if err != nil {
		return nil, err
	}
	return &Outcome{View: view}, nil
}

// digest binds an idempotency key to what was asked with it.
func digest(parts ...string) string {
	var room [1024]byte // most requests fit, and need no memory of their own
	asked := room[:0]
	for _, p := range parts {
		asked = append(strconv.AppendInt(asked, int64(len(p)), 10), ':')
		asked = append(append(asked, p...), ',')
	}
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:])
}
