// Package runcodec encodes and decodes the records of runs and of their history.
package runcodec

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// RunRecord is the stored form of a run. Its version is the record's own. Fields
// are only ever added: records outlive releases.
type RunRecord struct {
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
	Clock     *clockRecord        `json:"clock,omitempty"`
	Deadline  *time.Time          `json:"deadline,omitempty"`
	Schedule  string              `json:"schedule,omitempty"`
}

// EncodeRun writes the record of a run.
func EncodeRun(run *workflow.Run) []byte {
	w := jsonobject.New(512)
	WriteRun(w, run)
	return w.Bytes()
}

// WriteRun writes a runRecord by hand, for it is on the path of every change.
func WriteRun(w *jsonobject.Writer, run *workflow.Run) {
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

// DecodeRun reads the record of a run at a version.
func DecodeRun(data []byte, version int64) (*workflow.Run, error) {
	var r RunRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("decode run: %w", err)
	}
	// Stored data is read at any size: a record may hold the context with more escapes
	// than the text that was measured when it was accepted.
	context, err := StoredValue(r.Context)
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
	run := &workflow.Run{
		ID: r.ID, Workflow: r.Workflow, WorkflowVersion: r.WorkflowVersion,
		SessionID: r.SessionID, Workspace: r.Workspace, Owner: r.Owner,
		Status: r.Status, TransitionCount: r.TransitionCount, Version: version, Holds: holdsIn(r.Holds),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Entries: max(r.Entries, r.Entry), Parent: (*workflow.Parent)(r.Parent), Joined: r.Joined,
		Lane: workflow.Lane{
			State: r.State, Entry: r.Entry, Context: context, Interrupt: r.Interrupt.decode(), Fork: fork,
			Child: (*workflow.Invocation)(r.Child), Approval: approval, Sources: r.Sources, Clock: r.Clock.decode(),
		},
		Approved: approvedIn(r.Approved), Moved: r.Moved, Claimed: r.Claimed, Schedule: r.Schedule,
	}
	if r.Deadline != nil {
		run.Deadline = *r.Deadline
	}
	return run, nil
}

// StoredValue reads JSON that was stored.
func StoredValue(text []byte) (document.Value, error) {
	v, problem := document.Parse(text, document.Limits{Bytes: len(text) + 1})
	if problem != nil {
		return v, fmt.Errorf("stored JSON: %s", problem.Message)
	}
	return v, nil
}

// Labels returns the labels of a run.
func Labels(run *workflow.Run) map[string]string {
	l := map[string]string{"status": string(run.Status), "workflow": run.Workflow}
	if run.SessionID != "" {
		l[LabelSession] = run.SessionID
	}
	if run.Schedule != "" {
		l[LabelSchedule] = run.Schedule
	}
	if run.Fork != nil {
		l[LabelForked] = "yes"
	}
	return l
}

// LabelSession is the session that drives a run.
const LabelSession = "session"

// LabelSchedule is the schedule that has started a run.
const LabelSchedule = "schedule"

// LabelForked marks runs that are in branches.
const LabelForked = "forked"

// The stored forms of a run's parts besides its own lane.
type (
	interruptionRecord struct {
		Name     string       `json:"name"`
		ReturnTo string       `json:"return_to"`
		Clock    *clockRecord `json:"clock,omitempty"`
	}
	clockRecord struct {
		Since    time.Time       `json:"since"`
		Stood    time.Duration   `json:"stood,omitempty"`
		Stopped  time.Time       `json:"stopped,omitzero"`
		Reminded int             `json:"reminded,omitempty"`
		Blocked  []time.Duration `json:"blocked,omitempty"`
		Retry    time.Time       `json:"retry,omitzero"`
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
		Clock    *clockRecord   `json:"clock,omitempty"`
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
		Clock     *clockRecord          `json:"clock,omitempty"`
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
		Person     string                   `json:"person,omitempty"`
		Since      time.Time                `json:"since"`
		RunVersion int64                    `json:"run_version"`
		Reads      *consent.Reads           `json:"reads,omitempty"`
		Outcome    workflow.ApprovalOutcome `json:"outcome,omitempty"`
		Note       string                   `json:"note,omitempty"`
		DecidedBy  string                   `json:"decided_by,omitempty"`
	}
)

