package app

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
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

func encodeRun(run *workflow.Run) ([]byte, error) {
	data, err := json.Marshal(runRecord{
		ID: run.ID, Workflow: run.Workflow, WorkflowVersion: run.WorkflowVersion,
		SessionID: run.SessionID, Workspace: run.Workspace, Owner: run.Owner,
		Status: run.Status, State: run.State, Entry: run.Entry, TransitionCount: run.TransitionCount,
		Context: run.Context.AppendJSON(nil), Held: run.Held,
		CreatedAt: run.CreatedAt, UpdatedAt: run.UpdatedAt,
	})
	if err != nil {
		return nil, fmt.Errorf("encode run %s: %w", run.ID, err)
	}
	return data, nil
}

func decodeRun(data []byte, version int64) (*workflow.Run, error) {
	var r runRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("decode run: %w", err)
	}
	context, problem := document.Parse(r.Context, document.Limits{})
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

func encodeEntry(e *workflow.HistoryEntry) ([]byte, error) {
	data, err := json.Marshal(Entry{
		Actor: e.Actor, Type: e.Type, Event: e.Event, From: e.From, To: e.To,
		Data: rawJSON(e.Data), Rationale: e.Rationale, Guards: Guards(e.Guards),
		WorkflowVersion: e.WorkflowVersion, RunVersion: e.RunVersion, Status: e.Status,
		Reason: e.Reason, SafeNext: e.SafeNext, Time: e.Time,
	})
	if err != nil {
		return nil, fmt.Errorf("encode history: %w", err)
	}
	return data, nil
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
