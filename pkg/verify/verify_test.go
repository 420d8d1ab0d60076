package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/report"
)

const release = `
id: release
initial: coding
context: {coverage: 0}
guards:
  covered: {field: coverage, op: gte, value: 80}
states:
  coding: {allowed_tools: [Read, Edit], on: {DONE: testing}}
  testing:
    allowed_tools: [Read, Bash]
    allowed_commands: [go test, git log]
    max_iterations: 3
    on: {TESTED: testing, RELEASE: {target: releasing, guard: covered, requires_approval: true}, BACK: coding, PANIC: {target: releasing, guard: covered}}
  releasing: {allowed_tools: [Bash, mcp__mail__*], allowed_commands: [kubectl apply -f], max_iterations: 2, on: {DONE: released}}
  released: {type: final}
meta: {approval_mode: ui, enforcement: always, approval: {required: 2}}
`

// honest has no way round the approval.
var honest = strings.Replace(release, ", PANIC: {target: releasing, guard: covered}", "", 1)

// leavable, and kept, are the same with other enforcement. hopeless can only fail.
var (
	leavable = strings.Replace(release, "always", "while_running", 1)
	kept     = strings.Replace(release, ", enforcement: always", "", 1)
)

const (
	denyFetch = `{name: p, role: agent, deny: [{capability: "tool:WebFetch"}]}`
	hopeless  = `{id: w, initial: a, states: {a: {allowed_tools: [Read], on: {FAIL: failed}}, failed: {type: final}}, meta: {
		read_tools: [mcp__docs__search, "mcp__wiki__*"], edit_tools: {mcp__wiki__put: {kind: write, path: p, content: c}},
		effect_deadline: 10m, reconcile: [{tool: mcp__jobs__status, of: mcp__jobs__run, ok: {pointer: /s, op: eq, value: ok}, failed: {pointer: /s, op: eq, value: bad}}]}}`
)

