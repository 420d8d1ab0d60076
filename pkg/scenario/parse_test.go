package scenario_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/scenario"
)

const small = `{"id": "w", "initial": "a", "context": {"n": 1},
  "states": {"a": {"allowed_tools": ["Read"], "on": {"GO": "z"}}, "z": {"type": "final"}}}`

// files are those that scenario files of the tests name.
var files = map[string]string{
	"w.json":       small,
	"w.yaml":       "id: w\ninitial: a\nstates: {a: {on: {GO: z}}, z: {type: final}}\n",
	"bad.json":     "{\"id\": \"w\", \"initial\": \"a\",\n\"states\": {\"a\": {\"on\": {\"GO\": \"nowhere\"}},\n\"z\": {\"type\": \"final\"}}}",
	"broken.json":  `{"id": `,
	"process.json": `{"name": "p", "initial": "q", "states": {"q": {"question": "Done?", "answers": {"yes": {"next": null}}}}}`,
	"policy.json":  `{"role": "agent", "allow": [{"capability": "tool:Read"}]}`,
}

func openFile(name string) (scenario.Source, error) {
	text, ok := files[name]
	if !ok {
		return scenario.Source{}, errors.New("no such file")
	}
	return scenario.Source{Name: "dir/" + name, Text: []byte(text)}, nil
}

func parse(text string) (*scenario.Suite, []scenario.Problem) {
	return scenario.Parse(scenario.Source{Name: "s.test.yaml", Text: []byte(text)}, openFile)
}

