package workflow

import (
	"maps"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// force jumps to a state, past guards, counters and approvals; only workflows
// with meta.debug allow it (S6.3). Into a state of the caller's own branch only
// that branch jumps; any other ends the fork. Runs that were invoked are left.
func (m *Machine) force(run *Run, c Force, now time.Time) Result {
	what := "force_state"
	switch target := m.State(c.State); {
	case !m.definition.Meta.Debug:
		return rejected(run, c, now, m.refusals().refused(run.whole(), RejectDebugDisabled,
			`%s refused: the workflow does not have "debug": true in its meta. %s`, what, m.State(run.State).moves))
	case c.Agent && !m.definition.Meta.DebugAgents:
		return rejected(run, c, now, m.refusals().refused(run.whole(), RejectDebugDisabled,
			`%s refused: only operators force the states of this workflow. %s`, what, m.State(run.State).moves))
	case run.Status.Ended() || run.Status.Stopped():
		return rejected(run, c, now, m.refusals().notRunning(run.whole(), what))
	case !target.Known():
		hint := new(document.Report).DidYouMean(c.State, slices.Values(slices.Sorted(maps.Keys(m.states))))
		return rejected(run, c, now, m.refusals().refused(run.whole(), RejectInvalidData, "%s refused: the workflow has no state %s%s",
			what, document.Quote(c.State), sentence(hint)))
	}
	if code, why := badData(c.Context); code != "" {
		return rejected(run, c, now, m.refusals().refused(run.whole(), code, "%s refused: the context: %s.", what, why))
	}
	return m.jump(run, c, what, now)
}

func (m *Machine) jump(run *Run, c Force, what string, now time.Time) Result {
	target := m.State(c.State)
	at := run.lane(nil)
	if run.Fork != nil || c.Branch != "" {
		var r *Rejection
		if at, r = m.enterLane(run, c.Branch, c.Lost, what); r != nil {
			return rejected(run, c, now, r)
		}
		for len(at.path) > 0 && !m.branchRules().belongs(&at, target) {
			at = at.outer() // to the innermost that the target belongs to, or the run
		}
	}
	return m.jumpFrom(&at, &c, now)
}

// jumpFrom jumps from a lane.
func (m *Machine) jumpFrom(at *cursor, c *Force, now time.Time) Result {
	what, run, target := "force_state", at.Run, m.State(c.State)
	if m.comes(at.State, target.Name) {
		return rejected(run, *c, now, m.refusals().byFreeze(at.View, what+" to "+document.Quote(target.Name)))
	}
	context, fits := merged(at.Context, c.Context)
	if !fits {
		return rejected(run, *c, now, m.refusals().refused(at.View, RejectInvalidData, "%s refused: %s.", what, tooLarge))
	}
	s := m.begin(run, c.Actor, now)
	next := *at.Lane
	next.Context = context
	next.Sources = m.sourceRules().sourcesAfter(at.Sources, c.Context, c.Source, nil)
	e := &s.out.Entry
	e.Type, e.Branch, e.From, e.To, e.Data = EventForced, at.Branch, at.State, target.Name, c.Context
	s.out.Run.forgetJoins(at.Branch)
	if len(at.path) == 0 {
		s.out.Run.Status = Running // an approval that was waited for is void
	}
	s.announce(Event{Type: EventForced, From: at.State, To: target.Name, Branch: at.Branch})
	s.enter(at, next, target)
	if s.refusal != nil {
		return rejected(run, *c, now, s.refusal)
	}
	return s.finish()
}
