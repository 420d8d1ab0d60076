package scenario

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// outcome is the answer to a step.
type outcome struct {
	// decision on a call, and its code unless it was allowed.
	decision toolcall.Decision
	code     toolcall.Code
	// asks is true when the call waits for humans, or its run does.
	asks bool
	// judged is all that was said of a call.
	judged []Verdict
	// rejected is the code of a refusal, and guards those that failed.
	rejected string
	guards   []workflow.GuardResult
	// message says why something was denied or refused.
	message string
	// missing names a feature that is needed and not executed: such a step never passes.
	missing string
}

// answered returns the outcome of a command.
func answered(out *workflow.Result) outcome {
	r := out.Rejection
	if r == nil {
		return outcome{}
	}
	o := outcome{rejected: string(r.Code), message: r.Message, guards: r.Guards}
	switch r.Code {
	case workflow.RejectUnsupported:
		o.missing = notExecuted(r.Message)
	case workflow.RejectUnknownWorkflow:
		o.message += ` In a scenario file it is registered by "workflows".`
	}
	return o
}

// comparison is a step's outcome next to the expected one.
type comparison struct {
	keys    []comparedKey
	message string
	missing bool
}

type comparedKey struct {
	expectation
	got   document.Value
	holds bool
}

// unsaid returns the expectations of a step without expect: it is allowed.
func unsaid(a action) []expectation {
	switch a.(type) {
	case call:
		return []expectation{{"decision", document.StringValue(string(toolcall.Allow))}, {"code", document.NullValue()}}
	default:
		return []expectation{{"rejected", document.NullValue()}}
	}
}

// compare holds an outcome, and the simulation after it, against the expectations.
func (w *simulation) compare(s *step, out outcome) comparison {
	expect, message := s.expect, out.message
	if len(expect) == 0 {
		expect = unsaid(s.action)
		switch {
		case out.code == toolcall.CodeNotEnforced:
			message = `the step has no "expect", so a rule of a state must allow it: write "expect": {"code": "NOT_ENFORCED"} if no rule should judge it`
		case message != "":
			message = `the step has no "expect", so it must be allowed: ` + message
		}
	}
	c := comparison{message: message}
	if out.missing != "" && !expects(expect, "rejected", string(workflow.RejectUnsupported)) {
		return comparison{message: out.missing, missing: true}
	}
	var views []view
	for _, e := range expect {
		key := comparedKey{expectation: e}
		if got, ofStep := w.stepValue(e.key, &out); ofStep {
			key.got, key.holds = got, holds(e.key, e.want, got)
		} else {
			if views == nil {
				views = w.views()
			}
			key.got, key.holds = w.lookAround(views, e)
		}
		c.keys = append(c.keys, key)
	}
	return c
}

func expects(all []expectation, key, value string) bool {
	for _, e := range all {
		if e.key == key && e.want.Str() == value {
			return true
		}
	}
	return false
}

// stepValue returns the value of a key that is about the step itself.
func (w *simulation) stepValue(key string, out *outcome) (document.Value, bool) {
	switch key {
	case "decision":
		return textOrNull(string(out.decision)), true
	case "code":
		return textOrNull(string(out.code)), true
	case "rejected":
		return textOrNull(out.rejected), true
	case "guards":
		names := make([]string, len(out.guards))
		for i := range out.guards {
			names[i] = out.guards[i].Name
		}
		return textList(names), true
	case "approval_id":
		if out.decision != "" {
			return document.BoolValue(out.asks), true
		}
		return document.BoolValue(w.asks()), true
	case "events":
		return textList(w.events), true
	case "fired":
		return textOrNull(w.fired), true
	default:
		return document.Value{}, false
	}
}

// lookAround finds a view that an expectation holds in. When there is none, the
// value is that of the first one.
func (w *simulation) lookAround(views []view, e expectation) (document.Value, bool) {
	for i := range views {
		if got := w.value(&views[i], e.key); holds(e.key, e.want, got) {
			return got, true
		}
	}
	if len(views) == 0 {
		return document.NullValue(), false
	}
	return w.value(&views[0], e.key), false
}

func (c *comparison) ok() bool { return !c.missing && len(c.different()) == 0 }

// different returns the keys that are not as expected.
func (c *comparison) different() []string {
	var names []string
	for i := range c.keys {
		if !c.keys[i].holds {
			names = append(names, c.keys[i].key)
		}
	}
	return names
}

// expected returns the expectations as one object.
func (c *comparison) expected() document.Value {
	members := make([]document.Member, 0, len(c.keys))
	for i := range c.keys {
		members = append(members, document.Member{Name: c.keys[i].key, Value: c.keys[i].want})
	}
	return document.ObjectValue(members)
}

// actual returns the outcome, under the same keys.
func (c *comparison) actual() document.Value {
	members := make([]document.Member, 0, len(c.keys)+1)
	for i := range c.keys {
		members = append(members, document.Member{Name: c.keys[i].key, Value: c.keys[i].got})
	}
	if c.message != "" {
		members = append(members, document.Member{Name: "message", Value: document.StringValue(c.message)})
	}
	return document.ObjectValue(members)
}

func textOrNull(s string) document.Value {
	if s == "" {
		return document.NullValue()
	}
	return document.StringValue(s)
}

func textList(texts []string) document.Value {
	elements := make([]document.Value, len(texts))
	for i, s := range texts {
		elements[i] = document.StringValue(s)
	}
	return document.ArrayValue(elements)
}
