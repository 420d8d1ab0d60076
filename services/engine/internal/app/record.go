package app

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// runRecord is the stored form of a run. Its version is the record's own. Fields
// are only ever added: records outlive releases.
type runRecord struct {
	ID              string          `json:"id"`
	Workflow        string          `json:"workflow"`
	WorkflowVersion int64           `json:"workflow_version"`
	SessionID       string          `json:"session_id,omitempty"`
	Workspace       string          `json:"workspace,omitempty"`
	Owner           string          `json:"owner"`
	Status          workflow.Status `json:"status"`
	State           string          `json:"state"`
	Entry           int64           `json:"entry"`
	TransitionCount int64           `json:"transition_count"`
	Context         json.RawMessage `json:"context"`
	Held            bool            `json:"held,omitempty"`
	CreatedAt       time.Time       `json:"created_at"`
	UpdatedAt       time.Time       `json:"updated_at"`
}

func encodeRun(run *workflow.Run) []byte {
	w := jsonobject.New(512)
	writeRun(w, run)
	return w.Bytes()
}

// writeRun writes a runRecord by hand, for it is on the path of every change.
func writeRun(w *jsonobject.Writer, run *workflow.Run) {
	w.Open()
	w.Text("id", run.ID)
	w.Text("workflow", run.Workflow)
	w.Integer("workflow_version", run.WorkflowVersion)
	w.OptionalText("session_id", run.SessionID)
	w.OptionalText("workspace", run.Workspace)
	w.Text("owner", run.Owner)
	w.Text("status", string(run.Status))
	w.Text("state", run.State)
	w.Integer("entry", run.Entry)
	w.Integer("transition_count", run.TransitionCount)
	w.Value("context", run.Context)
	w.OptionalTruth("held", run.Held)
	w.Time("created_at", run.CreatedAt)
	w.Time("updated_at", run.UpdatedAt)
	w.Close()
}

func decodeRun(data []byte, version int64) (*workflow.Run, error) {
	var r runRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("decode run: %w", err)
	}
	// What is stored is read whatever its size: a record may hold the context with
	// more escapes than the text that was measured when it was accepted.
	context, problem := document.Parse(r.Context, document.Limits{Bytes: len(r.Context) + 1})
	if problem != nil {
		return nil, fmt.Errorf("decode run %s: %s", r.ID, problem.Message)
	}
	return &workflow.Run{
		ID: r.ID, Workflow: r.Workflow, WorkflowVersion: r.WorkflowVersion,
		SessionID: r.SessionID, Workspace: r.Workspace, Owner: r.Owner,
		Status: r.Status, State: r.State, Entry: r.Entry, TransitionCount: r.TransitionCount,
		Version: version, Context: context, Held: r.Held,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}, nil
}

// labels are what runs can be listed by.
func labels(run *workflow.Run) map[string]string {
	return map[string]string{"status": string(run.Status), "workflow": run.Workflow}
}

// Entry is one change of a run as its history keeps it (S6.4).
type Entry struct {
	Actor           string          `json:"actor"`
	Type            string          `json:"type"`
	Event           string          `json:"event,omitempty"`
	From            string          `json:"from,omitempty"`
	To              string          `json:"to,omitempty"`
	Data            json.RawMessage `json:"data,omitempty"`
	Rationale       string          `json:"rationale,omitempty"`
	Guards          []Guard         `json:"guards,omitempty"`
	WorkflowVersion int64           `json:"workflow_version"`
	RunVersion      int64           `json:"run_version"`
	Status          workflow.Status `json:"status"`
	Reason          string          `json:"reason,omitempty"`
	SafeNext        bool            `json:"safe_next,omitempty"`
	Time            time.Time       `json:"time"`
}

// Guard is the outcome of one guard; Expected and Actual are JSON, and absent
// when there is none.
type Guard struct {
	Name     string          `json:"name"`
	Field    string          `json:"field"`
	Op       string          `json:"op"`
	Expected json.RawMessage `json:"expected,omitempty"`
	Actual   json.RawMessage `json:"actual,omitempty"`
	Passed   bool            `json:"passed"`
}

// encodeEntry writes an Entry by hand, for it is on the path of every change.
func encodeEntry(e *workflow.HistoryEntry) []byte {
	w := jsonobject.New(512)
	w.Open()
	w.Text("actor", e.Actor)
	w.Text("type", e.Type)
	w.OptionalText("event", e.Event)
	w.OptionalText("from", e.From)
	w.OptionalText("to", e.To)
	writeValue(w, "data", e.Data)
	w.OptionalText("rationale", e.Rationale)
	writeGuards(w, e.Guards)
	w.Integer("workflow_version", e.WorkflowVersion)
	w.Integer("run_version", e.RunVersion)
	w.Text("status", string(e.Status))
	w.OptionalText("reason", e.Reason)
	w.OptionalTruth("safe_next", e.SafeNext)
	w.Time("time", e.Time)
	w.Close()
	return w.Bytes()
}

func writeGuards(w *jsonobject.Writer, guards []workflow.GuardResult) {
	if len(guards) == 0 {
		return
	}
	w.Name("guards")
	w.OpenList()
	for i := range guards {
		g := &guards[i]
		w.Open()
		w.Text("name", g.Name)
		w.Text("field", g.Field)
		w.Text("op", g.Op)
		writeValue(w, "expected", g.Expected)
		writeValue(w, "actual", g.Actual)
		w.Truth("passed", g.Passed)
		w.Close()
	}
	w.CloseList()
}

// writeValue leaves a missing value out.
func writeValue(w *jsonobject.Writer, name string, v document.Value) {
	if !v.IsZero() {
		w.Value(name, v)
	}
}

// Guards turns the core's guard results into JSON-ready ones.
func Guards(results []workflow.GuardResult) []Guard {
	if len(results) == 0 {
		return nil
	}
	guards := make([]Guard, len(results))
	for i, g := range results {
		guards[i] = Guard{
			Name: g.Name, Field: g.Field, Op: g.Op,
			Expected: rawJSON(g.Expected), Actual: rawJSON(g.Actual), Passed: g.Passed,
		}
	}
	return guards
}

// rawJSON is nil for a missing value, so that it is left out.
func rawJSON(v document.Value) json.RawMessage {
	if v.IsZero() {
		return nil
	}
	return v.AppendJSON(nil)
}
