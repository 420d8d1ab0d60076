package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const broad = `{
	"id": "broad", "initial": "work",
	"states": {
		"work": {"allowed_tools": ["Read", "Edit", "Bash", "WebFetch", "mcp__ci__*"], "allowed_commands": ["git", "go test", "npm"], "max_iterations": 50, "on": {"DONE": "rest", "STOP": "done"}},
		"rest": {"allowed_tools": ["Read"], "on": {"END": "done"}},
		"done": {"type": "final"}
	}
}`

// errand is a run that makes calls in "work", as the machine decides them.
func errand(t *testing.T, m *workflow.Machine, id string, calls ...string) *verify.Trace {
	t.Helper()
	trace := &verify.Trace{RunID: id, Definitions: map[int64]*workflow.Machine{1: m}}
	out := m.Start(workflow.StartParams{ID: id, Context: document.ObjectValue(nil)}, "agent", noon)
	trace.History = append(trace.History, out.Entry)
	for i, c := range calls {
		tool, line, shell := strings.Cut(c, ": ")
		input := `{"file_path":"a.go","old_string":"a","new_string":"b"}`
		if shell {
			input = fmt.Sprintf(`{"command":%q}`, line)
		}
		at := out.Run.At("")
		v := toolcall.Decide(m, &at, toolcall.Call{Tool: tool, Input: []byte(input)})
		trace.Decisions = append(trace.Decisions, verify.Traced{
			Sequence: int64(i + 1), RunVersion: out.Run.Version, State: at.State, Tool: tool, Input: []byte(input),
			Digest: verify.DigestOfCall(tool, []byte(input)), Decision: v.Decision, Code: v.Code, CallID: fmt.Sprint("c", i), Principal: "agent", Time: noon,
		})
	}
	out = m.Step(&out.Run, workflow.Fire{Event: "DONE", Actor: "agent"}, noon.Add(time.Minute))
	trace.History = append(trace.History, out.Entry)
	return trace
}

// What was not needed is proposed away, with what speaks for it, and nothing is added.
func TestSuggest(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, broad), 1)
	text, _ := document.Parse([]byte(broad), document.Limits{})
	var traces []*verify.Trace
	for i := range 6 {
		traces = append(traces, errand(t, m, fmt.Sprint("run_", i), "Read", "Edit", "Bash: git status", "Bash: git diff --stat", "Bash: go test ./...", "mcp__ci__build", "Bash: rm -rf /"))
	}
	out, err := verify.Suggest(text, 1, traces, verify.SuggestOptions{MinRuns: 5})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range out.Proposals {
		lines = append(lines, fmt.Sprintf("%s %s: %s -> %s (%s; %d runs)", p.State, p.Field, p.Was, p.Is, p.Why, len(p.Runs)))
	}
	want := []string{
		`work allowed_tools: ["Read","Edit","Bash","WebFetch","mcp__ci__*"] -> ["Read","Edit","Bash","mcp__ci__build"] (36 calls in 6 runs; 6 runs)`,
		`work allowed_commands: ["git","go test","npm"] -> ["git diff","git status","go test"] (18 commands in 6 runs; 6 runs)`,
		`work max_iterations: 50 -> 6 (99 of 100 of 6 entries made no more calls; 6 runs)`,
		`rest allowed_tools: ["Read"] -> [] (0 calls in 6 runs; 6 runs)`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	if left := strings.Join(out.Left, "\n"); !strings.Contains(left, `event "STOP" was never taken`) || out.Runs != 6 || len(out.Cut) > 0 {
		t.Errorf("%d runs, cut %v, left\n%s", out.Runs, out.Cut, left)
	}
	plan := verify.PlanMigration(&verify.Migration{From: m, To: workflow.Compile(mustParse(t, string(out.Definition.AppendJSON(nil))), 2)}, verify.Options{})
	if plan.Verdict != verify.Proved {
		t.Errorf("the suggestion allows more: %+v", plan.Gains)
	}
	again, err := verify.Suggest(out.Definition, 1, traces, verify.SuggestOptions{MinRuns: 5})
	if err != nil || len(again.Proposals) > 0 {
		t.Errorf("on itself it suggests %+v %v", again, err)
	}
	few, err := verify.Suggest(text, 1, traces[:3], verify.SuggestOptions{MinRuns: 5})
	if err != nil || len(few.Proposals) > 0 || !strings.Contains(strings.Join(few.Left, " "), "3 runs were in it, and 5 are needed") {
		t.Errorf("%+v %v", few, err)
	}
	dropped, err := verify.Suggest(text, 1, traces, verify.SuggestOptions{MinRuns: 5, DropTransitions: true})
	if err != nil || strings.Contains(dropped.Definition.String(), "STOP") {
		t.Errorf("%s %v", dropped.Definition, err)
	}
}

