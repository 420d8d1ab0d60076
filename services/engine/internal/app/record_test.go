package app

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

func value(t *testing.T, text string) document.Value {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	return v
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123_456_789, time.UTC)

var ticking = workflow.Clock{Since: noon, Stood: time.Second, Stopped: noon.Add(time.Minute), Reminded: 1, Blocked: []time.Duration{time.Hour}, Retry: noon.Add(time.Hour)}

func fullRun(t *testing.T) workflow.Run {
	t.Helper()
	return workflow.Run{
		ID: "run_1", Workflow: `a "quoted" <name> é`, WorkflowVersion: 2, SessionID: "s\n1", Workspace: "/w", Owner: "ann",
		Status: workflow.Paused, TransitionCount: 4, Version: 5, CreatedAt: noon, UpdatedAt: noon.Add(time.Hour), Deadline: noon.Add(24 * time.Hour),
		Entries: 9, Joined: []string{"x", "y"}, Parent: &workflow.Parent{RunID: "run_0", Root: "run_r", Depth: 2},
		Approved: []evidence.Approved{{State: "building", Event: "SHIP", Entry: 3, At: noon, By: "alice"}}, Moved: true, Claimed: true, Schedule: "nightly",
		Holds: []workflow.Hold{
			{By: "o<p", Cause: workflow.HoldOperator, Reason: "lunch", Since: noon},
			{By: "interlock", Cause: workflow.HoldSessionEnd, Since: noon.Add(time.Minute)},
		},
		Lane: workflow.Lane{
			State: "building", Entry: 3, Context: value(t, `{"id":9007199254740993,"html":"<a>&","n":1.50}`),
			Interrupt: &workflow.Interruption{Name: "check", ReturnTo: "building", Clock: ticking},
			Clock:     ticking,
			Child:     &workflow.Invocation{RunID: "run_2", Workflow: "suite", Event: "TEST"},
			Fork:      fullFork(t, 2),
			Approval:  fullApproval(t),
			Sources:   workflow.Sources{"n": evidence.Observed},
		},
	}
}

func fullApproval(t *testing.T) *workflow.Approval {
	t.Helper()
	return &workflow.Approval{
		ID: "apr_1", Event: "SHIP", To: "done", Data: value(t, `{"id":9007199254740993}`), Message: "Ship <it>?", Actor: "agent", Person: "ann",
		Since: noon, RunVersion: 4, Reads: &consent.Reads{StateID: "wfstate_1", Version: 3, Values: []consent.Read{{Pointer: "/a", Digest: "d", Shown: "1"}}}, Outcome: workflow.ApprovalRejected, Note: "no", DecidedBy: "alice",
	}
}

// fullFork is a fork with forks in it.
func fullFork(t *testing.T, depth int) *workflow.ForkProgress {
	t.Helper()
	if depth == 0 {
		return nil
	}
	b := workflow.BranchProgress{Name: "lint", Status: workflow.BranchActive, SessionID: "s2"}
	b.State, b.Entry, b.Context = "linting", 7, value(t, `{"n":1.0}`)
	b.Interrupt = &workflow.Interruption{Name: "i", ReturnTo: "linting", Clock: ticking}
	b.Clock = ticking
	b.Child = &workflow.Invocation{RunID: "run_3", Workflow: "w", Event: "E"}
	b.Fork = fullFork(t, depth-1)
	b.Approval = fullApproval(t)
	b.Sources = workflow.Sources{"n": evidence.Human}
	return &workflow.ForkProgress{Event: "CHECK", Current: "lint", Clock: ticking, Branches: []workflow.BranchProgress{b}}
}

// plain turns contexts into text, so that lanes can be compared.
func plain(l *workflow.Lane) string {
	approval := *l.Approval
	reads := fmt.Sprintf("%+v", *approval.Reads)
	approval.Reads = nil
	text := fmt.Sprintf("%s %d %s %+v %+v %+v %s %+v", l.State, l.Entry, l.Context, l.Interrupt, l.Child, approval, reads, l.Clock)
	if l.Fork != nil {
		text += fmt.Sprintf(" fork %s %s %+v", l.Fork.Event, l.Fork.Current, l.Fork.Clock)
		for _, b := range l.Fork.Branches {
			text += fmt.Sprintf(" branch %s %s %s {%s}", b.Name, b.Status, b.SessionID, plain(&b.Lane))
		}
	}
	return text
}

// filled fails when a field of a record is missing: it was added to the struct
// and not to what is written by hand.
func filled(t *testing.T, record any) {
	t.Helper()
	v := reflect.ValueOf(record)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s.%s is not written", v.Type(), v.Type().Field(i).Name)
		}
	}
}

