package app

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
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

func fullRun(t *testing.T) workflow.Run {
	t.Helper()
	return workflow.Run{
		ID: "run_1", Workflow: `a "quoted" <name> é`, WorkflowVersion: 2, SessionID: "s\n1", Workspace: "/w", Owner: "ann",
		Status: workflow.Paused, State: "building", Entry: 3, TransitionCount: 4, Version: 5, Held: true,
		Context: value(t, `{"id":9007199254740993,"html":"<a>&","n":1.50}`), CreatedAt: noon, UpdatedAt: noon.Add(time.Hour),
	}
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
	filled(t, run)
	var record runRecord
	if err := json.Unmarshal(encodeRun(&run), &record); err != nil {
		t.Fatal(err)
	}
	filled(t, record)
	got, err := decodeRun(encodeRun(&run), run.Version)
	if err != nil {
		t.Fatal(err)
	}
	if got.Context.String() != run.Context.String() {
		t.Errorf("context %s, want %s", got.Context, run.Context)
	}
	got.Context = run.Context
	if !reflect.DeepEqual(*got, run) {
		t.Errorf("got %+v, want %+v", *got, run)
	}
}

func TestHistoryEntryIsComplete(t *testing.T) {
	t.Parallel()
	e := workflow.HistoryEntry{
		Actor: "ann", Type: "transitioned", Event: "GO NOW", From: "a", To: "b", Data: value(t, `{"rationale":"<why>"}`),
		Rationale: "<why>", WorkflowVersion: 1, RunVersion: 2, Status: workflow.Running, Reason: "r", SafeNext: true, Time: noon,
		Guards: []workflow.GuardResult{
			{Name: "g", Field: "x", Op: "eq", Expected: value(t, `"pass"`), Actual: value(t, `1.50`), Passed: true},
			{Name: "h", Field: "y", Op: "exists"},
		},
	}
	filled(t, e)
	var got Entry
	if err := json.Unmarshal(encodeEntry(&e), &got); err != nil {
		t.Fatalf("%s: %v", encodeEntry(&e), err)
	}
	filled(t, got)
	filled(t, got.Guards[0])
	want := Entry{
		Actor: "ann", Type: "transitioned", Event: "GO NOW", From: "a", To: "b", Data: json.RawMessage(`{"rationale":"<why>"}`),
		Rationale: "<why>", Guards: Guards(e.Guards), WorkflowVersion: 1, RunVersion: 2, Status: workflow.Running, Reason: "r",
		SafeNext: true, Time: noon,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAnswerIsComplete(t *testing.T) {
	t.Parallel()
	out := &workflow.Result{Run: fullRun(t), Rejection: &workflow.Rejection{
		Code: workflow.RejectGuardFailed, Message: `"no"`, State: "building", Status: workflow.Running,
		Guards: []workflow.GuardResult{{Name: "g", Field: "x", Op: "exists"}},
	}}
	kept, err := remembered(store.Key{ID: "run_1"}, "k", "d", out)
	if err != nil {
		t.Fatal(err)
	}
	var got answer
	if err := json.Unmarshal(kept.Answer, &got); err != nil {
		t.Fatalf("%s: %v", kept.Answer, err)
	}
	filled(t, got)
	filled(t, *got.Rejection)
	if !reflect.DeepEqual(got.Rejection, rejectionOf(out)) || got.Version != 5 {
		t.Errorf("got %+v", got)
	}
	if string(got.Run) != string(encodeRun(&out.Run)) {
		t.Errorf("run %s, want %s", got.Run, encodeRun(&out.Run))
	}
}
