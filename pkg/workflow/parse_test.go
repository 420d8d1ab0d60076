package workflow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestExamplesAreValid: the workflows of the schema reference have no error.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/examples/*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d, problems := workflow.Parse(src); d == nil {
			t.Errorf("%s: %v", file, problems)
		}
	}
}

const everything = `{
  "$schema": "https://example.com/s.json", "id": "all of it", "initial": "a",
  "context": {"n": 9007199254740993, "t": null},
  "states": {
    "a": {
      "allowed_tools": ["Read", "Bash", "mcp__fs__*"], "disallowed_tools": ["WebFetch"], "instructions": "Do.",
      "max_iterations": 3, "max_edit_lines": 4, "max_files_per_state": 5, "context_budget_bytes": 6, "safe_next": "a",
      "allowed_commands": ["npm test"], "allowed_commands_tool": "Bash", "deny_env": ["SECRET"], "env": {"A": "1", "B": ""},
      "on": {
        "PLAIN": "b",
        "GUARDED": {"target": "b", "guard": "g1", "guards": ["g2"], "requires_approval": true, "approval_message": "Go?"},
        "BRANCHED": [{"target": "b", "guard": "g1"}, {"target": "failed"}],
        "INVOKE": {"invoke": "other", "on_complete": "b", "on_fail": "failed", "input": {"k": 1}},
        "FORK": {"fork": {"branches": {"x": {"initial": "x1", "terminal": "x2"}}, "join": "any", "on_complete": "b"}}
      }
    },
    "b": {"allowed_tools": [], "allowed_commands": [], "on": {"END": "won"}},
    "h": {"on": {"OK": "$return"}},
    "x1": {"on": {"OK": "x2"}}, "x2": {"type": "final"},
    "won": {"type": "final", "outcome": "failure"}, "failed": {"type": "final"}
  },
  "guards": {"g1": {"field": "n", "op": "gte", "value": 1}, "g2": {"field": "/t", "op": "exists"}},
  "interrupts": {"i": {"trigger": {"file_pattern": "**/*.js"}, "target": "h"}},
  "meta": {"debug": true, "capture_output": true, "approval_mode": "ui", "enforcement": "always", "requires_human_approval": true}
}`

// TestParseBinds reads a definition that uses every field.
func TestParseBinds(t *testing.T) {
	t.Parallel()
	options := workflow.Options{Strict: true, Known: func(id string) bool { return id == "other" }}
	got, problems := options.Parse([]byte(strings.Replace(everything, `"allowed_tools": [], "allowed_commands": [],`, `"allowed_tools": [],`, 1)))
	if got == nil {
		t.Fatal(problems)
	}
	want := &workflow.Definition{
		ID: "all of it", Initial: "a", Context: parse(t, `{"n": 9007199254740993, "t": null}`),
		States: []workflow.State{
			{
				Name: "a", ToolsRestricted: true, AllowedTools: []string{"Read", "Bash", "mcp__fs__*"}, DisallowedTools: []string{"WebFetch"},
				Instructions: "Do.", SafeNext: "a", MaxIterations: 3, MaxEditLines: 4, MaxFilesPerState: 5, ContextBudgetBytes: 6,
				CommandsRestricted: true, AllowedCommands: []string{"npm test"}, AllowedCommandsTool: "Bash",
				BlockedEnv: []string{"SECRET"}, EnvOverrides: []workflow.EnvVar{{Name: "A", Value: "1"}, {Name: "B"}},
				On: []workflow.Transition{
					{Event: "PLAIN", Branches: []workflow.Branch{{Target: "b"}}},
					{Event: "GUARDED", Branches: []workflow.Branch{{Target: "b", Guards: []string{"g1", "g2"}, RequiresApproval: true, ApprovalMessage: "Go?"}}},
					{Event: "BRANCHED", Branched: true, Branches: []workflow.Branch{{Target: "b", Guards: []string{"g1"}}, {Target: "failed"}}},
					{Event: "INVOKE", Invoke: &workflow.Invoke{Workflow: "other", OnComplete: "b", OnFail: "failed", Input: parse(t, `{"k": 1}`)}},
					{Event: "FORK", Fork: &workflow.Fork{Branches: []workflow.ForkBranch{{Name: "x", Initial: "x1", Terminal: "x2"}}, Join: "any", OnComplete: "b"}},
				},
			},
			{
				Name: "b", ToolsRestricted: true, AllowedTools: []string{}, AllowedCommandsTool: "Bash",
				On: []workflow.Transition{{Event: "END", Branches: []workflow.Branch{{Target: "won"}}}},
			},
			{Name: "h", AllowedCommandsTool: "Bash", On: []workflow.Transition{{Event: "OK", Branches: []workflow.Branch{{Target: "$return"}}}}},
			{Name: "x1", AllowedCommandsTool: "Bash", On: []workflow.Transition{{Event: "OK", Branches: []workflow.Branch{{Target: "x2"}}}}},
			{Name: "x2", Final: true, Outcome: workflow.Success, AllowedCommandsTool: "Bash"},
			{Name: "won", Final: true, Outcome: workflow.Failure, AllowedCommandsTool: "Bash"},
			{Name: "failed", Final: true, Outcome: workflow.Failure, AllowedCommandsTool: "Bash"},
		},
		Guards: []workflow.Guard{
			{Name: "g1", Field: "n", Op: "gte", Value: document.NumberValue("1"), HasValue: true},
			{Name: "g2", Field: "/t", Op: "exists"},
		},
		Interrupts: []workflow.Interrupt{{Name: "i", FilePattern: "**/*.js", Target: "h"}},
		Meta:       workflow.Meta{Debug: true, CaptureOutput: true, ApprovalMode: "ui", Enforcement: workflow.Always, RequiresHumanApproval: true},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(document.Equal)); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// TestOutcomes holds S1.5.
func TestOutcomeByName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]workflow.Outcome{
		"failed": workflow.Failure, "failure": workflow.Failure, "error": workflow.Failure, "aborted": workflow.Failure,
		"blocked": workflow.Failure, "rejected": workflow.Failure, "cancelled": workflow.Failure,
		"done": workflow.Success, "complete": workflow.Success, "Failed": workflow.Success, "failed_2": workflow.Success,
	} {
		d, problems := workflow.Parse(fmt.Appendf(nil, `{"id":"w","initial":"a","states":{"a":{"on":{"X":%q}},%q:{"type":"final"}}}`, name, name))
		if d == nil {
			t.Fatal(problems)
		}
		if got := d.States[1].Outcome; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestParseYAML: YAML gives the same as JSON, problems included (S1.1).
func TestParseYAML(t *testing.T) {
	t.Parallel()
	d, problems := workflow.ParseYAML([]byte("id: w\ninitial: a\nstates:\n  a:\n    allowed_tools: [Read]\n    on:\n      NO: done\n  done: {type: final}\n"))
	if d == nil || len(problems) > 0 || d.States[0].On[0].Event != "NO" {
		t.Errorf("got %+v, %v", d, problems)
	}
	_, problems = workflow.ParseYAML([]byte("id: w\nid: v\ninitial: b\nstates:\n  a: {type: final}\n"))
	if got := codes(problems); got != "DUPLICATE_KEY /id, UNKNOWN_STATE /initial" {
		t.Errorf("got %s", got)
	}
}

func codes(problems document.Problems) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Code+" "+p.Pointer)
	}
	return strings.Join(all, ", ")
}

// TestTextProblems: problems of the text come with all others where the text
// can be read to its end (S1.2).
func TestTextProblems(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := map[string]struct{ src, want string }{
		"empty":            {``, "JSON_SYNTAX "},
		"a list":           {`[]`, "TYPE "},
		"null":             {`null`, "TYPE "},
		"a string":         {`"w"`, "TYPE "},
		"trailing comma":   {`{"id":"w",}`, "JSON_SYNTAX "},
		"duplicate and id": {`{"initial":"a","states":{"a":{"on":{"X":"d"}},"a":{},"d":{"type":"final"}}}`, "REQUIRED /id, DUPLICATE_KEY /states/a"},
		"bad UTF-8":        {"{\"id\":\"\xff\",\"initial\":\"a\",\"states\":{\"a\":{\"on\":{\"X\":\"d\"}},\"d\":{\"type\":\"final\"}}}", "UTF8 /id"},
		"half a pair":      {`{"id":"\ud800","initial":"a","states":{"a":{"on":{"X":"d"}},"d":{"type":"final"}}}`, "UTF8 /id"},
		"too deep":         {`{"id":"w","context":{"x":` + nested(70) + `}}`, "TOO_DEEP , TOO_DEEP /context"},
		"too large":        {`{"id":"` + strings.Repeat("w", 1<<20) + `"}`, "TOO_LARGE "},
	}
	for name, tt := range tests {
		if _, problems := workflow.Parse([]byte(tt.src)); codes(problems) != tt.want {
			t.Errorf("%s: got %s, want %s", name, codes(problems), tt.want)
		}
	}
}

// TestSameNames: names that only look different to a program are duplicates.
func TestSameNames(t *testing.T) {
	t.Parallel()
	_, problems := workflow.Parse([]byte(`{"id":"w","initial":"a","states":{"a":{"on":{"caf\u00e9":"d","cafe\u0301":"d"}},"d":{"type":"final"}}}`))
	if got := codes(problems); got != "DUPLICATE_KEY /states/a/on" {
		t.Errorf("got %s", got)
	}
}

// TestMessages: the sentence says how to fix it (S1.2).
func TestMessages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ src, want string }{
		"state": {
			`{"id":"w","initial":"implementng","states":{"implementing":{"on":{"X":"done"}},"done":{"type":"final"}}}`,
			`/initial: UNKNOWN_STATE: no state "implementng"; did you mean "implementing"?`,
		},
		"case": {
			`{"id":"w","initial":"A","states":{"a":{"on":{"X":"done"}},"done":{"type":"final"}}}`,
			`did you mean "a"?`,
		},
		"tool of a property": {
			`{"id":"w","initial":"a","states":{"a":{"on":{"X":"done"}},"done":{"type":"final"}},"properties":{"p":{"never":{"tool":"Edt"}}}}`,
			`/properties/p/never/tool: UNKNOWN_TOOL: no tool is named "Edt"; did you mean "Edit"?`,
		},
		"guard": {
			`{"id":"w","initial":"a","states":{"a":{"on":{"X":{"target":"done","guard":"test_passed"}}},"done":{"type":"final"}},"guards":{"tests_passed":{"field":"t","op":"exists"}}}`,
			`did you mean "tests_passed"?`,
		},
		"operator": {
			`{"id":"w","initial":"a","states":{"a":{"on":{"X":"done"}},"done":{"type":"final"}},"guards":{"g":{"field":"t","op":"==","value":1}}}`,
			`did you mean "eq"?`,
		},
		"field": {
			`{"id":"w","initial":"a","states":{"a":{"allowd_tools":[],"on":{"X":"done"}},"done":{"type":"final"}}}`,
			`which is close to "allowed_tools"`,
		},
		"field of a transition": {
			`{"id":"w","initial":"a","states":{"a":{"guard":"g","on":{"X":"done"}},"done":{"type":"final"}}}`,
			`a state has no field "guard": it belongs elsewhere, and has no effect here; remove it`,
		},
		"return": {
			`{"id":"w","initial":"a","states":{"a":{"on":{"X":"done","Y":"$retrun"}},"done":{"type":"final"}}}`,
			`did you mean "$return"?`,
		},
		"enum": {
			`{"id":"w","initial":"a","states":{"a":{"on":{"X":"done"}},"done":{"type":"Final"}}}`,
			`did you mean "final"?`,
		},
		"guard written in place": {
			`{"id":"w","initial":"a","states":{"a":{"on":{"X":{"target":"done","guard":{"field":"t","op":"exists"}}}},"done":{"type":"final"}}}`,
			`"guard" must be a string, not an object; name a guard that the workflow's "guards" defines`,
		},
		"guards written in place": {
			`{"id":"w","initial":"a","states":{"a":{"on":{"X":[{"target":"done","guards":[{"field":"t","op":"exists"}]}]}},"done":{"type":"final"}}}`,
			`an item of "guards" must be a string, not an object; name a guard that the workflow's "guards" defines`,
		},
		// Its advice is not refused by --strict (TestValidation).
		"field of one's own": {
			`{"id":"w","initial":"a","team":"x","states":{"a":{"on":{"X":"done"}},"done":{"type":"final"}}}`,
			`/team: UNKNOWN_FIELD: a workflow has no field "team"; remove it, or begin its name with x- to keep it as a note`,
		},
		"the whole": {`{`, `JSON_SYNTAX: `},
	}
	for name, tt := range tests {
		_, problems := workflow.Parse([]byte(tt.src))
		var all []string
		for _, p := range problems {
			all = append(all, p.String())
		}
		if !strings.Contains(strings.Join(all, "\n"), tt.want) {
			t.Errorf("%s: want %q in %q", name, tt.want, all)
		}
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	src := []byte(`{"id":"w","version":1,"initial":"a","states":{"a":{"on":{"X":"d"}},"d":{"type":"final"}}}`)
	if d, problems := workflow.Parse(src); d == nil || codes(problems) != "UNKNOWN_HINT /version" || problems[0].Severity != document.SeverityWarning {
		t.Errorf("got %v", problems)
	}
	if d, problems := (workflow.Options{Strict: true}).Parse(src); d != nil || !problems.HasErrors() {
		t.Errorf("strict: got %v", problems)
	}
}

