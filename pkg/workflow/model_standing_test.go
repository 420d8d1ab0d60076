package workflow_test

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// status is what the run should say of itself (S6.1).
func (m *model) status() workflow.Status {
	switch {
	case m.ended != "":
		return m.ended
	case len(m.holds) > 0:
		return workflow.Held
	case m.paused:
		return workflow.Paused
	case m.at("").waits():
		return workflow.Waiting
	default:
		return workflow.Running
	}
}

// holdsOf is who holds a run, by cause.
func holdsOf(run *workflow.Run) map[workflow.HoldCause]string {
	holds := make(map[workflow.HoldCause]string)
	for _, h := range run.Holds {
		holds[h.Cause] = h.By
	}
	return holds
}

// lanes writes all that the model knows of where a run stands.
func (m *model) lanes() []string {
	return m.main.write("", "", "")
}

func (p *place) write(path, status, session string) []string {
	lines := []string{fmt.Sprintf("%q %s for %q in %s returning to %q waiting for %q, current %q, context %v",
		path, status, session, p.state, p.interrupt, p.child, p.split.now(), p.context)}
	if p.split != nil {
		for _, t := range p.split.twigs {
			lines = append(lines, t.write(inner(path, t.name), string(t.status), t.session)...)
		}
	}
	return lines
}

// standing writes the same of a run.
func imageOf(run *workflow.Run) []string {
	return append([]string{standingOf("", "", "", run.State, run.Interrupt, run.Child, run.Fork, run.Context)},
		standingIn("", run.Fork)...)
}

func standingIn(path string, f *workflow.ForkProgress) []string {
	if f == nil {
		return nil
	}
	var lines []string
	for i := range f.Branches {
		b := &f.Branches[i]
		here := inner(path, b.Name)
		lines = append(lines, standingOf(here, string(b.Status), b.SessionID, b.State, b.Interrupt, b.Child, b.Fork, b.Context))
		lines = append(lines, standingIn(here, b.Fork)...)
	}
	return lines
}

func standingOf(
	path, status, session, state string, in *workflow.Interruption, child *workflow.Invocation, f *workflow.ForkProgress, context document.Value,
) string {
	var back, id, current string
	if in != nil {
		back = in.ReturnTo
	}
	if child != nil {
		id = child.RunID
	}
	if f != nil {
		current = f.Current
	}
	return fmt.Sprintf("%q %s for %q in %s returning to %q waiting for %q, current %q, context %v",
		path, status, session, state, back, id, current, flat(context))
}
