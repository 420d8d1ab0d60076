package scenario

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// expectation is one key of an expect, and the value that it must have.
type expectation struct {
	key  string
	want document.Value
}

// expectKeys are the keys of expectations, in the order of the documentation.
var expectKeys = []string{
	"decision", "code", "state", "status", "rejected", "guards", "interrupt", "approval_id", "context",
	"iterations", "transition_count", "allowed_tools", "legal_events", "evidence", "events", "fired", "time_left",
}

var (
	decisions = []string{string(toolcall.Allow), string(toolcall.Ask), string(toolcall.Deny)}
	statuses  = []string{
		string(workflow.Running), string(workflow.Waiting), string(workflow.AwaitingApproval), string(workflow.Paused), string(workflow.Held),
		string(workflow.Completed), string(workflow.Failed), string(workflow.Blocked), string(workflow.Cancelled),
	}
)

// expect reads the expected result of a step's action.
func (p *parser) expect(f document.Fields, action string) []expectation {
	e, ok := f.Object("expect")
	if !ok {
		return nil
	}
	if e.Value.Len() == 0 {
		p.report.Errorf(e.At, document.CodeEmpty, "it has no expectation; add one, or remove \"expect\"")
	}
	e.Known("expect", expectKeys...)
	var all []expectation
	for key, v := range e.Value.Members() {
		if slices.Contains(expectKeys, key) {
			p.expected(e, action, key)
			all = append(all, expectation{key, v})
		}
	}
	return all
}

// expected checks one key: that the action has such an outcome at all, and the
// kind of the value. A wrong value is for the case to show.
func (p *parser) expected(e document.Fields, action, key string) {
	called := action == "call"
	refusable := !called && action != "report" && action != "advance" && action != "until"
	switch {
	case !called && (key == "decision" || key == "code"):
		p.report.Errorf(e.At.Key(key), document.CodeConflict, "only a call has a decision; for a refusal write \"rejected\"")
		return
	case !refusable && (key == "rejected" || key == "guards"):
		p.report.Errorf(e.At.Key(key), document.CodeConflict, "a %s is never rejected; a call has \"decision\" and \"code\"", action)
		return
	}
	v, _ := e.Value.Get(key)
	none := v.Kind() == document.Null
	switch key {
	case "decision":
		e.Enum(key, decisions...)
	case "status":
		e.Enum(key, statuses...)
	case "state":
		e.Text(key)
	case "code", "rejected", "interrupt", "fired", "time_left":
		if !none {
			e.Text(key)
		}
	case "approval_id":
		e.Bool(key)
	case "context":
		e.Object(key)
	case "evidence":
		named, _ := e.Object(key)
		for name := range named.Value.Members() {
			named.Bool(name)
		}
	case "iterations", "transition_count":
		e.Integer(key, 0)
	case "allowed_tools":
		if !none {
			e.Strings(key, maxItems)
		}
	default: // guards, legal_events, events
		e.Strings(key, maxItems)
	}
}