// TestProblems: every test that might silently have no effect is a problem, with its line.
func TestProblems(t *testing.T) {
	t.Parallel()
	step := func(text string) string {
		return "workflow: w.json\ncases:\n- name: x\n  steps:\n  - " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
	}
	for name, tt := range map[string]struct{ text, want string }{
		"empty":                  {"", "s.test.yaml: JSON_SYNTAX"},
		"a list":                 {"[]", "s.test.yaml:1: TYPE"},
		"a workflow":             {`{"id": "w", "initial": "a", "states": {}}`, "s.test.yaml:1: TYPE: this is a workflow, not a scenario file"},
		"syntax":                 {"workflow: [", "s.test.yaml: JSON_SYNTAX"},
		"duplicate key":          {step("event: GO\nexpect: {state: z, state: a}"), "s.test.yaml:6: /cases/0/steps/0/expect/state: DUPLICATE_KEY"},
		"unknown at the top":     {step("event: GO") + "worspace: /x\n", `s.test.yaml:6: /worspace: UNKNOWN_FIELD did you mean "workspace"`},
		"no workflow":            {"cases:\n- name: x\n  steps: [{event: GO}]\n", "s.test.yaml:1: /workflow: REQUIRED"},
		"workflow and process":   {"process: process.json\n" + step("event: GO"), "s.test.yaml:1: /process: CONFLICT"},
		"workflow is a number":   {"workflow: 7\ncases: [{name: x, steps: [{event: GO}]}]", "s.test.yaml:1: /workflow: TYPE"},
		"no such file":           {"workflow: x.json\ncases: [{name: x, steps: [{event: GO}]}]", "s.test.yaml:1: /workflow: UNREADABLE no such file"},
		"a file that is broken":  {"workflow: broken.json\ncases: [{name: x, steps: [{event: GO}]}]", "dir/broken.json: JSON_SYNTAX"},
		"an invalid workflow":    {"workflow: bad.json\ncases: [{name: x, steps: [{event: GO}]}]", "dir/bad.json:2: /states/a/on/GO: UNKNOWN_STATE"},
		"an invalid one inline":  {"workflow:\n  id: w\n  initial: b\n  states: {a: {type: final}}\ncases: [{name: x, steps: [{event: GO}]}]", "s.test.yaml:3: /workflow/initial: UNKNOWN_STATE"},
		"two of one id":          {"workflows: [w.yaml]\n" + step("event: GO"), `s.test.yaml:1: /workflows/0: CONFLICT`},
		"no cases":               {"workflow: w.json\n", "s.test.yaml:1: /cases: REQUIRED"},
		"cases are empty":        {"workflow: w.json\ncases: []\n", "s.test.yaml:2: /cases: EMPTY"},
		"no steps":               {"workflow: w.json\ncases:\n- name: x\n", "s.test.yaml:3: /cases/0/steps: REQUIRED"},
		"steps are empty":        {"workflow: w.json\ncases:\n- name: x\n  steps: []\n", "s.test.yaml:4: /cases/0/steps: EMPTY"},
		"no name":                {"workflow: w.json\ncases:\n- steps: [{event: GO}]\n", "s.test.yaml:3: /cases/0/name: REQUIRED"},
		"unknown in a case":      {"workflow: w.json\ncases:\n- name: x\n  step: [{event: GO}]\n", `/cases/0/step: UNKNOWN_FIELD did you mean "steps"`},
		"given an unknown state": {"workflow: w.json\ncases:\n- name: x\n  given: {state: b}\n  steps: [{event: GO}]\n", "s.test.yaml:4: /cases/0/given/state: UNKNOWN_STATE"},
		"given a reserved key":   {"workflow: w.json\ncases:\n- name: x\n  given: {context: {_x: 1}}\n  steps: [{event: GO}]\n", "s.test.yaml:4: /cases/0/given/context: RESERVED_KEY"},
		"unknown in given":       {"workflow: w.json\ncases:\n- name: x\n  given: {contxt: {x: 1}}\n  steps: [{event: GO}]\n", `/cases/0/given/contxt: UNKNOWN_FIELD did you mean "context"`},
		"given no instant":       {"workflow: w.json\ncases:\n- name: x\n  given: {at: 2026-11-27 16:50}\n  steps: [{event: GO}]\n", "s.test.yaml:4: /cases/0/given/at: RANGE"},
		"a step without action":  {step("expect: {state: a}"), "s.test.yaml:5: /cases/0/steps/0: REQUIRED"},
		"a step with two":        {step("event: GO\ncall: {tool: Read}"), "s.test.yaml:5: /cases/0/steps/0: CONFLICT"},
		"a misspelt action":      {step("evnt: GO"), `/cases/0/steps/0/evnt: UNKNOWN_FIELD did you mean "event"`},
		"misspelt expect":        {step("event: GO\nexepct: {state: a}"), `s.test.yaml:6: /cases/0/steps/0/exepct: UNKNOWN_FIELD did you mean "expect"`},
		"misspelt key of expect": {step("event: GO\nexpect: {stat: a}"), `/cases/0/steps/0/expect/stat: UNKNOWN_FIELD did you mean "state"`},
		"expect is empty":        {step("event: GO\nexpect: {}"), "s.test.yaml:6: /cases/0/steps/0/expect: EMPTY"},
		"expect is null":         {step("event: GO\nexpect:"), "/cases/0/steps/0/expect: TYPE"},
		"expect is a list":       {step("event: GO\nexpect: [a]"), "/cases/0/steps/0/expect: TYPE"},
		"a state that is null":   {step("event: GO\nexpect: {state: null}"), "/cases/0/steps/0/expect/state: TYPE"},
		"an unknown status":      {step("event: GO\nexpect: {status: COMPLETE}"), `/cases/0/steps/0/expect/status: ENUM did you mean "COMPLETED"`},
		"an unknown decision":    {step("call: {tool: Read}\nexpect: {decision: ALLOWED}"), "/cases/0/steps/0/expect/decision: ENUM"},
		"iterations as text":     {step("event: GO\nexpect: {iterations: \"1\"}"), "/cases/0/steps/0/expect/iterations: TYPE"},
		"events as text":         {step("event: GO\nexpect: {events: started}"), "/cases/0/steps/0/expect/events: TYPE"},
		"guards that are no texts": {
			step("event: GO\nexpect: {guards: [1]}"), "/cases/0/steps/0/expect/guards/0: TYPE",
		},
		"approval_id as text":          {step("event: GO\nexpect: {approval_id: \"yes\"}"), "/cases/0/steps/0/expect/approval_id: TYPE"},
		"decision of an event":         {step("event: GO\nexpect: {decision: ALLOW}"), "/cases/0/steps/0/expect/decision: CONFLICT"},
		"a call that is rejected":      {step("call: {tool: Read}\nexpect: {rejected: X}"), "/cases/0/steps/0/expect/rejected: CONFLICT"},
		"guards of a report":           {step("report: {tool: Read}\nexpect: {guards: []}"), "/cases/0/steps/0/expect/guards: CONFLICT"},
		"data of a call":               {step("call: {tool: Read}\ndata: {}"), "/cases/0/steps/0/data: CONFLICT"},
		"data is a list":               {step("event: GO\ndata: [1]"), "/cases/0/steps/0/data: TYPE"},
		"an empty event":               {step("event: \"\""), "/cases/0/steps/0/event: EMPTY"},
		"an event that is a number":    {step("event: 7"), "/cases/0/steps/0/event: TYPE"},
		"a call without a tool":        {step("call: {input: {}}"), "/cases/0/steps/0/call/tool: REQUIRED"},
		"a call of a name":             {step("call: Read"), "/cases/0/steps/0/call: TYPE"},
		"unknown in a call":            {step("call: {tool: Read, inputs: {}}"), `/cases/0/steps/0/call/inputs: UNKNOWN_FIELD did you mean "input"`},
		"a jail that is no level":      {step("call: {tool: Bash, jail: 4}"), "/cases/0/steps/0/call/jail: RANGE"},
		"a jail that is a text":        {step("call: {tool: Bash, jail: full}"), "/cases/0/steps/0/call/jail: TYPE"},
		"an input that is a text":      {step("call: {tool: Read, input: ls}"), "/cases/0/steps/0/call/input: TYPE"},
		"unknown in a report":          {step("report: {tool: Edit, files: [a]}"), "/cases/0/steps/0/report/files: UNKNOWN_FIELD"},
		"negative bytes":               {step("report: {tool: Edit, result_bytes: -1}"), "/cases/0/steps/0/report/result_bytes: RANGE"},
		"a cost that is a float":       {step("report: {tool: Edit, cost_usd: 0.02}"), "/cases/0/steps/0/report/cost_usd: TYPE"},
		"a cost that is not an amount": {step("report: {tool: Edit, cost_usd: \"1e\"}"), "/cases/0/steps/0/report/cost_usd: NUMBER"},
		"a file without a name":        {step("report: {tool: Edit, files_changed: [\"\"]}"), "/cases/0/steps/0/report/files_changed/0: EMPTY"},
		"advance by a number":          {step("advance: 90"), "/cases/0/steps/0/advance: TYPE"},
		"advance by nonsense":          {step("advance: 90 minutes"), "/cases/0/steps/0/advance: RANGE"},
		"advance back":                 {step("advance: -1h"), "/cases/0/steps/0/advance: RANGE"},
		"advance by nothing":           {step("advance: 0s"), "/cases/0/steps/0/advance: RANGE"},
		"pause with a key":             {step("pause: {by: me}"), "/cases/0/steps/0/pause/by: UNKNOWN_FIELD"},
		"pause without braces":         {step("pause:"), "/cases/0/steps/0/pause: TYPE"},
		"force without a state":        {step("force_state: {context: {}}"), "/cases/0/steps/0/force_state/state: REQUIRED"},
		"answer of a workflow":         {step("answer: yes"), "/cases/0/steps/0/answer: CONFLICT"},
		"note of an event":             {step("event: GO\nnote: x"), "/cases/0/steps/0/note: CONFLICT"},
		"approve with other data":      {step("approve: {by: bob, data: {}}"), "/cases/0/steps/0/approve/data: UNKNOWN_FIELD"},
		"reject with data":             {step("reject: {by: bob, edited_data: {}}"), "/cases/0/steps/0/reject/edited_data: UNKNOWN_FIELD"},
		"approve by nobody":            {step("approve: {}"), "/cases/0/steps/0/approve/by: REQUIRED"},
		"reject with more":             {step("reject: {by: bob, reason: no}"), "/cases/0/steps/0/reject/reason: UNKNOWN_FIELD"},
		"branch of null":               {step("branch:"), "/cases/0/steps/0/branch: TYPE"},
		"a negative estimate":          {step("call: {tool: Edit, estimated_cost_usd: \"-1\"}"), "/cases/0/steps/0/call/estimated_cost_usd: NUMBER"},
		"an estimate as a number":      {step("call: {tool: Edit, estimated_cost_usd: 1}"), "/cases/0/steps/0/call/estimated_cost_usd: TYPE"},
		"a policy that is a number":    {"policy: 7\n" + step("event: GO"), "s.test.yaml:1: /policy: TYPE"},
		"no policy in the list":        {"policy: []\n" + step("event: GO"), "s.test.yaml:1: /policy: EMPTY"},
		"policies of one name":         {"policy: [{role: agent, name: p}, {role: agent, name: p}]\n" + step("event: GO"), "s.test.yaml:1: /policy/1: CONFLICT"},
		"a bad policy in a list":       {"policy: [policy.json, {role: agent, allow: 1}]\n" + step("event: GO"), "s.test.yaml:1: /policy/1/allow: TYPE"},
		"a bad policy":                 {"policy: w.json\n" + step("event: GO"), "dir/w.json:1: /id: UNKNOWN_FIELD"},
		"given in a process": {
			"process: process.json\ncases: [{name: x, given: {state: z}, steps: [{answer: yes}]}]", "/cases/0/given/state: UNKNOWN_STATE",
		},
		"given the end of a process": {
			"process: process.json\ncases: [{name: x, given: {state: $completed}, steps: [{answer: yes}]}]", "/cases/0/given/state: UNKNOWN_STATE",
		},
		"an invalid process": {
			"process: w.json\ncases: [{name: x, steps: [{answer: yes}]}]", "dir/w.json:1: /name: REQUIRED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite, problems := parse(tt.text)
			if suite != nil || len(problems) == 0 {
				t.Fatalf("it is a suite, with problems %v", problems)
			}
			code, hint, _ := strings.Cut(tt.want, " did you mean ")
			if head, rest, ok := strings.Cut(code, "UNREADABLE "); ok {
				code, hint = head+"UNREADABLE", rest
			}
			for _, p := range problems {
				if s := p.String(); strings.Contains(s, code+":") && strings.Contains(s, hint) {
					return
				}
			}
			t.Errorf("want %s, got %v", tt.want, problems)
		})
	}
}

