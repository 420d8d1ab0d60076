package verify_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const payments = `{
	"id": "broad", "initial": "work",
	"states": {
		"work": {"allowed_tools": ["mcp__pay__refund", "Edit"], CALLS "on": {"DONE": "done"}},
		"done": {"type": "final"}
	}
}`

// TestReplayConditions decides conditions of a state by kept inputs, and leaves open what the record does not
// show (S21.10): inputs that are not kept, and files.
func TestReplayConditions(t *testing.T) {
	t.Parallel()
	machine := func(calls string) *workflow.Machine {
		return workflow.Compile(mustParse(t, strings.Replace(payments, "CALLS", calls, 1)), 1)
	}
	upTo := func(most string) *workflow.Machine {
		return machine(`"calls": [{"tool": "mcp__pay__refund", "only": {"/amount": {"lte": ` + most + `}}}],`)
	}
	by := upTo("100")
	trace := errand(t, by, "run_1", "mcp__pay__refund {\"amount\":50}", "mcp__pay__refund {\"amount\":500}", `mcp__pay__refund {"amount":"500"}`)
	for i, want := range []toolcall.Code{"", toolcall.CodeCallNotAllowed, toolcall.CodeCallUnclear} {
		if got := trace.Decisions[i].Code; got != want {
			t.Fatalf("call %d was recorded as %s, want %s", i, got, want)
		}
	}
	out := conform.Replay(trace, &conform.Candidate{Machine: by})
	if out.First != nil || len(out.Open) > 0 {
		t.Errorf("by itself: %+v, open %v", out.First, out.Open)
	}
	if report := conform.Conform(trace); len(report.Differences) > 0 || len(report.Open) > 0 {
		t.Errorf("conforms: %+v", report)
	}
	if out = conform.Replay(trace, &conform.Candidate{Machine: upTo("20")}); out.First == nil || out.First.Effect != conform.Tightened || out.First.Number != 1 {
		t.Errorf("20: %+v", out.First)
	}
	if out = conform.Replay(trace, &conform.Candidate{Machine: upTo("500")}); out.First == nil || out.First.Effect != conform.Loosened || out.First.Number != 2 {
		t.Errorf("500: %+v", out.First)
	}
	trace.Decisions[0].Input, trace.Decisions[1].Input = nil, nil
	if out = conform.Replay(trace, &conform.Candidate{Machine: upTo("20")}); out.First != nil || out.Open[conform.OpenInput] != 2 {
		t.Errorf("inputs that are not kept: %+v, open %v", out.First, out.Open)
	}
	edits := errand(t, machine(""), "run_2", "Edit")
	if out = conform.Replay(edits, &conform.Candidate{Machine: machine(`"calls": [{"tool": "Edit", "only": {"writes": ["src/**"]}}],`)}); out.First != nil || out.Open[conform.OpenInput] != 1 {
		t.Errorf("files: %+v, open %v", out.First, out.Open)
	}
}