func TestRunRecordIsComplete(t *testing.T) {
	t.Parallel()
	run := fullRun(t)
	var record runcodec.RunRecord
	if err := json.Unmarshal(runcodec.EncodeRun(&run), &record); err != nil {
		t.Fatal(err)
	}
	filled(t, record)
	got, err := runcodec.DecodeRun(runcodec.EncodeRun(&run), run.Version)
	if err != nil {
		t.Fatal(err)
	}
	filled(t, run)
	filled(t, run.Lane)
	filled(t, run.Holds[0])
	if plain(&got.Lane) != plain(&run.Lane) {
		t.Errorf("got %s\nwant %s", plain(&got.Lane), plain(&run.Lane))
	}
	filled(t, record.Fork.Branches[0])
	filled(t, *record.Approval)
	got.Lane = run.Lane
	if !reflect.DeepEqual(*got, run) {
		t.Errorf("got %+v, want %+v", *got, run)
	}
}

func TestHistoryEntryIsComplete(t *testing.T) {
	t.Parallel()
	e := workflow.HistoryEntry{
		Actor: "ann", Type: "transitioned", Event: "GO NOW", From: "a", To: "b", Data: value(t, `{"rationale":"<why>"}`),
		Rationale: "<why>", WorkflowVersion: 1, RunVersion: 2, Status: workflow.Running, Reason: "r", SafeNext: true, Warned: true, Time: noon,
		Guards: []workflow.GuardResult{
			{Name: "g", Field: "x", Op: "eq", Expected: value(t, `"pass"`), Actual: value(t, `1.50`), Passed: true, Code: workflow.GuardClaimed, Need: "needs", Why: "why"},
			{Name: "h", Field: "y", Op: "exists"},
		},
		Branch: "ci/lint", Interrupt: "check", Files: []string{"a.js"}, ChildRunID: "run_2", SessionID: "s2", ApprovalID: "apr_1",
		ChildStatus: workflow.Failed, HoldCauses: []workflow.HoldCause{workflow.HoldOperator},
		Cause: &workflow.Cause{Kind: workflow.DueAfter, After: time.Hour, Due: noon},
		Joins: []workflow.Join{{
			Event: "CHECK", To: "b", Succeeded: true, Conflicts: []string{"n"},
			Branches: []workflow.BranchOutcome{{Name: "lint", Status: workflow.BranchSucceeded}},
		}},
	}
	filled(t, e)
	var got runcodec.Entry
	if err := json.Unmarshal(runcodec.EncodeEntry(&e), &got); err != nil {
		t.Fatalf("%s: %v", runcodec.EncodeEntry(&e), err)
	}
	got.Result = &ledger.Result{} // is not stored with it
	filled(t, got)
	got.Result = nil
	filled(t, got.Guards[0])
	filled(t, got.Joins[0])
	want := runcodec.Entry{
		Actor: "ann", Type: "transitioned", Event: "GO NOW", From: "a", To: "b", Data: json.RawMessage(`{"rationale":"<why>"}`),
		Rationale: "<why>", Guards: runcodec.Guards(e.Guards), WorkflowVersion: 1, RunVersion: 2, Status: workflow.Running, Reason: "r",
		SafeNext: true, Warned: true, Time: noon, Branch: "ci/lint", Interrupt: "check", Files: []string{"a.js"}, ChildRunID: "run_2",
		SessionID: "s2", ApprovalID: "apr_1", Joins: runcodec.JoinsOf(e.Joins), ChildStatus: workflow.Failed, Cause: &runcodec.Cause{Kind: workflow.DueAfter, After: time.Hour, Due: noon}, HoldCauses: e.HoldCauses,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAnswerIsComplete(t *testing.T) {
	t.Parallel()
	run := fullRun(t)
	out := &Outcome{
		Rejection: &Rejection{
			Code: workflow.RejectGuardFailed, Message: `"no"`, State: "building", Status: workflow.Running,
			Guards: []runcodec.Guard{{Name: "g", Field: "x", Op: "exists"}},
		},
		Note: "n", Changed: true, From: "a", ApprovalID: "apr_1",
	}
	kept, err := keptAnswer(store.Key{ID: "run_1"}, idempotency.Key{Name: "k", Digest: "d"}, authority.Place{Node: authority.Node{Run: &run}, Branch: "lint", Owner: "s3"}, out)
	if err != nil {
		t.Fatal(err)
	}
	var got storedAnswer
	if err := json.Unmarshal(kept.Answer, &got); err != nil {
		t.Fatalf("%s: %v", kept.Answer, err)
	}
	filled(t, got)
	filled(t, *got.Rejection)
	if !reflect.DeepEqual(got.Rejection, out.Rejection) || got.Version != 5 {
		t.Errorf("got %+v", got)
	}
	if string(got.Run) != string(runcodec.EncodeRun(&run)) {
		t.Errorf("run %s, want %s", got.Run, runcodec.EncodeRun(&run))
	}
}

// What other services read of a run's record is what the engine reads of it (S18.3).
func TestStateInIsTheEngines(t *testing.T) {
	lane := func(state string) workflow.Lane {
		return workflow.Lane{State: state, Entry: 1, Context: document.ObjectValue(nil)}
	}
	forked := lane("fork")
	inner := lane("inner")
	inner.Fork = &workflow.ForkProgress{Event: "F", Current: "y", Branches: []workflow.BranchProgress{
		{Name: "x", Status: workflow.BranchSucceeded, Lane: lane("x1")}, {Name: "y", Status: workflow.BranchActive, Lane: lane("y1")},
	}}
	forked.Fork = &workflow.ForkProgress{Event: "E", Current: "a", Branches: []workflow.BranchProgress{
		{Name: "a", Status: workflow.BranchActive, Lane: lane("a1")}, {Name: "b", Status: workflow.BranchActive, Lane: inner},
	}}
	for _, c := range []struct {
		lane   workflow.Lane
		status workflow.Status
		branch string
		want   string
	}{
		{lane("s"), workflow.Running, "", "s"},
		{lane("s"), workflow.AwaitingApproval, "", "s"},
		{lane("s"), workflow.Waiting, "", "s"},
		{lane("s"), workflow.Completed, "", ""},
		{lane("s"), workflow.Failed, "", ""},
		{lane("s"), workflow.Paused, "", ""},
		{lane("s"), workflow.Running, "gone", ""},
		{forked, workflow.Running, "", "a1"},
		{forked, workflow.Running, "a", "a1"},
		{forked, workflow.Running, "b", "y1"},
		{forked, workflow.Running, "b/y", "y1"},
		{forked, workflow.Running, "b/x", ""},
		{forked, workflow.Running, "c", ""},
		{forked, workflow.Running, "y", "y1"},
		{forked, workflow.Running, "b/", ""},
	} {
		run := &workflow.Run{ID: "run_1", Workflow: "w", Status: c.status, Lane: c.lane}
		name, got, err := ledger.StateIn(runcodec.EncodeRun(run), "s", ledger.Binding{Branch: c.branch}, "")
		if err != nil || got != c.want || got != "" && name != "w" {
			t.Errorf("%s %q: %q, %v, want %q", c.status, c.branch, got, err, c.want)
		}
		if at := run.At(c.branch); got != "" && (at.Over || at.State != got) {
			t.Errorf("%s %q: the engine says %q, %t", c.status, c.branch, at.State, at.Over)
		}
	}
	given := forked
	given.Fork = &workflow.ForkProgress{Event: "E", Current: "a", Branches: []workflow.BranchProgress{
		{Name: "a", Status: workflow.BranchActive, Lane: lane("a1")}, {Name: "b", Status: workflow.BranchActive, SessionID: "t", Lane: inner},
	}}
	// The token of a session that is bound to a branch works in that one alone, unless it was
	// given to another session.
	for _, c := range []struct {
		lane          workflow.Lane
		session       string
		binding, only string
		want          string
	}{
		{lane("s"), "s", "", "a", ""},
		{forked, "s", "", "a", "a1"},
		{forked, "s", "", "b", "y1"},
		{forked, "s", "", "y", "y1"},
		{forked, "s", "", "b/y", "y1"},
		{forked, "s", "", "b/x", ""},
		{forked, "s", "", "c", ""},
		{given, "s", "", "", "a1"},
		{given, "s", "", "b", ""},
		{given, "s", "", "b/y", ""},
		{given, "t", "b", "", "y1"},
		{given, "t", "b", "b", "y1"},
		{given, "t", "b", "a", ""},
		{given, "t", "b", "b/y", ""},
	} {
		run := &workflow.Run{ID: "run_1", Status: workflow.Running, SessionID: "s", Lane: c.lane}
		_, got, err := ledger.StateIn(runcodec.EncodeRun(run), c.session, ledger.Binding{Branch: c.binding}, c.only)
		if err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	for _, b := range []ledger.Binding{{RunID: "run_1"}, {RunID: "run_1", Branch: "a/b"}, {RunID: "run_1", Branch: "a", Ended: true}, {Ended: true}} {
		if got := ledger.ReadBinding(b.Data()); got != b {
			t.Errorf("%+v is read as %+v", b, got)
		}
	}
}
