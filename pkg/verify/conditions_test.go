package verify_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/verify"
)

// TestConditions: conditions are not explored (S21.10), so that a call that one of them decides about may be
// allowed and may be denied.
func TestConditions(t *testing.T) {
	t.Parallel()
	const mailNever, mailAsked = `{never: {tool: "mcp__mail__send"}}`, `{never: {tool: "mcp__mail__send"}, unless: {approval: {by: approver}}}`
	const only = `{id: w, initial: a, meta: {enforcement: always, tools: [mcp__mail__send]}, states: {
		a: {allowed_tools: [mcp__mail__send], calls: [{tool: mcp__mail__send, only: {"/to": "a"}}], on: {X: done}}, done: {type: final}}}`
	for name, c := range map[string]struct {
		workflow, policy, property string
		want                       verify.Verdict
	}{
		"an allowance": {
			release, `{name: p, role: agent, default: deny, allow: [{capability: "mcp:mail:send", when: {"/to": "a"}}]}`, mailNever, verify.Undecided,
		},
		"a denial":   {release, `{name: p, role: agent, deny: [{capability: "mcp:mail:send", when: {"/to": "a"}}]}`, mailNever, verify.Undecided},
		"a question": {release, `{name: p, role: agent, ask: [{capability: "mcp:mail:send", when: {"/to": "a"}}]}`, mailAsked, verify.Undecided},
		"a denial without conditions beside it": {
			release, `{name: p, role: agent, default: deny, deny: [{capability: "mcp:mail"}], ask: [{capability: "mcp:mail:send", when: {"/to": "a"}}]}`,
			mailNever, verify.Proved,
		},
		"a question without conditions, and a denial": {
			release, `{name: p, role: agent, ask: [{capability: "mcp:mail:send"}], deny: [{capability: "mcp:mail:send", when: {"/to": "a"}}]}`,
			mailAsked, verify.Undecided,
		},
		"calls of a state": {only, "", mailNever, verify.Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var policies []string
			if c.policy != "" {
				policies = []string{c.policy}
			}
			m := model(t, c.workflow, policies...)
			if got := verify.Check(m, properties(t, m, "{p: "+c.property+"}"), verify.Options{}).Results[0]; got.Verdict != c.want {
				t.Errorf("%s, want %s: %s", got.Verdict, c.want, got.Reason)
			}
		})
	}
}
