package app

import (
	"encoding/json"
	"time"

	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// The stored forms of what a run has besides its own lane.
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
		Outcome    workflow.ApprovalOutcome `json:"outcome,omitempty"`
		Note       string                   `json:"note,omitempty"`
		DecidedBy  string                   `json:"decided_by,omitempty"`
	}
)

// writeRare writes what only some runs have.
func writeRare(w *jsonobject.Writer, run *workflow.Run) {
	if run.Interrupt != nil {
		w.Raw("interrupt", mustJSON(interruptionOf(run.Interrupt)))
	}
	if run.Fork != nil {
		w.Raw("fork", mustJSON(forkOf(run.Fork)))
	}
	if run.Child != nil {
		w.Raw("child", mustJSON(invocationOf(run.Child)))
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

// mustJSON encodes plain values, which cannot fail.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func interruptionOf(in *workflow.Interruption) *interruptionRecord {
	return (*interruptionRecord)(in)
}
func invocationOf(in *workflow.Invocation) *invocationRecord { return (*invocationRecord)(in) }
func (r *interruptionRecord) decode() *workflow.Interruption { return (*workflow.Interruption)(r) }

func (r *invocationRecord) decode() *workflow.Invocation { return (*workflow.Invocation)(r) }
func (r *parentRecord) decode() *workflow.Parent         { return (*workflow.Parent)(r) }

func approvalOf(a *workflow.Approval) *approvalRecord {
	if a == nil {
		return nil
	}
	return &approvalRecord{
		a.ID, a.Event, a.To, rawJSON(a.Data), a.Message, a.Actor, a.Since, a.RunVersion, a.Outcome, a.Note, a.DecidedBy,
	}
}

func (r *approvalRecord) decode() (*workflow.Approval, error) {
	if r == nil {
		return nil, nil
	}
	a := &workflow.Approval{
		ID: r.ID, Event: r.Event, To: r.To, Message: r.Message, Actor: r.Actor, Since: r.Since, RunVersion: r.RunVersion,
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
			Context: b.Context.AppendJSON(nil), Interrupt: interruptionOf(b.Interrupt),
			Fork: forkOf(b.Fork), Child: invocationOf(b.Child), Approval: approvalOf(b.Approval),
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
		b.Interrupt, b.Child = from.Interrupt.decode(), from.Child.decode()
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
