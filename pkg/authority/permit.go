package authority

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// Permit refuses what the caller may not do, once Aim has found what it is about. It
// holds agents to the rules of the runs that they work in: an agent leaves no run that is
// held, that enforces always, or that is a process, by whatever operation (S6.2, S6.6, S8).
func (s *Scene) Permit(op Op, aim Aim) *Refusal {
	r, refusal := s.ruleOf(op)
	if refusal != nil || s.Who.Role != Agent {
		return refusal
	}
	if r.leaves == itsRun || r.lifts != nil {
		if refusal := notHeld(aim.At.Run); refusal != nil {
			return refusal
		}
	}
	switch r.leaves {
	case itsRun:
		return s.mayEnd(aim.At.Node)
	case driven:
		return s.mayLeaveFor(op, aim.At.Run)
	default:
		return nil
	}
}

// notHeld refuses an agent what would leave or resume a run that is held.
func notHeld(run *workflow.Run) *Refusal {
	if !run.Held() {
		return nil
	}
	var causes []string
	for _, h := range run.Holds {
		switch h.Cause {
		case workflow.HoldSessionEnd:
			causes = append(causes, "its session has ended, and must be resumed first")
		default:
			causes = append(causes, fmt.Sprintf("%s holds it, and only an operator can resume or cancel it", h.By))
		}
	}
	return refuse(RunHeld, "run %s is held: %s", run.ID, strings.Join(causes, "; "))
}

// kept is why an agent cannot leave a run.
func kept(n Node) *Refusal {
	if n.Process {
		return refuse(EnforcementAlways,
			"an agent cannot leave process %q before it has ended: answer its questions; an operator can pause or cancel it",
			n.Run.Workflow)
	}
	return refuse(EnforcementAlways,
		"workflow %q has enforcement \"always\": an agent cannot leave it before a final state; an operator can", n.Run.Workflow)
}

// mayEnd refuses to pause or end a run for the sake of the run itself, of one that it
// waits for, or of one that waits for it and would move on by its end. What has ended is
// left to the machine.
func (s *Scene) mayEnd(n Node) *Refusal {
	if n.Run.Status.Ended() {
		return nil
	}
	if refusal := s.mayLeave(n); refusal != nil {
		return refusal
	}
	return s.keptAbove(n)
}

// keptAbove refuses to leave a run for the sake of one that waits for it.
func (s *Scene) keptAbove(n Node) *Refusal {
	for {
		parent, waits, refusal := s.parent(n)
		switch {
		case refusal != nil || !waits:
			return refusal
		case parent.keeps():
			return kept(parent)
		}
		n = parent
	}
}

// mayLeave refuses to leave a run for its own sake, or for that of one that it waits for.
func (s *Scene) mayLeave(n Node) *Refusal {
	if refusal := notHeld(n.Run); refusal != nil {
		return refusal
	}
	if n.keeps() {
		return kept(n)
	}
	for _, id := range n.Run.Children() {
		child, refusal := s.member(id)
		if refusal == nil {
			refusal = s.mayLeave(child)
		}
		if refusal != nil {
			return refusal
		}
	}
	return nil
}

// mayLeaveFor refuses an agent whose session would drive another run than it does: next,
// which is nil for one that is not there yet.
func (s *Scene) mayLeaveFor(op Op, next *workflow.Run) *Refusal {
	session := cmp.Or(s.Who.Session, s.Target.Session)
	if session == "" && next != nil {
		session = next.SessionID
	}
	if session == "" || op == Resume && next.Status != workflow.Paused {
		return nil
	}
	binding, now, drives, refusal := s.drives(session)
	switch {
	case refusal != nil || !drives:
		return refusal
	case next != nil && next.Root() == now.Run.Root():
		return nil // from branch to branch, it leaves nothing
	}
	if refusal := s.mayContinueElsewhere(binding, now); refusal != nil {
		return refusal
	}
	if Left(binding, now.Run) {
		return s.mayLeaveBranch(binding, now)
	}
	return s.mayEnd(now)
}

// Left reports that a session which drives a run may drive another one without pausing
// the first: that has ended, its agent has paused it, or another session has resumed it.
func Left(b Binding, run *workflow.Run) bool {
	return run.Status.Ended() || run.Status == workflow.Paused && !run.Held() || run.SessionID != b.Session
}

// Pauses reports that the run which a session drives is paused when the session drives
// next instead, which is nil for one that is not there yet.
func Pauses(b Binding, now, next *workflow.Run) bool {
	sameFamily := next != nil && next.Root() == now.Root()
	return !sameFamily && !Left(b, now) && now.Status != workflow.Paused
}

// mayContinueElsewhere refuses an agent another run in a session whose run has ended in a
// way that keeps the session: BLOCKED is a stop sign, which a human takes down (S8.3);
// and what enforces always stays in force after its final state (S2.9), so that only the
// same workflow, which still enforces always, is started again.
func (s *Scene) mayContinueElsewhere(b Binding, n Node) *Refusal {
	run := n.Run
	if b.Branch == "" && run.SessionID != b.Session {
		return nil
	}
	switch run.Status {
	case workflow.Blocked:
		return refuse(FailedPrecondition,
			"run %s of this session has ended BLOCKED, and an agent can start no other in it; an operator can", run.ID)
	case workflow.Completed, workflow.Failed:
		again := s.Offer != nil && s.Offer.Workflow == run.Workflow && s.Offer.AlwaysEnforce
		if n.AlwaysEnforce && !again {
			return refuse(EnforcementAlways,
				"workflow %q has enforcement \"always\", and this session keeps to it after its end: "+
					"an agent can start it again here, and no other; an operator can", run.Workflow)
		}
	}
	return nil
}

// mayLeaveBranch refuses to leave a run in whose branch the session works, or has worked,
// as mayLeave does for the run's own session.
func (s *Scene) mayLeaveBranch(b Binding, n Node) *Refusal {
	if b.Branch == "" || n.Run.Status.Ended() {
		return nil
	}
	if refusal := notHeld(n.Run); refusal != nil {
		return refusal
	}
	if n.keeps() {
		return kept(n)
	}
	if refusal := s.keptAbove(n); refusal != nil {
		return refusal
	}
	invoked := n.Run.At(b.Branch).Child
	if invoked == nil {
		return nil
	}
	child, refusal := s.member(invoked.RunID)
	if refusal != nil {
		return refusal
	}
	return s.mayLeave(child)
}
