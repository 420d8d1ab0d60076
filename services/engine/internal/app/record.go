package app

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
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
	CreatedAt       time.Time       `json:"created_at"`
	UpdatedAt       time.Time       `json:"updated_at"`

	// Fields that only some runs have; see writeRare.
	Entries   int64               `json:"entries,omitempty"`
	Interrupt *interruptionRecord `json:"interrupt,omitempty"`
	Fork      *forkRecord         `json:"fork,omitempty"`
	Child     *invocationRecord   `json:"child,omitempty"`
	Parent    *parentRecord       `json:"parent,omitempty"`
	Joined    []string            `json:"joined,omitempty"`
	Approval  *approvalRecord     `json:"approval,omitempty"`
	Holds     []holdRecord        `json:"holds,omitempty"`
	Sources   workflow.Sources    `json:"sources,omitempty"`
	Approved  []approvedRecord    `json:"approved,omitempty"`
	Moved     bool                `json:"moved,omitempty"`
	Claimed   bool                `json:"claimed,omitempty"`
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
	w.Time("created_at", run.CreatedAt)
	w.Time("updated_at", run.UpdatedAt)
	w.OptionalInteger("entries", run.Entries)
	writeRare(w, run)
	w.Close()
}

func decodeRun(data []byte, version int64) (*workflow.Run, error) {
	var r runRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("decode run: %w", err)
	}
	// Stored data is read at any size: a record may hold the context with more escapes
	// than the text that was measured when it was accepted.
	context, err := storedValue(r.Context)
	if err != nil {
		return nil, fmt.Errorf("decode run %s: %w", r.ID, err)
	}
	fork, err := r.Fork.decode()
	if err != nil {
		return nil, fmt.Errorf("decode run %s: %w", r.ID, err)
	}
	approval, err := r.Approval.decode()
	if err != nil {
		return nil, fmt.Errorf("decode run %s: %w", r.ID, err)
	}
	return &workflow.Run{
		ID: r.ID, Workflow: r.Workflow, WorkflowVersion: r.WorkflowVersion,
		SessionID: r.SessionID, Workspace: r.Workspace, Owner: r.Owner,
		Status: r.Status, TransitionCount: r.TransitionCount, Version: version, Holds: holdsIn(r.Holds),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Entries: max(r.Entries, r.Entry), Parent: (*workflow.Parent)(r.Parent), Joined: r.Joined,
		Lane: workflow.Lane{
			State: r.State, Entry: r.Entry, Context: context, Interrupt: (*workflow.Interruption)(r.Interrupt), Fork: fork,
			Child: (*workflow.Invocation)(r.Child), Approval: approval, Sources: r.Sources,
		},
		Approved: approvedIn(r.Approved), Moved: r.Moved, Claimed: r.Claimed,
	}, nil
}

// storedValue reads JSON that was stored.
func storedValue(text []byte) (document.Value, error) {
	v, problem := document.Parse(text, document.Limits{Bytes: len(text) + 1})
	if problem != nil {
		return v, fmt.Errorf("stored JSON: %s", problem.Message)
	}
	return v, nil
}

// labels returns the labels of a run.
func labels(run *workflow.Run) map[string]string {
	l := map[string]string{"status": string(run.Status), "workflow": run.Workflow}
	if run.SessionID != "" {
		l[labelSession] = run.SessionID
	}
	if run.Fork != nil {
		l[labelForked] = "yes"
	}
	return l
}

// labelSession is the session that drives a run.
const labelSession = "session"

// labelForked marks runs that are in branches.
const labelForked = "forked"

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

	// Result is set in the result of a tool, which is no change of the run.
	Result *ledger.Result `json:"-"`
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
	if len(e.Joins) > 0 {
		w.Raw("joins", mustJSON(joinsOf(e.Joins)))
	}
	w.Close()
	return w.Bytes()
}

