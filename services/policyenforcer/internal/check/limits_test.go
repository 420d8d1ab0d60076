package check_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// S3.6: distinct files count, with concurrent edits on several replicas; a new entry begins at 0.
func TestFilesAreCountedExactly(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, stage.Limited)
	replicas := []*app.App{stage.NewApp(e, st), stage.NewApp(e, st), stage.NewApp(e, st)}
	var allowed sync.Map
	var denied atomic.Int64
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			path := fmt.Sprintf("./a/../f%d.go", i%20)
			d, err := replicas[i%3].Checks.Check(context.Background(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Write", Input: stage.Write(path)})
			for err != nil { // too many at once: it says so, and is asked again
				d, err = replicas[i%3].Checks.Check(context.Background(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Write", Input: stage.Write(path)})
			}
			switch {
			case d.Verdict.Decision == toolcall.Allow:
				allowed.Store(path, true)
			case d.Verdict.Code == toolcall.CodeTooManyFiles:
				denied.Add(1)
			default:
				t.Errorf("%+v", d.Verdict)
			}
		})
	}
	group.Wait()
	files := 0
	allowed.Range(func(any, any) bool { files++; return true })
	if files != 3 || denied.Load() == 0 {
		t.Errorf("%d files were allowed, %d calls denied", files, denied.Load())
	}
	if d := stage.MustCheck(t, replicas[0], "Write", stage.Write("new.go"), ""); d.Verdict.Code != toolcall.CodeTooManyFiles || !strings.Contains(d.Message, "READY") {
		t.Errorf("a fourth file: %+v", d)
	}
	if d := stage.MustCheck(t, replicas[0], "Read", nil, ""); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("a call that edits nothing: %+v", d)
	}
	e.Fire(t, "READY")
	if d := stage.MustCheck(t, replicas[0], "Write", stage.Write("new.go"), ""); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("in a new entry: %+v", d)
	}
}

// S14.4: observed bytes count, also after a claim of the agent.
func TestObservedBytesAfterClaim(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, stage.Limited)
	a := stage.NewApp(e, st)
	stage.MustCheck(t, a, "Read", nil, "c1")
	report := func(caller enforcer.Caller, bytes int64) string {
		t.Helper()
		r, err := a.Outcomes.Report(t.Context(), caller, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "c1", Tool: "Read", OK: true, ResultBytes: bytes})
		if err != nil {
			t.Fatal(err)
		}
		return r.Warning
	}
	report(stage.Agent, 10)
	for range 2 { // the second one has no effect
		if warning := report(stage.Witnessed, 950); !strings.Contains(warning, "950") {
			t.Errorf("observed after the claim: %q", warning)
		}
	}
}

// S3.7: bytes of results count against the budget, with a warning near its end;
// reports are idempotent, and denied calls are free.
func TestContextBudget(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, stage.Limited)
	a := stage.NewApp(e, st)
	spend := func(call string, bytes int64) *outcome.Reported {
		if d := stage.MustCheck(t, a, "Read", nil, call); d.Verdict.Decision != toolcall.Allow {
			t.Fatalf("%s: %+v", call, d)
		}
		return stage.MustReport(t, a, outcome.Report{CallID: call, Tool: "Read", OK: true, ResultBytes: bytes})
	}
	if r := spend("c1", 899); r.Warning != "" || !r.Accounted {
		t.Errorf("at 89 %%: %+v", r)
	}
	again := stage.MustReport(t, a, outcome.Report{CallID: "c1", Tool: "Read", OK: true, ResultBytes: 899})
	if again.Warning != "" {
		t.Errorf("a repeated report counts: %+v", again)
	}
	if r := spend("c2", 100); !strings.Contains(r.Warning, "999") {
		t.Errorf("at 99.9 %%: %q", r.Warning)
	}
	if r := spend("c3", 5000); !strings.Contains(r.Warning, "next call is denied") {
		t.Errorf("over it: %q", r.Warning)
	}
	d := stage.MustCheck(t, a, "Read", nil, "c4")
	if d.Verdict.Code != toolcall.CodeContextBudget || !strings.Contains(d.Message, "5999") {
		t.Errorf("after the budget: %+v, %s", d.Verdict, d.Message)
	}
	if r := stage.MustReport(t, a, outcome.Report{CallID: "c4", Tool: "Read", OK: true, ResultBytes: 1}); r.Accounted {
		t.Error("a denied call is accounted for")
	}
	e.Fire(t, "READY")
	if d := stage.MustCheck(t, a, "Read", nil, "c5"); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("in a new entry: %+v", d)
	}
}

