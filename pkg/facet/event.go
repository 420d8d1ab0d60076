package facet

import (
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// Event is a transition that people are asked about, for the terms of its approval (S21.15).
type Event struct {
	// Data is that of the event; may be missing.
	Data document.Value
	// Actor fires it, in a session whose tree has the root Root.
	Actor, Root     string
	State, Workflow string
}

// OfEvent returns the facts of an event. Its data is the input. It calls no tool, so it has no values of the facets
// of calls.
func OfEvent(e Event) condition.Facts {
	return event{data: e.Data, of: Subject{
		CallerName: e.Actor, SessionRoot: e.Root, SessionDepth: -1, RunState: e.State, RunWorkflow: e.Workflow,
	}}
}

type event struct {
	data document.Value
	of   Subject
}

// Input implements condition.Facts. An event without data has no arguments.
func (e event) Input() (document.Value, bool) {
	if e.data.IsZero() {
		return document.ObjectValue(nil), true
	}
	return e.data, e.data.Kind() == document.Object
}

// Facet implements condition.Facts.
func (e event) Facet(name condition.Facet) condition.Set {
	switch name {
	case condition.CallerName, condition.CallerRole, condition.CallerNamespace, condition.SessionRoot, condition.SessionDepth,
		condition.RunState, condition.RunWorkflow:
		return e.of.origin(name)
	case condition.CallerToken, condition.CallerVia, condition.CallerBound:
		return e.of.origin(name)
	case condition.Time:
		return condition.Unknown("the time is not known here")
	default:
		if set, ok := e.of.fact(name); ok { // of the human and the agent
			return set
		}
		return condition.KnownSet()
	}
}
