package verify_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// recorded is a run as history and log keep it.
func recorded(t testing.TB, m *workflow.Machine, d drawer, steps int) *conform.Trace {
	t.Helper()
	now := noon
	trace := &conform.Trace{RunID: "run_1", SessionID: "ses_1", Workspace: "/workspace", Definitions: map[int64]*workflow.Machine{1: m}}
	out := m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1", Workspace: "/workspace"}, "agent", now)
	run := out.Run
	trace.History = append(trace.History, out.Entry)
	counted := map[string]int64{}
	for i := range steps {
		now = now.Add(time.Second)
		lanes := run.Lanes()
		if run.Status.Ended() || len(lanes) == 0 {
			break
		}
		lane := lanes[d.IntN(len(lanes))]
		c := someCalls[d.IntN(len(someCalls))]
		input := []byte(`{}`)
		if c.command != "" {
			input = fmt.Appendf(nil, `{"command": %q}`, c.command)
		}
		v := toolcall.Decide(m, &lane, toolcall.Call{Tool: c.tool, Input: input})
		entry := fmt.Sprint(lane.Branch, lane.Entry)
		switch {
		case !v.Counted:
		case v.MaxIterations > 0 && counted[entry] >= v.MaxIterations:
			v = toolcall.IterationLimitReached(m, &lane, counted[entry])
		default:
			counted[entry]++
		}
		trace.Decisions = append(trace.Decisions, conform.Traced{
			Sequence: int64(i + 1), RunVersion: run.Version, Time: now, CallID: fmt.Sprint("call_", i), Branch: lane.Branch, State: lane.State,
			Tool: c.tool, Input: input, Digest: toolcall.InputDigest(c.tool, input), Decision: v.Decision, Code: v.Code,
		})
		var cmd workflow.Command
		switch {
		case lane.Approval.Pending() && d.IntN(3) == 0:
			cmd = workflow.Reject{ApprovalID: lane.Approval.ID, Note: "no", Actor: "alice"}
		case lane.Approval.Pending():
			cmd = workflow.Grant{ApprovalID: lane.Approval.ID, Actor: "alice"}
		case d.IntN(8) == 0:
			cmd = workflow.Divert{Interrupt: "check", Files: []string{"src/a.js"}, Branch: lane.Branch, Actor: "agent"}
		default:
			legal := m.LegalEvents(lane.State)
			if len(legal) == 0 {
				continue
			}
			w := walker{drawer: d}
			cmd = workflow.Fire{Event: legal[d.IntN(len(legal))].Event, Data: w.data(), Branch: lane.Branch, ApprovalID: fmt.Sprint("apr_", i), Actor: "agent"}
		}
		if out := m.Step(&run, cmd, now); out.Changed {
			run = out.Run
			trace.History = append(trace.History, out.Entry)
		}
	}
	return trace
}

// TestConform: what was recorded of a run conforms, and does not any more once one entry
// says something else.
func TestConform(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 7)}
	entries, forged, seen := 0, 0, 0
	for range randtest.Size(120, 3000) {
		m := workflow.Compile(mustParse(t, d.workflow()), 1)
		trace := recorded(t, m, d, 20)
		out := conform.Conform(trace)
		if len(out.Differences) > 0 {
			t.Fatalf("a run as it was differs: %v", out.Differences)
		}
		if out.History != len(trace.History) {
			t.Fatalf("%d of %d changes, %v", out.History, len(trace.History), out.Open)
		}
		entries += out.History + out.Decisions
		if len(trace.History) < 3 {
			continue
		}
		forged++
		if d.IntN(2) == 0 && len(trace.Decisions) > 1 {
			f := &trace.Decisions[d.IntN(len(trace.Decisions))]
			if f.Code == toolcall.CodeMaxIterations { // a counter of the store decided
				forged--
				continue
			}
			if f.Decision == toolcall.Allow {
				f.Decision, f.Code = toolcall.Deny, toolcall.CodeToolNotAllowed
			} else {
				f.Decision, f.Code = toolcall.Allow, ""
			}
		} else {
			f := &trace.History[1+d.IntN(len(trace.History)-1)]
			f.To += "x"
		}
		if len(conform.Conform(trace).Differences) > 0 {
			seen++
		}
	}
	if entries < 600 || seen != forged || forged < 50 {
		t.Errorf("%d entries; %d of %d forgeries seen", entries, seen, forged)
	}
}