// every case is one property of one workflow.
var cases = []struct {
	name, workflow, policy, property string
	want                             verify.Verdict
	// says is in the reason, or in the scenario.
	says string
}{
	{"approved before", honest, "", `{before: {state: releasing}, always: {approval: {by: approver}}}`, verify.Proved, ""},
	{"a way round", release, "", `{before: {state: releasing}, always: {approval: {by: approver}}}`, verify.Refuted, `event: "PANIC"`},
	{"by another role", honest, "", `{before: {state: releasing}, always: {approval: {by: operator}}}`, verify.Refuted, "approver-2"},
	{"by a role that a named person need not have", strings.Replace(honest, "approval: {required: 2}", "approval: {approvers: {names: [kim]}}", 1), "", `{before: {state: releasing}, always: {approval: {by: approver}}}`, verify.Refuted, "kim"},
	{"by a named person", strings.Replace(honest, "approval: {required: 2}", "approval: {approvers: {names: [kim]}}", 1), "", `{before: {state: releasing}, always: {approval: {by: kim}}}`, verify.Proved, ""},
	{"of another event", honest, "", `{before: {state: releasing}, always: {approval: {event: RELEASE}}}`, verify.Proved, ""},
	{"one of two", release, "", `{before: {state: releasing}, always: {any: [{approval: true}, {event: PANIC}]}}`, verify.Proved, ""},
	{"no approval where the mode is none", strings.Replace(honest, "approval_mode: ui", "approval_mode: none", 1), "", `{before: {state: releasing}, always: {approval: true}}`, verify.Refuted, "RELEASE"},
	{"a command that no list has", release, "", `{never: {command: "git push *"}}`, verify.Proved, ""},
	{"a command that a list has", release, "", `{never: {command: "kubectl apply *"}}`, verify.Refuted, "kubectl apply -f"},
	{"a command as the entry says", release, "", `{never: {command: "kubectl apply -f prod.yaml"}}`, verify.Refuted, "prod.yaml"},
	{"a longer command than the entry", release, "", `{never: {command: "kubectl apply --dry-run"}}`, verify.Proved, ""},
	{"a command unless approved", honest, "", `{never: {command: "kubectl *"}, unless: {approval: true}}`, verify.Proved, ""},
	{"any command at all", release, "", `{never: {command: "*"}}`, verify.Refuted, "TESTED"},
	{"a tool of a server", honest, "", `{never: {tool: mcp__mail__send}, unless: {event: RELEASE}}`, verify.Proved, ""},
	{"tools of a server", release, "", `{never: {tool: "mcp__*"}}`, verify.Refuted, "mcp__mail__"},
	{"tools of another server", release, "", `{never: {tool: "mcp__db__*"}}`, verify.Proved, ""},
	{"a tool that a policy denies", release, `{name: p, role: agent, deny: [{capability: "mcp:mail"}]}`, `{never: {tool: "mcp__mail__*"}}`, verify.Proved, ""},
	{"a tool that a policy asks for", release, `{name: p, role: agent, ask: [{capability: "mcp:mail:*"}]}`, `{never: {tool: "mcp__mail__*"}, unless: {approval: {by: approver}}}`, verify.Proved, ""},
	{"a policy for callers who are no agents", release, `{name: p, role: operator, deny: [{capability: "mcp:mail"}]}`, `{never: {tool: "mcp__mail__*"}}`, verify.Refuted, "mcp__mail__"},
	{"a policy for others that asks", release, `{name: p, role: approver, ask: [{capability: "mcp:mail:*"}]}`, `{never: {tool: "mcp__mail__*"}, unless: {approval: {by: approver}}}`, verify.Refuted, "mcp__mail__"},
	{"a tool that a policy asks for, still", release, `{name: p, role: agent, ask: [{capability: "mcp:mail:*"}]}`, `{never: {tool: "mcp__mail__*"}}`, verify.Refuted, `decision":"ASK"`},
	{"an event", release, "", `{never: {event: PANIC}}`, verify.Refuted, "PANIC"},
	{"an event after another", release, "", `{before: {event: RELEASE}, always: {event: DONE}}`, verify.Proved, ""},
	{"calls of one entry", release, "", `{at_most: 2, tool: "mcp__mail__*"}`, verify.Proved, ""},
	{"more calls", release, "", `{at_most: 1, tool: "mcp__mail__*"}`, verify.Refuted, "mcp__mail__"},
	{"calls of many entries", release, "", `{at_most: 9, tool: Bash, command: "go test"}`, verify.Refuted, "TESTED"},
	{"no calls", release, "", `{at_most: 0, tool: WebFetch}`, verify.Proved, ""},
	{"an end", release, "", `{always_possible: true}`, verify.Proved, ""},
	{"a state from everywhere", release, "", `{always_possible: {state: coding}}`, verify.Refuted, "releas"},
	{"a trap", strings.Replace(release, "DONE: released", "DONE: {target: released, guard: covered}", 1), "", `{always_possible: true}`, verify.Refuted, "79"},
	{"a decision", release, "", `{can_be_decided: true}`, verify.Proved, ""},
	{"a decision by too few", release, "", `{can_be_decided: true, people: {approver: [ann]}}`, verify.Refuted, "2 approvals"},
	{"a decision by all terms", `{id: w, initial: a, meta: {approval: {terms: [{when: {state: a}, required: 2}]}}, states: {a: {on: {GO: {target: z, requires_approval: true}}}, z: {type: final}}}`, "", `{can_be_decided: true, people: {approver: [ann, bob]}}`, verify.Proved, ""},
	{"a decision by too few for a term", `{id: w, initial: a, meta: {approval: {terms: [{when: {state: a}, required: 2}]}}, states: {a: {on: {GO: {target: z, requires_approval: true}}}, z: {type: final}}}`, "", `{can_be_decided: true, people: {approver: [ann]}}`, verify.Undecided, "if all of them applied"},
	{"a decision by someone whom a term names", `{id: w, initial: a, meta: {approval: {terms: [{when: {state: a}, approvers: {names: [carol]}}]}}, states: {a: {on: {GO: {target: z, requires_approval: true}}}, z: {type: final}}}`, "", `{can_be_decided: true, people: {approver: [ann]}}`, verify.Proved, ""},
	{"a decision by a role that nobody has", `{id: w, initial: a, meta: {approval: {terms: [{when: {state: a}, approvers: {roles: [security]}}]}}, states: {a: {on: {GO: {target: z, requires_approval: true}}}, z: {type: final}}}`, "", `{can_be_decided: true, people: {approver: [ann], security: []}}`, verify.Undecided, "if all of them applied"},
	{"a decision by the requester", release, "", `{can_be_decided: true, people: {approver: [ann, agent]}}`, verify.Refuted, "1 people"},
	{
		"a call that may need no approval, next to one that does", `{id: w, initial: a, states: {a: {allowed_tools: [WebFetch, WebSearch], max_edit_lines: 5, on: {END: z}}, z: {type: final}},
			meta: {enforcement: always, edit_tools: {WebSearch: {kind: write, path: /file, content: /text}}}}`,
		`{name: p, role: agent, ask: [{capability: "tool:WebFetch"}]}`, `{never: {tool: "Web*"}, unless: {approval: true}}`, verify.Undecided, "",
	},
	{"a pause", leavable, "", `{never: {tool: WebFetch}}`, verify.Refuted, "pause: {}"},
	{"a pause before the end", leavable, "", `{never: {tool: WebFetch}, unless: {state: released}}`, verify.Refuted, "pause: {}"},
	{"no pause while running", leavable, "", `{never: {tool: WebFetch}, while: running}`, verify.ProvedRunning, ""},
	{"no calls while running", leavable, "", `{at_most: 0, tool: WebFetch, while: running}`, verify.ProvedRunning, ""},
	{"while running, what a policy denies in a pause, too", leavable, denyFetch, `{never: {tool: WebFetch}, while: running}`, verify.Proved, ""},
	{"while running, and not kept", leavable, "", `{never: {tool: Edit}, while: running}`, verify.Refuted, "Edit"},
	{"by default, the end", kept, "", `{never: {tool: WebFetch}}`, verify.Refuted, "because the run has ended"},
	{"by default, while running", kept, "", `{never: {tool: WebFetch}, while: running}`, verify.Proved, ""},
	{"by default, until success", kept, "", `{never: {tool: WebFetch}, unless: {state: released}}`, verify.Proved, ""},
	{"by default, until success, by name", strings.Replace(release, "always", "until_success", 1), "", `{never: {tool: WebFetch}, unless: {state: released}}`, verify.Proved, ""},
	{"by default, calls until the end", kept, "", `{at_most: 2, tool: "mcp__mail__*"}`, verify.Refuted, "released"},
	{"by default, calls while running", kept, "", `{at_most: 2, tool: "mcp__mail__*", while: running}`, verify.Proved, ""},

	{"after a failure, edits", hopeless, "", `{never: {tool: Edit}}`, verify.Proved, ""},
	{"after a failure, pushes", hopeless, "", `{never: {command: "git push"}}`, verify.Proved, ""},
	{"after a failure, deletions", hopeless, "", `{never: {command: "rm -rf *"}}`, verify.Proved, ""},
	{"after a failure, the network", hopeless, "", `{never: {tool: WebFetch}}`, verify.Proved, ""},
	{"after a failure, other tools of servers", hopeless, "", `{never: {tool: "mcp__ci__*"}}`, verify.Proved, ""},
	{"after a failure, declared readers", hopeless, "", `{never: {tool: "mcp__docs__*"}}`, verify.Refuted, "mcp__docs__search"},
	{"after a failure, a declared reader of many", hopeless, "", `{never: {tool: "mcp__wiki__page"}}`, verify.Refuted, "has failed, and tools that read are allowed"},
	{"after a failure, what tells how calls ended", hopeless, "", `{never: {tool: "mcp__jobs__*"}}`, verify.Refuted, "mcp__jobs__status"},
	{"after a failure, an edit that is declared to read", hopeless, "", `{never: {tool: "mcp__wiki__put"}}`, verify.Proved, ""},
	{"after a failure, reading", hopeless, "", `{never: {tool: Grep}}`, verify.Refuted, "has failed, and tools that read are allowed"},
	{"after a failure, reading at most", hopeless, "", `{at_most: 3, tool: Grep}`, verify.Refuted, "Grep"},
	{"after a failure, lines that read", hopeless, "", `{never: {command: "git log *"}}`, verify.Refuted, "git log"},
	{"after a failure, any line", hopeless, "", `{never: {command: "*"}}`, verify.Refuted, "ls"},
	{"after a failure, lines that may read", hopeless, "", `{never: {command: "find * -delete"}}`, verify.Undecided, ""},
	{"after a failure, an editor that can view", hopeless, "", `{never: {tool: str_replace_based_edit_tool}}`, verify.Undecided, ""},
	{"after a failure, an editor at most", hopeless, "", `{at_most: 0, tool: str_replace_based_edit_tool}`, verify.Undecided, ""},
	{"after a failure, while running", hopeless, "", `{never: {tool: Grep}, while: running}`, verify.Proved, ""},
	{"after a failure, of always", strings.Replace(hopeless, "meta: {", "meta: {enforcement: always, ", 1), "", `{never: {tool: Grep}}`, verify.Proved, ""},
	{"after a failure, of while_running", strings.Replace(hopeless, "meta: {", "meta: {enforcement: while_running, ", 1), "", `{never: {tool: Edit}}`, verify.Refuted, "lifts enforcement"},
	{"debug jumps", strings.Replace(release, "meta: {", "meta: {debug: true, ", 1), "", `{before: {state: releasing}, always: {event: DONE}}`, verify.Refuted, "force_state"},
	{"commands of a state without a list", strings.Replace(release, "    allowed_commands: [go test, git log]\n", "", 1), "", `{never: {command: "frobnicate --hard"}}`, verify.Undecided, "list the commands"},
}

