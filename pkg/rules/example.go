package rules

import (
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Example is a call with the decision that its policy must have for it (S21.8). Examples are decided
// when the policy is read.
type Example struct {
	Tool     string
	Input    []byte
	Decision toolcall.Decision
	// At is when the call is made; when it is zero, conditions do not know the time.
	At time.Time
}

// maxExamples bounds the examples of a rule.
const maxExamples = 64

// readExamples reads the examples of a rule about a capability.
func readExamples(f document.Fields, capability string) []Example {
	list, ok := f.List("examples", maxExamples)
	if !ok {
		return nil
	}
	examples := make([]Example, 0, list.Len())
	for i, v := range list.Elements() {
		ef, ok := f.Report.Object(v, f.At.Key("examples").At(i), "an example")
		if !ok {
			continue
		}
		ef.Known("an example", "tool", "input", "decision", "at")
		ef.Require("input", "decision")
		e := Example{}
		if input, ok := ef.Object("input"); ok {
			e.Input = input.Value.AppendJSON(nil)
		}
		decision, _ := ef.Enum("decision", string(toolcall.Allow), string(toolcall.Ask), string(toolcall.Deny))
		e.Decision = toolcall.Decision(decision)
		if e.Tool, ok = ef.Str("tool"); !ok && !ef.Has("tool") {
			if e.Tool, ok = toolOf(capability); !ok {
				f.Report.Errorf(ef.At, document.CodeRequired, "%s is not one tool, so the example must name one; add \"tool\"", document.Quote(capability))
			}
		}
		if at, ok := ef.Str("at"); ok {
			var err error
			if e.At, err = time.Parse(time.RFC3339, at); err != nil {
				f.Report.Errorf(ef.At.Key("at"), document.CodeRange, "%s is not an instant; write it with its offset, such as 2026-12-18T00:00:00Z", document.Quote(at))
			}
		}
		examples = append(examples, e)
	}
	return examples
}

// toolOf returns the tool that a capability is the name of.
func toolOf(capability string) (tool string, ok bool) {
	kind, name, _ := strings.Cut(capability, ":")
	switch {
	case strings.HasSuffix(capability, "*"):
		return "", false
	case capability == Shell:
		return "Bash", true
	case kind == "tool" && name != "":
		return name, true
	case kind == "mcp":
		server, tool, ok := strings.Cut(name, ":")
		return "mcp__" + server + "__" + tool, ok && server != "" && tool != ""
	default:
		return "", false
	}
}

// exampleTime picks the periods of budgets of examples, which are all fresh.
var exampleTime = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// runExamples reports examples for which the policy decides otherwise.
func runExamples(f document.Fields, p *Policy) {
	var set *Set
	for _, list := range []struct {
		name  string
		rules []Rule
	}{{listAllow, p.Allow}, {listAsk, p.Ask}, {listDeny, p.Deny}} {
		for i := range list.rules {
			for j := range list.rules[i].Examples {
				if set == nil {
					set = Compile(p, 0)
				}
				e := &list.rules[i].Examples[j]
				verdict := set.example(e, p)
				if verdict.Decision != e.Decision {
					f.Report.Errorf(f.At.Key(list.name).At(i).Key("examples").At(j), CodeExample,
						"the policy decides %s and not %s: %s", verdict.Decision, e.Decision, verdict.Explain())
				}
			}
		}
	}
}

// example decides the call of an example.
func (s *Set) example(e *Example, p *Policy) Verdict {
	call := Call{Tool: e.Tool, Input: e.Input, Principal: "example", Human: "example", Session: "example", Now: exampleTime, timeless: e.At.IsZero()}
	if !call.timeless {
		call.Now = e.At
	}
	call.Facts = facet.Of(facet.Subject{Tool: e.Tool, Input: e.Input, Tools: p.Tools, CallerRole: p.Role, SessionDepth: -1})
	return s.Decide(call, nil)
}
