package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/scenario"
)

// Workflows of the cases below.
const (
	// gated has a guard, an approval, safe_next, and a state that limits everything.
	gated = `
workflow:
  id: gated
  initial: a
  meta: {enforcement: while_running, approval_mode: none}
  context: {n: 1, deep: {x: 1, y: [1, 2]}}
  guards: {ready: {field: n, op: gte, value: 2}, named: {field: name, op: exists}}
  states:
    a:
      allowed_tools: [Read, Edit, Bash, mcp__x__write_file]
      max_iterations: 2
      on: {GO: z, SET: a, IF: {target: z, guards: [ready, named]}, ASK: {target: z, requires_approval: true}}
      safe_next: b
    b: {on: {GO: z, BAD: broken}}
    z: {type: final}
    broken: {type: final, outcome: failure}
`
	// kept has the enforcement of every workflow that names none, and a child that has not.
	kept = `
workflow:
  id: kept
  initial: a
  states:
    a: {allowed_tools: [Read], on: {GO: z, BAD: failed, ASK: {target: z, requires_approval: true}, LAX: {invoke: lax, on_complete: z}}}
    z: {type: final}
    failed: {type: final}
workflows:
- {id: lax, initial: c, meta: {enforcement: while_running}, states: {c: {allowed_tools: [Read], on: {OK: c_ok}}, c_ok: {type: final}}}
`
	// caged has a state that only reads, and one that demands a jail.
	caged = `
workflow:
  id: caged
  initial: a
  states:
    a: {allowed_tools: [Read, Bash], on: {GO: b}}
    b: {jail: 2, on: {GO: z}}
    z: {type: final}
`
	// keeping may be paused, and has a child that may not.
	keeping = `
workflow:
  id: keeping
  initial: a
  meta: {enforcement: while_running}
  states:
    a: {on: {CALL: {invoke: strict, on_complete: b}, F: {fork: {branches: {one: {initial: o, terminal: o_ok}, two: {initial: t, terminal: t_ok}}, on_complete: z}}}}
    b: {on: {GO: z}}
    o: {on: {OK: o_ok}}
    t: {on: {CALL: {invoke: strict, on_complete: t2}}}
    t2: {on: {OK: t_ok}}
    o_ok: {type: final}
    t_ok: {type: final}
    z: {type: final}
workflows:
- {id: strict, initial: k, states: {k: {on: {OK: k_ok}}, k_ok: {type: final}}}
`
	// nested forks within a branch, and invokes within another.
	nested = `
workflows:
- id: child
  initial: c
  meta: {enforcement: while_running}
  states: {c: {allowed_tools: [InChild], on: {OK: c_ok, BAD: failed, DEEPER: {invoke: grandchild, on_complete: c_ok, on_fail: failed}}}, c_ok: {type: final}, failed: {type: final}}
- id: grandchild
  initial: g
  meta: {enforcement: while_running}
  states: {g: {allowed_tools: [InGrandchild], on: {OK: g_ok}}, g_ok: {type: final}}
workflow:
  id: nested
  initial: a
  meta: {debug: true, enforcement: while_running}
  interrupts: {ini: {trigger: {file_pattern: "**/*.ini"}, target: h}}
  states:
    a: {on: {F: {fork: {branches: {one: {initial: o, terminal: o_ok}, two: {initial: t, terminal: t_ok}}, on_complete: z, on_fail: y}}, I: {invoke: child, on_complete: z}}}
    o: {on: {G: {fork: {branches: {in: {initial: i, terminal: i_ok}, out: {initial: u, terminal: u_ok}}, on_complete: o_ok, join: any}}}}
    i: {allowed_tools: [InIn], on: {OK: i_ok}}
    u: {allowed_tools: [InOut], on: {OK: u_ok}}
    t: {on: {RUN: {invoke: child, on_complete: t_ok, on_fail: t_bad}, UNKNOWN: {invoke: nobody, on_complete: t_ok}}}
    h: {allowed_tools: [Fix], on: {BACK: $return, OUT: y}}
    o_ok: {type: final}
    i_ok: {type: final}
    u_ok: {type: final}
    t_ok: {type: final}
    t_bad: {type: final, outcome: failure}
    y: {on: {END: z}}
    z: {type: final}
`
)

