package scenario_test

import (
	"strings"
	"testing"
)

// Workflows with clocks.
const (
	timed = `
workflow:
  id: timed
  initial: working
  meta: {deadline: {after: 8h, target: expired}}
  context: {n: 0}
  guards: {ready: {field: n, op: gte, value: 1}}
  states:
    working:
      allowed_tools: [Read, Edit]
      after: {2h: stuck}
      remind: [1h, 1h45m]
      on: {AGAIN: working, ASIDE: aside, HURRY: hurried, DEPLOY: {target: deploying, not_before: 10m}, ASK: {target: done, requires_approval: true}}
    aside: {on: {BACK: working}}
    hurried: {after: {2h: {target: done, guard: ready}, 3h: stuck}, while_asked: runs, on: {ASK: {target: done, requires_approval: true}}}
    deploying: {after: {10m: [{target: done, guard: ready}, {target: stuck}]}, on: {SET: deploying}}
    stuck: {allowed_tools: [], on: {RESUME: working}}
    fixing: {on: {FIXED: $return}, after: {1h: stuck}}
    done: {type: final}
    expired: {type: final, outcome: failure}
  interrupts: {alarm: {trigger: {file_pattern: "*.alarm"}, target: fixing}}
`
	blocked = `
workflow:
  id: blocked
  initial: a
  context: {n: 0}
  guards: {ready: {field: n, op: gte, value: 1}}
  states:
    a: {after: {1h: {target: done, guard: ready}}, on: {SET: a}}
    done: {type: final}
`
	quiet = `
workflow:
  id: quiet
  initial: a
  states:
    a: {allowed_tools: [Read], stale: {after: 10m, do: {target: parked}}, on: {GO: b, ASK: {target: b, requires_approval: true}}}
    b: {allowed_tools: [Read], stale: {after: 10m}, on: {GO: c}}
    c: {allowed_tools: [Read], stale: {after: 10m, do: hold}, on: {GO: z}}
    parked: {allowed_tools: [], on: {GO: a}}
    z: {type: final}
`
	lanes = `
workflow:
  id: lanes
  initial: a
  meta: {deadline: {after: 1d, target: expired}}
  states:
    a:
      after: {30m: late}
      on:
        F: {fork: {after: 2h, branches: {one: {initial: o, terminal: o_ok}, two: {initial: t, terminal: t_ok}}, on_complete: z, on_fail: late}}
        CALL: {invoke: child, on_complete: z, on_fail: late}
    o: {after: {1h: o_bad}, on: {OK: o_ok}}
    o_ok: {type: final}
    o_bad: {type: final, outcome: failure}
    t: {on: {OK: t_ok, LONG: t2}}
    t2: {on: {OK: t_ok}}
    t_ok: {type: final}
    late: {on: {BACK: a}}
    z: {type: final}
    expired: {type: final, outcome: failure}
workflows:
- {id: child, initial: c, meta: {deadline: {after: 2d, target: c_late}}, states: {c: {on: {OK: c_ok}}, c_ok: {type: final}, c_late: {type: final, outcome: failure}}}
`
	windowed = `
workflow:
  id: open
  initial: a
  windows: {work: {zone: UTC, days: [mon-fri], from: "09:00", to: "17:00"}}
  states:
    a: {on: {DEPLOY: {target: z, window: work}, URGENT: {target: z, window: work, outside: ask}}}
    z: {type: final}
`
)

// Workflows that a freeze stops.
const (
	deploys = `
workflow:
  id: deploy
  initial: ready
  states:
    ready: {after: {2h: live}, stale: {after: 90m, do: {target: live}}, on: {DEPLOY: live, PLAN: ready, ASK: {target: live, requires_approval: true}, BUILD: {invoke: build, on_complete: live, on_fail: stopped}, PREPARE: {invoke: build, on_complete: ready}, HEAT: {invoke: hot, on_complete: ready}}}
    live: {danger_level: dangerous, on: {DONE: stopped}}
    stopped: {type: final}
workflows:
- {id: build, initial: b, meta: {danger_level: safe, deadline: {after: 4h, target: built}}, states: {b: {after: {1h: built}, on: {OK: built, BAD: failed, GO: b}}, built: {type: final}, failed: {type: final}}}
- {id: hot, initial: h, states: {h: {danger_level: moderate, on: {OK: z}}, z: {type: final}}}
`
)