func joinsOf(joins []workflow.Join) []Join {
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

func decodeEntry(h store.HistoryEntry) (Entry, error) {
	entry := Entry{}
	if err := json.Unmarshal(h.Data, &entry); err != nil {
		return entry, fmt.Errorf("decode entry %d: %w", h.Version, err)
	}
	entry.RunVersion = h.Version
	return entry, nil
}

func decodeResult(h store.HistoryEntry) (Entry, error) {
	r, err := ledger.DecodeResult(h.Data, h.Version)
	if err != nil {
		return Entry{}, err
	}
	return Entry{
		Type: "tool_result", Actor: r.Actor, Time: r.Time, RunVersion: r.RunVersion, Branch: r.Branch,
		From: r.State, To: r.State, Result: r,
	}, nil
}

// The stored forms of a run's parts besides its own lane.
type (
	interruptionRecord struct {
		Name     string `json:"name"`
		ReturnTo string `json:"return_to"`
	}
	invocationRecord struct {
		RunID    string `json:"run_id"`
		Workflow string `json:"workflow"`
		Event    string `json:"event"`
	}
	parentRecord struct {
		RunID string `json:"run_id"`
		Root  string `json:"root"`
		Depth int    `json:"depth"`
	}
	holdRecord struct {
		By     string             `json:"by"`
		Cause  workflow.HoldCause `json:"cause"`
		Reason string             `json:"reason,omitempty"`
		Since  time.Time          `json:"since"`
	}
	forkRecord struct {
		Event    string         `json:"event"`
		Current  string         `json:"current,omitempty"`
		Branches []branchRecord `json:"branches"`
	}
	branchRecord struct {
		Name      string                `json:"name"`
		Status    workflow.BranchStatus `json:"status"`
		SessionID string                `json:"session_id,omitempty"`
		State     string                `json:"state"`
		Entry     int64                 `json:"entry"`
		Context   json.RawMessage       `json:"context"`
		Interrupt *interruptionRecord   `json:"interrupt,omitempty"`
		Fork      *forkRecord           `json:"fork,omitempty"`
		Child     *invocationRecord     `json:"child,omitempty"`
		Approval  *approvalRecord       `json:"approval,omitempty"`
		Sources   workflow.Sources      `json:"sources,omitempty"`
	}
	approvedRecord struct {
		State string    `json:"state"`
		Event string    `json:"event"`
		Entry int64     `json:"entry"`
		At    time.Time `json:"at"`
		By    string    `json:"by"`
	}
	approvalRecord struct {
		ID         string                   `json:"id"`
		Event      string                   `json:"event"`
		To         string                   `json:"to"`
		Data       json.RawMessage          `json:"data,omitempty"`
		Message    string                   `json:"message,omitempty"`
		Actor      string                   `json:"actor"`
		Since      time.Time                `json:"since"`
		RunVersion int64                    `json:"run_version"`
		Reads      *consent.Reads           `json:"reads,omitempty"`
		Outcome    workflow.ApprovalOutcome `json:"outcome,omitempty"`
		Note       string                   `json:"note,omitempty"`
		DecidedBy  string                   `json:"decided_by,omitempty"`
	}
)

// writeRare writes the fields that only some runs have.
func writeRare(w *jsonobject.Writer, run *workflow.Run) {
	if run.Interrupt != nil {
		w.Raw("interrupt", mustJSON((*interruptionRecord)(run.Interrupt)))
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
}

func holdsOf(holds []workflow.Hold) []holdRecord {
	records := make([]holdRecord, len(holds))
	for i, h := range holds {
		records[i] = holdRecord(h)
	}
	return records
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

// mustJSON encodes plain values, which cannot fail.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func approvalOf(a *workflow.Approval) *approvalRecord {
	if a == nil {
		return nil
	}
	return &approvalRecord{
		a.ID, a.Event, a.To, rawJSON(a.Data), a.Message, a.Actor, a.Since, a.RunVersion, a.Reads, a.Outcome, a.Note, a.DecidedBy,
	}
}

func (r *approvalRecord) decode() (*workflow.Approval, error) {
	if r == nil {
		return nil, nil
	}
	a := &workflow.Approval{
		ID: r.ID, Event: r.Event, To: r.To, Message: r.Message, Actor: r.Actor, Since: r.Since, RunVersion: r.RunVersion, Reads: r.Reads,
		Outcome: r.Outcome, Note: r.Note, DecidedBy: r.DecidedBy,
	}
	if len(r.Data) == 0 {
		return a, nil
	}
	var err error
	a.Data, err = storedValue(r.Data)
	return a, err
}

func forkOf(f *workflow.ForkProgress) *forkRecord {
	if f == nil {
		return nil
	}
	r := &forkRecord{Event: f.Event, Current: f.Current, Branches: make([]branchRecord, len(f.Branches))}
	for i := range f.Branches {
		b := &f.Branches[i]
		r.Branches[i] = branchRecord{
			Name: b.Name, Status: b.Status, SessionID: b.SessionID, State: b.State, Entry: b.Entry,
			Context: b.Context.AppendJSON(nil), Interrupt: (*interruptionRecord)(b.Interrupt),
			Fork: forkOf(b.Fork), Child: (*invocationRecord)(b.Child), Approval: approvalOf(b.Approval), Sources: b.Sources,
		}
	}
	return r
}

func (r *forkRecord) decode() (*workflow.ForkProgress, error) {
	if r == nil {
		return nil, nil
	}
	f := &workflow.ForkProgress{Event: r.Event, Current: r.Current, Branches: make([]workflow.BranchProgress, len(r.Branches))}
	for i := range r.Branches {
		from, b := &r.Branches[i], &f.Branches[i]
		b.Name, b.Status, b.SessionID, b.State, b.Entry = from.Name, from.Status, from.SessionID, from.State, from.Entry
		b.Sources = from.Sources
		b.Interrupt, b.Child = (*workflow.Interruption)(from.Interrupt), (*workflow.Invocation)(from.Child)
		var err error
		if b.Context, err = storedValue(from.Context); err != nil {
			return nil, err
		}
		if b.Fork, err = from.Fork.decode(); err != nil {
			return nil, err
		}
		if b.Approval, err = from.Approval.decode(); err != nil {
			return nil, err
		}
	}
	return f, nil
}