// TestCosts: documents made to be expensive are judged in the time of the test.
func TestCosts(t *testing.T) {
	t.Parallel()
	// Every state refers to a name that no state has.
	var misspelt, chain, bypass, forks strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&misspelt, `"state_number_%d":{"on":{"X":"state_numbr_%dx"}},`, i, i)
	}
	for i := range 9000 {
		fmt.Fprintf(&chain, `"s%d":{"on":{"X":"s%d"}},`, i, i+1)
	}
	for i := range 2000 {
		fmt.Fprintf(&bypass, `"s%d":{"safe_next":"s%d","on":{"X":{"target":"d","requires_approval":true},"Y":"s%d"}},`, i, (i*7)%2000, (i+1)%2000)
	}
	for i := range 400 {
		fmt.Fprintf(&forks, `"s%d":{"on":{"F":{"fork":{"branches":{"x":{"initial":"s%d","terminal":"d"}},"on_complete":"s%d"}},"N":"s%d","E":"d"}},`, i, (i+1)%400, (i+2)%400, (i+3)%400)
	}
	end := `"d":{"type":"final"}}}`
	tests := map[string]struct{ src, want string }{
		"misspelt": {`{"id":"w","initial":"d","states":{` + misspelt.String() + end, "TOO_MANY"},
		"chain":    {`{"id":"w","initial":"s0","states":{` + chain.String() + strings.Replace(end, `"d"`, `"s9000"`, 1), ""},
		"bypass":   {`{"id":"w","initial":"s0","states":{` + bypass.String() + end, "TOO_MANY"},
		"forks":    {`{"id":"w","initial":"s0","states":{` + forks.String() + end, "FORK_CYCLE"},
		"states":   {`{"id":"w","initial":"d","states":{` + strings.Repeat(`"":{},`, 1) + many(10_001) + end, "TOO_MANY"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := workflow.Parse([]byte(tt.src))
			found := tt.want == "" && !problems.HasErrors()
			for _, p := range problems {
				found = found || p.Code == tt.want
			}
			if !found {
				t.Errorf("want %q among %d problems: %.300s", tt.want, len(problems), codes(problems))
			}
		})
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"s%d":{},`, i)
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	files, err := filepath.Glob("testdata/examples/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, problems := workflow.Parse(src)
		if (d == nil) != problems.HasErrors() {
			t.Fatalf("definition %v with %v", d, problems)
		}
		for _, p := range problems {
			if p.Message == "" || p.Code == "" || p.Pointer != "" && p.Pointer[0] != '/' {
				t.Fatalf("bad problem %+v", p)
			}
		}
	})
}

// ladder is a workflow of n states with every common field.
func ladder(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"id":"w","initial":"s0","context":{"n":0},"guards":{"g":{"field":"n","op":"gte","value":1}},"states":{`)
	for i := range n {
		fmt.Fprintf(&b, `"s%d":{"allowed_tools":["Read","Grep","Bash","mcp__fs__*"],"instructions":"Understand the change.","max_iterations":10,`+
			`"allowed_commands":["pytest","npm test"],"blocked_env":["SECRET"],"safe_next":"s%d",`+
			`"on":{"NEXT":{"target":"s%d","guard":"g"},"BACK":"s0","PICK":[{"target":"s%d","guards":["g"]},{"target":"done"}]}},`, i, i, (i+1)%n, (i+7)%n)
	}
	b.WriteString(`"done":{"type":"final"}}}`)
	return []byte(b.String())
}

func BenchmarkValidate200States(b *testing.B)  { benchmarkValidate(b, 200) }
func BenchmarkValidate1000States(b *testing.B) { benchmarkValidate(b, 1000) }

func benchmarkValidate(b *testing.B, states int) {
	src := ladder(states)
	b.ReportAllocs()
	for b.Loop() {
		if d, problems := workflow.Parse(src); d == nil {
			b.Fatal(problems)
		}
	}
}