// TestFreezes plays freezes: what they stop, and how they end (S25.12, S25.13, S25.14).
func TestFreezes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ given, steps string }{
		"stopped, until it ends":          {"given: {freeze: {for: 1h}}", `[{event: DEPLOY, expect: {rejected: FROZEN, state: ready}}, {event: PLAN}, {advance: 59m59s}, {event: DEPLOY, expect: {rejected: FROZEN}}, {advance: 1s}, {event: DEPLOY, expect: {state: live}}]`},
		"lifted":                          {"", `[{freeze: {for: 14d, workflow: "Dep*", reason: why}}, {event: DEPLOY, expect: {rejected: FROZEN}}, {lift_freeze: {}}, {event: DEPLOY, expect: {state: live}}]`},
		"of another workflow":             {"given: {freeze: {for: 1h, workflow: build}}", `[{event: DEPLOY, expect: {state: live}}]`},
		"a grant is stale":                {"", `[{event: ASK}, {freeze: {for: 1h}}, {approve: {by: alice}, expect: {state: ready, status: RUNNING}}]`},
		"after waits":                     {"given: {freeze: {for: 3h}}", `[{event: PLAN}, {advance: 1h59m}, {event: PLAN}, {advance: 1m, expect: {state: ready, events: [timer.blocked]}}, {advance: 1h, expect: {state: live, fired: "$after:2h"}}]`},
		"silence waits":                   {"given: {freeze: {for: 95m}}", `[{advance: 90m, expect: {state: ready}}, {advance: 5m, expect: {state: live, fired: $stale}}]`},
		"the end of an invoked run waits": {"", `[{event: BUILD}, {freeze: {for: 3h, workflow: deploy}}, {event: OK, expect: {rejected: FROZEN}}, {event: GO}, {advance: 1h, expect: {state: b, events: [timer.blocked]}}, {event: BAD, expect: {state: stopped}}]`},
		"its deadline waits":              {"", `[{event: BUILD}, {freeze: {for: 5h, workflow: deploy}}, {advance: 4h30m, expect: {state: b}}, {advance: 30m, expect: {state: live}}]`},
		"the end goes on":                 {"given: {freeze: {for: 3h}}", `[{event: BUILD, expect: {rejected: FROZEN}}, {event: PREPARE}, {event: OK, expect: {state: ready}}]`},
		"an invoked run does not start":   {"given: {freeze: {for: 3h, workflow: hot}}", `[{event: HEAT, expect: {rejected: FROZEN}}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playAll(t, deploys, c.given, c.steps)
		})
	}
	for text, want := range map[string]string{
		`{name: x, given: {freeze: {workflow: w}}, steps: [{pause: {}}]}`: "/cases/0/given/freeze/for",
		`{name: x, steps: [{freeze: {for: soon}}]}`:                       "/cases/0/steps/0/freeze/for",
		`{name: x, steps: [{freeze: {for: 1h, until: x}}]}`:               "/cases/0/steps/0/freeze/until",
	} {
		if _, problems := parse(strings.TrimPrefix(deploys, "\n") + "cases: [" + text + "]\n"); len(problems) == 0 || problems[0].Pointer != want {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

// TestClocks plays what time brings about (S25.1, S25.2, S25.3, S25.4, S25.5, S25.6, S25.7, S25.8).
func TestClocks(t *testing.T) {
	t.Parallel()
	const monday = `given: {at: "2026-11-30T10:00:00Z"}`
	for name, c := range map[string]struct{ workflow, given, steps string }{
		"after":                        {timed, "", `[{advance: 1h59m59s, expect: {state: working, time_left: 1s}}, {advance: 1s, expect: {state: stuck, fired: "$after:2h"}}]`},
		"one late step does all":       {timed, "", `[{advance: 3h, expect: {state: stuck, events: [reminded, reminded, transitioned]}}]`},
		"reminders":                    {timed, "", `[{advance: 1h, expect: {state: working, events: [reminded]}}, {advance: 44m, expect: {events: []}}, {advance: 1m, expect: {events: [reminded], fired: null}}]`},
		"until":                        {timed, "", `[{until: "$after:2h", expect: {state: stuck, fired: "$after:2h"}}]`},
		"a stay is of a visit":         {timed, "", `[{advance: 90m}, {event: AGAIN, expect: {time_left: 30m}}, {advance: 30m, expect: {state: stuck}}]`},
		"another visit begins anew":    {timed, "", `[{advance: 90m}, {event: ASIDE, expect: {time_left: 6h30m}}, {event: BACK, expect: {time_left: 2h}}]`},
		"no agent fires it":            {timed, "", `[{event: "$after:2h", expect: {rejected: UNKNOWN_EVENT, state: working}}, {event: $deadline, expect: {rejected: UNKNOWN_EVENT}}]`},
		"too early":                    {timed, "", `[{event: DEPLOY, expect: {rejected: TOO_EARLY}}, {advance: 9m59s}, {event: DEPLOY, expect: {rejected: TOO_EARLY}}, {advance: 1s}, {event: DEPLOY, expect: {state: deploying}}]`},
		"too early is of a visit":      {timed, "", `[{advance: 9m}, {event: AGAIN}, {advance: 1m}, {event: DEPLOY, expect: {state: deploying}}]`},
		"guards are judged then":       {timed, "", `[{advance: 10m}, {event: DEPLOY}, {event: SET, data: {n: 1}}, {advance: 10m, expect: {state: done, status: COMPLETED}}]`},
		"a branch without guards":      {timed, "", `[{advance: 10m}, {event: DEPLOY}, {advance: 10m, expect: {state: stuck, fired: "$after:10m"}}]`},
		"people are asked":             {timed, "", `[{advance: 1h}, {event: ASK, expect: {status: AWAITING_APPROVAL}}, {advance: 5h, expect: {state: working}}, {reject: {by: alice}, expect: {time_left: 1h}}]`},
		"the clock runs while asked":   {timed, "", `[{event: HURRY}, {event: ASK, expect: {status: AWAITING_APPROVAL, time_left: 2h}}, {advance: 2h, expect: {status: AWAITING_APPROVAL, events: [timer.blocked]}}, {advance: 1h, expect: {status: RUNNING, state: stuck, fired: "$after:3h", approval_id: false}}]`},
		"the deadline does not wait":   {timed, "", `[{event: ASK}, {advance: 8h, expect: {state: expired, status: FAILED, fired: $deadline, approval_id: false}}]`},
		"stuck until the deadline":     {timed, "", `[{advance: 7h59m59s, expect: {state: stuck}}, {advance: 1s, expect: {state: expired}}]`},
		"going round does not help":    {timed, "", `[{advance: 1h}, {event: ASIDE}, {advance: 6h}, {event: BACK}, {advance: 1h, expect: {state: expired}}]`},
		"an interrupt stands still":    {timed, "", `[{advance: 1h50m}, {report: {tool: Edit, files_changed: [x.alarm]}, expect: {state: fixing, time_left: 1h}}, {advance: 20m}, {event: FIXED, expect: {state: working, time_left: 10m}}]`},
		"a handler has a clock":        {timed, "", `[{report: {tool: Edit, files_changed: [x.alarm]}}, {advance: 1h, expect: {state: stuck, interrupt: null}}]`},
		"blocked, and tried again":     {blocked, "", `[{advance: 1h, expect: {state: a, events: [timer.blocked]}}, {advance: 30s, expect: {events: []}}, {event: SET, data: {n: 1}}, {advance: 30s, expect: {state: done, fired: "$after:1h"}}]`},
		"blocked is said once":         {blocked, "", `[{advance: 3h, expect: {state: a, events: [timer.blocked]}}]`},
		"silence":                      {quiet, "", `[{advance: 9m59s, expect: {state: a}}, {advance: 1s, expect: {state: parked, fired: $stale}}]`},
		"a call is progress":           {quiet, "", `[{advance: 9m}, {call: {tool: Read}}, {advance: 9m, expect: {state: a}}, {advance: 1m, expect: {state: parked}}]`},
		"a report is progress":         {quiet, "", `[{call: {tool: Read}}, {advance: 9m}, {report: {tool: Read}}, {advance: 9m, expect: {state: a}}]`},
		"a denied call is none":        {quiet, "", `[{advance: 9m}, {call: {tool: Bash}, expect: {decision: DENY}}, {advance: 1m, expect: {state: parked}}]`},
		"a refused event is none":      {quiet, "", `[{advance: 9m}, {event: NO, expect: {rejected: UNKNOWN_EVENT}}, {advance: 1m, expect: {state: parked}}]`},
		"asking is not silence":        {quiet, "", `[{event: ASK}, {advance: 1h, expect: {status: AWAITING_APPROVAL}}]`},
		"silence is announced once":    {quiet, "", `[{event: GO}, {advance: 1h, expect: {state: b, events: [stale], fired: null}}, {call: {tool: Read}}, {advance: 10m, expect: {events: [stale]}}]`},
		"silence holds":                {quiet, "", `[{event: GO}, {event: GO}, {advance: 10m, expect: {state: c, status: HELD, events: [held]}}, {advance: 10h, expect: {status: HELD, events: []}}]`},
		"a lane has a clock":           {lanes, "", `[{event: F}, {advance: 1h, expect: {state: late, fired: "$after:1h"}}]`},
		"a fork has one":               {lanes, "", `[{event: F}, {event: OK}, {advance: 1h59m59s, expect: {state: t}}, {advance: 1s, expect: {state: late, fired: "$after:2h"}}]`},
		"a fork stops the outer clock": {lanes, "", `[{advance: 20m}, {event: F}, {advance: 50m, expect: {state: o}}]`},
		"a child does not stop it":     {lanes, "", `[{event: CALL}, {advance: 30m, expect: {state: late, status: RUNNING, fired: "$after:30m"}}]`},
		"windows":                      {windowed, monday, `[{event: DEPLOY, expect: {state: z}}]`},
		"outside of a window":          {windowed, monday, `[{advance: 7h}, {event: DEPLOY, expect: {rejected: OUTSIDE_WINDOW, state: a}}, {advance: 16h}, {event: DEPLOY, expect: {state: z}}]`},
		"outside people are asked":     {windowed, monday, `[{advance: 7h}, {event: URGENT, expect: {status: AWAITING_APPROVAL}}, {approve: {by: alice}, expect: {state: z}}]`},
		"inside nobody is asked":       {windowed, monday, `[{event: URGENT, expect: {state: z}}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playAll(t, c.workflow, c.given, c.steps)
		})
	}
}

// playAll plays the steps of a case, which must all be as expected.
func playAll(t *testing.T, workflow, given, steps string) {
	t.Helper()
	if given != "" {
		given += ", "
	}
	suite, problems := parse(strings.TrimPrefix(workflow, "\n") + "cases: [{name: x, " + given + "steps: " + steps + "}]\n")
	if suite == nil {
		t.Fatal(problems)
	}
	for _, r := range suite.Play(nil) {
		if !r.OK {
			t.Errorf("step %d, %s: want %s, got %s", r.Step+1, r.Action, r.Expected, r.Actual)
		}
	}
}
