package runcodec

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Entry is one change of a run as its history keeps it (S6.4).
type Entry struct {
	Actor           string               `json:"actor"`
	Type            string               `json:"type"`
	Event           string               `json:"event,omitempty"`
	From            string               `json:"from,omitempty"`
	To              string               `json:"to,omitempty"`
	Data            json.RawMessage      `json:"data,omitempty"`
	Rationale       string               `json:"rationale,omitempty"`
	Guards          []Guard              `json:"guards,omitempty"`
	WorkflowVersion int64                `json:"workflow_version"`
	RunVersion      int64                `json:"run_version"`
	Status          workflow.Status      `json:"status"`
	Reason          string               `json:"reason,omitempty"`
	SafeNext        bool                 `json:"safe_next,omitempty"`
	Warned          bool                 `json:"warned,omitempty"`
	Time            time.Time            `json:"time"`
	Branch          string               `json:"branch,omitempty"`
	Joins           []Join               `json:"joins,omitempty"`
	Interrupt       string               `json:"interrupt,omitempty"`
	Files           []string             `json:"files,omitempty"`
	ChildRunID      string               `json:"child_run_id,omitempty"`
	SessionID       string               `json:"session_id,omitempty"`
	ApprovalID      string               `json:"approval_id,omitempty"`
	ChildStatus     workflow.Status      `json:"child_status,omitempty"`
	HoldCauses      []workflow.HoldCause `json:"hold_causes,omitempty"`
	Cause           *Cause               `json:"cause,omitempty"`

	// Result is set in the result of a tool, which is no change of the run.
	Result *ledger.Result `json:"-"`
}

// Cause is the clock that has brought a change about (S25.9).
type Cause struct {
	Kind  workflow.DueKind `json:"kind"`
	After time.Duration    `json:"after"`
	Due   time.Time        `json:"due"`
}

// Join is the end of a fork (S5.4).
type Join struct {
	Event     string          `json:"event"`
	To        string          `json:"to"`
	Succeeded bool            `json:"succeeded"`
	Branches  []BranchOutcome `json:"branches"`
	Conflicts []string        `json:"conflicts,omitempty"`
}

// BranchOutcome is how a branch ended.
type BranchOutcome struct {
	Name   string                `json:"name"`
	Status workflow.BranchStatus `json:"status"`
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
	Code     string          `json:"code,omitempty"`
	// Message is of guards that are more than a comparison.
	Message string `json:"message,omitempty"`
}

// EncodeEntry writes an Entry by hand, for it is on the path of every change.
func EncodeEntry(e *workflow.HistoryEntry) []byte {
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
	w.OptionalTruth("warned", e.Warned)
	w.Time("time", e.Time)
	w.OptionalText("branch", e.Branch)
	w.OptionalText("interrupt", e.Interrupt)
	w.OptionalText("child_run_id", e.ChildRunID)
	w.OptionalText("session_id", e.SessionID)
	w.OptionalText("approval_id", e.ApprovalID)
	w.OptionalText("child_status", string(e.ChildStatus))
	if len(e.HoldCauses) > 0 {
		w.Raw("hold_causes", mustJSON(e.HoldCauses))
	}
	if len(e.Files) > 0 {
		w.Raw("files", mustJSON(e.Files))
	}
	if e.Cause != nil {
		w.Raw("cause", mustJSON((*Cause)(e.Cause)))
	}
	if len(e.Joins) > 0 {
		w.Raw("joins", mustJSON(JoinsOf(e.Joins)))
	}
	w.Close()
	return w.Bytes()
}

// JoinsOf returns the outcomes of joins as the history keeps them.
func JoinsOf(joins []workflow.Join) []Join {
	out := make([]Join, len(joins))
	for i, j := range joins {
		out[i] = Join{Event: j.Event, To: j.To, Succeeded: j.Succeeded, Conflicts: j.Conflicts}
		for _, b := range j.Branches {
			out[i].Branches = append(out[i].Branches, BranchOutcome(b))
		}
	}
	return out
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
		w.OptionalText("code", string(g.Code))
		w.OptionalText("message", g.Why)
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
			Code: string(g.Code), Message: g.Why,
		}
	}
	return guards
}

