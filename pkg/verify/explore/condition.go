package explore

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Conditions decides whether steps meet the conditions of properties.
type Conditions struct{ *model.System }

// Meets reports that a step meets a condition, other than by evidence.
func (c Conditions) Meets(cond *workflow.Condition, s *Step) bool {
	switch {
	case cond == nil:
		return false
	case len(cond.Any) > 0:
		return slices.ContainsFunc(cond.Any, func(one workflow.Condition) bool { return c.Meets(&one, s) })
	case cond.Event != "":
		return c.takes(cond.Event, s)
	case cond.State != "":
		return c.enters(cond.State, s)
	case cond.Approval != nil:
		return c.approves(cond.Approval, s)
	default:
		return false
	}
}

// Evident reports that the evidence of a condition is held in a lane.
func (c Conditions) Evident(cond *workflow.Condition, w *model.GlobalState, path []int, lane *workflow.View) bool {
	if cond != nil && len(cond.Any) > 0 {
		return slices.ContainsFunc(cond.Any, func(one workflow.Condition) bool { return c.Evident(&one, w, path, lane) })
	}
	if cond == nil || cond.Evidence == "" {
		return false
	}
	at := *lane
	if len(path) > 0 || at.Run == nil {
		at = w.Root.Run.At("")
	}
	return w.Root.Holds(&at, cond.Evidence)
}

// SubjectOf reports that a step is the subject of a property.
func (c Conditions) SubjectOf(s *workflow.Subject, by *Step) bool {
	switch {
	case s.State != "":
		return c.enters(s.State, by)
	case s.Event != "":
		return c.takes(s.Event, by)
	default:
		return false
	}
}

// takes reports that the main run has taken an event.
func (c Conditions) takes(event string, s *Step) bool {
	return c.happens(s, func(ev *workflow.Event) bool {
		switch ev.Type {
		case workflow.EventTransitioned, workflow.EventForked, workflow.EventInvoked:
			return ev.Event == event
		default:
			return false
		}
	})
}

// enters reports that a lane of the main run has come into a state.
func (c Conditions) enters(state string, s *Step) bool {
	return c.happens(s, func(ev *workflow.Event) bool {
		switch ev.Type {
		case workflow.EventTransitioned, workflow.EventInterrupted, workflow.EventForced, workflow.EventJoined,
			workflow.EventChildEnded, workflow.EventBranchEnded:
			return ev.To == state
		case workflow.EventApprovalRejected:
			return ev.To == state && ev.From != ev.To
		case workflow.EventForked:
			fork := c.Main.Machine.State(ev.From).Fork(ev.Event)
			return fork != nil && slices.ContainsFunc(fork.Branches, func(b workflow.ForkBranch) bool { return b.Initial == state })
		default:
			return false
		}
	})
}

func (c Conditions) happens(s *Step, is func(*workflow.Event) bool) bool {
	for _, t := range s.runEvents {
		if t.Unit != c.Main {
			continue
		}
		for i := range t.Events {
			if is(&t.Events[i]) {
				return true
			}
		}
	}
	return false
}

// approves reports that a step is an agreement of humans, of those that a condition asks
// for.
func (c Conditions) approves(a *workflow.ApprovalCondition, s *Step) bool {
	if s.Kind != Grants || s.Entry == nil || s.Entry.Type != workflow.EventTransitioned {
		return false
	}
	of := s.From.At(s.Path).Unit
	if (a.State != "" || a.Event != "") && of != c.Main {
		return false
	}
	return (a.State == "" || a.State == s.Entry.From) && (a.Event == "" || a.Event == s.Entry.Event) &&
		(a.By == "" || c.Terms(of).Needs(a.By))
}

// AgreedTo reports that the approval of a call meets a condition.
func (c Conditions) AgreedTo(cond *workflow.Condition, of *model.Unit) bool {
	switch {
	case cond == nil:
		return false
	case len(cond.Any) > 0:
		return slices.ContainsFunc(cond.Any, func(one workflow.Condition) bool { return c.AgreedTo(&one, of) })
	case cond.Approval == nil || cond.Approval.State != "" || cond.Approval.Event != "":
		return false
	default:
		return cond.Approval.By == "" || c.Terms(of).Needs(cond.Approval.By)
	}
}

// BegunIn reports that a condition is met by the state that a run begins in.
func BegunIn(cond *workflow.Condition, state string) bool {
	return cond != nil && (cond.State == state || slices.ContainsFunc(cond.Any,
		func(one workflow.Condition) bool { return BegunIn(&one, state) }))
}
