package verify_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// ruler draws rules about calls of one tool, and inputs of it.
type ruler struct{ *rand.Rand }

func (r ruler) of(options ...string) string { return options[r.IntN(len(options))] }

const payTool = "mcp__pay__refund"

func (r ruler) key() string {
	switch r.IntN(8) {
	case 0, 1, 2:
		return fmt.Sprintf(`"/n": %s`, r.of(`{"lte": 100}`, `{"gt": 100}`, `{"lt": 200}`, `{"gte": 50, "lte": 150}`, `100`, `{"neq": 100}`, `{"or": 5, "lte": 100}`, `{"exists": true}`))
	case 3, 4:
		return fmt.Sprintf(`"/c": %s`, r.of(`"eur"`, `["eur", "usd"]`, `{"neq": "usd"}`, `{"like": "e*"}`, `{"not_exists": true}`, `{"length": 3}`, `null`, `{"gt": "f"}`))
	case 5:
		return fmt.Sprintf(`"/to/*": %s`, r.of(`"a"`, `["a", "b"]`, `{"each": "some", "in": ["a"]}`, `{"like": "*b"}`, `{"count": {"lte": 2}}`, `{"neq": "b"}`))
	case 6:
		return fmt.Sprintf(`"/to": %s`, r.of(`{"count": {"gte": 2}}`, `{"contains": "a"}`, `{"exists": true}`))
	default:
		return r.of(`"state": "a"`, `"state": "b"`, `"host": ["a.org"]`, `"workflow": "w"`, `"caller.name": "ann"`, `"anywhere": {"contains": "eur"}`)
	}
}

func (r ruler) condition(depth int) string {
	if depth > 0 && r.IntN(3) == 0 {
		switch r.IntN(3) {
		case 0:
			return fmt.Sprintf(`{"not": %s}`, r.condition(depth-1))
		default:
			return fmt.Sprintf(`{%q: [%s, %s]}`, r.of("all", "any"), r.condition(depth-1), r.condition(depth-1))
		}
	}
	return "{" + r.key() + "}"
}

func (r ruler) rule(fields string) string {
	return fmt.Sprintf(`{"capability": %q, %s}`, r.of("mcp:pay:refund", "mcp:pay", "*"), fields)
}

// definitions draws a workflow and a policy until both can be read.
func (r ruler) definitions(t *testing.T) (m *verify.Model, property string) {
	t.Helper()
	for {
		entries := ""
		if r.IntN(2) == 0 {
			entries = fmt.Sprintf(`"calls": [{"tool": %q, "only": %s}],`, r.of(payTool, "mcp__pay__*"), r.condition(2))
		}
		lists := map[string][]string{}
		for range r.IntN(4) {
			list := r.of("deny", "deny", "ask", "allow")
			fields := []string{`"when": ` + r.condition(2)}
			if list != "allow" && r.IntN(2) == 0 {
				fields = append(fields, `"unless": `+r.condition(1))
			}
			if list != "deny" && r.IntN(6) == 0 {
				fields = append(fields, `"id": "i", "amount_limit": {"of": "/n", "max": 120, "period": "daily"}`)
			}
			lists[list] = append(lists[list], r.rule(strings.Join(fields, ", ")))
		}
		text := `{"name": "p", "role": "agent"`
		if r.IntN(3) == 0 {
			text += `, "default": "deny"`
		}
		for _, list := range []string{"deny", "ask", "allow"} {
			if len(lists[list]) > 0 {
				text += fmt.Sprintf(`, %q: [%s]`, list, strings.Join(lists[list], ", "))
			}
		}
		text += "}"
		src := fmt.Sprintf(`{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": [%q], %s "on": {"X": "done"}}, "done": {"type": "final"}}, "meta": {"enforcement": "always", "tools": [%q]}}`, payTool, entries, payTool)
		property = fmt.Sprintf(`{"never": {"tool": %q`, payTool)
		if r.IntN(2) == 0 {
			property += `, "when": ` + r.condition(1)
		}
		property += "}"
		if r.IntN(3) == 0 {
			property += `, "unless": {"approval": true}`
		}
		property = `{"p": ` + property + `}}`
		def, problems := workflow.Parse([]byte(src))
		_, wrong := rules.ParsePolicy([]byte(text))
		if problems.HasErrors() || wrong.HasErrors() {
			continue
		}
		if _, problems := workflow.ParseProperties(value(t, property), def); problems.HasErrors() {
			continue
		}
		return model(t, src, text), property
	}
}

