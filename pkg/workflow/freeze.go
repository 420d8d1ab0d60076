package workflow

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// Freeze refuses some transitions of a run for a time (S25.12). It is a fact that the caller of the machine knows.
type Freeze struct {
	ID     string
	Reason string
	By     string
	Until  time.Time
	// KeepsEnd: the run may not end, because the run that waits for it would go on to a state that is stopped.
	KeepsEnd bool
}

// FreezeCovers reports that a freeze of a pattern is about a workflow: * stands for any text, and names are compared without case.
func FreezeCovers(pattern, name string) bool {
	pattern, name = withoutCase(pattern), withoutCase(name)
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = after
	}
	return true
}

func withoutCase(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// Under returns the machine as it is while a freeze is in force; nil is for none.
func (m *Machine) Under(f *Freeze) *Machine {
	if f == m.freeze {
		return m
	}
	other := *m
	other.freeze = f
	return &other
}

// stopped has the transitions of a workflow that a freeze stops (S25.13).
type stopped struct {
	// events are those that the workflow names; nil where it names none.
	events map[string]bool
	// states are those that no run comes to; of named events, those that they lead to.
	states map[string]bool
	// marked: the states are marked, or follow from named events. Otherwise they are all, in doubt.
	marked bool
}

func (m *Machine) newStopped() stopped {
	def := m.definition
	st := stopped{states: map[string]bool{}, marked: true}
	switch {
	case len(def.Freeze) > 0:
		st.events = map[string]bool{}
		for _, event := range def.Freeze {
			st.events[event] = true
		}
		for i := range def.States {
			for _, t := range def.States[i].On {
				if st.events[t.Event] {
					st.leads(&t)
				}
			}
		}
	case slices.ContainsFunc(def.States, func(s State) bool { return s.Danger != "" }):
		for i := range def.States {
			if s := &def.States[i]; s.Danger == Moderate || s.Danger == Dangerous {
				st.states[s.Name] = true
			}
		}
	case def.Meta.Danger != Safe:
		st.marked = false
		for i := range def.States {
			if s := &def.States[i]; !s.Final || s.Outcome == Success {
				st.states[s.Name] = true
			}
		}
	}
	return st
}

// leads adds the states that a transition leads to, unless it fails.
func (st *stopped) leads(t *Transition) {
	for i := range t.Branches {
		st.states[t.Branches[i].Target] = true
	}
	switch {
	case t.Invoke != nil:
		st.states[t.Invoke.OnComplete] = true
	case t.Fork != nil:
		st.states[t.Fork.OnComplete] = true
		for _, b := range t.Fork.Branches {
			st.states[b.Initial] = true
		}
	}
}

// comes reports that a run which comes from a state to another one is stopped there.
func (m *Machine) comes(from, to string) bool {
	return m.freeze != nil && from != to && m.stopped.states[to]
}

// comesByClock is comes for a clock: it is not stopped on its way to a final state, nor where the workflow marks nothing.
func (m *Machine) comesByClock(from string, to *StateView) bool {
	return m.stopped.marked && to != nil && !to.Final && m.comes(from, to.Name)
}

// stopsEnd reports that a fork or an invoked run which was begun by an event may not succeed: where that leads to is stopped.
func (m *Machine) stopsEnd(event, from string, done *arm) bool {
	switch {
	case m.freeze == nil:
		return false
	case m.stopped.events != nil:
		return m.stopped.events[event]
	default:
		return done != nil && done.target != nil && m.comes(from, done.target.Name)
	}
}

// stops reports that a transition is stopped. taken is the arm that it takes, nil where it delegates.
func (m *Machine) stops(event, from string, w *way, taken *arm, safeNext, timed bool) bool {
	switch {
	case m.freeze == nil:
		return false
	case timed:
		return taken != nil && m.comesByClock(from, taken.target)
	case m.stopped.events != nil:
		return !safeNext && m.stopped.events[event]
	case taken != nil:
		return taken.target != nil && m.comes(from, taken.target.Name)
	case w.fork != nil && slices.ContainsFunc(w.fork.Branches, func(b ForkBranch) bool { return m.comes(from, b.Initial) }):
		return true
	default:
		return m.stopsEnd(event, from, w.done) || m.stopsEnd(event, from, w.fail) // which an agent can bring about
	}
}

// Stops reports that the freeze stops an event in a state, whichever of its branches were taken.
func (m *Machine) Stops(state, event string) bool {
	w := m.State(state).ways[event]
	switch {
	case m.freeze == nil || w == nil:
		return false
	case len(w.arms) == 0:
		return m.stops(event, state, w, nil, false, false)
	}
	return !slices.ContainsFunc(w.arms, func(a arm) bool { return !m.stops(event, state, w, &a, false, false) })
}

// StopsAny reports that a freeze stops an event of some state.
func (m *Machine) StopsAny() bool {
	under := m.Under(&Freeze{})
	return slices.ContainsFunc(m.definition.States, func(s State) bool {
		return slices.ContainsFunc(m.LegalEvents(s.Name), func(e LegalEvent) bool { return under.Stops(s.Name, e.Event) })
	})
}

// judgeFreeze refuses a transition that the freeze stops.
func (m *Machine) judgeFreeze(at *View, d *decision, c *Fire) *Rejection {
	if !m.stops(c.Event, at.State, d.way, d.taken, d.safeNext, c.timed) {
		return nil
	}
	return m.refusals().byFreeze(*at, "event "+document.Quote(c.Event))
}

// byFreeze refuses what the freeze stops, and marks the events of the state that it stops, too.
func (m refusals) byFreeze(at View, what string) *Rejection {
	f := m.freeze
	moves := describeLegal(m.LegalEvents(at.State), func(event string) bool { return m.Stops(at.State, event) })
	return m.refused(at, RejectFrozen,
		"%s refused in state %s: it is frozen until %s, by %s: %s. No change was made; try it again then, and do not try another way. %s",
		what, document.Quote(at.State), f.Until.UTC().Format(time.RFC3339), document.Quote(f.By), f.Reason, moves)
}

// keepEnd refuses the step if it ends a run that may not end now.
func (s *stepper) keepEnd(at *cursor) {
	if f := s.m.freeze; f != nil && f.KeepsEnd {
		s.refusal = s.m.refusals().byFreeze(at.View, "the step of the run that waits for this one")
	}
}

// Freezable reports that a freeze may stop a command: requests, and the transitions of "after" and "stale" (S25.14). What follows from
// a command in the runs above may be stopped, too, whichever it is.
func Freezable(cmd Command) bool {
	switch c := cmd.(type) {
	case Fire, Grant, Force:
		return true
	case Elapse:
		return c.Due.Kind == DueAfter || c.Due.Kind == DueStale
	default:
		return false
	}
}

// frozenFor returns the machine that judges a command: without the freeze where that cannot stop it.
func (m *Machine) frozenFor(cmd Command) *Machine {
	if _, follows := cmd.(ChildEnded); follows || Freezable(cmd) {
		return m
	}
	return m.Under(nil)
}

// keptAlive refuses a step that no freeze stops by itself, and that ends a run which may not end now; nil for any other.
func (m *Machine) keptAlive(run *Run, cmd Command, out *Result) *Rejection {
	if m.freeze == nil || !m.freeze.KeepsEnd || Freezable(cmd) || out.Run.Status != Completed || run.Status.Ended() {
		return nil
	}
	return m.refusals().byFreeze(run.whole(), "the step of the run that waits for this one")
}