// TestPlay plays one case after another: those that pass, and those that must
// not, with their messages.
func TestPlay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, steps string
		// fails is "STEP KEYS: TEXT" of a case that must fail: the step, the keys that
		// differ, and a part of the message.
		fails string
	}{
		"an event":                        {gated, `[{event: GO, expect: {state: z, status: COMPLETED, transition_count: 1}}]`, ""},
		"a wrong state":                   {gated, `[{event: GO, expect: {state: a}}]`, "0 state"},
		"the first step that is wrong":    {gated, `[{event: SET}, {event: SET, expect: {transition_count: 3}}, {event: GO, expect: {state: a}}]`, "1 transition_count"},
		"several keys":                    {gated, `[{event: GO, expect: {state: a, status: RUNNING, transition_count: 1}}]`, "0 state status"},
		"an unnoticed refusal":            {gated, `[{event: IF}]`, "0 rejected: guard \"ready\" requires"},
		"an unnoticed denial":             {gated, `[{call: {tool: Write}}]`, "0 decision code: Tool \"Write\" is not allowed"},
		"an unnoticed refusal to pause":   {gated, `[{event: GO}, {pause: {}}]`, "1 rejected: the run is COMPLETED"},
		"only the keys that are named":    {gated, `[{event: IF, expect: {state: a}}, {call: {tool: Write}, expect: {iterations: 0}}]`, ""},
		"not rejected":                    {gated, `[{event: IF, expect: {rejected: null}}]`, "0 rejected"},
		"rejected, and it was not":        {gated, `[{event: GO, expect: {rejected: GUARD_FAILED}}]`, "0 rejected"},
		"another code":                    {gated, `[{event: IF, expect: {rejected: UNKNOWN_EVENT}}]`, "0 rejected"},
		"guards in any order":             {gated, `[{event: IF, expect: {guards: [named, ready]}}]`, ""},
		"a guard too few":                 {gated, `[{event: IF, expect: {guards: [named]}}]`, "0 guards"},
		"a guard too many":                {gated, `[{event: IF, data: {n: 5}, expect: {guards: [named, ready, other]}}]`, "0 guards"},
		"no guard failed":                 {gated, `[{event: GO, expect: {guards: []}}]`, ""},
		"safe_next":                       {gated, `[{event: NOWHERE, expect: {state: b}}]`, ""},
		"advisory approval":               {gated, `[{event: ASK, expect: {state: z, approval_id: false}}]`, ""},
		"approval_id":                     {gated, `[{event: ASK, expect: {approval_id: true}}]`, "0 approval_id"},
		"a failure":                       {gated, `[{event: B}, {event: BAD, expect: {status: FAILED, events: [transitioned, failed]}}]`, ""},
		"events in their order":           {gated, `[{event: GO, expect: {events: [completed, transitioned]}}]`, "0 events"},
		"events that are missing":         {gated, `[{event: GO, expect: {events: [transitioned]}}]`, "0 events"},
		"events of a refusal":             {gated, `[{event: IF, expect: {events: [rejected]}}]`, ""},
		"events are of the step":          {gated, `[{event: SET}, {call: {tool: Read}, expect: {events: []}}]`, ""},
		"context, the keys named":         {gated, `[{event: SET, data: {m: 2}, expect: {context: {m: 2, deep: {y: [1, 2]}}}}]`, ""},
		"context by value":                {gated, `[{event: SET, expect: {context: {n: 1.0}}}]`, ""},
		"context is not there":            {gated, `[{event: SET, expect: {context: {m: null}}}]`, "0 context"},
		"a list is whole":                 {gated, `[{event: SET, expect: {context: {deep: {y: [1]}}}}]`, "0 context"},
		"an empty object is empty":        {gated, `[{event: SET, expect: {context: {}}}]`, "0 context"},
		"an empty object within":          {gated, `[{event: SET, expect: {context: {deep: {}}}}]`, "0 context"},
		"iterations and max_iterations":   {gated, `[{call: {tool: Read}}, {call: {tool: Read}, expect: {iterations: 2}}, {call: {tool: Read}, expect: {code: MAX_ITERATIONS, iterations: 2}}]`, ""},
		"a new entry counts anew":         {gated, `[{call: {tool: Read}}, {call: {tool: Read}}, {event: SET, expect: {iterations: 0}}, {call: {tool: Read}}]`, ""},
		"own tools are free":              {gated, `[{call: {tool: transition}}, {call: {tool: get_state}, expect: {iterations: 0, decision: ALLOW, code: null}}]`, ""},
		"tools in any order":              {gated, `[{event: SET, expect: {allowed_tools: [Bash, Edit, Read, mcp__x__write_file]}}]`, ""},
		"a tool too few":                  {gated, `[{event: SET, expect: {allowed_tools: [Bash, Read]}}]`, "0 allowed_tools"},
		"no restriction is no empty list": {gated, `[{event: B, expect: {allowed_tools: []}}]`, "0 allowed_tools"},
		"legal events":                    {gated, `[{event: B, expect: {legal_events: [BAD, GO], allowed_tools: null}}]`, ""},
		"no legal events":                 {gated, `[{event: GO, expect: {legal_events: []}}]`, ""},
		"a program in a jail":             {caged, `[{call: {tool: Bash, input: {command: unheard-of}}, expect: {code: COMMAND_UNKNOWN}}, {call: {tool: Bash, input: {command: unheard-of}, jail: 3}}, {call: {tool: Bash, input: {command: rm a}, jail: 3}, expect: {code: COMMAND_WRITES}}]`, ""},
		"a level that is demanded":        {caged, `[{event: GO}, {call: {tool: Bash, input: {command: ls}, jail: 1}, expect: {code: JAIL_REQUIRED}}, {call: {tool: Bash, input: {command: ls}, jail: 2}}, {call: {tool: Read}}]`, ""},
		"time passes":                     {gated, `[{advance: 90m}, {advance: 45s, expect: {state: a}}]`, ""},

		"pause lifts, resume enforces": {gated, `[{pause: {}, expect: {status: PAUSED, events: [paused]}}, {call: {tool: Write}, expect: {decision: ALLOW, code: NOT_ENFORCED, iterations: 0}}, {event: GO, expect: {rejected: RUN_NOT_RUNNING}}, {resume: {}}, {call: {tool: Write}, expect: {code: TOOL_NOT_ALLOWED}}]`, ""},
		"an unnoticed code":            {gated, `[{pause: {}}, {call: {tool: Write}}]`, "1 code: if no rule should judge it"},
		"no code where there is one":   {gated, `[{pause: {}}, {call: {tool: Write}, expect: {code: null}}]`, "1 code"},
		"a pause is no hold":           {gated, `[{pause: {}, expect: {status: HELD}}]`, "0 status"},
		"by default no pause":          {kept, `[{pause: {}, expect: {rejected: ENFORCEMENT_KEPT, status: RUNNING}}, {call: {tool: Write}, expect: {code: TOOL_NOT_ALLOWED}}]`, ""},
		"by default success lifts":     {kept, `[{event: GO}, {call: {tool: Write}, expect: {code: NOT_ENFORCED, status: COMPLETED}}, {pause: {}, expect: {rejected: RUN_NOT_RUNNING}}]`, ""},
		"by default failure does not":  {kept, `[{event: BAD}, {call: {tool: Write}, expect: {code: RUN_NOT_ACTIVE, status: FAILED}}, {call: {tool: Grep}}, {call: {tool: Bash, input: {command: "ls; rm x"}}, expect: {code: RUN_NOT_ACTIVE}}, {call: {tool: Bash, input: {command: ls}}}]`, ""},
		"by default an approval waits": {kept, `[{event: ASK, expect: {status: AWAITING_APPROVAL, approval_id: true}}]`, ""},
		"a child keeps":                {kept, `[{event: LAX}, {pause: {}, expect: {rejected: ENFORCEMENT_KEPT, state: c}}]`, ""},
		"a child is kept":              {keeping, `[{event: CALL}, {pause: {}, expect: {rejected: ENFORCEMENT_KEPT, state: k}}, {event: OK}, {pause: {}, expect: {status: PAUSED}}]`, ""},
		"a child in a branch is kept":  {keeping, `[{event: F}, {branch: two}, {event: CALL}, {branch: one}, {pause: {}, expect: {rejected: ENFORCEMENT_KEPT}}, {branch: two}, {event: OK}, {branch: one}, {pause: {}, expect: {status: PAUSED}}]`, ""},
		"resume what runs":             {gated, `[{resume: {}, expect: {rejected: RUN_NOT_PAUSED}}]`, ""},
		"force without debug":          {gated, `[{force_state: {state: b}, expect: {rejected: DEBUG_DISABLED}}]`, ""},
		"branch without a fork":        {gated, `[{branch: x, expect: {rejected: UNKNOWN_BRANCH, state: a}}]`, ""},
		"a branch that is not there":   {gated, `[{branch: x}]`, "0 rejected: no branch"},

		"unsupported, unnoticed":        {nested, `[{event: F}, {event: G}, {branch: out}, {report: {tool: Edit, files_changed: [x.ini]}}, {event: OUT}]`, "4: not executed by this version: event \"OUT\""},
		"unsupported, when one says so": {nested, `[{event: F}, {branch: two}, {report: {tool: Edit, files_changed: [x.ini]}}, {event: OUT, expect: {rejected: UNSUPPORTED}}]`, ""},

		"a fork's lanes":                  {nested, `[{event: F, expect: {state: o}}, {event: X, expect: {rejected: UNKNOWN_EVENT, state: a, legal_events: [G]}}]`, ""},
		"the run around it":               {nested, `[{event: F, expect: {state: a, status: RUNNING}}]`, ""},
		"not another branch":              {nested, `[{event: F, expect: {state: t}}]`, "0 state"},
		"a fork in a branch":              {nested, `[{event: F}, {event: G, expect: {state: i}}, {call: {tool: InIn}}, {call: {tool: InOut}, expect: {code: TOOL_NOT_ALLOWED, state: o, status: WAITING}}]`, ""},
		"a nested branch by its name":     {nested, `[{event: F}, {event: G}, {branch: out}, {call: {tool: InOut}, expect: {state: u}}, {event: OK}, {branch: "", expect: {state: t}}]`, ""},
		"the branch of another session":   {nested, `[{event: F}, {branch: one}, {branch: two, expect: {state: t}}, {branch: "", expect: {status: WAITING}}, {call: {tool: Read}, expect: {code: RUN_NOT_ACTIVE}}]`, ""},
		"a child in a branch":             {nested, `[{event: F}, {branch: two}, {event: RUN, expect: {state: c}}, {call: {tool: InChild}, expect: {decision: ALLOW, iterations: 1}}, {event: OK}, {branch: ""}, {event: G}, {event: OK, expect: {state: z, context: {results: {RUN: {}}}}}]`, ""},
		"a child's views":                 {nested, `[{event: F}, {branch: two}, {event: RUN, expect: {state: t}}, {advance: 1s, expect: {state: a}}, {advance: 1s, expect: {state: o}}]`, "4 state"},
		"a grandchild":                    {nested, `[{event: I}, {event: DEEPER, expect: {state: g, events: [invoke.started, started]}}, {call: {tool: InGrandchild}}, {event: OK, expect: {state: z, status: COMPLETED, events: [transitioned, completed, invoke.ended, completed, invoke.ended, completed]}}]`, ""},
		"a child that fails":              {nested, `[{event: I}, {event: BAD, expect: {status: FAILED, state: a}}]`, ""},
		"an unknown workflow":             {nested, `[{event: F}, {branch: two}, {event: UNKNOWN}]`, "2 rejected: In a scenario file it is registered by \"workflows\"."},
		"a child that nobody waits for":   {nested, `[{event: F}, {branch: two}, {event: RUN}, {event: DEEPER}, {branch: ""}, {force_state: {state: y}, expect: {state: y, events: [forced, cancelled, cancelled]}}]`, ""},
		"force into a child":              {nested, `[{event: I}, {force_state: {state: c_ok}, expect: {rejected: DEBUG_DISABLED, state: c}}]`, ""},
		"a pause is of the whole family":  {nested, `[{event: I}, {event: DEEPER}, {pause: {}, expect: {status: PAUSED, state: g, events: [paused, paused, paused]}}, {call: {tool: Write}, expect: {code: NOT_ENFORCED}}, {resume: {}, expect: {status: RUNNING}}, {call: {tool: Write}, expect: {code: TOOL_NOT_ALLOWED}}]`, ""},
		"a pause from within a branch":    {nested, `[{event: F}, {branch: two}, {event: RUN}, {pause: {}}, {branch: "", expect: {status: PAUSED}}]`, ""},
		"an interrupt in a branch":        {nested, `[{event: F}, {branch: two}, {report: {tool: Edit, files_changed: [x.ini]}, expect: {state: h, interrupt: ini, events: [interrupt.fired]}}, {branch: one, expect: {state: o}}, {advance: 1s, expect: {interrupt: ini}}]`, "4 interrupt"},
		"an interrupt while a child runs": {nested, `[{event: I}, {report: {tool: Edit, files_changed: [x.ini]}, expect: {interrupt: null, state: c, events: []}}]`, ""},
		"a report of what was called":     {nested, `[{call: {tool: Edit, input: {file_path: /workspace/a/x.ini, old_string: a, new_string: b}}}, {report: {tool: Edit}, expect: {state: h}}]`, ""},
		"a call of another entry":         {nested, `[{call: {tool: Edit, input: {file_path: a/x.ini, old_string: a, new_string: b}}}, {force_state: {state: y}}, {report: {tool: Edit}, expect: {state: y}}]`, ""},
		"a file outside":                  {nested, `[{report: {tool: Edit, files_changed: [../x.ini, /etc/x.ini]}, expect: {interrupt: null}}, {report: {tool: Edit, files_changed: [/workspace/./y/../x.ini]}, expect: {interrupt: ini}}]`, ""},
		"a failed edit":                   {nested, `[{report: {tool: Edit, ok: false, files_changed: [x.ini]}, expect: {interrupt: null}}]`, ""},
		"an edit by the shell":            {nested, `[{report: {tool: Bash, files_changed: [x.ini]}, expect: {interrupt: null}}]`, ""},
		"$return":                         {nested, `[{report: {tool: Write, files_changed: [x.ini]}}, {call: {tool: Fix}}, {event: BACK, expect: {state: a, interrupt: null, iterations: 0}}]`, ""},
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

// TestCasesAreApart: a case has no effect on the next.
func TestCasesAreApart(t *testing.T) {
	t.Parallel()
	suite, problems := parse(strings.TrimPrefix(gated, "\n") + `cases:
- {name: one, steps: [{call: {tool: Read}}, {call: {tool: Read}}, {event: SET, data: {n: 7}}]}
- {name: two, steps: [{call: {tool: Read}, expect: {iterations: 1, context: {n: 1}, transition_count: 0}}]}
- {name: three, given: {state: b, context: {m: 1}}, steps: [{call: {tool: Write}, expect: {state: b, context: {n: 1, m: 1}}}]}
- {name: four, given: {state: z}, steps: [{event: GO, expect: {rejected: RUN_NOT_RUNNING, status: COMPLETED}}]}
- {name: five, given: {state: broken}, steps: [{call: {tool: Write}, expect: {decision: ALLOW, code: NOT_ENFORCED, status: FAILED}}]}
`)
	if suite == nil {
		t.Fatal(problems)
	}
	for range 2 { // a suite can be played again
		for _, r := range suite.Play(nil) {
			if !r.OK {
				t.Errorf("%+v", r)
			}
		}
	}
}

// TestResult: the message of a failed case.
func TestResult(t *testing.T) {
	t.Parallel()
	suite, problems := parse("workflow: w.json\ncases:\n- name: fine\n  steps: [{event: GO}]\n- name: wrong\n  steps:\n" +
		"  - event: GO\n    data: {m: 1}\n  - event: AGAIN\n    expect: {rejected: UNKNOWN_EVENT, state: z}\n")
	if suite == nil {
		t.Fatal(problems)
	}
	results := suite.Play(nil)
	if r := results[0]; !r.OK || r.Step != -1 || r.Case != "fine" || r.File != "s.test.yaml" || !r.Expected.IsZero() || !r.Actual.IsZero() {
		t.Errorf("the case that passes is %+v", r)
	}
	r := results[1]
	if r.OK || r.Step != 1 || r.Line != 9 || r.Action != "event AGAIN" {
		t.Errorf("the case that fails is %+v", r)
	}
	if got := r.Expected.String(); got != `{"rejected":"UNKNOWN_EVENT","state":"z"}` {
		t.Errorf("expected is %s", got)
	}
	if got := r.Actual.String(); !strings.HasPrefix(got, `{"rejected":"RUN_NOT_RUNNING","state":"z","message":"event \"AGAIN\" refused: `) {
		t.Errorf("actual is %s", got)
	}
}

// TestCoverage: reached has exactly the states and transitions of a case.
func TestCoverage(t *testing.T) {
	t.Parallel()
	suite, problems := parse(strings.TrimPrefix(nested, "\n") +
		"cases: [{name: x, steps: [{event: F}, {branch: two}, {event: RUN}, {event: BAD}, {report: {tool: Edit, files_changed: [x.ini]}}]}]\n")
	if suite == nil {
		t.Fatal(problems)
	}
	var coverage scenario.Coverage
	suite.Play(&coverage)
	suite.Play(&coverage) // the same workflows again
	reached := func(spots []scenario.Spot) string {
		var names []string
		for _, s := range spots {
			if s.Reached {
				names = append(names, s.Name)
			}
		}
		return strings.Join(names, "; ")
	}
	got := map[string]string{}
	for _, w := range coverage.Workflows() {
		got[w.Workflow] = reached(w.States) + " | " + reached(w.Transitions)
	}
	want := map[string]string{
		"nested": "a; o; t; t_bad; y | a: F -> y (on_fail); t: RUN -> t_bad (on_fail)",
		"child":  "c; failed | c: BAD -> failed",
	}
	for name, spots := range want {
		if got[name] != spots {
			t.Errorf("of %s was reached %s, want %s", name, got[name], spots)
		}
	}
	if got["grandchild"] != " | " || len(coverage.Workflows()) != 3 {
		t.Errorf("coverage is %v", got)
	}
}

// BenchmarkThousandSteps plays one case of a thousand steps.
func BenchmarkThousandSteps(b *testing.B) {
	step := "{call: {tool: Read}, expect: {decision: ALLOW}}, {event: SET, data: {n: 3}, expect: {state: a, context: {n: 3}}}, "
	suite, problems := parse(strings.TrimPrefix(gated, "\n") + "cases: [{name: x, steps: [" + strings.Repeat(step, 500) + "]}]\n")
	if suite == nil {
		b.Fatal(problems)
	}
	var coverage scenario.Coverage
	for b.Loop() {
		if r := suite.Play(&coverage)[0]; !r.OK {
			b.Fatalf("%+v", r)
		}
	}
}
