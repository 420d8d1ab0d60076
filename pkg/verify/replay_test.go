package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// A run that is replayed by what decided it is the same to its end.
func TestReplayByItself(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 11)}
	entries := 0
	for range randtest.Size(120, 3000) {
		m := workflow.Compile(mustParse(t, d.workflow()), 1)
		trace := recorded(t, m, d, 20)
		out := conform.Replay(trace, &conform.Candidate{Machine: m})
		if out.First != nil || len(out.Open) > 0 || out.Same != len(trace.History)+len(trace.Decisions) {
			t.Fatalf("%d of %d entries, %v, %+v", out.Same, len(trace.History)+len(trace.Decisions), out.Open, out.First)
		}
		entries += out.Same
	}
	if entries < 600 {
		t.Errorf("%d entries were replayed", entries)
	}
}

// Replayed by another definition, a run differs at an entry that this definition does not
// give, and at none before it: as it is found by checking every entry for conformance.
func TestReplayFindsTheFirst(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 13)}
	differing, same := 0, 0
	for range randtest.Size(300, 6000) {
		src := d.workflow()
		m := workflow.Compile(mustParse(t, src), 1)
		trace := recorded(t, m, d, 20)
		changed := mutated(d, src)
		def, problems := workflow.Parse([]byte(changed))
		if problems.HasErrors() || changed == src {
			continue
		}
		other := workflow.Compile(def, 1)
		out := conform.Replay(trace, &conform.Candidate{Machine: other})
		by := *trace
		by.Definitions = map[int64]*workflow.Machine{1: other}
		conforms := conform.Conform(&by)
		if out.First == nil {
			same++
			for _, difference := range conforms.Differences {
				if difference.Entry == "history" && !strings.Contains(difference.What, "guard") && len(out.Open) == 0 {
					t.Fatalf("not seen: %s\n%s\n%s", difference, src, changed)
				}
			}
			continue
		}
		differing++
		counted := strings.Contains(out.First.What, string(toolcall.CodeMaxIterations)) // conformance leaves counters aside
		if !counted && !slices.ContainsFunc(conforms.Differences, func(c conform.Difference) bool {
			return c.Entry == out.First.Entry && c.Number == out.First.Number
		}) {
			t.Fatalf("%+v is no difference: %v\n%s\n%s", out.First, conforms.Differences, src, changed)
		}
		if out.Same+out.First.Beyond+1+sum(out.Open) != len(trace.History)+len(trace.Decisions) {
			t.Fatalf("entries are lost: %+v, %+v of %d and %d", out, out.First, len(trace.History), len(trace.Decisions))
		}
	}
	if differing < 30 || same < 30 {
		t.Errorf("%d differ, %d are the same", differing, same)
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// mutated is a definition with one thing changed.
func mutated(d drawer, src string) string {
	all := [][2]string{
		{`"Read"`, `"Grep"`},
		{`"Bash"`, `"Glob"`},
		{`"Edit"`, `"Read"`},
		{`"guard"`, `"x-guard"`},
		{`"requires_approval": true`, `"requires_approval": false`},
		{`"requires_approval":true`, `"requires_approval":false`},
		{`"gt"`, `"lt"`},
		{`"eq"`, `"neq"`},
		{`go test`, `go vet`},
		{`"max_iterations": 2`, `"max_iterations": 1`},
	}
	start := d.IntN(len(all))
	for i := range all {
		if pair := all[(start+i)%len(all)]; strings.Contains(src, pair[0]) {
			return strings.Replace(src, pair[0], pair[1], 1)
		}
	}
	return src
}

const replayed = `{
	"id": "w", "initial": "a", "context": {"n": 1},
	"states": {
		"a": {"allowed_tools": ["Read", "Bash"], "allowed_commands": ["ls"], "max_iterations": 2, "on": {"GO": "b", "ASK": {"target": "b", "requires_approval": true}}},
		"b": {"allowed_tools": ["Edit"], "on": {"END": "z"}}, "z": {"type": "final"}
	},
	"meta": {"approval_mode": "ui"}
}`

// Each kind of change has its effect and its cause.
func TestReplayEffects(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, replayed), 1)
	trace := &conform.Trace{RunID: "r", Definitions: map[int64]*workflow.Machine{1: m}}
	run := m.Start(workflow.StartParams{ID: "r", Context: document.ObjectValue(nil)}, "agent", noon)
	trace.History = append(trace.History, run.Entry)
	call := func(tool, input string, decision toolcall.Decision, code toolcall.Code) {
		trace.Decisions = append(trace.Decisions, conform.Traced{
			Sequence: int64(len(trace.Decisions) + 1), RunVersion: run.Run.Version, State: run.Run.State, Tool: tool, Input: []byte(input), CallID: "c",
			Digest: toolcall.InputDigest(tool, []byte(input)), Decision: decision, Code: code, Principal: "agent", Time: noon,
		})
	}
	fire := func(event, approval string) {
		run = m.Step(&run.Run, workflow.Fire{Event: event, ApprovalID: approval, Actor: "agent"}, noon.Add(time.Second))
		trace.History = append(trace.History, run.Entry)
	}
	call("Read", `{}`, toolcall.Allow, "")
	call("Edit", `{}`, toolcall.Deny, toolcall.CodeToolNotAllowed)
	call("Bash", `{"command": "ls"}`, toolcall.Allow, "")
	call("Read", `{}`, toolcall.Deny, toolcall.CodeMaxIterations)
	fire("ASK", "apr_1")
	run = m.Step(&run.Run, workflow.Grant{ApprovalID: "apr_1", Actor: "ann"}, noon.Add(2*time.Second))
	trace.History = append(trace.History, run.Entry)
	fire("END", "")

	replace := func(old, with string) string {
		if !strings.Contains(replayed, old) {
			t.Fatalf("%s is not in the definition", old)
		}
		return strings.Replace(replayed, old, with, 1)
	}
	for _, c := range []struct {
		name, definition, policy string
		effect                   conform.Effect
		entry                    string
		number                   int64
		cause                    string
	}{
		{"itself", replayed, "", "", "", 0, ""},
		{"a tool less", replace(`"Read", "Bash"`, `"Bash"`), "", conform.Tightened, "decision", 1, `state "a"`},
		{"a tool more", replace(`"Read", "Bash"`, `"Read", "Bash", "Edit"`), "", conform.Loosened, "decision", 2, `state "a"`},
		{"a command less", replace(`["ls"]`, `["cat"]`), "", conform.Tightened, "decision", 3, `state "a"`},
		{"fewer calls", replace(`"max_iterations": 2`, `"max_iterations": 1`), "", conform.Tightened, "decision", 3, `state "a"`},
		{"more calls", replace(`"max_iterations": 2`, `"max_iterations": 3`), "", conform.Loosened, "decision", 4, `state "a"`},
		{"no approval", replace(`{"target": "b", "requires_approval": true}`, `"b"`), "", conform.Loosened, "history", 2, `state "a"`},
		{"another target", replace(`"END": "z"`, `"END": "a"`), "", conform.Diverted, "history", 4, `state "b"`},
		{"no event", replace(`"END": "z"`, `"FIN": "z"`), "", conform.Tightened, "history", 4, `state "b"`},
		{"a policy that denies", replayed, `{"role": "agent", "deny": [{"capability": "bash"}]}`, conform.Tightened, "decision", 3, `policy "p", /deny/0`},
		{"a policy that allows", replayed, `{"role": "agent"}`, "", "", 0, ""},
	} {
		by := &conform.Candidate{Machine: workflow.Compile(mustParse(t, c.definition), 1)}
		if c.policy != "" {
			policy, problems := rules.ParsePolicy([]byte(c.policy))
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			policy.Name = "p"
			by.Policies = []*rules.Set{rules.Compile(policy, 0)}
		}
		out := conform.Replay(trace, by)
		switch {
		case c.entry == "" && out.First == nil && len(out.Open) == 0 && out.Same == 8:
		case c.entry == "" || out.First == nil:
			t.Errorf("%s: %+v, %+v", c.name, out, out.First)
		case out.First.Entry != c.entry || out.First.Number != c.number || out.First.Effect != c.effect || out.First.Cause != c.cause:
			t.Errorf("%s: %+v", c.name, out.First)
		case c.cause[0] == 's' && c.cause != "state "+document.Quote(out.First.State):
			t.Errorf("%s: %s is not where it stood: %+v", c.name, c.cause, out.First)
		case c.entry == "history" && out.First.Event+" "+out.First.To != map[int64]string{2: "ASK a", 4: "END z"}[c.number],
			c.entry == "decision" && out.First.Event+out.First.To != "":
			t.Errorf("%s: the change is %+v", c.name, out.First)
		}
	}
}

