package scenario_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Workflows and processes with policies.
const (
	policed = `
policy:
  role: agent
  name: house
  allow:
  - {capability: bash, rate_limit: {max_calls: 2, window_seconds: 3600}}
  - {capability: "mcp:paid:*", budget_limit: {max_usd: 1, period: hourly}}
  ask:
  - {capability: "mcp:fs:write_file"}
  - {capability: "mcp:fs:move", rate_limit: {max_calls: 1, window_seconds: 60}}
  deny: [{capability: "tool:Write"}]
workflow:
  id: policed
  initial: a
  meta: {enforcement: while_running, debug: true, tools: [Nope]}
  states:
    a:
      disallowed_tools: [Nope]
      max_iterations: 4
      allowed_commands_tool: run_it
      allowed_commands: [make]
      on: {SET: a, GO: {target: z, requires_approval: true}, F: {fork: {branches: {one: {initial: o, terminal: o_ok}, two: {initial: t, terminal: t_ok}}, on_complete: z}}, CALL: {invoke: child, on_complete: z}}
    o: {on: {OK: o_ok}}
    t: {on: {OK: t_ok}}
    o_ok: {type: final}
    t_ok: {type: final}
    z: {type: final}
workflows:
- {id: child, initial: c, states: {c: {on: {OK: z}}, z: {type: final}}}
`
	twoPolicies = `
policy:
- {role: agent, name: policy 1, session_budget_usd: 0.5, allow: [{capability: bash, rate_limit: {max_calls: 1, window_seconds: 60}}]}
- {role: agent, session_budget_usd: 0.3, allow: [{capability: bash, rate_limit: {max_calls: 2, window_seconds: 60}}]}
- policy.json
workflow: {id: two, initial: a, states: {a: {on: {GO: z}}, z: {type: final}}}
`
	twoPeople = `
policy: {role: agent, ask: [{capability: bash}]}
workflow:
  id: careful
  initial: a
  meta: {approval: {required: 2, expires_seconds: 3600}}
  states: {a: {on: {GO: z}}, z: {type: final}}
`
	named = `
policy:
- {role: agent, name: house, deny: [{capability: bash}]}
- {role: agent, name: guest, deny: [{capability: "tool:Write"}]}
- policy.json
workflow:
  id: named
  initial: a
  meta: {policy: [house, policy]}
  states: {a: {on: {CALL: {invoke: child, on_complete: b}}}, b: {on: {LOST: {invoke: lost, on_complete: z}, GO: z}}, z: {type: final}}
workflows:
- {id: child, initial: c, meta: {policy: guest}, states: {c: {on: {OK: z}}, z: {type: final}}}
- {id: lost, initial: c, meta: {policy: [guest, nowhere]}, states: {c: {on: {OK: z}}, z: {type: final}}}
`
	noPeople = `
policy: {role: agent, ask: [{capability: bash}]}
workflow:
  id: alone
  initial: a
  meta: {approval: {approvers: {names: [agent]}}}
  states: {a: {on: {GO: z}}, z: {type: final}}
`
	mailing = `
process:
  name: mailing
  initial: q
  session_budget_usd: 0.1
  email_config: {max_emails_per_session: 1, allowed_to: ["*@example.com"]}
  policy: {role: agent, deny: [{capability: "tool:Write"}]}
  states: {q: {question: "Done?", answers: {"yes": {next: null}, again: {next: q}}}}
`
)

