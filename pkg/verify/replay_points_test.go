package verify_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestDecisionPointIsOpen: what a decision point has denied, or would decide, is not known, and is no mismatch. What does not depend
// on it is decided (S21.19).
func TestDecisionPointIsOpen(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, `{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["Read", "WebFetch"], "on": {"END": "z"}}, "z": {"type": "final"}}}`), 1)
	policy, problems := rules.ParsePolicy([]byte(`{"name": "p", "role": "agent", "deny": [{"capability": "tool:WebFetch", "ask_pdp": {"url": "https://pdp.example.com/"}}]}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	set, p := rules.Compile(policy, 1), conform.PolicyVersion{Name: "p", Version: 1}
	start := m.Start(workflow.StartParams{ID: "r", Context: document.ObjectValue(nil)}, "agent", noon)
	trace := &conform.Trace{
		RunID: "r", Definitions: map[int64]*workflow.Machine{1: m}, History: []workflow.HistoryEntry{start.Entry}, Policies: map[conform.PolicyVersion]*rules.Set{p: set},
		Decisions: []conform.Traced{
			{Sequence: 1, RunVersion: 1, State: "a", Tool: "WebFetch", Policy: p, Decision: toolcall.Deny, Code: toolcall.CodePolicyDenied},
			{Sequence: 2, RunVersion: 1, State: "a", Tool: "WebFetch", Policy: p, Decision: toolcall.Deny, Code: toolcall.CodePolicyUnavailable},
			{Sequence: 3, RunVersion: 1, State: "a", Tool: "WebFetch", Policy: p, Decision: toolcall.Allow},
			{Sequence: 4, RunVersion: 1, State: "a", Tool: "Read", Policy: p, Decision: toolcall.Deny, Code: toolcall.CodePolicyDenied},
		},
	}
	out := conform.Conform(trace)
	if out.Open[conform.OpenPoint] != 1 || len(out.Differences) != 1 || out.Differences[0].Number != 4 {
		t.Errorf("%+v", out)
	}
	replayed := conform.Replay(trace, &conform.Candidate{Machine: m, Policies: []*rules.Set{set}})
	if replayed.Open[conform.OpenPoint] != 3 || replayed.First == nil || replayed.First.Number != 4 {
		t.Errorf("%+v %+v", replayed, replayed.First)
	}
}
