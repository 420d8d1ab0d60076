package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Ends holds the runs of sessions that have ended, and lifts that.
type Ends struct {
	ports   *ports.Ports
	runs    *Runs
	changes *Changes
}

// SessionEnded holds the run that a session drives, under any of its names, once the
// session has ended (S11.1): a caller that still acts for the session does not escape the
// run's rules by that. It does not begin runs that it does not drive yet. cause makes it
// happen once: a run that was resumed since stays as it is.
func (es *Ends) SessionEnded(ctx context.Context, namespace, cause string, names ...string) error {
	if err := es.mark(ctx, namespace, names, "session end "+cause, true); err != nil {
		return err
	}
	caller := ports.System(namespace)
	hold := workflow.Pause{Reason: "its session has ended", Actor: caller.Principal.Name, Hold: workflow.HoldSessionEnd}
	return es.forSession(ctx, caller, names, func(b authority.Binding, run *workflow.Run) error {
		if !authority.HoldsAtEnd(b, run) {
			return nil
		}
		return es.followUp(ctx, caller, authority.EndSession, run, hold, "session end "+cause)
	})
}

// SessionResumed lifts the hold of SessionEnded, and no other.
func (es *Ends) SessionResumed(ctx context.Context, namespace, cause string, names ...string) error {
	if err := es.mark(ctx, namespace, names, "session resume "+cause, false); err != nil {
		return err
	}
	caller := ports.System(namespace)
	lift := workflow.Resume{Lifts: caller.Who().Lifts(authority.LiftEnd), Actor: caller.Principal.Name}
	return es.forSession(ctx, caller, names, func(b authority.Binding, run *workflow.Run) error {
		if !run.HeldFor(workflow.HoldSessionEnd) || run.SessionID != b.Session {
			return nil
		}
		return es.followUp(ctx, caller, authority.LiftEnd, run, lift, "session resume "+cause)
	})
}

// mark records in the bindings of a session that it has ended, or works again; once for
// each cause.
func (es *Ends) mark(ctx context.Context, namespace string, names []string, cause string, ended bool) error {
	for _, name := range names {
		if err := retry.Run(ctx, "session "+name, func() error {
			record, err := es.runs.binding(ctx, namespace, name)
			if err != nil {
				return err
			}
			bound := boundTo(record)
			if !ended && !bound.Ended {
				return nil
			}
			bound.Ended = ended
			batch := store.Batch{Idempotency: idempotency.Of(cause, "mark", name).Keep(record.Key)}
			if ended || bound.RunID != "" {
				batch.Puts = []store.Put{{Key: record.Key, Expect: record.Version, Data: bindingData(bound)}}
			} else {
				batch.Deletes = []store.Check{{Key: record.Key, Version: record.Version}}
			}
			_, err = es.ports.Store.Commit(ctx, batch)
			return retry.Fault(err)
		}); err != nil {
			return err
		}
	}
	return nil
}

// followUp applies the consequence for a run from one cause. A rejection says that it cannot
// be any more: then it is dropped.
func (es *Ends) followUp(
	ctx context.Context, caller ports.Caller, op authority.Op, run *workflow.Run, command workflow.Command, cause string,
) error {
	_, err := es.changes.change(ctx, caller, request{
		op: op, target: ports.Target{RunID: run.ID}, command: command,
		key: idempotency.Key{Name: causeName(cause), Digest: ports.Digest(cause)},
	})
	return err
}

// forSession visits the runs that a session drives, by each of its names.
func (es *Ends) forSession(
	ctx context.Context, caller ports.Caller, names []string, visit func(authority.Binding, *workflow.Run) error,
) error {
	for _, name := range names {
		binding, run, err := es.changes.newScene(caller, ports.Target{}, true).driven(ctx, name)
		if err == nil && run != nil {
			err = visit(binding, run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
