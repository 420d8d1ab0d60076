package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const watchedWorkflow = `
id: watched
initial: coding
states:
  coding:
    allowed_tools: [Read, Edit, Bash]
    allowed_commands: [go test]
    max_iterations: 4
    on: {SAVE: coding, SHIP: {target: shipped, guard: green}, SKIP: shipped}
  shipped: {type: final}
guards: {green: {evidence: tests_green}}
evidence: {tests_green: {tool: Bash, command: go test, after: edit}}
meta: {enforcement: always}
properties:
  tested: {before: {state: shipped}, always: {evidence: tests_green}}
  no edits: {never: {tool: Edit}, unless: {event: SAVE}}
  two tests: {at_most: 2, tool: Bash, command: go test}
`

// recording is a run that somebody stands by.
type recording struct {
	*testing.T
	m    *workflow.Machine
	run  workflow.Run
	seen []conform.Seen
	n    int64
	// left has the digests of calls of earlier runs.
	left []string
}

func tellStory(t *testing.T) (*recording, *verify.Model) {
	t.Helper()
	m := model(t, watchedWorkflow)
	s := &recording{T: t, m: m.Main.Machine}
	out := s.m.Start(workflow.StartParams{ID: "run_1", SessionID: "s", Workspace: "/workspace"}, "agent", noon)
	s.take(&out)
	return s, m
}

func (s *recording) take(out *workflow.Result) {
	s.Helper()
	if out.Rejection != nil {
		s.Fatal(out.Rejection.Message)
	}
	s.run = out.Run
	s.seen = append(s.seen, conform.Seen{RunID: "run_1", Change: &out.Entry})
}

// fire takes an event; the evidence is held if the services say so.
func (s *recording) fire(event string, held bool) {
	s.Helper()
	out := s.m.Step(&s.run, workflow.Fire{Event: event, Actor: "agent", Evidence: evidence.Statuses{"tests_green": {Name: "tests_green", Held: held}}}, noon)
	s.take(&out)
}

// call is one that was allowed on a version of the run.
func (s *recording) call(id, tool, input string, version int64) {
	s.n++
	s.seen = append(s.seen, conform.Seen{RunID: "run_1", Call: &conform.Traced{
		Sequence: s.n, RunVersion: version, Time: noon, CallID: id, State: "coding", Tool: tool, Input: []byte(input),
		Digest: toolcall.InputDigest(tool, []byte(input)), Decision: toolcall.Allow,
	}})
}

func (s *recording) report(id string, ok, observed bool) {
	s.seen = append(s.seen, conform.Seen{RunID: "run_1", Report: &conform.Reported{CallID: id, Time: noon, OK: ok, Observed: observed}})
}

const (
	testing1 = `{"command":"go test ./..."}`
	editing  = `{"file_path":"a.go","old_string":"a","new_string":"b"}`
)