// TestProperties: each property of the table, on the workflow as it is.
func TestProperties(t *testing.T) {
	t.Parallel()
	for _, c := range cases {
		var policies []string
		if c.policy != "" {
			policies = []string{c.policy}
		}
		m := model(t, c.workflow, policies...)
		r := verify.Check(m, properties(t, m, "{p: "+c.property+"}"), verify.Options{}).Results[0]
		text := r.Reason
		if r.Counterexample != nil {
			text += string(r.Counterexample.Scenario)
			if len(r.Counterexample.Scenario) > 0 {
				failsAtTheEnd(t, r.Counterexample)
			}
		}
		if r.Verdict != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s, want %s with %q: %s", c.name, r.Verdict, c.want, c.says, text)
		}
	}
}

// failsAtTheEnd: a counterexample is a scenario of which only the last step is not as it
// must be.
func failsAtTheEnd(t testing.TB, c *verify.Counterexample) {
	t.Helper()
	text := c.Scenario
	if len(c.Stands) != len(c.Steps)+1 || slices.ContainsFunc(c.Stands, func(states []string) bool { return len(states) == 0 }) {
		t.Errorf("it stands in %q\n%s", c.Stands, text)
	}
	suite, problems := scenario.Parse(scenario.Source{Name: "c.test.yaml", Text: text}, func(string) (scenario.Source, error) {
		t.Fatalf("it names a file:\n%s", text)
		return scenario.Source{}, nil
	})
	if suite == nil {
		t.Fatalf("%v\n%s", problems, text)
	}
	results := suite.Play(nil)
	if last := strings.Count(string(text), "\n      - ") - 1; len(results) != 1 || results[0].OK || results[0].Step != last {
		t.Errorf("it does not fail at step %d: %+v\n%s", last, results, text)
	}
}

