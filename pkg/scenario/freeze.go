package scenario

import (
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// freeze puts a freeze in force (S25.12).
type freeze struct {
	pattern, reason string
	lasts           time.Duration
}

func (a freeze) String() string { return "freeze " + a.pattern }

func (a freeze) act(w *simulation) outcome {
	w.freezes = append(w.freezes, frozen{a.pattern, workflow.Freeze{ID: "frz", Reason: a.reason, By: "operator", Until: w.now.Add(a.lasts)}})
	return outcome{}
}

// liftFreeze ends all freezes.
type liftFreeze struct{}

func (liftFreeze) String() string { return "lift_freeze" }

func (liftFreeze) act(w *simulation) outcome {
	w.freezes = nil
	return outcome{}
}

// frozen are the workflows that a freeze is about.
type frozen struct {
	pattern string
	workflow.Freeze
}

// freezeOf returns the freeze that a run is under, or nil; with a name that of the run of a workflow which it invokes.
func (w *simulation) freezeOf(t *tracked, named string) *workflow.Freeze {
	names := []string{named}
	for {
		names = append(names, t.run.Workflow)
		parent, waits := w.parent(t)
		if !waits {
			break
		}
		t = parent.tracked
	}
	var last *workflow.Freeze
	for i := range w.freezes {
		f := &w.freezes[i]
		covers := func(name string) bool { return name != "" && workflow.FreezeCovers(f.pattern, name) }
		if w.now.Before(f.Until) && slices.ContainsFunc(names, covers) && (last == nil || f.Until.After(last.Until)) {
			last = &f.Freeze
		}
	}
	return last
}

// decide steps a run under the freezes in force. A run does not end where a freeze stops what follows in the run above.
func (w *simulation) decide(t *tracked, cmd workflow.Command) workflow.Result {
	m := t.of.machine
	freeze := w.freezeOf(t, "")
	out := m.Under(freeze).Step(t.run, cmd, w.now)
	if freeze != nil && out.Changed && w.stopsAbove(t, &out.Run) {
		kept := *freeze
		kept.KeepsEnd = true
		out = m.Under(&kept).Step(t.run, cmd, w.now)
	}
	return out
}

// stopsAbove reports that a freeze stops what the end of a run leads to in those that wait for it.
func (w *simulation) stopsAbove(t *tracked, run *workflow.Run) bool {
	parent, waits := w.parent(t)
	if !waits || !run.Status.Ended() {
		return false
	}
	out := parent.of.machine.Under(w.freezeOf(parent.tracked, "")).Step(parent.run, workflow.ChildEnded{Child: *run, Actor: actor}, w.now)
	return out.Rejection != nil || out.Changed && w.stopsAbove(parent.tracked, &out.Run)
}

// freeze reads a freeze, of a step or given.
func (p *parser) freeze(f document.Fields) action {
	c, ok := f.Object("freeze")
	if !ok {
		return nil
	}
	c.Known("a freeze", "for", "workflow", "reason")
	c.Require("for")
	a := freeze{pattern: "*", reason: "a freeze"}
	if pattern, ok := c.Text("workflow"); ok {
		a.pattern = pattern
	}
	if reason, ok := c.Text("reason"); ok {
		a.reason = reason
	}
	if a.lasts, ok = p.duration(c, "for"); !ok {
		return nil
	}
	return a
}