// Inputs that were not kept say nothing of commands; and a tool that edits stays where command
// lines may write.
func TestSuggestIsCareful(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, broad), 1)
	text, _ := document.Parse([]byte(broad), document.Limits{})
	hidden := errand(t, m, "run_1", "Bash: git status")
	hidden.Decisions[0].Input = nil
	out, err := verify.Suggest(text, 1, []*verify.Trace{hidden}, verify.SuggestOptions{MinRuns: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := out.Definition.String()
	if !strings.Contains(got, `"allowed_commands":["git","go test","npm"]`) || !strings.Contains(got, `"allowed_tools":["Bash","Edit"]`) {
		t.Error(got)
	}
}

// A suggestion is a definition, allows nothing that the old one refused, and decides every run
// that it was made of as before, but for limits.
func TestSuggestIsTighter(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 23)}
	proposals, runs := 0, 0
	for range randtest.Size(40, 2000) {
		src := d.workflow()
		m := workflow.Compile(mustParse(t, src), 1)
		text, _ := document.Parse([]byte(src), document.Limits{})
		var traces []*verify.Trace
		for i := range 5 {
			trace := recorded(t, m, d, 15)
			trace.RunID = fmt.Sprint("run_", i)
			traces = append(traces, trace)
		}
		out, err := verify.Suggest(text, 1, traces, verify.SuggestOptions{MinRuns: 2, DropTransitions: d.IntN(2) == 0})
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		proposals += len(out.Proposals)
		runs += out.Runs
		other := workflow.Compile(mustParse(t, string(out.Definition.AppendJSON(nil))), 2)
		plan := verify.PlanMigration(&verify.Migration{From: m, To: other}, verify.Options{MaxStates: 2000})
		if plan.Verdict == verify.Refuted {
			t.Fatalf("it allows more: %s\n%s\n%s", plan.Gains[0].String(), src, out.Definition)
		}
		for _, trace := range traces {
			replayed := verify.Replay(trace, &verify.Candidate{Machine: other})
			if replayed.First != nil && !strings.Contains(replayed.First.What, string(toolcall.CodeMaxIterations)) && verify.Replay(trace, &verify.Candidate{Machine: m}).First == nil {
				t.Fatalf("a run goes another way: %+v\n%s\n%s", replayed.First, src, out.Definition)
			}
		}
	}
	if proposals < 60 || runs < 100 {
		t.Errorf("%d proposals of %d runs", proposals, runs)
	}
}

func BenchmarkSuggest(b *testing.B) {
	d := drawer{randtest.New(b, 7)}
	src := d.workflow()
	m := workflow.Compile(mustParse(b, src), 1)
	text, _ := document.Parse([]byte(src), document.Limits{})
	var traces []*verify.Trace
	for range 1000 {
		traces = append(traces, recorded(b, m, d, 100))
	}
	for b.Loop() {
		if _, err := verify.Suggest(text, 1, traces, verify.SuggestOptions{MinRuns: 5}); err != nil {
			b.Fatal(err)
		}
	}
}