// Where a counterexample stands is told for each of its steps: for each branch of a fork, and
// not for runs that are invoked.
func TestStands(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]string{
		`{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": [], "on": {"SPLIT": {"fork": {"branches": {"x": {"initial": "x1", "terminal": "xz"}, "y": {"initial": "y1", "terminal": "yz"}}, "join": "all", "on_complete": "z", "on_fail": "z"}}}},
			"x1": {"allowed_tools": [], "on": {"GO": "x2"}}, "x2": {"allowed_tools": ["Edit"], "on": {"END": "xz"}}, "xz": {"type": "final"},
			"y1": {"allowed_tools": [], "on": {"END": "yz"}}, "yz": {"type": "final"}, "z": {"type": "final"}}, "meta": {"enforcement": "always"}}`: "[[a] [x1 y1] [x1 y1] [x2 y1] [x2 y1]]",
		parent + "\n---\n" + childOf: "[[a] [a] [a]]",
	} {
		m := model(t, definition)
		r := verify.Check(m, properties(t, m, `{p: {never: {tool: Edit}, while: running}}`), verify.Options{}).Results[0]
		if r.Counterexample == nil || fmt.Sprint(r.Counterexample.Stands) != want {
			t.Errorf("%s: %+v", r.Reason, r.Counterexample)
		}
	}
}

const parent = `{"id": "parent", "initial": "a", "states": {"a": {"allowed_tools": ["Read"], "on": {"CALL": {"invoke": "child", "on_complete": "b", "on_fail": "z"}}}, "b": {"allowed_tools": [], "on": {"END": "z"}}, "z": {"type": "final"}}, "meta": {"enforcement": "always"}}`

const childOf = `{"id": "child", "initial": "c", "states": {"c": {"allowed_tools": ["Edit"], "on": {"END": "d"}}, "d": {"type": "final"}}, "meta": {"enforcement": "always"}}`

// A workflow that is invoked is explored where it is given, and not taken for harmless
// where it is not.
func TestInvoked(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]verify.Verdict{parent: verify.Undecided, parent + "\n---\n" + childOf: verify.Refuted} {
		m := model(t, src)
		if r := verify.Check(m, properties(t, m, `{p: {never: {tool: Edit}}}`), verify.Options{}).Results[0]; r.Verdict != want {
			t.Errorf("%s: %s", r.Verdict, r.Reason)
		}
		if r := verify.Check(m, properties(t, m, `{p: {before: {state: b}, always: {event: CALL}}}`), verify.Options{}).Results[0]; r.Verdict != verify.Proved {
			t.Errorf("%s: %s", r.Verdict, r.Reason)
		}
	}
}

