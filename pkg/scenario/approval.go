package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// asked is one approval, and the run in which something waits for it.
type asked struct {
	*tracked
	at *consent.Approval
}

// approvalID is the id of the next approval.
func (w *world) approvalID() string { return fmt.Sprintf("apr_%d", len(w.approvals)+1) }

// keepApprovals asks for what a run has parked, and withdraws what it does not wait
// for any more.
func (w *world) keepApprovals(t *tracked) {
	waiting := t.run.Approvals()
	known := make([]string, 0, len(w.approvals))
	for _, a := range w.approvals {
		known = append(known, a.at.ID)
		if a.tracked == t && !a.at.Status.Final() && !slices.Contains(waiting, a.at.ID) {
			a.at = a.at.Cancel(actor, "the run has moved on", w.now).Approval
		}
	}
	for _, id := range waiting {
		if !slices.Contains(known, id) {
			w.ask(t, id)
		}
	}
}

// ask opens an approval. One that nobody could ever grant is withdrawn at once.
func (w *world) ask(t *tracked, id string) {
	at, _ := t.run.Asking(id)
	kind := t.kind()
	out, err := consent.Open(consent.Request{
		ID: id, Action: at.Asked(kind), Editable: kind == consent.Transition, Message: at.Approval.Message,
		Asker: consent.Asker{Principal: at.Approval.Actor, SessionID: t.run.SessionID, RootID: t.run.SessionID},
		Terms: t.of.machine.Meta().Approval,
	}, w.now)
	if err != nil {
		w.step(t, workflow.Reject{ApprovalID: id, Outcome: workflow.ApprovalCancelled, Note: err.Error(), Actor: actor})
		return
	}
	w.approvals = append(w.approvals, &asked{t, out.Approval})
}

func (t *tracked) kind() consent.Kind {
	if t.of.process != nil {
		return consent.ProcessStep
	}
	return consent.Transition
}

// asks reports that the caller waits for humans.
func (w *world) asks() bool {
	return slices.ContainsFunc(w.views(), func(v view) bool { return v.approval.Pending() })
}

// decision is what a human says to an approval (S9).
type decision struct {
	approve        bool
	by, role, note string
	edited         document.Value
}

func (a decision) String() string {
	if a.approve {
		return "approve by " + a.by
	}
	return "reject by " + a.by
}

// act decides the approval that the caller waits for, or else the oldest that is
// pending. When none is, the last one says how it was decided.
func (a decision) act(w *world) outcome {
	of := w.pending()
	if of == nil {
		return outcome{rejected: string(workflow.RejectNotParked), message: "no approval was asked for, so there is nothing to decide."}
	}
	if why := workflow.CheckData(a.edited); why != "" {
		return outcome{rejected: string(consent.CodeInvalidEdit), message: "the edited data is refused: " + why + "."}
	}
	out := of.at.Decide(
		consent.Approver{Name: a.by, Role: a.role},
		consent.Decision{Approve: a.approve, Note: a.note, Data: a.edited, Digest: of.at.Digest}, w.now,
	)
	if out.Refusal != nil {
		return outcome{rejected: string(out.Refusal.Code), message: out.Refusal.Message}
	}
	of.at = out.Approval
	switch of.at.Status {
	case consent.Granted:
		w.carryOut(of)
	case consent.Rejected:
		w.step(of.tracked, workflow.Reject{ApprovalID: of.at.ID, Note: a.note, Actor: a.by})
	default: // others have to decide too
	}
	return outcome{}
}

func (w *world) pending() *asked {
	if len(w.approvals) == 0 {
		return nil
	}
	here := w.here()
	if at := here.at(); at.Approval.Pending() {
		for _, a := range w.approvals {
			if a.at.ID == at.Approval.ID {
				return a
			}
		}
	}
	for _, a := range w.approvals {
		if !a.at.Status.Final() {
			return a
		}
	}
	return w.approvals[len(w.approvals)-1]
}

// carryOut lets happen what was granted: once, and only what was agreed to.
func (w *world) carryOut(a *asked) {
	at, _ := a.run.Asking(a.at.ID)
	action := at.Asked(a.kind())
	grant := workflow.Grant{ApprovalID: a.at.ID, Note: a.at.Outcome(), Actor: a.at.Votes[len(a.at.Votes)-1].Name}
	if a.at.Edit != nil {
		action, grant.Data = action.With(a.at.Edit.Data), a.at.Edit.Data
	}
	used := a.at.Consume(action.Digest(), w.now)
	if used.Refusal != nil {
		return
	}
	if out := w.step(a.tracked, grant); out.Entry.Type == workflow.EventStale {
		a.at = a.at.Void(out.Entry.Reason, w.now).Approval
		return
	}
	a.at = used.Approval
}

// passTo lets time pass, and what is due on the way happen in its order: approvals
// escalate and expire (S9.3, S9.5).
func (w *world) passTo(end time.Time) {
	for {
		var next *asked
		for _, a := range w.approvals {
			if due := a.at.NextDue(); !due.IsZero() && !due.After(end) && (next == nil || due.Before(next.at.NextDue())) {
				next = a
			}
		}
		if next == nil {
			break
		}
		w.now = next.at.NextDue()
		next.at = next.at.Tick(w.now).Approval
		if next.at.Status == consent.Expired {
			w.step(next.tracked, workflow.Reject{ApprovalID: next.at.ID, Outcome: workflow.ApprovalExpired, Actor: actor})
		}
	}
	w.now = end
}