// clockOf returns the stored form of a clock, or nil of one that shows nothing.
func clockOf(c *workflow.Clock) *clockRecord {
	if c.Since.IsZero() {
		return nil
	}
	return (*clockRecord)(c)
}

func (r *clockRecord) decode() workflow.Clock {
	if r == nil {
		return workflow.Clock{}
	}
	return workflow.Clock(*r)
}

func interruptionOf(i *workflow.Interruption) *interruptionRecord {
	if i == nil {
		return nil
	}
	return &interruptionRecord{i.Name, i.ReturnTo, clockOf(&i.Clock)}
}

func (r *interruptionRecord) decode() *workflow.Interruption {
	if r == nil {
		return nil
	}
	return &workflow.Interruption{Name: r.Name, ReturnTo: r.ReturnTo, Clock: r.Clock.decode()}
}

func holdsOf(holds []workflow.Hold) []holdRecord {
	records := make([]holdRecord, len(holds))
	for i, h := range holds {
		records[i] = holdRecord(h)
	}
	return records
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
		a.ID, a.Event, a.To, rawJSON(a.Data), a.Message, a.Actor, a.Person, a.Since, a.RunVersion, a.Reads, a.Outcome, a.Note, a.DecidedBy,
	}
}

func (r *approvalRecord) decode() (*workflow.Approval, error) {
	if r == nil {
		return nil, nil
	}
	a := &workflow.Approval{
		ID: r.ID, Event: r.Event, To: r.To, Message: r.Message, Actor: r.Actor, Person: r.Person, Since: r.Since, RunVersion: r.RunVersion, Reads: r.Reads,
		Outcome: r.Outcome, Note: r.Note, DecidedBy: r.DecidedBy,
	}
	if len(r.Data) == 0 {
		return a, nil
	}
	var err error
	a.Data, err = StoredValue(r.Data)
	return a, err
}

func forkOf(f *workflow.ForkProgress) *forkRecord {
	if f == nil {
		return nil
	}
	r := &forkRecord{Event: f.Event, Current: f.Current, Clock: clockOf(&f.Clock), Branches: make([]branchRecord, len(f.Branches))}
	for i := range f.Branches {
		b := &f.Branches[i]
		r.Branches[i] = branchRecord{
			Name: b.Name, Status: b.Status, SessionID: b.SessionID, State: b.State, Entry: b.Entry,
			Context: b.Context.AppendJSON(nil), Interrupt: interruptionOf(b.Interrupt), Clock: clockOf(&b.Clock),
			Fork: forkOf(b.Fork), Child: (*invocationRecord)(b.Child), Approval: approvalOf(b.Approval), Sources: b.Sources,
		}
	}
	return r
}

func (r *forkRecord) decode() (*workflow.ForkProgress, error) {
	if r == nil {
		return nil, nil
	}
	f := &workflow.ForkProgress{Event: r.Event, Current: r.Current, Clock: r.Clock.decode(), Branches: make([]workflow.BranchProgress, len(r.Branches))}
	for i := range r.Branches {
		from, b := &r.Branches[i], &f.Branches[i]
		b.Name, b.Status, b.SessionID, b.State, b.Entry = from.Name, from.Status, from.SessionID, from.State, from.Entry
		b.Sources = from.Sources
		b.Interrupt, b.Child, b.Clock = from.Interrupt.decode(), (*workflow.Invocation)(from.Child), from.Clock.decode()
		var err error
		if b.Context, err = StoredValue(from.Context); err != nil {
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
