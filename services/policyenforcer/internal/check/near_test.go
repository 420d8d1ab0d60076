package check_test

import (
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// limitsOfLast returns the limits in the last record of the log.
func limitsOfLast(t *testing.T, st store.Store) string {
	t.Helper()
	entries, err := st.History(t.Context(), decisionlog.PartitionKey("default", "run_1"), 0, 1000)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d records, %v", len(entries), err)
	}
	d, err := ledger.DecodeDecision("run_1", entries[len(entries)-1])
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, l := range d.Limits {
		text += fmt.Sprintf("%s %s %s %d/%d;", l.Measure, l.Scope, l.Subject, l.Used, l.Max)
	}
	return text
}

// TestRecordsHaveStatesLimits: only those of which more than 80 percent are used.
func TestRecordsHaveStatesLimits(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, `{"id": "w", "initial": "planning", "states": {
		"planning": {"max_iterations": 10, "max_files_per_state": 4, "context_budget_bytes": 100, "on": {"READY": "done"}}, "done": {"type": "final"}}}`)
	a := stage.NewApp(e, st)
	for call := 1; call <= 8; call++ {
		stage.MustCheck(t, a, "Read", []byte(`{}`), "")
		if got := limitsOfLast(t, st); got != "" {
			t.Errorf("call %d: %s", call, got)
		}
	}
	stage.MustCheck(t, a, "Read", []byte(`{}`), "")
	if got := limitsOfLast(t, st); got != "iterations entry 1 9/10;" {
		t.Errorf("the ninth call: %s", got)
	}
	if d := stage.MustCheck(t, a, "Read", []byte(`{}`), ""); d.Verdict.Decision != toolcall.Allow || limitsOfLast(t, st) != "iterations entry 1 10/10;" {
		t.Errorf("the last one: %s", limitsOfLast(t, st))
	}
	if d := stage.MustCheck(t, a, "Read", []byte(`{}`), ""); d.Verdict.Code != toolcall.CodeMaxIterations || limitsOfLast(t, st) != "iterations entry 1 10/10;" {
		t.Errorf("one too many: %+v %s", d.Verdict, limitsOfLast(t, st))
	}
}

func TestRecordsHaveFilesAndBytes(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, `{"id": "w", "initial": "planning", "states": {
		"planning": {"max_files_per_state": 4, "context_budget_bytes": 100, "on": {"READY": "done"}}, "done": {"type": "final"}}}`)
	a := stage.NewApp(e, st)
	for i := range 4 {
		stage.MustCheck(t, a, "Write", stage.Write(fmt.Sprintf("f%d.go", i)), fmt.Sprintf("call_%d", i))
		if got, want := limitsOfLast(t, st), map[int]string{3: "files entry 1 4/4;"}[i]; got != want {
			t.Errorf("file %d: %s", i, got)
		}
	}
	stage.MustReport(t, a, outcome.Report{CallID: "call_0", Tool: "Write", OK: true, ResultBytes: 90})
	stage.MustCheck(t, a, "Read", []byte(`{}`), "")
	stage.MustCheck(t, a, "Read", []byte(`{}`), "") // the call before has seen what the report has added
	if got := limitsOfLast(t, st); got != "context_bytes entry 1 90/100;" {
		t.Errorf("of bytes: %s", got)
	}
}
