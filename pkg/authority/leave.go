package authority

import (
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// mayLeaveFor refuses an agent whose session would drive another run than it does, or
// another branch: next, which has no run for one that is not there yet.
func (s *Scene) mayLeaveFor(op Op, next Place) *Refusal {
	session := cmp.Or(s.Who.Session, s.Target.Session)
	if session == "" && next.Run != nil {
		session = next.Run.SessionID
	}
	if session == "" || op == Resume && !next.Run.Status.Stopped() {
		return nil
	}
	binding, now, drives, refusal := s.drives(session)
	switch {
	case refusal != nil:
		return refusal
	case binding.Ended:
		return HasEnded(session)
	case !drives:
		return nil
	case next.Run != nil && next.Run.Root() == now.Run.Root():
		if op == Bind {
			return s.mayMove(binding, now, next)
		}
		return nil
	}
	root, refusal := s.member(now.Run.Root())
	if refusal == nil {
		refusal = s.mayContinueElsewhere(binding, now)
	}
	if refusal != nil {
		return refusal
	}
	switch whole, run := Whole(binding, now.Run, root.Run); {
	case run.ID == root.Run.ID && !Left(whole, run):
		refusal = s.mayEnd(root)
	case !Left(binding, now.Run):
		refusal = s.mayEnd(now)
	default:
		refusal = s.mayLeaveBranch(binding, now)
	}
	if refusal == nil && op == Resume {
		// Calls would be judged by it in addition to the run that the session drives.
		return refuse(FailedPrecondition, "session %q drives run %s instead: to take run %s up again, load workflow %q with resume",
			clip(session), now.Run.ID, next.Run.ID, next.Run.Workflow)
	}
	return refusal
}

// HasEnded refuses an agent's operation in a session that has ended.
func HasEnded(session string) *Refusal {
	return refuse(SessionEnded, "session %q has ended, and an agent cannot act in it until an operator or a session above resumes it; or work in a new session",
		clip(session))
}

// Whole returns the binding that a session gives up when it drives another run: all of
// the family, where the outermost run is its own, no matter which branch of an invoked
// run it has taken; or else its own binding.
func Whole(b Binding, run, root *workflow.Run) (Binding, *workflow.Run) {
	if root.ID != run.ID && root.SessionID == b.Session {
		return Binding{Session: b.Session, RunID: root.ID, Ended: b.Ended}, root
	}
	return b, run
}

// Left reports that a session which drives a run may drive another one without pausing
// the first: that has ended, its agent has paused it, or another session has resumed it.
func Left(b Binding, run *workflow.Run) bool {
	return run.Status.Ended() || run.Status == workflow.Paused || run.SessionID != b.Session
}

// HoldsAtEnd reports that a run is held when a session that drives it ends (S11.1), so
// that no agent escapes its rules by that, or by a pause before. The end of a session
// that works in a branch of another's run holds no run: its branch is lost to it.
func HoldsAtEnd(b Binding, run *workflow.Run) bool {
	return !run.Status.Ended() && run.SessionID == b.Session
}

// Pauses reports that the run which a session drives is paused when the session drives
// next instead, which is nil for one that is not there yet.
func Pauses(b Binding, now, next *workflow.Run) bool {
	sameFamily := next != nil && next.Root() == now.Root()
	return !sameFamily && !Left(b, now) && !now.Status.Stopped()
}

// mayMove refuses a session another branch of the family that it works in, when it would
// move out of a run that keeps it, or away from one that its branch waits for.
func (s *Scene) mayMove(b Binding, now Node, next Place) *Refusal {
	around := []string{next.Run.ID} // next, and the runs that have invoked it
	for n := next.Node; n.Run.Parent != nil; {
		var refusal *Refusal
		if n, refusal = s.member(n.Run.Parent.RunID); refusal != nil {
			return refusal
		}
		around = append(around, n.Run.ID)
	}
	for n := now; !slices.Contains(around, n.Run.ID); {
		if n.keeps() && !n.Run.Status.Ended() {
			return kept(n)
		}
		var refusal *Refusal
		if n, refusal = s.member(n.Run.Parent.RunID); refusal != nil {
			return refusal
		}
	}
	path, _ := next.Run.BranchPath(next.Branch)
	switch sameRun := next.Run.ID == now.Run.ID; {
	case b.Branch == "" && (sameRun || next.Run.SessionID == b.Session), sameRun && within(path, b.Branch):
		return nil // it works in all of the run's branches, or all of its own, in turn
	default:
		return s.mayLeaveLanes(b, now, around)
	}
}

// mayLeaveLanes refuses to leave a run for the sake of those that the session's branches
// of it wait for, but for the runs around the place that it moves to.
func (s *Scene) mayLeaveLanes(b Binding, n Node, around []string) *Refusal {
	for _, lane := range n.Run.Lanes() {
		bound := n.Run.ID == b.RunID && b.Branch != "" && within(lane.Branch, b.Branch)
		own := bound || n.Run.SessionIn(lane.Branch) == b.Session
		if !own || lane.Child == nil || slices.Contains(around, lane.Child.RunID) {
			continue
		}
		child, refusal := s.member(lane.Child.RunID)
		if refusal == nil {
			refusal = s.mayLeave(child)
		}
		if refusal != nil {
			return refusal
		}
	}
	return nil
}

// within reports that a branch is another one, or inside of it, by their paths.
func within(branch, outer string) bool {
	return branch == outer || strings.HasPrefix(branch, outer+"/")
}

// mayLeaveBranch refuses to leave a run in whose branch the session works, or has worked,
// as mayLeave does for the run's own session; and so for the runs that have invoked that
// one, where the work continues when it has ended.
func (s *Scene) mayLeaveBranch(b Binding, n Node) *Refusal {
	if b.Branch == "" {
		return nil
	}
	for {
		if !n.Run.Status.Ended() {
			refusal := notHeld(n.Run)
			if refusal == nil && n.keeps() {
				refusal = kept(n)
			}
			if refusal == nil {
				refusal = s.mayLeaveLanes(b, n, nil)
			}
			if refusal != nil {
				return refusal
			}
		}
		if n.Run.Parent == nil {
			return nil
		}
		var refusal *Refusal
		if n, refusal = s.member(n.Run.Parent.RunID); refusal != nil {
			return refusal
		}
		if refusal := s.mayContinueElsewhere(b, n); refusal != nil {
			return refusal
		}
	}
}

// mayContinueElsewhere refuses an agent another run in a session whose run has ended in a
// way that keeps the session: BLOCKED is a stop sign, which a human takes down (S8.3);
// and enforcement that lasts after a final state (S2.9) permits only a new start of the
// same workflow, with enforcement that is not weaker.
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
		again := s.Offer != nil && s.Offer.Workflow == run.Workflow && s.Offer.Enforcement.AtLeast(n.Enforcement)
		switch {
		case n.Enforcement.Lifts(run.Status):
		case again && s.Offer.ByAgent && s.Offer.Digest != n.Digest:
			return refuse(EnforcementKept,
				"run %s of version %d of workflow %q has ended %s, and an agent has registered version %d since, which an agent cannot start here: "+
					"register the text of version %d again and start that, or ask an operator to register the new version or to start the run",
				run.ID, run.WorkflowVersion, run.Workflow, run.Status, s.Offer.Version, run.WorkflowVersion)
		case !again:
			return refuse(EnforcementKept,
				"run %s has ended %s, and workflow %q has enforcement %q, which this session keeps to: "+
					"an agent can start the same workflow again here, and no other; an operator can, and so can a new session",
				run.ID, run.Status, run.Workflow, n.Enforcement)
		}
	}
	return nil
}