// rawJSON returns nil for a missing value, so that it is left out.
func rawJSON(v document.Value) json.RawMessage {
	if v.IsZero() {
		return nil
	}
	return v.AppendJSON(nil)
}

// DecodeEntry reads an entry of a run's history.
func DecodeEntry(h store.HistoryEntry) (Entry, error) {
	entry := Entry{}
	if err := json.Unmarshal(h.Data, &entry); err != nil {
		return entry, fmt.Errorf("decode entry %d: %w", h.Version, err)
	}
	entry.RunVersion = h.Version
	return entry, nil
}

// DecodeResult reads a result of a tool call as an entry of the history.
func DecodeResult(h store.HistoryEntry) (Entry, error) {
	r, err := ledger.DecodeResult(h.Data, h.Version)
	if err != nil {
		return Entry{}, err
	}
	return Entry{
		Type: "tool_result", Actor: r.Actor, Time: r.Time, RunVersion: r.RunVersion, Branch: r.Branch,
		From: r.State, To: r.State, Result: r,
	}, nil
}

// writeRare writes the fields that only some runs have.
func writeRare(w *jsonobject.Writer, run *workflow.Run) {
	if run.Interrupt != nil {
		w.Raw("interrupt", mustJSON(interruptionOf(run.Interrupt)))
	}
	if run.Fork != nil {
		w.Raw("fork", mustJSON(forkOf(run.Fork)))
	}
	if run.Child != nil {
		w.Raw("child", mustJSON((*invocationRecord)(run.Child)))
	}
	if run.Parent != nil {
		w.Raw("parent", mustJSON((*parentRecord)(run.Parent)))
	}
	if len(run.Joined) > 0 {
		w.Raw("joined", mustJSON(run.Joined))
	}
	if run.Approval != nil {
		w.Raw("approval", mustJSON(approvalOf(run.Approval)))
	}
	if len(run.Holds) > 0 {
		w.Raw("holds", mustJSON(holdsOf(run.Holds)))
	}
	if len(run.Sources) > 0 {
		w.Raw("sources", mustJSON(run.Sources))
	}
	if len(run.Approved) > 0 {
		records := make([]approvedRecord, len(run.Approved))
		for i, a := range run.Approved {
			records[i] = approvedRecord(a)
		}
		w.Raw("approved", mustJSON(records))
	}
	w.OptionalTruth("moved", run.Moved)
	w.OptionalTruth("claimed", run.Claimed)
	w.OptionalText("schedule", run.Schedule)
	writeClock(w, &run.Clock)
	if !run.Deadline.IsZero() {
		w.Time("deadline", run.Deadline)
	}
}

// writeClock writes the clock of a run's own lane by hand, for every run has one.
func writeClock(w *jsonobject.Writer, c *workflow.Clock) {
	if c.Since.IsZero() {
		return
	}
	w.Name("clock")
	w.Open()
	w.Time("since", c.Since)
	w.OptionalInteger("stood", int64(c.Stood))
	if !c.Running() {
		w.Time("stopped", c.Stopped)
	}
	w.OptionalInteger("reminded", int64(c.Reminded))
	if len(c.Blocked) > 0 {
		w.Raw("blocked", mustJSON(c.Blocked))
		w.Time("retry", c.Retry)
	}
	w.Close()
}

func holdsIn(records []holdRecord) []workflow.Hold {
	if len(records) == 0 {
		return nil
	}
	holds := make([]workflow.Hold, len(records))
	for i, r := range records {
		holds[i] = workflow.Hold(r)
	}
	return holds
}

func approvedIn(records []approvedRecord) []evidence.Approved {
	var approved []evidence.Approved
	for _, r := range records {
		approved = append(approved, evidence.Approved(r))
	}
	return approved
}