func (r ruler) input() string {
	var members []string
	add := func(name string, options ...string) {
		if r.IntN(6) > 0 {
			members = append(members, fmt.Sprintf("%q: %s", name, r.of(options...)))
		}
	}
	add("n", "100", "100.5", "50", "49", "150", "151", "200", "199.99", "0", "-1", "9007199254740993", `"100"`, "null", "[]", "120", "5", "1e2", "100.00000000000000000001")
	add("c", `"eur"`, `"usd"`, `"gbp"`, `"e"`, `""`, "null", "5", `"zzz"`, `"EUR"`, `["eur"]`)
	add("to", `[]`, `["a"]`, `["a", "b"]`, `["b"]`, `["a", "a", "a"]`, `["xb", 1]`, `"a"`, `[null]`, `{}`, "null", `["a", "b", "c"]`)
	if r.IntN(8) == 0 {
		add(r.of("N", "n_", "C", "other", "url"), "1", `"eur"`, `"https://a.org/"`)
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// outcome is the decision on an input by the functions that decide calls, asked and, if so, approved.
func outcome(m *verify.Model, at *workflow.View, input string, approved bool) toolcall.Decision {
	call := facet.InRun(m.Main.Machine, at, toolcall.Call{Tool: payTool, Input: []byte(input)})
	verdicts := []rules.Verdict{rules.Compile(m.Policies[0].Policy, 1).Decide(rules.Call{
		Tool: payTool, Input: call.Input, Facts: call.Facts, Principal: "ann", Session: "s", Approved: approved, Now: noon,
	}, nil)}
	return rules.Combine(toolcall.Decide(m.Main.Machine, at, call), verdicts, nil).Decision
}

// TestProofsWithConditions: no call contradicts a proof, and where calls contradict a property, it is not proved
// (S21.20).
func TestProofsWithConditions(t *testing.T) {
	t.Parallel()
	r := ruler{randtest.New(t, 7)}
	verdicts := map[verify.Verdict]int{}
	broken := 0
	for range randtest.Size(250, 5_000) {
		m, text := r.definitions(t)
		p := properties(t, m, text)[0]
		result := verify.Check(m, []workflow.Property{p}, verify.Options{}).Results[0]
		verdicts[result.Verdict]++
		run := m.Main.Machine.Start(workflow.StartParams{ID: "run_1", SessionID: "s", Owner: "ann"}, "ann", time.Time{}).Run
		at := run.At("")
		found := false
		for range 60 {
			input := r.input()
			d := outcome(m, &at, input, false)
			asked := d == toolcall.Ask
			if asked {
				d = outcome(m, &at, input, true)
			}
			if d != toolcall.Allow || asked && p.Condition != nil {
				continue
			}
			call := facet.InRun(m.Main.Machine, &at, toolcall.Call{Tool: payTool, Input: []byte(input)})
			if p.Subject.When.Judge(call.Facts, condition.Restricts) != condition.True {
				continue
			}
			found = true
			if result.Verdict == verify.Proved {
				t.Fatalf("%s is PROVED, and %s is allowed in\n%s\n%s", text, input, m.Main.Text, m.Policies[0].Text)
			}
		}
		if found {
			broken++
		}
	}
	t.Logf("%v, and calls contradict %d", verdicts, broken)
	if verdicts[verify.Proved] < 20 || broken < 20 || verdicts[verify.Refuted] < broken/2 {
		t.Errorf("%v, and calls contradict %d: the draws show too little", verdicts, broken)
	}
}