func mustParse(t testing.TB, src string) *workflow.Definition {
	t.Helper()
	def, problems := workflow.Parse([]byte(src))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return def
}

// What cannot be decided again is counted, and is no difference.
func TestConformCountsWhatIsOpen(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, `{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["Bash", "Read"], "allowed_commands": ["ls"], "on": {"END": "z"}}, "z": {"type": "final"}}}`), 1)
	start := m.Start(workflow.StartParams{ID: "r", Context: document.ObjectValue(nil)}, "agent", noon)
	trace := &conform.Trace{RunID: "r", Definitions: map[int64]*workflow.Machine{1: m}, History: []workflow.HistoryEntry{start.Entry}, Decisions: []conform.Traced{
		{Sequence: 1, RunVersion: 1, State: "a", Tool: "Bash", Digest: "unknown", Decision: toolcall.Allow},
		{Sequence: 2, RunVersion: 1, State: "a", Tool: "Bash", Digest: "unknown", Decision: toolcall.Deny, Code: toolcall.CodeMaxIterations},
		{Sequence: 3, RunVersion: 1, State: "a", Tool: "Read", Digest: "unknown", Decision: toolcall.Allow},
		{Sequence: 4, RunVersion: 1, State: "a", Tool: "Edit", Digest: "unknown", Decision: toolcall.Deny, Code: toolcall.CodeToolNotAllowed},
		{Sequence: 5, RunVersion: 1, State: "a", Tool: "Edit", Digest: "unknown", Decision: toolcall.Allow},
		{Sequence: 6, RunVersion: 1, State: "a", Tool: "Read", Decision: toolcall.Ask, Code: toolcall.CodeApprovalRequired, Policy: conform.PolicyVersion{Name: "p", Version: 3}},
		{Sequence: 7, RunVersion: 9, State: "a", Tool: "Read", Decision: toolcall.Allow},
	}}
	out := conform.Conform(trace)
	want := map[string]int{conform.OpenInput: 1, conform.OpenCounter: 1, conform.OpenPolicy: 1, conform.OpenVersions: 1}
	if fmt.Sprint(out.Open) != fmt.Sprint(want) || out.Decisions != 3 || len(out.Differences) != 1 || out.Differences[0].Number != 5 {
		t.Errorf("%+v", out)
	}
}

