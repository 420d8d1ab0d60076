package verify_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/verify"
)

// holes are workflows in which a real run does what was once called proved that none does.
var holes = []struct {
	name, workflow, property string
	want                     verify.Verdict
	says                     string
}{
	{
		"sources of more keys than are told apart", sourced("k1", "k2", "k3", "k4", "k5", "k6", "k7"),
		`{never: {state: bad}}`, verify.Undecided, "where their values come from",
	},
	{"sources of as many keys as are told apart", sourced("k1", "k2", "k3", "k4", "k5", "k6"), `{never: {state: bad}}`, verify.Refuted, "BAD"},
	{
		"an approver edits one key and leaves another alone",
		`{id: w, initial: a, context: {limit: 100}, meta: {approval_mode: ui}, states: {
		a: {on: {ASK: {target: b, requires_approval: true}}}, b: {on: {BAD: {target: bad, guard: g}, OK: done}}, bad: {on: {X: done}}, done: {type: final}},
		guards: {g: {all: [{field: signed, op: eq, value: true, source: human}, {field: limit, op: eq, value: 100, source: operator}]}}}`,
		`{never: {state: bad}}`, verify.Undecided, "edit the data",
	},
	{
		"an approver edits one key and leaves the agent's other",
		`{id: w, initial: a, meta: {approval_mode: ui}, states: {
		a: {on: {ASK: {target: b, requires_approval: true}}}, b: {on: {BAD: {target: bad, guard: g}, OK: done}}, bad: {on: {X: done}}, done: {type: final}},
		guards: {g: {all: [{field: x, op: eq, value: 1, source: human}, {field: y, op: eq, value: 1}, {not: {field: y, op: eq, value: 1, source: human}}]}}}`,
		`{never: {state: bad}}`, verify.Undecided, "edit the data",
	},
	{
		"an agent sets one input and leaves another alone",
		`{id: w, initial: a, inputs: [x, y], context: {x: 0, y: 1}, states: {
		a: {on: {BAD: {target: bad, guard: g}, OK: done}}, bad: {on: {X: done}}, done: {type: final}},
		guards: {g: {all: [{field: x, op: eq, value: 1}, {field: y, op: eq, value: 1, source: operator}]}}}`,
		`{never: {state: bad}}`, verify.Refuted, `{"x":1}`,
	},
	{
		"an event that safe_next takes",
		`{id: w, initial: a, states: {a: {safe_next: c, on: {OK: done}}, c: {on: {DEPLOY: {target: done, guard: g}, OK: done}}, done: {type: final}},
		guards: {g: {all: [{field: x, op: eq, value: 1}, {field: x, op: eq, value: 2}]}}}`,
		`{never: {event: DEPLOY}}`, verify.Refuted, "DEPLOY",
	},
	{"calls that max_iterations does not count", "{" + limited + "}", `{at_most: 2, tool: ToolSearch, while: running}`, verify.Refuted, "ToolSearch"},
	{"calls of which some are not counted", "{" + limited + "}", `{at_most: 2, tool: "*", while: running}`, verify.Undecided, ""},
	{"calls of Interlock's own tools", "{" + limited + "}", `{at_most: 2, tool: mcp__interlock__get_state, while: running}`, verify.Refuted, "get_state"},
	{"calls that are counted", "{" + limited + "}", `{at_most: 2, tool: Read, while: running}`, verify.Proved, ""},
	{
		"tools that only their beginnings forbid", always(`allowed_tools: ["mcp__ci__*"], disallowed_tools: ["mcp__ci__z*", "mcp__ci__b*", "mcp__ci__r*", "mcp__ci__p*"]`),
		`{never: {tool: "mcp__ci__*"}}`, verify.Refuted, "mcp__ci__",
	},
	{
		"another shell of the same server", always(`allowed_tools: ["mcp__box__*", Edit], disallowed_tools: [mcp__box__bash]`),
		`{never: {command: "rm *"}}`, verify.Refuted, "mcp__box__",
	},
	{
		"a target that stands behind the words of an entry", always(`allowed_tools: [Bash, Edit], allowed_commands: ["kubectl get"]`),
		`{never: {command: "kubectl -n prod"}}`, verify.Refuted, "kubectl get -n prod",
	},
	{
		"a target that an entry leaves open to letters", always(`allowed_tools: [Bash, Edit], allowed_commands: ["kubectl -n staging get *"]`),
		`{never: {command: "kubectl --context prod"}}`, verify.Refuted, "--context prod",
	},
	{
		"a target that an entry of one option ends", always(`allowed_tools: [Bash, Edit], allowed_commands: ["kubectl -n staging get"]`),
		`{never: {command: "kubectl -n prod"}}`, verify.Proved, "",
	},
	{
		"a target that an entry confines",
		always(`allowed_tools: [Bash, Edit], allowed_commands: [{words: [kubectl, get], options: {"-n": [staging]}}, {words: [kubectl, get, "-o", json], exact: true}]`),
		`{never: {command: "kubectl -n prod"}}`, verify.Proved, "",
	},
	{
		"a target that an entry names", always(`allowed_tools: [Bash, Edit], allowed_commands: [{words: [kubectl, get], options: {"-n": [staging, "pr*"]}}]`),
		`{never: {command: "kubectl -n prod"}}`, verify.Refuted, "kubectl",
	},
	{
		"a command that an entry confines", always(`allowed_tools: [Bash, Edit], allowed_commands: [{words: [kubectl, get], options: {"-n": [staging]}}]`),
		`{never: {command: "kubectl get"}}`, verify.Refuted, "kubectl get -n staging",
	},
	{
		"further words of an exact entry", always(`allowed_tools: [Bash, Edit], allowed_commands: [{words: [git, push], exact: true}]`),
		`{never: {command: "git push --force"}}`, verify.Proved, "",
	},
	{
		"an entry that is an assignment alone", always(`allowed_tools: [Bash, Edit], allowed_commands: ["CI=1"]`),
		`{never: {command: "*rm*"}}`, verify.Refuted, "rm",
	},
	{
		"a name of somebody whom nobody knows",
		`{id: w, initial: a, meta: {approval_mode: ui, enforcement: always}, states: {a: {on: {ASK: {target: b, requires_approval: true}}}, b: {on: {X: done}}, done: {type: final}}}`,
		`{never: {state: b}, unless: {approval: {by: approver-1}}}`, verify.Refuted, "approver",
	},
	{
		"a way out by an interrupt that nothing fires",
		`{id: w, initial: a, meta: {enforcement: always}, interrupts: {i: {trigger: {file_pattern: "**/*.x"}, target: h}}, states: {
		a: {allowed_tools: [Read], on: {LOOP: a}}, h: {allowed_tools: [Read], on: {OUT: done}}, done: {type: final}}}`,
		`{always_possible: true}`, verify.Undecided, "fires an interrupt",
	},
	{
		"a way out by an interrupt",
		`{id: w, initial: a, meta: {enforcement: always}, interrupts: {i: {trigger: {file_pattern: "**/*.x"}, target: h}}, states: {
		a: {allowed_tools: [Edit], on: {LOOP: a}}, h: {allowed_tools: [Read], on: {OUT: done}}, done: {type: final}}}`,
		`{always_possible: true}`, verify.Proved, "",
	},
	{"evidence that takes more calls than there are", needing("enforcement: always", "1", ""), `{always_possible: true}`, verify.Undecided, "max_iterations"},
	{"evidence when no calls are left", needing("enforcement: always", "2", ""), `{always_possible: true}`, verify.Undecided, "max_iterations"},
	{"evidence when the state can be entered anew", needing("enforcement: always", "2", "AGAIN: a, "), `{always_possible: true}`, verify.Proved, ""},
	{"evidence where no pause enters it anew", needing("", "2", ""), `{always_possible: true}`, verify.Undecided, "max_iterations"},
	{"evidence when a pause enters it anew", needing("enforcement: while_running", "2", ""), `{always_possible: true}`, verify.Proved, ""},
}

