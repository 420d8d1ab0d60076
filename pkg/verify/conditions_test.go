package verify_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/verify"
)

// TestConditions: calls are explored by the classes of values that conditions distinguish (S21.10, S21.20).
func TestConditions(t *testing.T) {
	t.Parallel()
	const (
		mailNever = `{never: {tool: "mcp__mail__send"}}`
		mailAsked = `{never: {tool: "mcp__mail__send"}, unless: {approval: {by: approver}}}`
		large     = `{never: {tool: "mcp__mail__send", when: {"/n": {gt: 1000}}}}`
		largeText = `{never: {tool: "mcp__mail__send", when: {"/n": {gt: "1000"}}}}`
		outside   = `{never: {tool: "mcp__mail__send", when: {"/to/*": {like: "*@evil.org"}}}}`
		badHost   = `{never: {tool: "mcp__mail__send", when: {host: ["evil.org"]}}}`
	)
	state := func(only string) string {
		return `{id: w, initial: a, meta: {enforcement: always, tools: [mcp__mail__send]}, states: {
			a: {allowed_tools: [mcp__mail__send], calls: [` + only + `], on: {X: done}}, done: {type: final}}}`
	}
	calls := func(only string) string { return state(`{tool: mcp__mail__send, only: ` + only + `}`) }
	policy := func(rest string) string { return `{name: p, role: agent, ` + rest + `}` }
	deny := func(rest string) string { return policy(`deny: [{capability: "mcp:mail:send", ` + rest + `}]`) }
	ask := func(rest string) string { return policy(`ask: [{capability: "mcp:mail:send", ` + rest + `}]`) }
	for name, c := range map[string]struct {
		workflow, policy, property string
		want                       verify.Verdict
		says                       string
	}{
		"an allowance":           {release, policy(`default: deny, allow: [{capability: "mcp:mail:send", when: {"/to": "a"}}]`), mailNever, verify.Refuted, `"to":"a"`},
		"no possible allowance":  {release, policy(`default: deny, allow: [{capability: "mcp:mail:send", when: {"/n": {gt: 2, lt: 1}}}]`), mailNever, verify.Proved, ""},
		"a denial":               {release, deny(`when: {"/to": "a"}`), mailNever, verify.Refuted, `"to"`},
		"denials of all":         {release, policy(`deny: [{capability: "mcp:mail:send", when: {"/n": {lt: 5}}}, {capability: "mcp:mail:send", when: {"/n": {gte: 5}}}]`), mailNever, verify.Proved, ""},
		"denials of all but one": {release, policy(`deny: [{capability: "mcp:mail:send", when: {"/n": {lt: 5}}}, {capability: "mcp:mail:send", when: {"/n": {gt: 5}}}]`), mailNever, verify.Refuted, `"n":5`},
		"a decision point":       {release, deny(`ask_pdp: {url: "https://pdp.example.com/"}`), mailNever, verify.Undecided, "decision point"}, // S21.19
		"a question for some":    {release, ask(`when: {"/to": "a"}`), mailAsked, verify.Refuted, "mcp__mail__send"},
		"questions for all":      {release, ask(`unless: {"/n": {gt: 3, lt: 2}}`), mailAsked, verify.Proved, ""},
		"a denial without conditions beside it": {
			release, policy(`default: deny, deny: [{capability: "mcp:mail"}], ask: [{capability: "mcp:mail:send", when: {"/to": "a"}}]`),
			mailNever, verify.Proved, "",
		},
		"a question without conditions, and a denial": {
			release, policy(`ask: [{capability: "mcp:mail:send"}], deny: [{capability: "mcp:mail:send", when: {"/to": "a"}}]`),
			mailAsked, verify.Proved, "",
		},
		"the same question, not asked for": {
			release, policy(`ask: [{capability: "mcp:mail:send"}], deny: [{capability: "mcp:mail:send", when: {"/to": "a"}}]`),
			mailNever, verify.Refuted, `decision":"ASK"`,
		},
		"calls of a state":           {calls(`{"/to": "a"}`), "", mailNever, verify.Refuted, `"to":"a"`},
		"calls that none meets":      {state(`{tool: mcp__mail__send, only: {"/n": {gt: 5}}}, {tool: "mcp__mail__*", only: {"/n": {lt: 5}}}`), "", mailNever, verify.Proved, ""},
		"calls against a policy":     {calls(`{"/n": {lte: 100}}`), deny(`unless: {"/n": {gt: 100}}`), mailNever, verify.Proved, ""},
		"calls of another tool":      {state(`{tool: mcp__mail__send, only: {"/to": "a"}}`), "", `{never: {tool: "mcp__mail__drop"}}`, verify.Proved, ""},
		"large calls, bounded":       {calls(`{"/n": {lte: 1000}}`), "", large, verify.Proved, ""},
		"large calls, unbounded":     {calls(`{"/n": {lte: 1001}}`), "", large, verify.Refuted, `"n":1001`},
		"large calls, in the policy": {release, deny(`unless: {"/n": {lte: 1000}}`), large, verify.Proved, ""},
		"large calls, denied above":  {release, deny(`when: {"/n": {gt: 1000}}`), large, verify.Proved, ""},
		"large calls, asked above":   {release, ask(`when: {"/n": {gt: 1000}}`), large, verify.Refuted, `decision":"ASK"`},
		"of another kind":            {calls(`{"/n": {lte: 1000}}`), "", largeText, verify.Undecided, ""},
		"in doubt":                   {calls(`{"/m": 1}`), "", large, verify.Refuted, `"m":1`},
		"a list":                     {calls(`{"/to/*": ["a@example.com", "b@example.com"]}`), "", outside, verify.Proved, ""},
		"one of a list":              {calls(`{"/to/*": {each: some, in: ["a@example.com"]}}`), "", outside, verify.Refuted, "evil.org"},
		"a facet, the same":          {release, deny(`when: {host: ["evil.org"]}`), badHost, verify.Proved, ""},
		"a facet, another":           {release, deny(`when: {host: ["evil.com"]}`), badHost, verify.Undecided, "it depends on host"},
		"a facet in two stances":     {release, policy(`deny: [{capability: "mcp:mail:send", unless: {host: ["a.org"]}}, {capability: "mcp:mail:send", when: {host: ["a.org"]}}]`), mailNever, verify.Undecided, ""},
		"a window":                   {release, policy(`windows: {w: {days: [mon-fri], zone: UTC, from: "09:00", to: "17:00"}}, deny: [{capability: "mcp:mail:send", unless: {time: w}}, {capability: "mcp:mail:send", when: {time: w}}]`), mailNever, verify.Undecided, ""},
		"files elsewhere":            {calls(`{writes: ["src/**"]}`), "", `{never: {tool: "mcp__mail__send", when: {writes: ["secrets/**"]}}}`, verify.Proved, ""},
		"files there":                {calls(`{writes: ["src/**"]}`), "", `{never: {tool: "mcp__mail__send", when: {writes: ["**/*.pem"]}}}`, verify.Undecided, ""},
		"files that are both":        {release, deny(`unless: {writes: ["src/**"]}`), `{never: {tool: "mcp__mail__send", when: {writes: ["src"]}}}`, verify.Undecided, ""},
		"hosts elsewhere":            {calls(`{host: ["*.a.org"]}`), "", `{never: {tool: "mcp__mail__send", when: {host: ["a.org", "*.b.org"]}}}`, verify.Proved, ""},
		"hosts there":                {calls(`{host: ["*.a.org"]}`), "", `{never: {tool: "mcp__mail__send", when: {host: ["*.b.a.org"]}}}`, verify.Undecided, ""},
		"texts elsewhere":            {calls(`{"/to": {like: "*@example.com"}}`), "", `{never: {tool: "mcp__mail__send", when: {"/to": {like: "*@evil.org"}}}}`, verify.Proved, ""},
		"texts there":                {calls(`{"/to": {like: "*@example.com"}}`), "", `{never: {tool: "mcp__mail__send", when: {"/to": {like: "eve@*"}}}}`, verify.Undecided, ""},
		"one text of many":           {calls(`{"/to/*": {each: some, like: "*@example.com"}}`), "", `{never: {tool: "mcp__mail__send", when: {"/to/*": {like: "*@evil.org"}}}}`, verify.Refuted, "evil.org"},
		"no text of many":            {calls(`{"/to/*": {like: "*@example.com"}}`), "", `{never: {tool: "mcp__mail__send", when: {"/to/*": {like: "*@evil.org"}}}}`, verify.Proved, ""},
		"the state":                  {calls(`{state: [b]}`), "", mailNever, verify.Proved, ""},
		"this state":                 {calls(`{state: [a]}`), "", mailNever, verify.Refuted, "mcp__mail__send"},
		"the caller":                 {calls(`{"caller.name": [ann]}`), "", mailNever, verify.Undecided, ""},
		"too many": {calls(`{any: [{host: [a.org]}, {port: [1]}, {scheme: [https]}, {method: [GET]}, {path: ["/a"]}, {writes: [a]}, {reads: [b]}, {files: [c]},
			{recipients: ["a@a.org"]}, {senders: ["b@b.org"]}, {money: 1}, {command: ls}, {"caller.name": ann}]}`), "", mailNever, verify.Undecided, "more than 4096 combinations"},
		"an amount": {release, policy(`default: deny, allow: [{capability: "mcp:mail:send", id: m, amount_limit: {of: /n, max: 10, period: daily}, when: {"/n": {gte: 0}}}]`), mailNever, verify.Refuted, `"n"`},
		"at most":   {strings.Replace(calls(`{"/n": {lte: 5}}`), "on: {X", "max_iterations: 2, on: {X", 1), "", `{at_most: 1, tool: mcp__mail__send, when: {"/n": {gt: 5}}}`, verify.Proved, ""},
		"more":      {strings.Replace(calls(`{"/n": {lte: 5}}`), "on: {X", "max_iterations: 2, on: {X", 1), "", `{at_most: 1, tool: mcp__mail__send, when: {"/n": {lt: 5}}}`, verify.Refuted, `"n":`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var policies []string
			if c.policy != "" {
				policies = []string{c.policy}
			}
			m := model(t, c.workflow, policies...)
			got := verify.Check(m, properties(t, m, "{p: "+c.property+"}"), verify.Options{}).Results[0]
			said := got.Reason
			if got.Counterexample != nil {
				said += string(got.Counterexample.Scenario)
			}
			if got.Verdict != c.want || !strings.Contains(said, c.says) {
				t.Errorf("%s, want %s: %s", got.Verdict, c.want, said)
			}
		})
	}
}