// What is forged of a recorded run, one entry at a time, makes a difference.
func TestConformSeesForgeries(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, `{"id": "w", "initial": "a", "states": {
		"a": {"allowed_tools": ["Read", "WebFetch"], "on": {"NEXT": "b"}},
		"b": {"allowed_tools": ["Edit"], "on": {"END": "z"}}, "z": {"type": "final"}}}`), 1)
	policy, problems := rules.ParsePolicy([]byte(`{"name": "p", "role": "agent", "ask": [{"capability": "tool:WebFetch"}]}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	p := conform.PolicyVersion{Name: "p", Version: 1}
	record := func() *conform.Trace {
		start := m.Start(workflow.StartParams{ID: "r"}, "agent", noon)
		next := m.Step(&start.Run, workflow.Fire{Event: "NEXT", Actor: "agent"}, noon)
		end := m.Step(&next.Run, workflow.Fire{Event: "END", Actor: "agent"}, noon)
		return &conform.Trace{
			RunID: "r", Version: 3, Definitions: map[int64]*workflow.Machine{1: m}, History: []workflow.HistoryEntry{start.Entry, next.Entry, end.Entry},
			Policies: map[conform.PolicyVersion]*rules.Set{p: rules.Compile(policy, 1)},
			Decisions: []conform.Traced{
				{Sequence: 1, RunVersion: 1, State: "a", Tool: "Read", Decision: toolcall.Allow},
				{Sequence: 2, RunVersion: 1, State: "a", Tool: "Edit", Decision: toolcall.Deny, Code: toolcall.CodeToolNotAllowed},
				{Sequence: 3, RunVersion: 1, State: "a", Tool: "WebFetch", Policy: p, Decision: toolcall.Ask, Code: toolcall.CodeApprovalRequired},
				{Sequence: 4, RunVersion: 1, State: "a", Tool: "WebFetch", Policy: p, Decision: toolcall.Allow, Approved: true},
				{Sequence: 7, RunVersion: 2, State: "b", Tool: "Read", Decision: toolcall.Deny, Code: toolcall.CodeToolNotAllowed},
			},
		}
	}
	if out := conform.Conform(record()); len(out.Differences) > 0 || out.History != 3 || out.Decisions != 5 {
		t.Fatalf("as it was: %+v", out)
	}
	for name, forge := range map[string]func(*conform.Trace){
		"nothing":                          func(t *conform.Trace) { t.History = nil },
		"a start in the end":               func(t *conform.Trace) { t.History = append(t.History, t.History[0]) },
		"the same history again":           func(t *conform.Trace) { t.History = append(t.History, t.History...) },
		"without the end":                  func(t *conform.Trace) { t.History = t.History[:2] },
		"without the start":                func(t *conform.Trace) { t.History = t.History[1:] },
		"allowed, and says why it was not": func(t *conform.Trace) { t.Decisions[1].Decision = toolcall.Allow },
		"allowed by a counter": func(t *conform.Trace) {
			t.Decisions[1].Decision, t.Decisions[1].Code = toolcall.Allow, toolcall.CodeRateLimited
		},
		"allowed, and nobody was asked": func(t *conform.Trace) { t.Decisions[2].Decision, t.Decisions[2].Code = toolcall.Allow, "" },
		"without the approval":          func(t *conform.Trace) { t.Decisions[3].Approved = false },
		"in another order":              func(t *conform.Trace) { slices.Reverse(t.Decisions) },
		"one twice":                     func(t *conform.Trace) { t.Decisions = append(t.Decisions, t.Decisions[4]) },
		"made later in an earlier state": func(t *conform.Trace) {
			late := t.Decisions[0]
			late.Sequence = 9
			t.Decisions = append(t.Decisions, late)
		},
	} {
		forged := record()
		forge(forged)
		if out := conform.Conform(forged); len(out.Differences) == 0 {
			t.Errorf("%s: nothing differs", name)
		}
	}
	newer := record() // it moves on while it is read
	newer.Version = 2
	if out := conform.Conform(newer); len(out.Differences) > 0 {
		t.Errorf("a run that has moved on: %v", out.Differences)
	}
}

// What an operator has sent meets the source that a guard asks for, and no history says who has
// sent it: such a run conforms, and is not replayed as another.
func TestSentByAnOperator(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, `{"id": "w", "initial": "a", "context": {"ok": false}, "states": {
		"a": {"on": {"SET": "a", "GO": {"target": "b", "guard": "g"}}}, "b": {"on": {"SET": "b", "END": {"target": "z", "guard": "g"}}}, "z": {"type": "final"}},
		"guards": {"g": {"field": "ok", "op": "eq", "value": true, "source": "operator"}}}`), 1)
	ok, _ := document.Parse([]byte(`{"ok": true}`), document.Limits{})
	out := m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1"}, "agent", noon)
	trace := &conform.Trace{RunID: "run_1", SessionID: "ses_1", Definitions: map[int64]*workflow.Machine{1: m}, History: []workflow.HistoryEntry{out.Entry}}
	for _, fire := range []workflow.Fire{
		{Event: "SET", Data: ok, Source: evidence.Operator, Actor: "operator"},
		{Event: "GO", Actor: "agent"},
		{Event: "SET", Data: ok, Actor: "agent"},
		{Event: "SET", Data: ok, Source: evidence.Operator, Actor: "operator"},
		{Event: "END", Actor: "agent"},
	} {
		if out = m.Step(&out.Run, fire, noon); !out.Changed {
			t.Fatal(out.Rejection)
		}
		trace.History = append(trace.History, out.Entry)
	}
	if got := conform.Conform(trace); len(got.Differences) > 0 || got.Open[conform.OpenSource] != 2 {
		t.Errorf("%+v", got)
	}
	if got := conform.Replay(trace, &conform.Candidate{Machine: m}); got.First != nil || got.Open[conform.OpenSource] != 2 {
		t.Errorf("%+v", got)
	}
	never := *trace // nobody has ever sent it
	never.History = append([]workflow.HistoryEntry{trace.History[0]}, trace.History[2])
	never.History[1].RunVersion = 2
	if got := conform.Conform(&never); len(got.Differences) != 1 {
		t.Errorf("%+v", got)
	}
}