// What the recording cannot tell is not decided, and nothing is guessed.
func TestReplayLeavesOpen(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, replayed), 1)
	start := m.Start(workflow.StartParams{ID: "r", Context: document.ObjectValue(nil)}, "agent", noon)
	trace := &conform.Trace{RunID: "r", Definitions: map[int64]*workflow.Machine{1: m}, History: []workflow.HistoryEntry{start.Entry}, Decisions: []conform.Traced{
		{Sequence: 1, RunVersion: 1, State: "a", Tool: "Bash", Digest: "unknown", Decision: toolcall.Allow},
		{Sequence: 2, RunVersion: 1, State: "a", Tool: "Bash", Digest: "unknown", Decision: toolcall.Deny, Code: toolcall.CodeCommandNotAllowed},
		{Sequence: 3, RunVersion: 1, State: "a", Tool: "Read", Digest: "unknown", Decision: toolcall.Deny, Code: toolcall.CodeRateLimited},
	}}
	for _, c := range []struct {
		definition string
		same       int
		open       map[string]int
	}{
		{replayed, 3, map[string]int{conform.OpenCounter: 1}}, // the state says the same of every command
		{strings.Replace(replayed, `["ls"]`, `["ls", "cat"]`, 1), 1, map[string]int{conform.OpenInput: 2, conform.OpenCounter: 1}},
	} {
		out := conform.Replay(trace, &conform.Candidate{Machine: workflow.Compile(mustParse(t, c.definition), 1)})
		if out.First != nil || out.Same != c.same || fmt.Sprint(out.Open) != fmt.Sprint(c.open) {
			t.Errorf("%+v, %+v", out, out.First)
		}
	}
	asks := strings.Replace(strings.Replace(replayed, `"GO": "b"`, `"GO": {"target": "b", "guard": "g"}`, 1), `"meta"`,
		`"evidence": {"e": {"tool": "Bash", "command": "ls"}}, "guards": {"g": {"evidence": "e"}}, "meta"`, 1)
	moved := m.Step(&start.Run, workflow.Fire{Event: "GO", Actor: "agent"}, noon)
	trace = &conform.Trace{RunID: "r", Definitions: map[int64]*workflow.Machine{1: m}, History: []workflow.HistoryEntry{start.Entry, moved.Entry}}
	out := conform.Replay(trace, &conform.Candidate{Machine: workflow.Compile(mustParse(t, asks), 1)})
	if out.First != nil || out.Open[conform.OpenUnseen] != 1 {
		t.Errorf("evidence of which nothing was recorded: %+v, %+v", out, out.First)
	}
}

func BenchmarkReplay(b *testing.B) {
	d := drawer{randtest.New(b, 7)}
	m := workflow.Compile(mustParse(b, d.workflow()), 1)
	trace := recorded(b, m, d, 100)
	entries := 0
	for b.Loop() {
		entries += conform.Replay(trace, &conform.Candidate{Machine: m}).Same
	}
	b.ReportMetric(float64(entries)/b.Elapsed().Seconds(), "entries/s")
}