// TestAllProblemsAtOnce: a file is fixed in one go.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, problems := parse("workflow: bad.json\npolicy: 1\nextra: 1\ncases:\n- name: x\n  steps: [{}, {event: 1}]\n")
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s:%d %s %s", p.File, p.Line, p.Pointer, p.Code))
	}
	want := []string{
		"dir/bad.json:2 /states/a/on/GO UNKNOWN_STATE",
		"s.test.yaml:6 /cases/0/steps/0 REQUIRED",
		"s.test.yaml:6 /cases/0/steps/1/event TYPE",
		"s.test.yaml:3 /extra UNKNOWN_FIELD",
		"s.test.yaml:2 /policy TYPE",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzParse: no file makes the parser or the player fail.
func FuzzParse(f *testing.F) {
	f.Add("workflow: w.json\ncases:\n- name: x\n  given: {state: a, context: {n: 2}}\n  steps:\n" +
		"  - call: {tool: Read, input: {a: 1}}\n    expect: {decision: ALLOW}\n  - report: {tool: Edit, files_changed: [a], cost_usd: \"0.1\"}\n" +
		"  - {event: GO, data: {x: 1}, expect: {state: z}}\n  - {branch: b}\n  - {pause: {}}\n  - {resume: {}}\n  - {advance: 1h}\n  - {answer: yes}\n")
	f.Add("workflow: {id: w, initial: a, states: {a: {on: {F: {fork: {branches: {b: {initial: c, terminal: d}}, on_complete: z}}}}, c: {on: {G: d}}, d: {type: final}, z: {type: final}}}\n" +
		"cases:\n- {name: x, steps: [{event: F}, {branch: b}, {event: G}, {force_state: {state: a}}]}\n")
	f.Add("workflow: {id: w, initial: a, meta: {approval_mode: ui, approval: {required: 2}}, states: {a: {on: {G: {target: z, requires_approval: true}}}, z: {type: final}}}\n" +
		"cases:\n- {name: x, steps: [{event: G}, {approve: {by: alice, edited_data: {x: 1}}}, {reject: {by: bob, note: no}}, {advance: 25h}]}\n")
	f.Add("process: {name: p, initial: q, states: {q: {question: q, answers: {yes: {next: q, action: notify_human}, no: {next: null, action: block}}}}}\n" +
		"cases:\n- {name: x, steps: [{answer: yes, note: n}, {approve: {by: alice}}, {answer: maybe}, {answer: no}]}\n")
	f.Add("policy: {role: agent, session_budget_usd: 1, ask: [{capability: bash, rate_limit: {max_calls: 1, window_seconds: 60}}], deny: [{capability: \"tool:Write\"}]}\nworkflow: w.json\n" +
		"cases:\n- {name: x, steps: [{call: {tool: Bash, estimated_cost_usd: \"0.1\"}, expect: {decision: ASK}}, {approve: {by: a}}, {call: {tool: Bash}}, {report: {tool: Bash, cost_usd: \"1\"}}, {call: {tool: Bash}}]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		suite, problems := parse(text)
		if (suite == nil) == (len(problems) == 0) {
			t.Fatalf("suite %v with problems %v", suite, problems)
		}
		if suite == nil {
			return
		}
		var coverage scenario.Coverage
		for _, r := range suite.Play(&coverage) {
			if r.OK != (r.Step < 0) {
				t.Errorf("result %+v", r)
			}
		}
	})
}
