package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// asked is one approval, and the run in which something waits for it.
type asked struct {
	*tracked
	at *consent.Approval
	// branch that a call was made in, and version of the run at which: the approval
	// is for that alone (S7.6).
	branch  string
	version int64
}

// ofCall reports the approval of a tool call, for which no run is parked.
func (a *asked) ofCall() bool { return a.at.Action.Kind == consent.ToolCall }

// waits reports that something can still come of a decision.
func (a *asked) waits() bool {
	return !a.at.Status.Final() && (!a.ofCall() || a.version == a.run.Version)
}

// admits reports a call that was granted and not made yet; a call that needed no
// approval, nil, was not.
func (a *asked) admits() bool {
	return a != nil && a.at.Status == consent.Granted && a.at.UsedAt.IsZero()
}

// approvalID returns the id of the next approval.
func (w *simulation) approvalID() string { return fmt.Sprintf("apr_%d", len(w.approvals)+1) }

// keepApprovals asks for the approvals that a run waits for, and withdraws the others.
func (w *simulation) keepApprovals(t *tracked) {
	waiting := t.run.Approvals()
	known := make([]string, 0, len(w.approvals))
	for _, a := range w.approvals {
		known = append(known, a.at.ID)
		if a.tracked == t && !a.ofCall() && !a.at.Status.Final() && !slices.Contains(waiting, a.at.ID) {
			a.at = a.at.Cancel(actor, "the run has moved on", w.now).Approval
		}
	}
	for _, id := range waiting {
		if !slices.Contains(known, id) {
			w.ask(t, id)
		}
	}
}

// ask asks humans about a parked run. A request that could never be granted is withdrawn
// at once.
func (w *simulation) ask(t *tracked, id string) {
	at, _ := t.run.Asking(id)
	kind := t.kind()
	_, err := w.open(t, at.Branch, consent.Request{
		ID: id, Action: at.Asked(kind), Editable: kind == consent.Transition && !t.of.machine.ApprovalReadsInput(), Message: at.Approval.Message,
		Asker: consent.Asker{Principal: at.Approval.Actor, SessionID: t.run.SessionID, RootSession: t.run.SessionID},
		Terms: t.of.machine.ApprovalFor(facet.OfEvent(facet.Event{
			Data: at.Approval.Data, Actor: at.Approval.Actor, Root: t.run.SessionID, State: at.State, Workflow: t.run.Workflow,
		})),
	})
	if err != nil {
		w.step(t, workflow.Reject{ApprovalID: id, Outcome: workflow.ApprovalCancelled, Note: err.Error(), Actor: actor})
	}
}

func (w *simulation) open(t *tracked, branch string, req consent.Request) (*asked, error) {
	out, err := consent.Open(req, w.now)
	if err != nil {
		return nil, err
	}
	a := &asked{tracked: t, at: out.Approval, branch: branch, version: t.run.Version}
	w.approvals = append(w.approvals, a)
	return a, nil
}

// askedFor returns the last approval that was asked for a call, or nil.
func (w *simulation) askedFor(digest string) *asked {
	for _, a := range slices.Backward(w.approvals) {
		if a.ofCall() && a.at.Digest == digest {
			return a
		}
	}
	return nil
}

func (t *tracked) kind() consent.Kind {
	if t.of.process != nil {
		return consent.ProcessStep
	}
	return consent.Transition
}

// asks reports that the caller waits for humans: something is parked, or a call
// that it has asked for can still be admitted.
func (w *simulation) asks() bool { return w.parked() || slices.ContainsFunc(w.approvals, w.waitsHere) }

// waitsHere reports that the caller can still make a call when it is granted.
func (w *simulation) waitsHere(a *asked) bool {
	here := w.here()
	return a.ofCall() && a.waits() && a.tracked == here.tracked && a.branch == here.at().Branch
}

// parked reports a transition of the caller that waits for humans.
func (w *simulation) parked() bool {
	return slices.ContainsFunc(w.views(), func(v view) bool { return v.Approval.Pending() })
}

// decision is a human's answer to an approval (S9).
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

// act decides the approval that the caller waits for, or else the oldest that
// something waits for. When none is pending, the last one says how it was decided.
func (a decision) act(w *simulation) outcome {
	of := w.pending()
	if of == nil {
		return outcome{rejected: string(workflow.RejectNotParked), message: "no approval was asked for, so there is no approval to decide."}
	}
	if why := workflow.CheckData(a.edited); why != "" {
		return outcome{rejected: string(consent.CodeInvalidEdit), message: "the edited data is refused: " + why + "."}
	}
	out := of.at.Decide(
		consent.Approver{Name: a.by, Role: a.role, Person: a.by}, // a scenario's people are registered, and sign
		consent.Decision{Approve: a.approve, Note: a.note, Data: a.edited, Digest: of.at.Digest, Signed: &consent.Signed{Present: true}}, w.now,
	)
	if out.Refusal != nil {
		return outcome{rejected: string(out.Refusal.Code), message: out.Refusal.Message}
	}
	of.at = out.Approval
	switch {
	case of.ofCall(): // the requester makes the call again
	case of.at.Status == consent.Granted:
		w.carryOut(of)
	case of.at.Status == consent.Rejected:
		w.step(of.tracked, workflow.Reject{ApprovalID: of.at.ID, Note: a.note, Actor: a.by})
	default: // others have to decide too
	}
	return outcome{}
}

func (w *simulation) pending() *asked {
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
	for _, open := range []func(*asked) bool{w.waitsHere, (*asked).waits, func(a *asked) bool { return !a.at.Status.Final() }} {
		if i := slices.IndexFunc(w.approvals, open); i >= 0 {
			return w.approvals[i]
		}
	}
	return w.approvals[len(w.approvals)-1]
}

// carryOut carries out the granted action: once, and only as agreed to.
func (w *simulation) carryOut(a *asked) {
	at, _ := a.run.Asking(a.at.ID)
	action := at.Asked(a.kind())
	grant := workflow.Grant{ApprovalID: a.at.ID, Note: a.at.Outcome(), Actor: a.at.Votes[len(a.at.Votes)-1].Name}
	if m := a.of.machine; m.AsksEvidence(at.State, at.Approval.Event) {
		grant.Evidence = w.standings(a.tracked, at)
	}
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

// passTo lets time pass, and due changes happen in order: approvals escalate and expire (S9.3, S9.5), and clocks do their
// work (S25).
func (w *simulation) passTo(end time.Time) {
	for {
		next := w.nextApproval()
		clock, ticks := w.nextClock()
		switch {
		case ticks && !clock.At.After(end) && (next == nil || !next.at.NextDue().Before(clock.At)):
			w.elapse(clock)
		case next != nil && !next.at.NextDue().After(end):
			w.tick(next)
		default:
			w.now = end
			return
		}
	}
}

// nextApproval returns the approval that is due first, or nil.
func (w *simulation) nextApproval() (next *asked) {
	for _, a := range w.approvals {
		if due := a.at.NextDue(); !due.IsZero() && (next == nil || due.Before(next.at.NextDue())) {
			next = a
		}
	}
	return next
}

// tick lets an approval escalate or expire.
func (w *simulation) tick(a *asked) {
	w.now = a.at.NextDue()
	a.at = a.at.Tick(w.now).Approval
	if a.at.Status == consent.Expired && !a.ofCall() {
		w.step(a.tracked, workflow.Reject{ApprovalID: a.at.ID, Outcome: workflow.ApprovalExpired, Actor: actor})
	}
}
