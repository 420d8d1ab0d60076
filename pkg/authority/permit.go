package authority

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// Permit refuses an operation that the caller may not do on the object that Aim has
// found. It holds agents to the rules of the runs that they work in: an agent leaves no
// run that is held, that keeps its agents, or that is a process, by any operation (S6.2,
// S6.6, S8).
func (s *Scene) Permit(op Op, aim Aim) *Refusal {
	r, refusal := s.ruleOf(op)
	if refusal != nil || s.Who.Role != Agent {
		return refusal
	}
	if op == Start {
		if refusal := s.mayStart(); refusal != nil {
			return refusal
		}
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
		refusal := s.mayLeaveFor(op, aim.At)
		if refusal == nil && s.Offer != nil {
			_, _, refusal = s.Workspace()
		}
		return refusal
	default:
		return nil
	}
}

// notHeld refuses an agent an operation that would leave or resume a held run.
func notHeld(run *workflow.Run) *Refusal {
	if !run.Held() {
		return nil
	}
	var causes []string
	for _, h := range run.Holds {
		switch h.Cause {
		case workflow.HoldSessionEnd:
			causes = append(causes, "its session has ended, and must be resumed first")
		case workflow.HoldStale:
			causes = append(causes, "its agent made no progress, and only an operator can resume or cancel it")
		default:
			causes = append(causes, fmt.Sprintf("%s holds it, and only an operator can resume or cancel it", h.By))
		}
	}
	return refuse(RunHeld, "run %s is held: %s", run.ID, strings.Join(causes, "; "))
}

// kept returns why an agent cannot leave a run.
func kept(n Node) *Refusal {
	if n.Process {
		return refuse(EnforcementKept,
			"an agent cannot leave process %q before it has ended: answer its questions; an operator can pause or cancel it",
			n.Run.Workflow)
	}
	return refuse(EnforcementKept,
		"workflow %q has enforcement %q: an agent cannot leave it before a final state; continue by its events, or ask an operator",
		n.Run.Workflow, n.Enforcement)
}

// mayEnd refuses to pause or end a run for the sake of the run itself, of one that it
// waits for, or of one that waits for it and would move on by its end. Ended runs are
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
