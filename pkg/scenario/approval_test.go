package scenario_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/scenario"
)

// Workflows and a process that ask humans.
const (
	asking = `
workflow:
  id: asking
  initial: a
  context: {ready: true}
  meta: {enforcement: while_running, debug: true}
  guards: {ready: {field: ready, op: eq, value: true}}
  states:
    a: {allowed_tools: [Read], on: {GO: {target: b, guard: ready, requires_approval: true, approval_message: "Go?"}, PLAIN: b}}
    b: {on: {END: {target: z, requires_approval: true}}}
    z: {type: final}
`
	quorum = `
workflow:
  id: quorum
  initial: a
  meta:
    approval_mode: ui
    approval:
      required: 2
      deny_threshold: 2
      expires_seconds: 3600
      approvers: {roles: [approver], names: [olga]}
      escalation: {after_seconds: 600, approvers: {roles: [manager]}}
  states: {a: {on: {GO: {target: z, requires_approval: true}}}, z: {type: final}}
`
	nobody = `
workflow:
  id: nobody
  initial: a
  meta: {approval_mode: ui, approval: {approvers: {names: [agent]}}}
  states: {a: {on: {GO: {target: z, requires_approval: true}}}, z: {type: final}}
`
	branches = `
workflow:
  id: branches
  initial: a
  meta: {approval_mode: ui}
  states:
    a: {on: {F: {fork: {branches: {one: {initial: o, terminal: o_ok}, two: {initial: t, terminal: t_ok}}, on_complete: z, on_fail: z, join: any}}}}
    o: {on: {OK: {target: o_ok, requires_approval: true}}}
    t: {on: {OK: {target: t_ok, requires_approval: true}, FREE: t_ok}}
    o_ok: {type: final}
    t_ok: {type: final}
    z: {type: final}
`
	calling = `
workflow:
  id: calling
  initial: a
  meta: {enforcement: while_running}
  states: {a: {on: {CALL: {invoke: asked, on_complete: z}}}, z: {type: final}}
workflows:
- id: asked
  initial: c
  meta: {enforcement: while_running}
  states: {c: {on: {OK: {target: c_ok, requires_approval: true}}}, c_ok: {type: final}}
`
	gate = `
process:
  name: gate
  initial: env
  states:
    env: {question: "Is it right?", answers: {"yes": {next: tests}, "no": {next: null, action: block}, "n/a": {next: tests, action: warn}}}
    tests: {question: "Do they pass?", answers: {"yes": {next: null, action: complete}, ask: {next: over, action: notify_human}}}
    over: {}
`
)

