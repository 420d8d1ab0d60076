package app

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/idempotency"
)

// Outcome is a run after a request, and the rejection when it was refused.
type Outcome struct {
	View      *View
	Rejection *Rejection
	// Note says why an accepted request has made no change.
	Note string
	// Changed is true when the run that was asked for has; From is the state that
	// it was in.
	Changed bool
	From    string
	// ApprovalID is the approval that the event waits for (S9.1).
	ApprovalID string
}

func outcomeOf(out *workflow.Result) *Outcome {
	o := &Outcome{Rejection: rejectionOf(out), Note: out.Note, Changed: out.Changed, From: out.Entry.From}
	if out.Changed && out.Entry.Type == workflow.EventParked {
		o.ApprovalID = out.Entry.ApprovalID
		o.Note = parkedNote(out.Entry.Event, o.ApprovalID)
	}
	return o
}

// Rejection describes why a transition was refused (S2.7). The legal ones follow from the
// machine and State.
type Rejection struct {
	Code    workflow.RejectionCode `json:"code"`
	Message string                 `json:"message"`
	Guards  []runcodec.Guard       `json:"guards,omitempty"`
	State   string                 `json:"state"`
	Status  workflow.Status        `json:"status"`
}

func rejectionOf(out *workflow.Result) *Rejection {
	r := out.Rejection
	if r == nil {
		return nil
	}
	return &Rejection{Code: r.Code, Message: r.Message, Guards: runcodec.Guards(r.Guards), State: r.State, Status: r.Status}
}

// storedAnswer is the stored form of an Outcome, for repeats of its request (S6.5).
type storedAnswer struct {
	Digest    string          `json:"digest"` // of the request
	Run       json.RawMessage `json:"run"`
	Version   int64           `json:"version"`
	Branch    string          `json:"branch,omitempty"`
	Lost      bool            `json:"lost,omitempty"` // the branch, to its session
	Rejection *Rejection      `json:"rejection,omitempty"`
	Note      string          `json:"note,omitempty"`
	Changed   bool            `json:"changed,omitempty"`
	From      string          `json:"from,omitempty"`
	// ApprovalID is that of a parked event.
	ApprovalID string `json:"approval_id,omitempty"`
}

// keptAnswer returns, for the batch of a request, the answer to its repeats.
func keptAnswer(owner store.Key, key idempotency.Key, after authority.Place, out *Outcome) (*store.Idempotency, error) {
	w := jsonobject.New(640)
	w.Open()
	w.Text("digest", key.Digest)
	w.Name("run")
	runcodec.WriteRun(w, after.Run)
	w.Integer("version", after.Run.Version)
	w.OptionalText("branch", after.Branch)
	w.OptionalTruth("lost", after.Lost())
	w.OptionalText("note", out.Note)
	w.OptionalTruth("changed", out.Changed)
	w.OptionalText("from", out.From)
	w.OptionalText("approval_id", out.ApprovalID)
	if out.Rejection != nil {
		rejection, err := json.Marshal(out.Rejection)
		if err != nil {
			return nil, fmt.Errorf("encode answer: %w", err)
		}
		w.Raw("rejection", rejection)
	}
	w.Close()
	return key.KeepAnswer(owner, w.Bytes()), nil
}

func (vs *Views) decodeAnswer(ctx context.Context, namespace string, data []byte) (*Outcome, error) {
	var stored storedAnswer
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, fault.From(fmt.Errorf("decode answer: %w", err))
	}
	return vs.outcome(ctx, namespace, &stored)
}

func (vs *Views) outcome(ctx context.Context, namespace string, stored *storedAnswer) (*Outcome, error) {
	run, err := runcodec.DecodeRun(stored.Run, stored.Version)
	if err != nil {
		return nil, fault.From(err)
	}
	m, err := vs.registry.Machine(ctx, namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	at := run.At(stored.Branch)
	if stored.Lost {
		at = run.Lost(stored.Branch)
	}
	return &Outcome{
		View:      newView(at, m),
		Rejection: stored.Rejection, Note: stored.Note, Changed: stored.Changed, From: stored.From,
		ApprovalID: stored.ApprovalID,
	}, nil
}

// firstAnswer returns the answer to a repeated request without a commit, or nil when it
// is none, or has no name.
func (vs *Views) firstAnswer(ctx context.Context, owner store.Key, key idempotency.Key) (*Outcome, error) {
	data, err := idempotency.Answer(ctx, vs.ports.Store, owner, key.Name)
	if data == nil || err != nil {
		return nil, err
	}
	var stored storedAnswer
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, fault.From(fmt.Errorf("decode answer: %w", err))
	}
	if err := key.Same(owner, stored.Digest); err != nil {
		return nil, err
	}
	return vs.outcome(ctx, owner.Namespace, &stored)
}

// parkedNote returns the note to the caller of an accepted event that waits.
func parkedNote(event, approvalID string) string {
	return "event " + document.Quote(event) + " is parked until humans have decided approval " + approvalID +
		": the state and its tools do not change, and no other event is accepted until then."
}
