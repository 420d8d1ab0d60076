package app

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// A transition that waits for humans is parked in its run's record, by the id of an
// approval; the approval service has the approval of that id, and its votes. Whatever
// happens in between - a service that cannot be reached, a crash after any step -
// the run's own record decides, and the effect of a decision happens once: by the
// commit that takes the id out of the run. A durable timer of the run, set by the
// commit that parks, makes certain that both sides come to know: that the approval is
// made, that its decision is carried out, and that nobody is asked in vain.

// Approvals is the approval service as the engine sees it.
type Approvals interface {
	// Create asks humans. The same request again changes nothing.
	Create(ctx context.Context, namespace, runID string, request consent.Request) error
	// Get answers an approval, or fault.NotFound.
	Get(ctx context.Context, namespace, approvalID string) (*Approval, error)
	// Consume uses a granted approval, once; the same usedBy may again.
	Consume(ctx context.Context, namespace, approvalID, digest, usedBy string) error
	// Void notes that what was granted cannot be done any more.
	Void(ctx context.Context, namespace, approvalID, reason string) error
	// Cancel withdraws a question.
	Cancel(ctx context.Context, namespace, approvalID, reason string) error
}

// Approval is an approval, and the run that waits for it.
type Approval struct {
	consent.Approval
	RunID string
}

// Sessions is the state-store as the engine sees it.
type Sessions interface {
	// Root is the root of a session's tree: itself when it is not registered.
	Root(ctx context.Context, namespace, session string) (string, error)
}

const (
	// inTime bounds what a caller waits for the approval service. What was not done
	// by then the timer does.
	inTime = 2 * time.Second
	// firstLook is when the timer looks after an approval first: when no call that was
	// made at once is under way any more.
	firstLook = 5 * time.Second
)

// askable gives an event the id of the approval that it may have to wait for, or says
// why nobody could ever grant that.
func (a *App) askable(caller Caller, m definition.Compiled, fire workflow.Fire) (workflow.Fire, error) {
	if a.Approvals == nil {
		fire.Unasked = "this engine has no approval service to ask"
		return fire, nil
	}
	if err := m.Meta().Approval.Check(consent.Asker{Principal: caller.Principal.Name}); err != nil {
		fire.Unasked = "nobody but you could grant it: " + err.Error()
		return fire, nil
	}
	var err error
	if fire.ApprovalID, err = typeid.New(typeid.Approval); err != nil {
		return fire, fault.From(err)
	}
	return fire, nil
}

// approvalTimer is the timer that looks after an approval; see sweep.go.
func approvalTimer(run store.Key, approvalID string) store.TimerID {
	return store.TimerID{Key: run, Name: timerPrefix + approvalID}
}

const timerPrefix = "approval/"

// newTimer looks after an approval from due on. since is when it was asked for.
func newTimer(run store.Key, approvalID string, since, due time.Time) store.Timer {
	return store.Timer{
		TimerID: approvalTimer(run, approvalID), Due: due, Data: strconv.AppendInt(nil, since.UnixNano(), 10),
	}
}

// timers are set by the commit of a step: for what it has parked, and, when the run is
// resumed, for what was granted meanwhile.
func (s *step) timers(now time.Time) []store.Timer {
	var timers []store.Timer
	before, resumed := s.waited(), s.before != nil && s.before.Status == workflow.Paused && s.out.Run.Status != workflow.Paused
	for _, id := range s.out.Run.Approvals() {
		at, _ := s.out.Run.Asking(id)
		switch parked := !slices.Contains(before, id); {
		case parked:
			timers = append(timers, newTimer(s.key, id, at.Approval.Since, now.Add(firstLook)))
		case resumed:
			timers = append(timers, newTimer(s.key, id, at.Approval.Since, now))
		}
	}
	return timers
}

// waited are the approvals that the run waited for before the step.
func (s *step) waited() []string {
	if s.before == nil {
		return nil
	}
	return s.before.Approvals()
}

// tellApprovals tells the approval service at once what a commit has parked, and what
// nobody waits for any more, but for settled, of which somebody else tells it. What
// fails the timers make good.
func (a *App) tellApprovals(ctx context.Context, steps []*step, settled string) {
	var cancel context.CancelFunc
	for _, s := range steps {
		before, after := s.waited(), s.out.Run.Approvals()
		if !s.out.Changed || len(before)+len(after) == 0 || a.Approvals == nil {
			continue
		}
		if cancel == nil {
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), inTime)
			defer cancel()
		}
		for _, id := range after {
			if !slices.Contains(before, id) {
				a.note(ctx, "asked for", id, a.ask(ctx, s.key, &s.out.Run, id))
			}
		}
		for _, id := range before {
			if id != settled && !slices.Contains(after, id) {
				a.note(ctx, "withdrawn", id, a.conclude(ctx, s.key, id))
			}
		}
	}
}

// note logs what the timer will try again.
func (a *App) note(ctx context.Context, what, approvalID string, err error) {
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelInfo, "an approval cannot be "+what+" now, and is later",
			slog.String("approval", approvalID), slog.Any("cause", err))
	}
}

// ask makes the approval that a lane of a run waits for. One that can never be made
// lets the lane go on without it.
func (a *App) ask(ctx context.Context, key store.Key, run *workflow.Run, approvalID string) error {
	at, waits := run.Asking(approvalID)
	if !waits {
		return nil
	}
	m, err := a.machine(ctx, key.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return err
	}
	asker := consent.Asker{Principal: at.Approval.Actor, SessionID: run.SessionIn(at.Branch)}
	if asker.RootID = asker.SessionID; asker.SessionID != "" && a.Sessions != nil {
		// Without the root a session of the same tree could decide.
		if asker.RootID, err = a.Sessions.Root(ctx, key.Namespace, asker.SessionID); err != nil {
			return err
		}
	}
	kind := kindOf(m)
	err = a.Approvals.Create(ctx, key.Namespace, run.ID, consent.Request{
		ID: approvalID, Action: at.Asked(kind), Editable: kind == consent.Transition,
		Asker: asker, Message: at.Approval.Message, Terms: m.Meta().Approval,
	})
	switch fault.ReasonOf(err) {
	case "":
	case fault.InvalidRequest, fault.InvalidJSON, fault.TooLarge, fault.IdempotencyMismatch:
		return a.settleBy(ctx, key, &at, system(key.Namespace).Principal.Name, workflow.Reject{
			ApprovalID: approvalID, Outcome: workflow.ApprovalCancelled, Note: "it could not be asked for: " + fault.From(err).Message,
		})
	default:
		return err
	}
	// What made it void may have come first, and found nothing to withdraw.
	if run, err = a.loadRun(ctx, key); err != nil {
		return err
	}
	if _, waits := run.Asking(approvalID); waits {
		return nil
	}
	return a.conclude(ctx, key, approvalID)
}

// kindOf is what a transition of a machine is to the people who decide on it.
func kindOf(m definition.Compiled) consent.Kind {
	if m.Process != nil {
		return consent.ProcessStep
	}
	return consent.Transition
}

// parkedNote tells the caller of an accepted event that it waits.
func parkedNote(event, approvalID string) string {
	return "event " + document.Quote(event) + " is parked until humans have decided on approval " + approvalID + ": the state and its tools stay as they are, and no other event is taken until then."
}
