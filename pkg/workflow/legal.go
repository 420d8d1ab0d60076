package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// mostMoves bounds how many legal events a message lists.
const mostMoves = 24

func newLegalEvent(t *Transition) LegalEvent {
	e := LegalEvent{Event: t.Event}
	target := func(name string) {
		if name != "" && !slices.Contains(e.Targets, name) {
			e.Targets = append(e.Targets, name)
		}
	}
	switch {
	case t.Invoke != nil:
		target(t.Invoke.OnComplete)
		target(t.Invoke.OnFail)
	case t.Fork != nil:
		target(t.Fork.OnComplete)
		target(t.Fork.OnFail)
	}
	for i := range t.Branches {
		b := &t.Branches[i]
		target(b.Target)
		for _, g := range b.Guards {
			if !slices.Contains(e.Guards, g) {
				e.Guards = append(e.Guards, g)
			}
		}
		e.RequiresApproval = e.RequiresApproval || b.RequiresApproval
	}
	return e
}

// neverFrozen is for the events of a state without a freeze.
func neverFrozen(string) bool { return false }

// GuardsOf returns the guards that a transition may evaluate, in order, without repeats.
func GuardsOf(t *Transition) []string { return newLegalEvent(t).Guards }

// String returns the event and its target, as messages to agents name it.
func (e LegalEvent) String() string { return e.describe(false) }

// describe returns the text of String, with a mark where a freeze stops the event.
func (e LegalEvent) describe(frozen bool) string {
	var b strings.Builder
	b.WriteString(e.Event)
	if len(e.Targets) > 0 {
		b.WriteString(" -> " + strings.Join(e.Targets, " or "))
	}
	var notes []string
	if frozen {
		notes = append(notes, "frozen")
	}
	if len(e.Guards) > 0 {
		notes = append(notes, "guarded by "+strings.Join(e.Guards, ", "))
	}
	if e.RequiresApproval {
		notes = append(notes, "requires approval")
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, "; ") + ")")
	}
	return b.String()
}

// describeLegal lists events; frozen reports those that a freeze stops.
func describeLegal(events []LegalEvent, frozen func(event string) bool) string {
	if len(events) == 0 {
		return "No events are defined here."
	}
	var b strings.Builder
	b.WriteString("Legal events: ")
	for i, e := range events {
		if i == mostMoves {
			fmt.Fprintf(&b, "; and %d more", len(events)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(e.describe(frozen(e.Event)))
	}
	b.WriteString(".")
	return b.String()
}