// S4.1: a successful edit of a matching file asks the engine for the interrupt,
// before the report is taken. Other calls do not.
func TestReportsInterrupt(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, stage.Limited)
	a := stage.NewApp(e, st)
	for call, c := range map[string]struct {
		tool   string
		input  []byte
		report outcome.Report
		asks   bool
	}{
		"named":    {"Edit", []byte(`{"file_path": "db/1.sql", "old_string": "a", "new_string": "b"}`), outcome.Report{OK: true}, true},
		"reported": {"Write", stage.Write("a.txt"), outcome.Report{OK: true, FilesChanged: []string{"./x/../db/2.sql"}}, true},
		"failed":   {"Write", stage.Write("db/1.sql"), outcome.Report{OK: false}, false},
		"other":    {"Write", stage.Write("a.txt"), outcome.Report{OK: true, FilesChanged: []string{"db/x/2.sql"}}, false},
		"outside":  {"Write", stage.Write("/db/1.sql"), outcome.Report{OK: true}, false},
		"shell":    {"Bash", []byte(`{"command": "touch db/1.sql"}`), outcome.Report{OK: true, FilesChanged: []string{"db/1.sql"}}, false},
	} {
		e.Interrupts = nil
		if d := stage.MustCheck(t, a, c.tool, c.input, call); d.Verdict.Decision != toolcall.Allow {
			t.Fatalf("%s: %+v", call, d)
		}
		c.report.CallID, c.report.Tool = call, c.tool
		stage.MustReport(t, a, c.report)
		if asked := len(e.Interrupts) == 1; asked != c.asks {
			t.Errorf("%s: interrupts %v", call, e.Interrupts)
		}
	}
	e.Interrupts = nil
	stage.MustReport(t, a, outcome.Report{CallID: "never", Tool: "Edit", OK: true, FilesChanged: []string{"db/1.sql"}})
	if len(e.Interrupts) != 0 {
		t.Error("a call that was never allowed interrupts")
	}
}

// A report is answered only when its interrupt has happened: when the engine or
// the store fails, it is sent again, and asks again.
func TestReportIsRepeatedUntilItInterrupted(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, stage.Limited)
	a := stage.NewApp(e, st)
	stage.MustCheck(t, a, "Write", stage.Write("db/1.sql"), "c")
	report := outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "c", Tool: "Write", OK: true, ResultBytes: 10, Output: []byte("done")}
	e.Down = true
	if _, err := a.Outcomes.Report(t.Context(), stage.Agent, report); err == nil {
		t.Fatal("reported although the engine is down")
	}
	e.Down = false
	st.Decide = storetest.Nth(st.Commits()+1, storetest.FailedButApplied)
	if _, err := a.Outcomes.Report(t.Context(), stage.Agent, report); err == nil {
		t.Fatal("reported although the commit seemed to fail")
	}
	e.Fires = &enforcer.Interrupted{Name: "sql", From: "planning", Run: new(e.Current.At("")), Machine: e.Machine}
	r, err := a.Outcomes.Report(t.Context(), stage.Agent, report)
	if err != nil || r.Interrupt == nil || len(e.Interrupts) != 2 {
		t.Fatalf("%+v, %v; interrupts %v", r, err, e.Interrupts)
	}
	// And its result is kept once (S6.4).
	history, err := st.History(t.Context(), ledger.ResultsOf(ledger.Run("default", "run_1")), 0, 10)
	if err != nil || len(history) != 1 {
		t.Fatalf("%d results are kept, %v", len(history), err)
	}
	kept, err := ledger.DecodeResult(history[0].Data, history[0].Version)
	if err != nil || kept.CallID != "c" || string(kept.Output) != "done" || kept.State != "planning" || kept.RunVersion != 1 {
		t.Errorf("kept %+v, %v", kept, err)
	}
}

// S6.4: kept outputs are bounded.
func TestOutputsAreCut(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, stage.Limited)
	a := stage.NewApp(e, st)
	stage.MustCheck(t, a, "Read", nil, "c")
	stage.MustReport(t, a, outcome.Report{CallID: "c", Tool: "Read", OK: true, Output: []byte("x" + strings.Repeat("é", ledger.MostOutput))})
	history, err := st.History(t.Context(), ledger.ResultsOf(ledger.Run("default", "run_1")), 0, 10)
	if err != nil || len(history) != 1 {
		t.Fatalf("%d results are kept, %v", len(history), err)
	}
	kept, err := ledger.DecodeResult(history[0].Data, 1)
	if err != nil || len(kept.Output) != ledger.MostOutput-1 || !utf8.Valid(kept.Output) || !kept.Truncated {
		t.Errorf("kept %d bytes, cut %t, %v", len(kept.Output), kept.Truncated, err)
	}
}

// A call id that was decided in one branch is not an answer in another.
func TestCallIDsBelongToABranch(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, `{
		"id": "w", "initial": "start",
		"states": {
			"start": {"on": {"GO": {"fork": {"branches": {
				"a": {"initial": "a1", "terminal": "a2"}, "b": {"initial": "b1", "terminal": "b2"}}, "on_complete": "done"}}}},
			"a1": {"allowed_tools": ["Grep"], "on": {"OK": "a2"}}, "a2": {"type": "final"},
			"b1": {"allowed_tools": ["Read"], "on": {"OK": "b2"}}, "b2": {"type": "final"}, "done": {"type": "final"}
		}
	}`)
	e.Fire(t, "GO")
	a := stage.NewApp(e, st)
	ask := func(branch string) (*check.Decision, error) {
		return a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1", Branch: branch}, Tool: "Grep", CallID: "c1"})
	}
	if d, err := ask("a"); err != nil || d.Verdict.Decision != toolcall.Allow {
		t.Fatalf("%+v, %v", d, err)
	}
	if d, err := ask("b"); err == nil {
		t.Errorf("decided in a, in b it is %+v", d.Verdict)
	}
	if d, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1", Branch: "b"}, Tool: "Grep", CallID: "c2"}); err != nil || d.Verdict.Decision != toolcall.Deny {
		t.Errorf("%+v, %v", d, err)
	}
}