// A bound that is reached is never a proof, and neither is a search that was stopped.
func TestBounds(t *testing.T) {
	t.Parallel()
	m := model(t, honest)
	all := properties(t, m, `{a: {never: {command: "git push"}}, b: {always_possible: true}, c: {can_be_decided: true}, d: {at_most: 9, tool: WebFetch}}`)
	for _, r := range verify.Check(m, all, verify.Options{MaxStates: 2}).Results {
		if r.Verdict != verify.Undecided {
			t.Errorf("%s: %s", r.Property.Name, r.Verdict)
		}
	}
	big := model(t, ladder(1000, 0))
	stop := verify.Options{Progress: func(string, int) bool { return false }}
	if r := verify.Check(big, properties(t, big, `{a: {never: {command: "git push"}}}`), stop).Results[0]; r.Verdict != verify.Undecided {
		t.Errorf("%s", r.Verdict)
	}
}

// TestWarningsAreStopped: a search that is stopped while it looks for warnings says so.
func TestWarningsAreStopped(t *testing.T) {
	t.Parallel()
	m := model(t, ladder(100, 0))
	asked := 0
	stop := verify.Options{Builtin: true, Progress: func(string, int) bool { asked++; return asked < 50 }}
	if got := verify.Check(m, nil, stop).Warnings; len(got) != 1 || got[0].Code != report.CodeBuiltinBound || asked != 50 {
		t.Errorf("%v, asked %d times", got, asked)
	}
}

// TestWarnings: what every workflow is asked.
func TestWarnings(t *testing.T) {
	t.Parallel()
	m := model(t, `
id: odd
initial: a
guards:
  never: {all: [{field: x, op: gt, value: 5}, {field: x, op: lt, value: 3}]}
states:
  a: {allowed_tools: [Read], max_edit_lines: 5, on: {GO: {target: b, guard: never}, ON: c, UP: d}}
  b: {allowed_tools: [Read], on: {END: z}}
  c: {allowed_tools: [Read], on: {NO: {target: z, guard: never}}}
  d: {allowed_tools: [Bash], allowed_commands: [kubectl apply], on: {END: z}}
  z: {type: final}
meta: {approval_mode: ui}
`, `{name: p, role: agent, allow: [{capability: "mcp:mail:send"}]}`)
	got := map[string]string{}
	for _, w := range verify.Check(m, nil, verify.Options{Builtin: true}).Warnings {
		got[w.Code] += w.Pointer
	}
	for code, pointer := range map[string]string{
		report.CodeNoWayOut: "/states/c", report.CodeGuardNeverTrue: "/guards/never", report.CodeLimitNoMatter: "/states/a/max_edit_lines",
		report.CodeRightsJump: "/states/a/on/UP", report.CodeRuleNoMatter: "/allow/0",
	} {
		if got[code] != pointer {
			t.Errorf("%s at %q, want %q", code, got[code], pointer)
		}
		delete(got, code)
	}
	if len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// TestCertificate: it is confirmed by what it is about, and by nothing else.
func TestCertificate(t *testing.T) {
	t.Parallel()
	m := model(t, honest)
	all := properties(t, m, `{a: {never: {command: "git push"}}, b: {before: {state: releasing}, always: {approval: true}}}`)
	report := verify.Check(m, all, verify.Options{})
	c := verify.Certify(m, &report, verify.Options{}, "v1")
	if differs := verify.Confirm(&c, m, all, verify.Options{}); len(differs) > 0 {
		t.Fatal(differs)
	}
	forged := c
	forged.Properties = append([]verify.Certified(nil), c.Properties...)
	forged.Properties[0].States++
	weaker := properties(t, m, `{a: {never: {command: "git push --force"}}, b: {before: {state: releasing}, always: {approval: true}}}`)
	other := model(t, release)
	for name, differs := range map[string][]string{
		"other states":     verify.Confirm(&forged, m, all, verify.Options{}),
		"a weaker one":     verify.Confirm(&c, m, weaker, verify.Options{}),
		"one is missing":   verify.Confirm(&c, m, all[:1], verify.Options{}),
		"another workflow": verify.Confirm(&c, other, all, verify.Options{}),
	} {
		if len(differs) == 0 {
			t.Errorf("%s is confirmed", name)
		}
	}
}
