package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"

	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/sessionread"
)

// Questions asks humans for approvals, and concludes the questions that are not awaited any more.
type Questions struct {
	ports    *ports.Ports
	registry *registry.Registry
	runs     *Runs
	sessions *sessionread.Reader
}

// A transition that waits for humans is parked in its run's record, by the id of an
// approval; the approval service has the approval of that id, and its votes. In all cases
// in between - a service that cannot be reached, a crash after any step - the run's own
// record decides, and the effect of a decision happens once: by the commit that takes the
// id out of the run. A durable timer of the run, set by the commit that parks, makes
// certain that both sides come to know: that the approval is made, that its decision is
// carried out, and that no question stays without a use.

// inTime bounds the wait of a caller for the approval service. The timer does the rest.
const inTime = 2 * time.Second

// notify informs the approval service at once of the approvals that a commit has
// parked, and of those no longer awaited, but for settled, whose outcome its caller
// reports. Timers repeat failures.
func (qs *Questions) notify(ctx context.Context, steps []*step, settled string) {
	var cancel context.CancelFunc
	for _, s := range steps {
		before, after := s.waited(), s.out.Run.Approvals()
		if !s.out.Changed || len(before)+len(after) == 0 || qs.ports.Approvals == nil {
			continue
		}
		if cancel == nil {
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), inTime)
			defer cancel()
		}
		for _, id := range after {
			if !slices.Contains(before, id) {
				qs.note(ctx, "asked for", id, qs.ask(ctx, s.key, &s.out.Run, id))
			}
		}
		for _, id := range before {
			if id != settled && !slices.Contains(after, id) {
				qs.note(ctx, "withdrawn", id, qs.conclude(ctx, s.key, id))
			}
		}
	}
}

// note logs a failure that the timer will try again.
func (qs *Questions) note(ctx context.Context, what, approvalID string, err error) {
	if err != nil {
		qs.ports.Log.LogAttrs(ctx, slog.LevelInfo, "an approval cannot be "+what+" now, and is later",
			slog.String("approval_id", approvalID), slog.Any("cause", err))
	}
}

// unaskableError says that an approval can never be made.
type unaskableError struct{ cause error }

func (e *unaskableError) Error() string {
	return "it could not be asked for: " + fault.From(e.cause).Message
}

// ask makes the approval that a lane of a run waits for. For one that can never be made,
// an unaskableError, the lane's timer is due at once: the lane continues without it.
func (qs *Questions) ask(ctx context.Context, key store.Key, run *workflow.Run, approvalID string) error {
	at, waits := run.Asking(approvalID)
	if !waits {
		return nil
	}
	m, err := qs.registry.Machine(ctx, key.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return err
	}
	asker := consent.Asker{Principal: at.Approval.Actor, Person: at.Approval.Person, SessionID: run.SessionIn(at.Branch)}
	if asker.SessionID != "" {
		// Without the root a session of the same tree could decide.
		place, err := qs.sessions.Place(ctx, key.Namespace, asker.SessionID, "")
		if err != nil {
			return err
		}
		asker.RootSession = place.OutermostName()
	}
	kind, action := kindOf(m), at.Asked(kindOf(m))
	terms := m.ApprovalFor(facet.OfEvent(facet.Event{
		Data: action.Data, Actor: asker.Principal, Root: asker.RootSession, State: at.State, Workflow: run.Workflow,
	}))
	err = qs.ports.Approvals.Create(ctx, key.Namespace, run.ID, consent.Request{
		ID: approvalID, Action: action,
		// Other data may need other approvers.
		Editable: kind == consent.Transition && !m.ApprovalReadsInput(),
		Asker:    asker, Message: at.Approval.Message, Terms: terms,
	})
	switch fault.ReasonOf(err) {
	case "":
	case fault.InvalidRequest, fault.InvalidJSON, fault.TooLarge, fault.IdempotencyMismatch:
		soon := newTimer(key, approvalID, at.Approval.Since, qs.ports.Clock())
		_, failed := qs.ports.Store.Commit(ctx, store.Batch{SetTimers: []store.Timer{soon}})
		return errors.Join(&unaskableError{err}, failed)
	default:
		return err
	}
	// The cause that made it void may have come first, and found no approval to withdraw.
	if run, err = qs.runs.load(ctx, key); err != nil {
		return err
	}
	if _, waits := run.Asking(approvalID); waits {
		return nil
	}
	return qs.conclude(ctx, key, approvalID)
}

// kindOf returns the kind of a transition of a machine, for the people who decide on it.
func kindOf(m definition.Compiled) consent.Kind {
	if m.Process != nil {
		return consent.ProcessStep
	}
	return consent.Transition
}