// What happened is held against what was seen: evidence by the calls and the reports of them,
// calls by their limits and by the version of the run, and all of it by the properties.
func TestWatch(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		tell func(s *recording)
		// wrong are parts of what differs or is broken, in order; empty for nothing.
		wrong []string
	}{
		"tested, and shipped": {func(s *recording) {
			s.call("c1", "Bash", testing1, 1)
			s.report("c1", true, true)
			s.fire("SHIP", true)
		}, nil},
		"the word of the agent": {func(s *recording) {
			s.call("c1", "Bash", testing1, 1)
			s.report("c1", true, false)
			s.fire("SHIP", true)
		}, []string{`history 2: transitioned "SHIP" is refused by the definition`}},
		"the word of the agent, and then the harness": {func(s *recording) {
			s.call("c1", "Bash", testing1, 1)
			s.report("c1", true, false)
			s.report("c1", true, true)
			s.fire("SHIP", true)
		}, nil},
		"a report of no call": {func(s *recording) {
			s.report("c1", true, true)
			s.fire("SHIP", true)
		}, []string{`"SHIP" is refused`}},
		"a test that failed": {func(s *recording) {
			s.call("c1", "Bash", testing1, 1)
			s.report("c1", false, true)
			s.fire("SHIP", true)
		}, []string{`"SHIP" is refused`}},
		"an edit after the test": {func(s *recording) {
			s.fire("SAVE", false)
			s.call("c1", "Bash", testing1, 2)
			s.report("c1", true, true)
			s.call("c2", "Edit", editing, 2)
			s.fire("SHIP", true)
		}, []string{`"SHIP" is refused`}},
		"around the tests": {func(s *recording) { s.fire("SKIP", false) }, []string{"tested: history 2: transitioned leads from state \"coding\""}},
		"around the tests, which were run": {func(s *recording) {
			s.call("c1", "Bash", testing1, 1)
			s.report("c1", true, true)
			s.fire("SKIP", false)
		}, nil},
		"an edit before anything is saved": {func(s *recording) { s.call("c1", "Edit", editing, 1) }, []string{"no edits: decision 1: Edit c1 was allowed"}},
		"an edit after that": {func(s *recording) {
			s.fire("SAVE", false)
			s.call("c1", "Edit", editing, 2)
		}, nil},
		"too many tests": {func(s *recording) {
			for i := range 3 {
				s.call(fmt.Sprint("c", i), "Bash", testing1, 1)
			}
		}, []string{"two tests: decision 3: Bash c2 was allowed in state \"coding\": call 3 of at most 2"}},
		"too many calls": {func(s *recording) {
			for i := range 5 {
				s.call(fmt.Sprint("c", i), "Read", `{"file_path":"a.go"}`, 1)
			}
		}, []string{"decision 5: Read c4 is call 5 of this entry of state \"coding\", which admits 4"}},
		"a run that has moved on": {func(s *recording) {
			s.fire("SAVE", false)
			s.call("c1", "Read", `{"file_path":"a.go"}`, 1)
		}, []string{"decision 1: Read c1 was allowed on version 1 of the run, which was at version 2 then"}},
		"while an operator holds the run": {func(s *recording) {
			out := s.m.Step(&s.run, workflow.Pause{Hold: workflow.HoldOperator, Actor: "olga"}, noon)
			s.take(&out)
			s.call("c1", "Read", `{"file_path":"a.go"}`, 2)
		}, []string{"decision 1: Read c1: the state decides DENY RUN_NOT_ACTIVE, and ALLOW was recorded"}},
		"after a pause": {func(s *recording) {
			s.call("c1", "Bash", testing1, 1)
			s.report("c1", true, true)
			out := s.m.Step(&s.run, workflow.Pause{Actor: "agent"}, noon)
			s.take(&out)
			resumed := s.m.Step(&s.run, workflow.Resume{Actor: "agent"}, noon)
			s.take(&resumed)
			s.fire("SHIP", true)
		}, []string{`"SHIP" is refused`}},
		"what the state does not allow": {func(s *recording) {
			s.call("c1", "Write", `{"file_path":"a.go","content":"x"}`, 1)
		}, []string{"decision 1: Write c1: the state decides DENY TOOL_NOT_ALLOWED"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := tellStory(t)
			row.tell(s)
			trace := &conform.Trace{RunID: "run_1", SessionID: "s", Workspace: "/workspace", Definitions: map[int64]*workflow.Machine{1: s.m}}
			out := conform.Watch(m, []*conform.Trace{trace}, s.seen, s.m.Definition().Properties)
			var wrong []string
			for _, d := range out.Runs["run_1"].Differences {
				wrong = append(wrong, d.String())
			}
			for i := range out.Breaches {
				wrong = append(wrong, out.Breaches[i].String())
			}
			if !slices.EqualFunc(wrong, row.wrong, strings.Contains) {
				t.Errorf("wrong are %q, want %q", wrong, row.wrong)
			}
		})
	}
}

// A branch that the run does not have is denied, and nothing else.
func TestConformUnknownBranch(t *testing.T) {
	t.Parallel()
	m := model(t, watchedWorkflow)
	started := m.Main.Machine.Start(workflow.StartParams{ID: "run_1"}, "agent", noon)
	for decision, wrong := range map[toolcall.Decision]int{toolcall.Deny: 0, toolcall.Allow: 1} {
		d := conform.Traced{Sequence: 1, RunVersion: 1, Time: noon, CallID: "c1", State: "coding", Branch: "x", Tool: "Read", Decision: decision}
		if decision == toolcall.Deny {
			d.Code = toolcall.CodeRunNotActive
		}
		out := conform.Conform(&conform.Trace{
			RunID: "run_1", Definitions: map[int64]*workflow.Machine{1: m.Main.Machine}, History: []workflow.HistoryEntry{started.Entry}, Decisions: []conform.Traced{d},
		})
		if len(out.Differences) != wrong || len(out.Open) > 0 {
			t.Errorf("%s: %v, open are %v", decision, out.Differences, out.Open)
		}
	}
}