const limited = `id: w, initial: a, meta: {enforcement: always}, states: {a: {max_iterations: 2, on: {OK: done}}, done: {type: final}}`

func always(rights string) string {
	return `{id: w, initial: a, meta: {enforcement: always}, states: {a: {` + rights + `, on: {OUT: done}}, done: {type: final}}}`
}

// sourced asks of some keys whether they are the operator's still.
func sourced(keys ...string) string {
	var context, guards []string
	for _, key := range keys {
		context = append(context, key+": 1")
		guards = append(guards, `{field: `+key+`, op: eq, value: 1, source: operator}`)
	}
	return `{id: w, initial: a, context: {` + strings.Join(context, ", ") + `}, states: {a: {on: {GO: b}}, b: {on: {BAD: {target: bad, guard: g}, OK: done}},
		bad: {on: {X: done}}, done: {type: final}}, guards: {g: {all: [` + strings.Join(guards, ", ") + `]}}}`
}

// needing takes two calls to come to its end, in a state that admits some.
func needing(meta, iterations, more string) string {
	return `{id: w, initial: a, meta: {` + meta + `}, states: {a: {allowed_tools: [mcp__ci__run, Read], max_iterations: ` + iterations +
		`, on: {` + more + `OUT: {target: done, guard: g}}}, done: {type: final}}, guards: {g: {evidence: e}}, evidence: {e: {tool: mcp__ci__run, count: 2}}}`
}

// TestHoles: what some run does is never proved.
func TestHoles(t *testing.T) {
	t.Parallel()
	for _, c := range holes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := model(t, c.workflow)
			got := verify.Check(m, properties(t, m, "{p: "+c.property+"}"), verify.Options{}).Results[0]
			said := got.Reason
			if got.Counterexample != nil {
				said += string(got.Counterexample.Scenario)
				if got.Verdict == verify.Refuted {
					failsAtTheEnd(t, got.Counterexample)
				}
			}
			if got.Verdict != c.want || !strings.Contains(said, c.says) {
				t.Errorf("%s, want %s that says %q:\n%s", got.Verdict, c.want, c.says, said)
			}
		})
	}
}

// TestPartOfEveryCharacter: a text that guards look for may have every character that would
// else stand between two.
func TestPartOfEveryCharacter(t *testing.T) {
	t.Parallel()
	values, complete := verify.Classes(model(t, `{id: w, initial: a, states: {a: {on: {BAD: {target: done, guard: g}}}, done: {type: final}},
		guards: {g: {field: x, op: contains, value: "~|#;^@%&+ \u0001\u0002\u0003\u0004\u0005\u0006"}}}`).Main.Machine, "x")
	if len(values) < 2 || !complete {
		t.Errorf("%v, %v", values, complete)
	}
}

// TestLongCommands: entries that are too long to be compared are not taken to have nothing in
// common.
func TestLongCommands(t *testing.T) {
	t.Parallel()
	m := model(t, always(`allowed_tools: [Bash, Edit], allowed_commands: ["x `+strings.Repeat("a", 20_000)+`"]`))
	for command, want := range map[string]verify.Verdict{
		"*" + strings.Repeat("a", 20_000) + "*": verify.Undecided, "x *": verify.Refuted, "y *": verify.Proved,
	} {
		if r := verify.Check(m, properties(t, m, `{p: {never: {command: "`+command+`"}}}`), verify.Options{}).Results[0]; r.Verdict != want {
			t.Errorf("%.20s: %s: %.200s", command, r.Verdict, r.Reason)
		}
	}
}
