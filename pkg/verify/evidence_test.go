package verify_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/verify"
)

const gated = `
id: gated
initial: coding
evidence:
  green: {tool: Bash, command: go test, after: edit}
guards:
  tested: {evidence: green}
  claimed: {field: done, op: eq, value: true}
states:
  coding: {allowed_tools: [Read, Edit, Bash], allowed_commands: [go test], on: {SHIP: {target: shipping, guard: tested}, CLAIM: {target: shipping, guard: claimed}}}
  shipping: {allowed_tools: [Bash], allowed_commands: [kubectl apply], on: {DONE: shipped, BACK: coding}}
  shipped: {type: final}
meta: {enforcement: always}
`

// Evidence is gained where the call that gives it is allowed, and lost where an edit is
// (S14.1).
func TestEvidence(t *testing.T) {
	t.Parallel()
	honest := strings.Replace(gated, ", CLAIM: {target: shipping, guard: claimed}", "", 1)
	honest = strings.Replace(honest, "  claimed: {field: done, op: eq, value: true}\n", "", 1)
	for _, c := range []struct {
		name, src, property string
		want                verify.Verdict
		steps               string
	}{
		{"no way but the evidence", honest, `{p: {before: {state: shipping}, always: {evidence: green}}}`, verify.Proved, ""},
		{"a claim is another way", gated, `{p: {before: {state: shipping}, always: {evidence: green}}}`, verify.Refuted, "CLAIM"},
		{"a command that is not proved to read voids it", honest, `{p: {never: {command: "kubectl apply *"}, unless: {evidence: green}}}`, verify.Refuted, "kubectl apply"},
		{
			"an edit in the state itself voids it", strings.Replace(honest, "allowed_tools: [Bash], allowed_commands: [kubectl apply]", "allowed_tools: [Bash, Edit], allowed_commands: [kubectl apply]", 1),
			`{p: {never: {command: "kubectl apply *"}, unless: {evidence: green}}}`, verify.Refuted, "Edit",
		},
		{
			"a report that comes late voids it",
			strings.NewReplacer("DONE: shipped", "DONE: shipped, REDO: {target: shipped, guard: untested}", "guards:", "guards:\n  untested: {not: {evidence: green}}",
				"[Bash], allowed_commands: [kubectl apply]", "[Read]").Replace(honest),
			`{p: {never: {event: REDO}}}`, verify.Undecided, "",
		},
		{
			"a report that comes late gives it",
			strings.NewReplacer("guard: tested", "guard: untested", "guards:", "guards:\n  untested: {not: {evidence: green}}",
				"[Bash], allowed_commands: [kubectl apply], on: {DONE: shipped", "[Read], on: {DONE: shipped, REDO: {target: shipped, guard: tested}").Replace(honest),
			`{p: {never: {event: REDO}}}`, verify.Undecided, "",
		},
		{"a final state stays possible", honest, `{p: {always_possible: true}}`, verify.Proved, ""},
	} {
		m := model(t, c.src)
		r := verify.Check(m, properties(t, m, c.property), verify.Options{}).Results[0]
		if r.Verdict != c.want {
			t.Errorf("%s: %s, %s", c.name, r.Verdict, r.Reason)
			continue
		}
		if c.want == verify.Refuted && !strings.Contains(string(r.Counterexample.Scenario), c.steps) {
			t.Errorf("%s:\n%s", c.name, r.Counterexample.Scenario)
		}
	}
}

// Evidence of the shared state that a way takes is in the scenario from its beginning, also
// where the way takes other steps before.
func TestWrittenEvidenceInAWay(t *testing.T) {
	t.Parallel()
	const src = `
id: reviewed
initial: coding
evidence:
  verdict: {state: /verdict, op: eq, value: passed}
guards:
  passed: {evidence: verdict}
  failed: {not: {evidence: verdict}}
states:
  coding: {allowed_tools: [Read], on: {REVIEW: review}}
  review: {allowed_tools: [Read], on: {APPLY: {target: applied, guard: passed}}}
  applied: {type: final}
meta: {enforcement: always}
`
	for _, c := range []struct {
		name, src string
		want      verify.Verdict
	}{
		{"after another step", src, verify.Refuted},
		{"not held before, and held after", strings.Replace(src, "{REVIEW: review}", "{REVIEW: {target: review, guard: failed}}", 1), verify.Undecided},
		{"held before, and not after", strings.NewReplacer("{REVIEW: review}", "{REVIEW: {target: review, guard: passed}}", "guard: passed}}}", "guard: failed}}}").Replace(src), verify.Undecided},
	} {
		m := model(t, c.src)
		r := verify.Check(m, properties(t, m, `{p: {never: {state: applied}}}`), verify.Options{}).Results[0]
		if r.Verdict != c.want || c.want == verify.Refuted && (!strings.Contains(string(r.Counterexample.Scenario), `given: {"evidence":{"verdict":true}}`) || !strings.Contains(r.Reason, `"verdict" demands`)) {
			t.Errorf("%s: %s, %s", c.name, r.Verdict, r.Reason)
		}
	}
}

const named = `
id: named
initial: a
evidence:
  ci: {tool: mcp__ci__status}
guards:
  passed: {evidence: ci}
states:
  a: {allowed_tools: [Read, status], on: {SHIP: {target: b, guard: passed}, STOP: z}}
  b: {allowed_tools: [Read], on: {DONE: z}}
  z: {type: final}
meta: {enforcement: always, tools: [lookup, status]}
`

// A server may give its tools plain names, by which states allow them, and evidence and
// policies know them by their full names all the same.
func TestPlainNames(t *testing.T) {
	t.Parallel()
	const onlyCI = `{name: p, role: agent, default: deny, allow: [{capability: "mcp:ci:status"}]}`
	for _, c := range []struct {
		name, src, policy, property string
		want                        verify.Verdict
	}{
		{"evidence of a plain name", named, "", `{p: {never: {state: b}}}`, verify.Undecided},
		{"evidence of a tool that is given another name", strings.Replace(named, "Read, status", "Read, lookup", 1), "", `{p: {never: {state: b}}}`, verify.Undecided},
		{"evidence of a name that no state allows", strings.Replace(named, "Read, status", "Read", 1), "", `{p: {never: {state: b}}}`, verify.Proved},
		{"evidence of a plain name that is disallowed in full", strings.Replace(named, "allowed_tools: [Read, status]", "allowed_tools: [Read, status], disallowed_tools: [mcp__ci__status]", 1), "", `{p: {never: {state: b}}}`, verify.Proved},
		{"an end that takes a plain name", strings.Replace(named, ", STOP: z", "", 1), "", `{p: {always_possible: true}}`, verify.Undecided},
		{"an end that takes a full name", strings.Replace(strings.Replace(named, ", STOP: z", "", 1), "status]", "mcp__ci__status]", 1), "", `{p: {always_possible: true}}`, verify.Proved},
		{"a policy that allows the full name", named, onlyCI, `{p: {never: {tool: status}}}`, verify.Undecided},
		{"a policy that allows another", named, strings.Replace(onlyCI, "status", "other", 1), `{p: {never: {tool: status}}}`, verify.Proved},
	} {
		var policies []string
		if c.policy != "" {
			policies = []string{c.policy}
		}
		m := model(t, c.src, policies...)
		if r := verify.Check(m, properties(t, m, c.property), verify.Options{}).Results[0]; r.Verdict != c.want {
			t.Errorf("%s: %s, want %s: %s", c.name, r.Verdict, c.want, r.Reason)
		}
	}
}