// TestPolicies plays cases in which policies judge calls next to the state (S7),
// those that pass and those that must not.
func TestPolicies(t *testing.T) {
	t.Parallel()
	const (
		write = `call: {tool: mcp__fs__write_file, input: {path: a, content: x}}`
		ls    = `call: {tool: Bash, input: {command: make}}`
		buy   = `call: {tool: mcp__paid__search, estimated_cost_usd: "0.4"}`
		mail  = `call: {tool: mcp__resend__send, input: {from: a@example.com, to: b@example.com}}`
	)
	for name, tt := range map[string]struct {
		file, steps string
		fails       string // as in TestPlay
	}{
		"a policy denies":         {policed, `[{call: {tool: Write, input: {file_path: a, content: b}}, expect: {decision: DENY, code: POLICY_DENIED, iterations: 0, approval_id: false}}]`, ""},
		"an unnoticed denial":     {policed, `[{call: {tool: Write, input: {file_path: a, content: b}}}]`, `0 decision code: policy "house" (version 1) denies "tool:Write" (/deny/0)`},
		"the state denies first":  {policed, `[{call: {tool: Nope}, expect: {code: TOOL_DISALLOWED}}, {call: {tool: Bash, input: {command: rm}}, expect: {code: COMMAND_NOT_ALLOWED}}]`, ""},
		"nothing is said of it":   {policed, `[{call: {tool: Read}, expect: {decision: ALLOW, code: null}}]`, ""},
		"own tools":               {policed, `[{call: {tool: mcp__interlock__transition}}]`, ""},
		"any shell is bash":       {policed, `[{` + ls + `}, {call: {tool: run_it, input: {command: make}}}, {call: {tool: sh, input: {command: make}}, expect: {code: RATE_LIMITED}}]`, ""},
		"a window":                {policed, `[{` + ls + `}, {advance: 30m}, {` + ls + `}, {` + ls + `, expect: {code: RATE_LIMITED, iterations: 2}}, {advance: 30m}, {` + ls + `}, {` + ls + `, expect: {code: RATE_LIMITED}}]`, ""},
		"a window, a second less": {policed, `[{` + ls + `}, {advance: 30m}, {` + ls + `}, {advance: 29m59s}, {` + ls + `}]`, `4 decision code: It reopens at 2000-01-01T01:00:00Z`},
		"what is denied is free":  {policed, `[{call: {tool: Bash, input: {command: rm}}, expect: {decision: DENY}}, {` + ls + `}, {` + ls + `}]`, ""},
		"a limit of the state":    {policed, `[{call: {tool: Read}}, {call: {tool: Read}}, {call: {tool: Read}}, {call: {tool: Read}}, {` + write + `, expect: {code: MAX_ITERATIONS}}]`, ""},

		"a question":               {policed, `[{` + write + `, expect: {decision: ASK, code: APPROVAL_REQUIRED, approval_id: true, iterations: 0, status: RUNNING, events: []}}]`, ""},
		"an unnoticed question":    {policed, `[{` + write + `}]`, `0 decision code: Of it, approval apr_1 is pending: 0 of 1`},
		"a repeat":                 {policed, `[{` + write + `, expect: {decision: ASK}}, {call: {input: {content: x, path: a}, tool: mcp__fs__write_file}, expect: {decision: ASK, code: APPROVAL_PENDING, approval_id: true}}]`, ""},
		"approved, once":           {policed, `[{` + write + `, expect: {decision: ASK}}, {approve: {by: alice}, expect: {rejected: null, approval_id: false, state: a}}, {` + write + `, expect: {decision: ALLOW, code: null, approval_id: false, iterations: 1}}, {` + write + `, expect: {code: APPROVAL_REQUIRED}}]`, ""},
		"other input":              {policed, `[{` + write + `, expect: {decision: ASK}}, {approve: {by: alice}}, {call: {tool: mcp__fs__write_file, input: {path: b, content: x}}, expect: {code: APPROVAL_REQUIRED}}]`, ""},
		"another version":          {policed, `[{` + write + `, expect: {decision: ASK}}, {approve: {by: alice}}, {event: SET, expect: {approval_id: false}}, {` + write + `, expect: {code: APPROVAL_REQUIRED}}]`, ""},
		"one that is useless":      {policed, `[{` + write + `, expect: {decision: ASK}}, {event: SET, expect: {approval_id: false}}, {` + write + `, expect: {decision: ASK}}, {approve: {by: alice}}, {` + write + `}]`, ""},
		"rejected":                 {policed, `[{` + write + `, expect: {decision: ASK}}, {reject: {by: bob, note: not there}, expect: {approval_id: false}}, {` + write + `, expect: {decision: DENY, code: POLICY_DENIED, approval_id: false}}]`, ""},
		"an unnoticed rejection":   {policed, `[{` + write + `, expect: {decision: ASK}}, {reject: {by: bob, note: not there}}, {` + write + `}]`, `2 decision code: was rejected by "bob" ("not there")`},
		"by who has asked":         {policed, `[{` + write + `, expect: {decision: ASK}}, {approve: {by: agent}, expect: {rejected: APPROVER_IS_ASKER, approval_id: true}}]`, ""},
		"edited":                   {policed, `[{` + write + `, expect: {decision: ASK}}, {approve: {by: alice, edited_data: {path: b}}, expect: {rejected: NOT_EDITABLE}}]`, ""},
		"expired":                  {policed, `[{` + write + `, expect: {decision: ASK}}, {advance: 24h, expect: {approval_id: false, events: []}}, {approve: {by: alice}, expect: {rejected: ALREADY_DECIDED}}, {` + write + `, expect: {code: APPROVAL_REQUIRED}}]`, ""},
		"two questions":            {policed, `[{` + write + `, expect: {decision: ASK}}, {call: {tool: mcp__fs__write_file}, expect: {decision: ASK}}, {approve: {by: alice}}, {` + write + `}, {call: {tool: mcp__fs__write_file}, expect: {code: APPROVAL_PENDING}}, {approve: {by: alice}}, {call: {tool: mcp__fs__write_file}}]`, ""},
		"other calls wait for no":  {policed, `[{` + write + `, expect: {decision: ASK}}, {call: {tool: Read}, expect: {approval_id: false}}, {advance: 1s, expect: {approval_id: true}}]`, ""},
		"a limit of what is asked": {policed, `[{call: {tool: mcp__fs__move}, expect: {decision: ASK}}, {approve: {by: alice}}, {call: {tool: mcp__fs__move}}, {call: {tool: mcp__fs__move}, expect: {decision: DENY, code: RATE_LIMITED}}, {advance: 60s}, {call: {tool: mcp__fs__move}, expect: {decision: ASK}}]`, ""},
		"a grant is kept":          {policed, `[{call: {tool: mcp__fs__move}, expect: {decision: ASK}}, {call: {tool: mcp__fs__move, input: {x: 1}}, expect: {decision: ASK}}, {approve: {by: alice}}, {approve: {by: alice}}, {call: {tool: mcp__fs__move}}, {call: {tool: mcp__fs__move, input: {x: 1}}, expect: {code: RATE_LIMITED}}, {advance: 1m}, {call: {tool: mcp__fs__move, input: {x: 1}}}]`, ""},
		"a parked run":             {policed, `[{` + write + `, expect: {decision: ASK}}, {event: GO}, {call: {tool: Read}, expect: {approval_id: true}}, {` + write + `, expect: {code: APPROVAL_REQUIRED}}, {approve: {by: alice}, expect: {state: z}}]`, ""},
		"after the end":            {policed, `[{event: GO}, {approve: {by: alice}}, {call: {tool: Write}, expect: {code: POLICY_DENIED}}]`, ""},
		"while paused":             {policed, `[{pause: {}}, {call: {tool: Write}, expect: {code: POLICY_DENIED}}, {call: {tool: Nope}, expect: {code: NOT_ENFORCED}}]`, ""},
		"in a branch":              {policed, `[{event: F}, {branch: one}, {branch: two}, {` + write + `, expect: {decision: ASK}}, {branch: one, expect: {approval_id: false}}, {` + write + `, expect: {code: APPROVAL_REQUIRED}}]`, ""},
		"in a child":               {policed, `[{event: CALL}, {call: {tool: Write}, expect: {code: POLICY_DENIED}}, {` + write + `, expect: {decision: ASK}}, {approve: {by: alice}}, {` + write + `}, {event: OK, expect: {state: z}}]`, ""},
		"two people":               {twoPeople, `[{call: {tool: Bash}, expect: {decision: ASK}}, {approve: {by: alice}, expect: {approval_id: true}}, {call: {tool: Bash}, expect: {code: APPROVAL_PENDING}}, {approve: {by: alice}, expect: {rejected: ALREADY_VOTED}}, {approve: {by: bob}}, {call: {tool: Bash}}]`, ""},
		"two people are too slow":  {twoPeople, `[{call: {tool: Bash}, expect: {decision: ASK}}, {approve: {by: alice}}, {advance: 1h}, {approve: {by: bob}, expect: {rejected: ALREADY_DECIDED}}]`, ""},
		"nobody":                   {noPeople, `[{call: {tool: Bash}, expect: {decision: DENY, code: POLICY_UNAVAILABLE, approval_id: false}}]`, ""},
		"nobody, unnoticed":        {noPeople, `[{call: {tool: Bash}}]`, "0 decision code: No approver can be asked: the approval needs 1 approvals"},

		"named by the workflow":         {named, `[{call: {tool: Bash}, expect: {code: POLICY_DENIED}}, {call: {tool: Write}}, {event: CALL}, {call: {tool: Bash}, expect: {code: POLICY_DENIED}}, {call: {tool: Write}, expect: {code: POLICY_DENIED}}]`, ""},
		"named and not there":           {named, `[{event: CALL}, {event: OK}, {event: LOST}, {call: {tool: Read}, expect: {code: POLICY_UNAVAILABLE}}, {event: OK, expect: {state: z}}, {call: {tool: Bash}, expect: {code: POLICY_DENIED}}]`, ""},
		"a budget":                      {policed, `[{` + buy + `}, {report: {tool: mcp__paid__search, cost_usd: "0.9"}}, {` + buy + `, expect: {code: BUDGET_EXCEEDED}}, {advance: 59m59s}, {` + buy + `, expect: {code: BUDGET_EXCEEDED}}, {advance: 1s}, {` + buy + `}]`, ""},
		"a budget, unnoticed":           {policed, `[{report: {tool: mcp__paid__search, cost_usd: "1.000000"}}, {call: {tool: mcp__paid__search}}]`, "1 decision code: 1 USD in a UTC hour"},
		"what is left of it":            {policed, `[{report: {tool: mcp__paid__search, cost_usd: "0.999999"}}, {call: {tool: mcp__paid__search}}]`, ""},
		"reserved":                      {policed, `[{` + buy + `}, {` + buy + `}, {` + buy + `, expect: {code: BUDGET_EXCEEDED}}, {report: {tool: mcp__paid__search}}, {` + buy + `, expect: {code: BUDGET_EXCEEDED}}, {report: {tool: mcp__paid__search, ok: false}}, {` + buy + `}]`, ""},
		"too much alone":                {policed, `[{call: {tool: mcp__paid__search, estimated_cost_usd: "1.1"}, expect: {code: BUDGET_EXCEEDED}}]`, ""},
		"the period of the call":        {policed, `[{` + buy + `}, {advance: 1h}, {report: {tool: mcp__paid__search, cost_usd: "1"}}, {` + buy + `}]`, ""},
		"a failed call costs":           {policed, `[{` + buy + `}, {report: {tool: mcp__paid__search, ok: false, cost_usd: "1"}}, {` + buy + `, expect: {code: BUDGET_EXCEEDED}}]`, ""},
		"a call of another entry":       {policed, `[{` + buy + `}, {event: SET}, {report: {tool: mcp__paid__search, cost_usd: "0"}}, {` + buy + `}, {` + buy + `}]`, ""},
		"another tool's cost":           {policed, `[{report: {tool: Read, cost_usd: "5"}}, {report: {tool: Write, cost_usd: "5"}}, {` + buy + `}]`, ""},
		"a session's cost":              {mailing, `[{report: {tool: Read, cost_usd: "0.05"}}, {call: {tool: Read}}, {report: {tool: Bash, cost_usd: "0.05"}}, {call: {tool: Read}, expect: {code: BUDGET_EXCEEDED}}, {advance: 720h}, {call: {tool: Bash}, expect: {code: BUDGET_EXCEEDED}}, {answer: yes}]`, ""},
		"a process's own policy":        {mailing, `[{call: {tool: Write}, expect: {code: POLICY_DENIED}}, {answer: again}, {call: {tool: Write}, expect: {code: POLICY_DENIED}}]`, ""},
		"a process that is over":        {mailing, `[{answer: yes}, {call: {tool: Write}, expect: {code: POLICY_DENIED}}]`, ""},
		"both":                          {"policy: {role: agent, deny: [{capability: bash}]}\n" + strings.TrimPrefix(mailing, "\n"), `[{call: {tool: Bash}, expect: {code: POLICY_DENIED}}, {call: {tool: Write}, expect: {code: POLICY_DENIED}}]`, ""},
		"a condition":                   {"policy: {role: agent, deny: [{capability: bash, when: {/command: ls}}]}\n" + strings.TrimPrefix(mailing, "\n"), `[{call: {tool: Bash, input: {command: ls}}, expect: {code: POLICY_DENIED}}, {call: {tool: Bash, input: {command: 1}}, expect: {code: CALL_UNCLEAR}}]`, ""},
		"emails":                        {mailing, `[{` + mail + `}, {` + mail + `, expect: {code: EMAIL_DENIED}}]`, ""},
		"an email that failed":          {mailing, `[{` + mail + `}, {report: {tool: mcp__resend__send, ok: false}}, {` + mail + `, expect: {code: EMAIL_DENIED}}]`, ""},
		"to whom":                       {mailing, `[{call: {tool: resend-email, input: {to: [b@example.com, c@example.org]}}, expect: {code: EMAIL_DENIED}}, {` + mail + `}]`, ""},
		"the strictest of several":      {twoPolicies, `[{call: {tool: Bash}}, {call: {tool: Bash}, expect: {code: RATE_LIMITED}}, {report: {tool: Read, cost_usd: "0.3"}}, {call: {tool: Read}, expect: {code: BUDGET_EXCEEDED}}]`, ""},
		"the one that denied, unseen":   {twoPolicies, `[{call: {tool: Bash}}, {call: {tool: Bash}}]`, `1 decision code: policy "policy 1" (version 1) allows 1 call`},
		"a cost is charged once":        {twoPolicies, `[{report: {tool: Read, cost_usd: "0.29"}}, {call: {tool: Read}}]`, ""},
		"what was decided for the best": {policed, `[{` + buy + `}, {report: {tool: mcp__paid__search, cost_usd: "0"}}, {report: {tool: mcp__paid__search, cost_usd: "0.7"}}, {` + buy + `, expect: {code: BUDGET_EXCEEDED}}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite, problems := parse(strings.TrimPrefix(tt.file, "\n") + "cases: [{name: x, steps: " + tt.steps + "}]\n")
			if suite == nil {
				t.Fatal(problems)
			}
			r := suite.Play(nil)[0]
			head, says, _ := strings.Cut(tt.fails, ": ")
			got := ""
			if !r.OK {
				got = strings.Join(append([]string{fmt.Sprint(r.Step)}, r.Different...), " ")
			}
			if r.OK != (got == "") || got != head || !strings.Contains(r.Message, says) {
				t.Errorf("want %q, got %q: %s: expected %s, actual %s", tt.fails, got, r.Message, r.Expected, r.Actual)
			}
		})
	}
}

// TestDeployGate: the deploy gate of the process language with its policy, as it is
// written: fifty commands an hour, writes that ask, and a no that blocks.
func TestDeployGate(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("../process/testdata/deploy-gate.json")
	if err != nil {
		t.Fatal(err)
	}
	commands := strings.Repeat("  - {call: {tool: Bash, input: {command: kubectl get pods}}}\n", 50)
	suite, problems := parse("process: " + string(src) + `
cases:
- name: fifty commands
  steps:
` + commands + `  - {call: {tool: Bash, input: {command: kubectl get pods}}, expect: {decision: DENY, code: RATE_LIMITED}}
  - {advance: 59m59s}
  - {call: {tool: Bash, input: {command: kubectl get pods}}, expect: {decision: DENY, code: RATE_LIMITED}}
  - {advance: 1s}
` + commands + `- name: writes ask
  steps:
  - {answer: yes, expect: {state: migration-check}}
  - {call: {tool: mcp__filesystem__write_file, input: {path: a}}, expect: {decision: ASK, code: APPROVAL_REQUIRED, approval_id: true}}
  - {approve: {by: agent}, expect: {rejected: APPROVER_IS_ASKER}}
  - {approve: {by: alice}}
  - {call: {tool: mcp__filesystem__write_file, input: {path: a}}, expect: {decision: ALLOW}}
  - {call: {tool: mcp__filesystem__write_file, input: {path: a}}, expect: {decision: ASK}}
  - {call: {tool: mcp__filesystem__read_file, input: {path: a}}, expect: {decision: ALLOW}}
- name: no blocks
  steps:
  - {answer: no, expect: {status: BLOCKED}}
  - {call: {tool: Bash, input: {command: ls}}, expect: {code: RUN_NOT_ACTIVE}}
`)
	if suite == nil {
		t.Fatal(problems)
	}
	for _, r := range suite.Play(nil) {
		if !r.OK {
			t.Errorf("%s: step %d: %s: want %s, got %s", r.Case, r.Step, r.Action, r.Expected, r.Actual)
		}
	}
}

// A case begins when it says, and its time goes on from there.
func TestGivenAt(t *testing.T) {
	t.Parallel()
	suite, problems := parse(`
policy:
  role: agent
  windows: {work: {zone: Europe/Berlin, days: [mon-thu], from: "09:00", to: "16:00"}}
  deny: [{capability: bash, unless: {time: work}}]
workflow: {id: w, initial: a, states: {a: {on: {GO: z}}, z: {type: final}}}
cases:
- name: before work on a Monday
  given: {at: 2026-11-30T07:59:00Z}
  steps:
  - {call: {tool: Bash, input: {command: ls}}, expect: {decision: DENY, code: POLICY_DENIED}}
  - {advance: 1m}
  - {call: {tool: Bash, input: {command: ls}}}
- {name: without it, steps: [{call: {tool: Bash, input: {command: ls}}, expect: {decision: DENY, code: POLICY_DENIED}}]}
`)
	if suite == nil {
		t.Fatal(problems)
	}
	for _, r := range suite.Play(nil) {
		if !r.OK {
			t.Errorf("%+v", r)
		}
	}
}
