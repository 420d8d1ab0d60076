package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/verify/suggest"
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
func errand(t testing.TB, m *workflow.Machine, id string, calls ...string) *conform.Trace {
	t.Helper()
	trace := &conform.Trace{RunID: id, Definitions: map[int64]*workflow.Machine{1: m}}
	out := m.Start(workflow.StartParams{ID: id, Context: document.ObjectValue(nil)}, "agent", noon)
	trace.History = append(trace.History, out.Entry)
	for i, c := range calls {
		tool, line, shell := strings.Cut(c, ": ")
		input := `{"file_path":"a.go","old_string":"a","new_string":"b"}`
		if name, _, given := strings.Cut(c, " {"); given { // a tool with its input
			tool, input, shell = name, c[len(name)+1:], false
		}
		if shell {
			input = fmt.Sprintf(`{"command":%q}`, line)
		}
		at := out.Run.At("")
		v := toolcall.Decide(m, &at, facet.InRun(m, &at, toolcall.Call{Tool: tool, Input: []byte(input)}))
		trace.Decisions = append(trace.Decisions, conform.Traced{
			Sequence: int64(i + 1), RunVersion: out.Run.Version, State: at.State, Tool: tool, Input: []byte(input),
			Digest: toolcall.InputDigest(tool, []byte(input)), Decision: v.Decision, Code: v.Code, CallID: fmt.Sprint("c", i), Principal: "agent", Time: noon,
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
	var traces []*conform.Trace
	for i := range 6 {
		traces = append(traces, errand(t, m, fmt.Sprint("run_", i), "Read", "Edit", "Bash: git status", "Bash: git diff --stat", "Bash: go test ./...", "mcp__ci__build", "Bash: rm -rf /"))
	}
	out, err := suggest.Definition(text, 1, traces, suggest.Options{MinRuns: 5})
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
		`work max_iterations: 50 -> 6 (99% of 6 entries made at most 6 calls; 6 runs)`,
		`work max_edit_lines:  -> 1 (99% of 6 edits had at most 1 line; 6 runs)`,
		`work max_files_per_state:  -> 1 (99% of 6 entries edited at most 1 file; 6 runs)`,
		`rest allowed_tools: ["Read"] -> [] (0 calls in 6 runs; 6 runs)`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	if left := strings.Join(out.Left, "\n"); !strings.Contains(left, `event "STOP" was never taken`) || out.Runs != 6 || len(out.Cut) > 0 {
		t.Errorf("%d runs, cut %v, left\n%s", out.Runs, out.Cut, left)
	}
	plan := migrate.New(&migrate.Migration{From: m, To: workflow.Compile(mustParse(t, string(out.Definition.AppendJSON(nil))), 2)}, explore.Bounds{})
	if plan.Verdict != verify.Proved {
		t.Errorf("the suggestion allows more: %+v", plan.Gains)
	}
	again, err := suggest.Definition(out.Definition, 1, traces, suggest.Options{MinRuns: 5})
	if err != nil || len(again.Proposals) > 0 {
		t.Errorf("on itself it suggests %+v %v", again, err)
	}
	few, err := suggest.Definition(text, 1, traces[:3], suggest.Options{MinRuns: 5})
	if err != nil || len(few.Proposals) > 0 || !strings.Contains(strings.Join(few.Left, " "), "3 runs in it, and 5 needed") {
		t.Errorf("%+v %v", few, err)
	}
	dropped, err := suggest.Definition(text, 1, traces, suggest.Options{MinRuns: 5, DropTransitions: true})
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
	hidden := errand(t, m, "run_1", "Bash: git status", "Edit")
	hidden.Decisions[0].Input, hidden.Decisions[1].Input = nil, nil
	out, err := suggest.Definition(text, 1, []*conform.Trace{hidden}, suggest.Options{MinRuns: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := out.Definition.String()
	if !strings.Contains(got, `"allowed_commands":["git","go test","npm"]`) || !strings.Contains(got, `"allowed_tools":["Edit","Bash"]`) || strings.Contains(got, "max_edit_lines") {
		t.Error(got)
	}
	reading := errand(t, m, "run_1", "Bash: git status")
	if out, err = suggest.Definition(text, 1, []*conform.Trace{reading}, suggest.Options{MinRuns: 1}); err != nil || !strings.Contains(out.Definition.String(), `"allowed_tools":["Bash","Edit"]`) {
		t.Error(out, err)
	}
}

// Where a limit at the 99th percentile refuses what a run did, the run is named, the rest of it
// is looked at all the same, and the suggestion suggests nothing more of itself.
func TestSuggestWithACut(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, broad), 1)
	text, _ := document.Parse([]byte(broad), document.Limits{})
	var traces []*conform.Trace
	for i := range 200 {
		calls := slices.Repeat([]string{"Read"}, 1+i/20)
		if i == 199 { // far over the others, and what it does last no other run does
			calls = append(slices.Repeat([]string{"Read"}, 40), "Bash: npm test")
		}
		traces = append(traces, errand(t, m, fmt.Sprint("run_", i), calls...))
	}
	o := suggest.Options{MinRuns: 5}
	out, err := suggest.Definition(text, 1, traces, o)
	if err != nil {
		t.Fatal(err)
	}
	got := out.Definition.String()
	if out.Runs != 200 || !slices.Equal(out.Cut, []string{"run_199"}) || !strings.Contains(got, `"max_iterations":10`) {
		t.Errorf("%d runs, cut %v: %s", out.Runs, out.Cut, got)
	}
	if !strings.Contains(got, `"allowed_commands":["npm test"]`) {
		t.Errorf("what the cut run did at last is gone: %s", got)
	}
	again, err := suggest.Definition(out.Definition, 1, traces, o)
	if err != nil || len(again.Proposals) > 0 || again.Runs != 200 || len(again.Cut) > 0 {
		t.Errorf("on itself it suggests %+v %v", again, err)
	}
	// The rest of a cut run counts: without its last command it would go another way.
	narrow, _ := document.Parse([]byte(strings.Replace(got, `["npm test"]`, `[]`, 1)), document.Limits{})
	less, err := suggest.Definition(narrow, 1, traces, o)
	if err != nil || less.Runs != 199 {
		t.Errorf("%+v %v", less, err)
	}
}

// A suggestion is a definition, allows nothing that the old one refused, and decides every run
// that it was made of as before, but for limits.
func TestSuggestIsTighter(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 23)}
	proposals, runs, proved := 0, 0, 0
	for range randtest.Size(40, 2000) {
		src := d.workflow()
		m := workflow.Compile(mustParse(t, src), 1)
		text, _ := document.Parse([]byte(src), document.Limits{})
		var traces []*conform.Trace
		for i := range 5 {
			trace := recorded(t, m, d, 15)
			trace.RunID = fmt.Sprint("run_", i)
			traces = append(traces, trace)
		}
		o := suggest.Options{MinRuns: 2, DropTransitions: d.IntN(2) == 0, MaxStates: 2000}
		out, err := suggest.Definition(text, 1, traces, o)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		proposals += len(out.Proposals)
		runs += out.Runs
		other := workflow.Compile(mustParse(t, string(out.Definition.AppendJSON(nil))), 2)
		switch plan := migrate.New(&migrate.Migration{From: m, To: other}, explore.Bounds{MaxStates: 2000}); plan.Verdict {
		case verify.Proved:
			proved++
		case verify.Undecided:
		default:
			t.Fatalf("%s: %+v\n%s\n%s", plan.Verdict, plan.Gains, src, out.Definition)
		}
		for _, trace := range traces {
			as := func(m *workflow.Machine) *conform.Divergence {
				return conform.Replay(trace, &conform.Candidate{Machine: m, LimitsAsRecorded: true}).First
			}
			if first := as(other); first != nil && as(m) == nil {
				t.Fatalf("a run goes another way: %+v\n%s\n%s", first, src, out.Definition)
			}
		}
		again, err := suggest.Definition(out.Definition, 2, traces, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range again.Proposals {
			if strings.HasPrefix(p.Field, "max_") {
				t.Errorf("it tightens its own limit: %+v\n%s", p, out.Definition)
			}
		}
	}
	if proposals < 60 || runs < 100 || proved < 20 {
		t.Errorf("%d proposals of %d runs, %d proved", proposals, runs, proved)
	}
}

func BenchmarkSuggest(b *testing.B) {
	src := strings.Replace(broad, `"max_iterations": 50`, `"max_iterations": 200`, 1)
	m := workflow.Compile(mustParse(b, src), 1)
	text, _ := document.Parse([]byte(src), document.Limits{})
	var traces []*conform.Trace
	for i := range 1000 {
		calls := slices.Repeat([]string{"Read", "Edit", "Bash: git status", "Bash: go test ./..."}, 24)
		traces = append(traces, errand(b, m, fmt.Sprint("run_", i), append(calls, "mcp__ci__build")...))
	}
	entries := 0
	for _, t := range traces {
		entries += len(t.History) + len(t.Decisions)
	}
	for b.Loop() {
		out, err := suggest.Definition(text, 1, traces, suggest.Options{MinRuns: 5})
		if err != nil || len(out.Proposals) < 5 {
			b.Fatal(out, err)
		}
	}
	b.ReportMetric(float64(entries)/1000, "entries/run")
}

// The policy allows what was called and no more, counts it in any hour, and is one.
func TestPolicyOf(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, broad), 1)
	var traces []*conform.Trace
	for i := range 200 {
		trace := errand(t, m, fmt.Sprint("run_", i), "Read", "Bash: git status", "mcp__ci__build", "Bash: rm -rf /", "Deploy")
		trace.SessionID = fmt.Sprint("ses_", i)
		for j := range trace.Decisions { // a call every half an hour: no more than two in any hour
			trace.Decisions[j].Time = noon.Add(time.Duration(j) * 30 * time.Minute)
		}
		if i == 7 {
			for range 4 {
				trace.Decisions = append(trace.Decisions, trace.Decisions[0])
			}
		}
		traces = append(traces, trace)
	}
	text, used, err := suggest.Policy(m, "agent", traces)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"role":"agent","default":"deny","allow":[` +
		`{"capability":"bash","rate_limit":{"max_calls":1,"window_seconds":3600,"scope":"session"}},` +
		`{"capability":"mcp:ci:build","rate_limit":{"max_calls":1,"window_seconds":3600,"scope":"session"}},` +
		`{"capability":"tool:Read","rate_limit":{"max_calls":1,"window_seconds":3600,"scope":"session"}}]}`
	if text.String() != want {
		t.Errorf("got %s", text)
	}
	if len(used) != 3 || used[2].Calls != 204 || !slices.Equal(used[2].Cut, []string{"ses_7"}) || len(used[0].Cut) > 0 || len(used[1].Runs) != 200 {
		t.Errorf("%+v", used)
	}
	policy, problems := rules.ParsePolicyValue(text)
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	set := rules.Compile(policy, 1)
	for tool, allowed := range map[string]bool{"Read": true, "Bash": true, "mcp__ci__build": true, "mcp__ci__deploy": false, "Edit": false, "WebFetch": false} {
		if v := set.Decide(rules.Call{Tool: tool, Session: "s", Now: noon}, nil); (v.Decision == toolcall.Allow) != allowed {
			t.Errorf("%s: %s", tool, v.Decision)
		}
	}
	// A session that drives two runs in an hour has the calls of both.
	two := []*conform.Trace{errand(t, m, "run_1", "Read"), errand(t, m, "run_2", "Read")}
	two[0].SessionID, two[1].SessionID = "ses_1", "ses_1"
	if _, used, err = suggest.Policy(m, "agent", two); err != nil || used[0].Most != 2 || len(used[0].Runs) != 2 {
		t.Errorf("%+v %v", used, err)
	}
	own := `{"id": "own", "initial": "work", "states": {"work": {"allowed_tools": ["Deploy"], "on": {"DONE": "done"}}, "done": {"type": "final"}}, "meta": {"tools": ["Deploy"]}}`
	o := workflow.Compile(mustParse(t, own), 1)
	if text, _, err = suggest.Policy(o, "agent", []*conform.Trace{errand(t, o, "run_1", "Deploy")}); err != nil || !strings.Contains(text.String(), `"meta":{"tools":["Deploy"]}`) {
		t.Errorf("%s %v", text, err)
	}
	if text, used, err = suggest.Policy(m, "agent", nil); err != nil || len(used) > 0 || !strings.Contains(text.String(), `"allow":[]`) {
		t.Errorf("%s %v", text, err)
	}
}

// TestSuggestConditions proposes what the inputs of all runs have in common, and nothing that one run alone did.
func TestSuggestConditions(t *testing.T) {
	t.Parallel()
	const src = `{
		"id": "broad", "initial": "work",
		"states": {
			"work": {"allowed_tools": ["mcp__pay__refund", "mcp__notes__add"], "on": {"DONE": "done"}},
			"done": {"type": "final"}
		}
	}`
	m := workflow.Compile(mustParse(t, src), 1)
	text, _ := document.Parse([]byte(src), document.Limits{})
	calls := func(i int) []string {
		return []string{
			fmt.Sprintf(`mcp__pay__refund {"amount":%d,"currency":"%s","to":"ann%d@example.com","note":"case %d","id":%d,"dry":false}`,
				100+i%2*37, []string{"eur", "usd"}[i%2], i%2, i%2, 1000*(i+1)),
			`mcp__notes__add {"text":"x","tag":"a"}`,
		}
	}
	var traces []*conform.Trace
	for i := range 6 {
		of := calls(i)
		if i == 3 {
			of = append(of, `mcp__notes__add {"text":"x","tag":"only here"}`)
		}
		traces = append(traces, errand(t, m, fmt.Sprint("run_", i), of...))
	}
	out, err := suggest.Definition(text, 1, traces, suggest.Options{MinRuns: 5, Conditions: true})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, p := range out.Proposals {
		if p.Field == "calls" {
			got = p.Is
		}
	}
	const want = `[{"tool":"mcp__notes__add","only":{"/text":["x"]}},` +
		`{"tool":"mcp__pay__refund","only":{"/amount":{"gte":0,"lte":140},"/currency":["eur","usd"],"/dry":false}}]`
	if got != want {
		t.Errorf("proposed %s\nwant     %s", got, want)
	}
	again, err := suggest.Definition(out.Definition, 1, traces, suggest.Options{MinRuns: 5, Conditions: true})
	if err != nil || len(again.Proposals) > 0 {
		t.Errorf("on itself it suggests %+v %v", again, err)
	}
	one, err := suggest.Definition(text, 1, traces[:1], suggest.Options{MinRuns: 1, Conditions: true})
	if err != nil || strings.Contains(one.Definition.String(), "calls") {
		t.Errorf("of one run: %s %v", one.Definition, err)
	}
	traces[2].Decisions[0].Input = nil
	hidden, err := suggest.Definition(text, 1, traces, suggest.Options{MinRuns: 5, Conditions: true})
	if err != nil || strings.Contains(hidden.Definition.String(), "refund\",\"only") || !strings.Contains(strings.Join(hidden.Left, " "), "no conditions for mcp__pay__refund") {
		t.Errorf("an input that is not kept: %s %v %v", hidden.Definition, hidden.Left, err)
	}
}
