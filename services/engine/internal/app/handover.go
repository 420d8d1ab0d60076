package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// handover makes a session drive another run, or a branch of one: in one commit the
// session's binding changes, and the run that it drove is paused.
type handover struct {
	*scene
	caller  ports.Caller
	session string
	batch   store.Batch
	paused  []*workflow.Run
}

// newHandover prepares one for a session, which may be empty: then it has no effect.
func (ch *Changes) newHandover(caller ports.Caller, session, runID string) *handover {
	return &handover{
		scene: ch.newScene(caller, ports.Target{RunID: runID, SessionID: session}, true), caller: caller, session: session,
	}
}

// drive adds to the batch the changes that make the session drive a run, or a branch of
// it, or none without a session. aim is that run, if there is one yet.
func (h *handover) drive(ctx context.Context, op authority.Op, aim authority.Aim, runID, branch string) error {
	refusal, err := h.permit(ctx, op, aim)
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return ports.Refused(refusal)
	}
	if err := h.exists(ctx); err != nil {
		return err
	}
	named := ""
	if h.Offer != nil {
		named = h.Offer.Workflow
	}
	if err := h.halted(ctx, aim.At.Run, branch, named); err != nil || h.session == "" {
		return err
	}
	binding, now, err := h.driven(ctx, h.session)
	if err != nil {
		return err
	}
	if op == authority.Start && now != nil && now.ID == runID { // the same start of a schedule was faster
		return &store.ConflictError{Key: runKey(h.namespace, runID)}
	}
	record := h.bindings[h.session]
	next := bindingData(authority.Binding{RunID: runID, Branch: branch, Ended: binding.Ended})
	h.batch.Puts = append(h.batch.Puts, store.Put{Key: record.Key, Expect: record.Version, Data: next})
	root := runID
	if aim.At.Run != nil {
		root = aim.At.Run.Root()
	}
	if now != nil && now.Root() != root {
		if err := h.takeOver(ctx, now, root); err != nil {
			return err
		}
	}
	if now == nil || !authority.Pauses(binding, now, aim.At.Run) {
		return nil
	}
	return h.pause(ctx, now)
}

// goesOn refuses a session that has ended: no agent could take up the run of a schedule in it (S25.22). A session that drives the
// run was open at its start.
func (h *handover) goesOn(ctx context.Context, runID string) error {
	if err := h.readBinding(ctx, h.session); err != nil {
		return err
	}
	binding := boundTo(h.bindings[h.session])
	ended, err := h.readEnd(ctx, h.session)
	switch {
	case err != nil:
		return err
	case binding.RunID != runID && (ended || binding.Ended):
		return fault.New(fault.SessionEnded, "session %s has ended, and no agent can work in it; resume it, or give the schedule another one", document.Quote(h.session))
	}
	return nil
}

// exists refuses a session that was not created, where sessions are required (S22.35).
func (h *handover) exists(ctx context.Context) error {
	if !h.app.ports.Quotas.RequireSessions || h.session == "" {
		return nil
	}
	there, checks, err := h.app.sessions.Exists(ctx, h.namespace, h.session)
	if err != nil {
		return err
	}
	if !there {
		return fault.New(fault.NotFound, "session %s was not created, and --require-sessions refuses runs in such sessions; create it first, with POST /v1/sessions or `interlock session create`", document.Quote(h.session))
	}
	h.rest(checks)
	return nil
}

// pause pauses the run that the session drove, with its family: in the same batch, or by
// a commit of its own where the run is in another shard, because it was resumed from
// another session.
func (h *handover) pause(ctx context.Context, now *workflow.Run) error {
	pause := request{
		op: authority.Pause, target: ports.Target{RunID: now.ID},
		command: workflow.Pause{Reason: "another workflow was loaded", Actor: h.caller.Principal.Name},
	}
	shards := h.app.ports.Store.Shards()
	if runKey(h.namespace, now.ID).Shard(shards) != bindingKey(h.namespace, h.session).Shard(shards) {
		if _, err := h.app.change(ctx, h.caller, pause); err != nil {
			return err
		}
		// The decision to leave was made on the run as it was before: it is made again on
		// the paused one, which another caller may have held since.
		return &store.ConflictError{Key: runKey(h.namespace, now.ID)}
	}
	top := now.ID
	for at := now; at.Parent != nil; {
		top = at.Parent.RunID
		var err error
		if at, err = h.known(ctx, top); err != nil {
			return err
		}
	}
	f := newFamily(h.app, h.caller, h.scene)
	s, err := f.stepOn(ctx, top, pause.command)
	switch {
	case err != nil:
		return err
	case !s.out.Changed && top != now.ID: // it has changed since the child was read
		return &store.ConflictError{Key: s.key}
	case !s.out.Changed:
		return fault.New(fault.FailedPrecondition, "run %s of this session is %s and cannot be left now", now.ID, now.Status)
	}
	if err := f.follow(ctx, s, pause); err != nil {
		return err
	}
	h.paused = f.runs()
	return f.addSteps(ctx, &h.batch)
}

// commit makes the handover durable, with the rest of the batch.
func (h *handover) commit(ctx context.Context) (store.Result, error) {
	if len(h.batch.Puts) > 0 || h.batch.Idempotency != nil {
		if err := h.addChecks(&h.batch); err != nil {
			return store.Result{}, err
		}
	}
	result, err := h.app.write(ctx, h.batch)
	if err == nil && !result.Replayed {
		h.app.runs.refresh(h.namespace, h.paused...)
	}
	return result, retry.Fault(err)
}
