package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// Coverage are the parts that the cases of some suites have reached of their workflows.
// The zero Coverage is ready; a nil one keeps no notes.
type Coverage struct {
	reaches []*Reach
	by      map[string]*Reach // by digest and id of the workflow
}

// Reach are the reached parts of one workflow.
type Reach struct {
	Workflow, File string
	// States and Transitions are all of them, in definition order. A transition is
	// one branch of one event, one end of a fork or an invoke, a safe_next, or an
	// interrupt.
	States, Transitions []Spot

	states, transitions map[string]int
}

// Spot is a place in a workflow that a case can reach.
type Spot struct {
	Name    string
	Reached bool
}

// Workflows returns the workflows of the suites that were played, in that order.
func (c *Coverage) Workflows() []*Reach { return c.reaches }

// Reached counts the spots that a case has reached.
func Reached(spots []Spot) int {
	n := 0
	for _, s := range spots {
		if s.Reached {
			n++
		}
	}
	return n
}

// add takes note of a workflow.
func (c *Coverage) add(d *definition) *Reach {
	if c == nil {
		return nil
	}
	key := d.digest + d.machine.Name()
	if r := c.by[key]; r != nil {
		return r
	}
	if c.by == nil {
		c.by = make(map[string]*Reach)
	}
	r := newReach(d)
	c.by[key] = r
	c.reaches = append(c.reaches, r)
	return r
}

func newReach(d *definition) *Reach {
	r := &Reach{
		Workflow: d.machine.Name(), File: d.file,
		states: make(map[string]int), transitions: make(map[string]int),
	}
	def := d.machine.Definition()
	for i := range def.States {
		s := &def.States[i]
		r.states[s.Name] = len(r.States)
		r.States = append(r.States, Spot{Name: s.Name})
		for j := range s.On {
			r.addTransition(s.Name, &s.On[j])
		}
		for j := range s.After {
			r.addTransition(s.Name, &s.After[j].Transition)
		}
		if s.SafeNext != "" {
			r.addSpot(spotKey(s.Name, "", bySafeNext), fmt.Sprintf("%s: safe_next -> %s", s.Name, s.SafeNext))
		}
	}
	for _, in := range def.Interrupts {
		r.addSpot(spotKey("", in.Name, byInterrupt), fmt.Sprintf("interrupt %s -> %s", in.Name, in.Target))
	}
	return r
}

// How a transition is taken that is not a branch of an event.
const (
	bySafeNext   = "safe_next"
	byInterrupt  = "interrupt"
	byOnComplete = "on_complete"
	byOnFail     = "on_fail"
)

func spotKey(state, event, how string) string { return state + "\n" + event + "\n" + how }

func byBranch(i int) string { return fmt.Sprint(i) }

func (r *Reach) addSpot(key, name string) {
	r.transitions[key] = len(r.Transitions)
	r.Transitions = append(r.Transitions, Spot{Name: name})
}

func (r *Reach) addTransition(state string, t *workflow.Transition) {
	add := func(how, to, note string) {
		name := fmt.Sprintf("%s: %s -> %s", state, t.Event, to)
		if note != "" {
			name += " (" + note + ")"
		}
		r.addSpot(spotKey(state, t.Event, how), name)
	}
	complete, fail := "", ""
	switch {
	case t.Fork != nil:
		complete, fail = t.Fork.OnComplete, t.Fork.OnFail
	case t.Invoke != nil:
		complete, fail = t.Invoke.OnComplete, t.Invoke.OnFail
	}
	if complete != "" {
		add(byOnComplete, complete, byOnComplete)
	}
	if fail != "" {
		add(byOnFail, fail, byOnFail)
	}
	for i := range t.Branches {
		note := strings.Join(t.Branches[i].Guards, ", ")
		if t.Branched && note == "" {
			note = "otherwise"
		}
		add(byBranch(i), t.Branches[i].Target, note)
	}
}

// enter notes that a run is in a state.
func (c *Coverage) enter(d *definition, state string) { c.add(d).enter(state) }

func (r *Reach) enter(state string) {
	if r == nil {
		return
	}
	if i, ok := r.states[state]; ok {
		r.States[i].Reached = true
	}
}

func (r *Reach) take(key string) {
	if i, ok := r.transitions[key]; ok {
		r.Transitions[i].Reached = true
	}
}

// step notes the parts that a change of a run has reached, by its events.
func (c *Coverage) step(d *definition, run *workflow.Run, events []workflow.Event) {
	r := c.add(d)
	if r == nil {
		return
	}
	for i := range events {
		ev := &events[i]
		r.enter(ev.To)
		switch ev.Type {
		case workflow.EventTransitioned:
			how := bySafeNext
			event := ""
			if !ev.SafeNext {
				event, how = ev.Event, byBranch(branchTaken(d.machine.State(ev.From), ev))
			}
			r.take(spotKey(ev.From, event, how))
		case workflow.EventInterrupted:
			r.take(spotKey("", ev.Interrupt, byInterrupt))
		case workflow.EventJoined:
			r.take(spotKey(ev.From, ev.Event, ended(ev.Join.Succeeded)))
		case workflow.EventChildEnded:
			r.take(spotKey(ev.From, ev.Event, ended(ev.ChildStatus == workflow.Completed)))
		}
	}
	for _, lane := range run.Lanes() {
		r.enter(lane.State)
	}
}

func ended(succeeded bool) string {
	if succeeded {
		return byOnComplete
	}
	return byOnFail
}

// branchTaken returns the branch whose guards have all passed: the first one is the one
// that was taken (S2.4).
func branchTaken(s *workflow.StateView, ev *workflow.Event) int {
	taken := func(t *workflow.Transition) int {
		return slices.IndexFunc(t.Branches, func(b workflow.Branch) bool {
			return !slices.ContainsFunc(b.Guards, func(g string) bool { return !slices.Contains(ev.Guards, g) })
		})
	}
	for i := range s.On {
		if s.On[i].Event == ev.Event {
			return taken(&s.On[i])
		}
	}
	for i := range s.After {
		if s.After[i].Event == ev.Event {
			return taken(&s.After[i].Transition)
		}
	}
	return -1
}
