package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/scenario"
)

const peopled = `
workflow: {id: w, initial: a, meta: {enforcement: while_running, tools: [Pay, Refund, Deploy]}, states: {a: {on: {GO: z}}, z: {type: final}}}
policy:
  role: agent
  meta: {tools: [Pay, Refund, Deploy]}
  deny:
  - {capability: "tool:Refund", unless: {human.groups: [finance]}}
  - {capability: "tool:Deploy", unless: {all: [{human.authenticated_age: {lte: 60}}, {caller.via: mcp, caller.bound: true}, {session.labels.tier: gold}, {agent.name: fixer}, {human.attributes.level: "3"}]}}
  allow:
  - {capability: "tool:Pay", rate_limit: {max_calls: 2, window_seconds: 3600, scope: human}}
cases:
- name: case
  given: %s
  steps:
  - %s
`

// S22.44: a case says who calls and for whom; what it leaves out is not known, and a human whom no one vouches for is not.
func TestGivenCallersAndHumans(t *testing.T) {
	t.Parallel()
	allowed := func(tool string) string { return "{call: {tool: " + tool + "}}" }
	denied := func(tool, code string) string {
		return "{call: {tool: " + tool + "}, expect: {decision: DENY, code: " + code + "}}"
	}
	const deployer = `{human: {name: ann, authenticated_age: 30, attributes: {level: 3}}, caller: {via: mcp, bound: true}, labels: {tier: gold}, agent: {name: fixer, version: 2}}`
	for name, row := range map[string]struct {
		given string
		steps []string
	}{
		"in the group":     {`{human: {name: ann, issuer: "https://idp", groups: [finance, all]}}`, []string{allowed("Refund")}},
		"not in the group": {`{human: {name: ann, groups: []}}`, []string{denied("Refund", "POLICY_DENIED")}},
		"groups not known": {`{human: {name: ann}}`, []string{denied("Refund", "CALL_UNCLEAR")}},
		"nobody":           {`{}`, []string{denied("Refund", "CALL_UNCLEAR"), denied("Pay", "CALL_UNCLEAR"), denied("Deploy", "CALL_UNCLEAR")}},
		"only claimed":     {`{human: {name: ann, groups: [finance], source: claimed}}`, []string{denied("Refund", "CALL_UNCLEAR"), denied("Pay", "CALL_UNCLEAR")}},
		"a gateway's word": {`{human: {name: ann, groups: [finance], source: gateway}}`, []string{denied("Refund", "CALL_UNCLEAR")}},
		"counted":          {`{human: {name: ann}}`, []string{allowed("Pay"), allowed("Pay"), denied("Pay", "RATE_LIMITED"), "{advance: 2h}", allowed("Pay")}},
		"all facts":        {deployer, []string{allowed("Deploy"), "{advance: 30s}", allowed("Deploy"), "{advance: 1s}", denied("Deploy", "POLICY_DENIED")}},
		"another label":    {strings.Replace(deployer, "gold", "iron", 1), []string{denied("Deploy", "POLICY_DENIED")}},
		"another agent":    {strings.Replace(deployer, "name: fixer", "name: other", 1), []string{denied("Deploy", "POLICY_DENIED")}},
		"another way":      {strings.Replace(deployer, "mcp", "rest", 1), []string{denied("Deploy", "POLICY_DENIED")}},
		"another level":    {strings.Replace(deployer, "level: 3", `level: ["1", "2"]`, 1), []string{denied("Deploy", "POLICY_DENIED")}},
	} {
		suite, problems := scenario.Parse(scenario.Source{Name: "s.test.yaml", Text: fmt.Appendf(nil, peopled, row.given, strings.Join(row.steps, "\n  - "))}, nil)
		if suite == nil {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		for _, r := range suite.Play(nil) {
			if !r.OK {
				t.Errorf("%s: step %d %s: want %s, got %s", name, r.Step, r.Action, r.Expected, r.Actual)
			}
		}
	}
}