// TestApprovals plays cases in which humans are asked, those that pass and those
// that must not (S8, S9).
func TestApprovals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, steps string
		fails       string // as in TestPlay
	}{
		"parked":                     {asking, `[{event: GO, data: {n: 1}, expect: {state: a, status: AWAITING_APPROVAL, approval_id: true, transition_count: 0, events: [approval.parked]}}]`, ""},
		"nobody is asked":            {asking, `[{event: PLAIN, expect: {state: b, approval_id: false}}]`, ""},
		"parked is let through":      {asking, `[{event: GO}, {event: GO, expect: {approval_id: true}}]`, ""},
		"every other event":          {asking, `[{event: GO}, {event: PLAIN, expect: {rejected: APPROVAL_PENDING, state: a}}]`, ""},
		"an unnoticed wait":          {asking, `[{event: GO}, {event: PLAIN}]`, "1 rejected: event \"GO\" is parked"},
		"tools keep working":         {asking, `[{event: GO}, {call: {tool: Read}}, {call: {tool: Write}, expect: {code: TOOL_NOT_ALLOWED}}]`, ""},
		"approved":                   {asking, `[{event: GO, data: {n: 1}}, {approve: {by: alice}, expect: {state: b, status: RUNNING, approval_id: false, context: {n: 1}, events: [transitioned]}}]`, ""},
		"approved, to the end":       {asking, `[{event: PLAIN}, {event: END}, {approve: {by: alice, note: fine}, expect: {state: z, status: COMPLETED, events: [transitioned, completed]}}]`, ""},
		"rejected":                   {asking, `[{event: GO, data: {n: 1}}, {reject: {by: bob, note: no}, expect: {state: a, status: RUNNING, context: {ready: true}, events: [approval.rejected]}}, {event: PLAIN}]`, ""},
		"an unnoticed rejection":     {asking, `[{event: GO}, {reject: {by: bob}, expect: {state: b}}]`, "1 state"},
		"by who has asked":           {asking, `[{event: GO}, {approve: {by: agent}, expect: {rejected: APPROVER_IS_ASKER, status: AWAITING_APPROVAL}}, {reject: {by: Agent}, expect: {rejected: APPROVER_IS_ASKER}}]`, ""},
		"by who has asked, unseen":   {asking, `[{event: GO}, {approve: {by: agent}}]`, "1 rejected: another approver must decide"},
		"by another role":            {asking, `[{event: GO}, {approve: {by: eve, role: operator}, expect: {rejected: APPROVER_NOT_ELIGIBLE}}, {approve: {by: eve, role: agent}, expect: {rejected: APPROVER_NOT_ELIGIBLE}}]`, ""},
		"twice":                      {asking, `[{event: GO}, {approve: {by: alice}}, {approve: {by: bob}, expect: {rejected: ALREADY_DECIDED, state: b, transition_count: 1}}]`, ""},
		"nothing to decide":          {asking, `[{approve: {by: alice}, expect: {rejected: NOT_PARKED}}]`, ""},
		"edited data":                {asking, `[{event: GO, data: {n: 1}}, {approve: {by: alice, edited_data: {m: 2}}, expect: {context: {ready: true, m: 2}}}, {event: END, expect: {context: {n: 1}}}]`, "2 context"},
		"edited to what is reserved": {asking, `[{event: GO}, {approve: {by: alice, edited_data: {_m: 2}}, expect: {rejected: INVALID_EDIT, status: AWAITING_APPROVAL}}]`, ""},
		"expired":                    {asking, `[{event: GO}, {advance: 23h59m59s, expect: {status: AWAITING_APPROVAL}}, {advance: 1s, expect: {status: RUNNING, state: a, events: [approval.expired]}}, {approve: {by: alice}, expect: {rejected: ALREADY_DECIDED}}]`, ""},
		"asked again":                {asking, `[{event: GO}, {reject: {by: bob}}, {event: GO}, {approve: {by: bob}, expect: {state: b}}]`, ""},
		"paused":                     {asking, `[{event: GO}, {pause: {}, expect: {status: PAUSED, approval_id: true}}, {approve: {by: alice}, expect: {state: b, status: PAUSED}}, {resume: {}, expect: {status: RUNNING}}]`, ""},
		"paused, and resumed":        {asking, `[{event: GO}, {pause: {}}, {resume: {}, expect: {status: AWAITING_APPROVAL}}, {approve: {by: alice}, expect: {state: b}}]`, ""},
		"forced away":                {asking, `[{event: GO}, {force_state: {state: b}, expect: {status: RUNNING, approval_id: false}}, {approve: {by: alice}, expect: {rejected: ALREADY_DECIDED}}]`, ""},

		"a quorum":                 {quorum, `[{event: GO}, {approve: {by: alice}, expect: {status: AWAITING_APPROVAL}}, {approve: {by: alice}, expect: {rejected: ALREADY_VOTED}}, {approve: {by: olga, role: operator}, expect: {status: COMPLETED}}]`, ""},
		"a threshold":              {quorum, `[{event: GO}, {reject: {by: alice}}, {approve: {by: bob}}, {reject: {by: carol}, expect: {status: RUNNING, events: [approval.rejected]}}]`, ""},
		"an escalation":            {quorum, `[{event: GO}, {approve: {by: max, role: manager}, expect: {rejected: APPROVER_NOT_ELIGIBLE}}, {advance: 10m, expect: {events: []}}, {approve: {by: max, role: manager}}, {approve: {by: alice}, expect: {status: COMPLETED}}]`, ""},
		"expired with one of two":  {quorum, `[{event: GO}, {approve: {by: alice}}, {advance: 2h, expect: {status: RUNNING}}]`, ""},
		"terms that nobody can do": {nobody, `[{event: GO, expect: {status: RUNNING, state: a, events: [approval.parked, approval.cancelled]}}]`, ""},

		"a branch is parked":       {branches, `[{event: F}, {event: OK, expect: {state: o, status: AWAITING_APPROVAL}}, {branch: two, expect: {approval_id: false}}, {event: FREE, expect: {state: z}}, {approve: {by: alice}, expect: {rejected: ALREADY_DECIDED}}]`, ""},
		"the caller's own first":   {branches, `[{event: F}, {event: OK}, {branch: two}, {event: OK}, {reject: {by: bob}, expect: {state: t, approval_id: false}}, {approve: {by: bob}, expect: {state: z}}]`, ""},
		"a child run is parked":    {calling, `[{event: CALL}, {event: OK, expect: {state: c, status: AWAITING_APPROVAL}}, {advance: 1s, expect: {status: WAITING, approval_id: true}}, {approve: {by: alice}, expect: {state: z, status: COMPLETED}}]`, ""},
		"a child run is cancelled": {calling, `[{event: CALL}, {event: OK}, {pause: {}}, {resume: {}}, {reject: {by: bob}, expect: {state: c, status: RUNNING}}]`, ""},

		"answers":               {gate, `[{answer: yes, expect: {state: tests, transition_count: 1, legal_events: [yes, ask]}}, {answer: yes, expect: {status: COMPLETED}}]`, ""},
		"an answer blocks":      {gate, `[{answer: no, note: two are missing, expect: {status: BLOCKED, events: [transitioned, blocked], context: {rationale: two are missing}}}, {answer: yes, expect: {rejected: RUN_NOT_RUNNING}}, {call: {tool: Read}, expect: {code: RUN_NOT_ACTIVE}}]`, ""},
		"a warning":             {gate, `[{answer: n/a, expect: {state: tests, events: [transitioned, warned]}}]`, ""},
		"an unknown answer":     {gate, `[{answer: maybe, expect: {rejected: UNKNOWN_EVENT, state: env}}]`, ""},
		"an unnoticed answer":   {gate, `[{answer: Yes}]`, "0 rejected: Valid answers: \"yes\", \"no\", \"n/a\""},
		"a wrong answer":        {gate, `[{answer: yes, expect: {state: env}}]`, "0 state"},
		"an event is an answer": {gate, `[{event: yes, expect: {state: tests}}]`, ""},
		"a human is notified":   {gate, `[{answer: yes}, {answer: ask, expect: {status: AWAITING_APPROVAL, approval_id: true}}, {answer: yes, expect: {rejected: APPROVAL_PENDING}}, {approve: {by: alice}, expect: {state: over, status: COMPLETED}}]`, ""},
		"a human rejects":       {gate, `[{answer: yes}, {answer: ask}, {approve: {by: alice, edited_data: {x: 1}}, expect: {rejected: NOT_EDITABLE}}, {reject: {by: bob}, expect: {status: BLOCKED}}]`, ""},
		"a human is slow":       {gate, `[{answer: yes}, {answer: ask}, {advance: 24h, expect: {status: RUNNING, state: tests}}, {answer: yes}]`, ""},
		"calls without policy":  {gate, `[{call: {tool: Bash, input: {command: ls}}}, {answer: yes}]`, ""},
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

// TestReferencePipelineParks: the reference pipeline of the workflow language, with
// approvals by humans: it waits in deploying for a second person (S9.1, S9.3).
func TestReferencePipelineParks(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("../workflow/testdata/examples/complete_reference.json")
	if err != nil {
		t.Fatal(err)
	}
	const mode = `"capture_output": true`
	if !strings.Contains(string(src), mode) {
		t.Fatal("the reference pipeline has another meta")
	}
	pipeline := strings.Replace(string(src), mode, mode+`, "approval_mode": "ui"`, 1)
	suite, problems := scenario.Parse(scenario.Source{Name: "s.test.yaml", Text: []byte(`workflow: pipeline.json
cases:
- name: parks
  steps:
  - {event: READY, data: {test_result: pass}}
  - {event: EVALUATE, expect: {state: deploying}}
  - {event: DONE, expect: {state: deploying, status: AWAITING_APPROVAL, approval_id: true}}
  - {call: {tool: Bash, input: {command: kubectl get pods}}}
  - {event: FAIL, expect: {rejected: APPROVAL_PENDING}}
  - {approve: {by: agent}, expect: {rejected: APPROVER_IS_ASKER, state: deploying}}
  - {approve: {by: alice}, expect: {state: complete, status: COMPLETED, approval_id: false}}
`)}, func(name string) (scenario.Source, error) {
		return scenario.Source{Name: name, Text: []byte(pipeline)}, nil
	})
	if suite == nil {
		t.Fatal(problems)
	}
	if r := suite.Play(nil)[0]; !r.OK {
		t.Errorf("step %d: %s: want %s, got %s", r.Step, r.Action, r.Expected, r.Actual)
	}
}