// What is decided by more than the definition is open, and not called wrong.
func TestConformLeavesOpen(t *testing.T) {
	t.Parallel()
	m := model(t, strings.Replace(watchedWorkflow, "meta: {enforcement: always}\n", "", 1), `{name: house, role: agent, ask: [{capability: "tool:Read"}]}`)
	machine := m.Main.Machine
	started := machine.Start(workflow.StartParams{ID: "run_1"}, "agent", noon)
	ended := machine.Step(&started.Run, workflow.Fire{Event: "SKIP", Actor: "agent"}, noon)
	input := []byte(`{"file_path":"a.go"}`)
	denied := conform.Traced{
		Sequence: 1, RunVersion: 1, Time: noon, CallID: "c1", State: "coding", Tool: "Read", Input: input, Digest: toolcall.InputDigest("Read", input),
		Decision: toolcall.Deny, Code: toolcall.CodePolicyDenied, Policy: conform.PolicyVersion{Name: "house", Version: 1},
	}
	full := denied
	full.Code, full.Policy = toolcall.CodeEffectsUnknown, conform.PolicyVersion{}
	stopped := denied // its session had ended, while the run was held by nobody
	stopped.Code, stopped.Policy, stopped.Tool = toolcall.CodeRunNotActive, conform.PolicyVersion{}, "Write"
	driven := denied
	driven.RunVersion, driven.State, driven.Code, driven.Policy = 2, "shipped", toolcall.CodeRunNotActive, conform.PolicyVersion{}
	for why, d := range map[string]conform.Traced{
		conform.OpenRejected: denied, conform.OpenDriven: driven, conform.OpenCounter: full, conform.OpenDriven + ", running": stopped,
	} {
		trace := &conform.Trace{
			RunID: "run_1", Definitions: map[int64]*workflow.Machine{1: machine}, History: []workflow.HistoryEntry{started.Entry, ended.Entry},
			Policies: map[conform.PolicyVersion]*rules.Set{{Name: "house", Version: 1}: rules.Compile(m.Policies[0].Policy, 1)}, Decisions: []conform.Traced{d},
		}
		out := conform.Conform(trace)
		if len(out.Differences) > 0 || out.Open[strings.TrimSuffix(why, ", running")] != 1 {
			t.Errorf("%s: %v, open are %v", why, out.Differences, out.Open)
		}
	}
}

// TestRepeatsOfUnknownCalls: a policy may refuse a call because an earlier one has no known outcome, and the record does not show when
// that was so. It is wrong where no such call can be (S16.6).
func TestRepeatsOfUnknownCalls(t *testing.T) {
	t.Parallel()
	unknown := conform.Seen{RunID: "run_1", Report: &conform.Reported{CallID: "c1", Time: noon, Observed: true, Unknown: true}}
	deny, ask := `{"name": "house", "role": "agent", "repeat_unknown": "deny"}`, `{"name": "house", "role": "agent", "repeat_unknown": "ask"}`
	for name, row := range map[string]struct {
		policy   string
		before   func(s *recording)
		decision toolcall.Decision
		code     toolcall.Code
		wrong    bool
	}{
		"left by an earlier run":    {deny, func(s *recording) { s.left = []string{toolcall.InputDigest("Bash", []byte(testing1))} }, toolcall.Deny, toolcall.CodeEffectsUnknown, false},
		"reported as unknown":       {deny, func(s *recording) { s.call("c1", "Bash", testing1, 1); s.seen = append(s.seen, unknown) }, toolcall.Deny, toolcall.CodeEffectsUnknown, false},
		"not reported":              {deny, func(s *recording) { s.call("c1", "Bash", testing1, 1) }, toolcall.Deny, toolcall.CodeEffectsUnknown, false},
		"the word of the agent":     {deny, func(s *recording) { s.call("c1", "Bash", testing1, 1); s.report("c1", true, false) }, toolcall.Deny, toolcall.CodeEffectsUnknown, false},
		"asked about":               {ask, func(s *recording) { s.call("c1", "Bash", testing1, 1) }, toolcall.Ask, toolcall.CodeApprovalRequired, false},
		"asked about, and rejected": {ask, func(s *recording) { s.call("c1", "Bash", testing1, 1) }, toolcall.Deny, toolcall.CodePolicyDenied, false},
		"reported":                  {deny, func(s *recording) { s.call("c1", "Bash", testing1, 1); s.report("c1", true, true) }, toolcall.Deny, toolcall.CodeEffectsUnknown, true},
		"never made":                {deny, func(*recording) {}, toolcall.Deny, toolcall.CodeEffectsUnknown, true},
		"another call":              {deny, func(s *recording) { s.call("c1", "Bash", `{"command":"go test ./a"}`, 1) }, toolcall.Deny, toolcall.CodeEffectsUnknown, true},
		"another policy":            {`{"name": "house", "role": "agent"}`, func(s *recording) { s.call("c1", "Bash", testing1, 1) }, toolcall.Deny, toolcall.CodeEffectsUnknown, true},
		"another reason":            {ask, func(s *recording) { s.call("c1", "Bash", testing1, 1) }, toolcall.Deny, toolcall.CodeEffectsUnknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := tellStory(t)
			m := model(t, watchedWorkflow, row.policy)
			row.before(s)
			s.call("c2", "Bash", testing1, 1)
			d := s.seen[len(s.seen)-1].Call
			d.Decision, d.Code, d.Policy = row.decision, row.code, conform.PolicyVersion{Name: "house", Version: 1}
			trace := &conform.Trace{
				RunID: "run_1", SessionID: "s", Workspace: "/workspace", Definitions: map[int64]*workflow.Machine{1: s.m},
				Policies: map[conform.PolicyVersion]*rules.Set{d.Policy: rules.Compile(m.Policies[0].Policy, 1)}, Left: s.left,
			}
			out := conform.Watch(m, []*conform.Trace{trace}, s.seen, nil).Runs["run_1"]
			if wrong := len(out.Differences) > 0; wrong != row.wrong || wrong == (out.Open[conform.OpenEffects] == 1) {
				t.Errorf("%v, open are %v", out.Differences, out.Open)
			}
		})
	}
}
