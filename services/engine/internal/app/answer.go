package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Outcome is a run after a request, and the rejection when it was refused.
type Outcome struct {
	View      *View
	Rejection *Rejection
}

// Rejection is why a transition was refused (S2.7). What would have been legal
// follows from the machine and State.
type Rejection struct {
	Code    workflow.RejectionCode `json:"code"`
	Message string                 `json:"message"`
	Guards  []Guard                `json:"guards,omitempty"`
	State   string                 `json:"state"`
	Status  workflow.Status        `json:"status"`
}

func rejectionOf(out *workflow.Result) *Rejection {
	r := out.Rejection
	if r == nil {
		return nil
	}
	return &Rejection{Code: r.Code, Message: r.Message, Guards: Guards(r.Guards), State: r.State, Status: r.Status}
}

// answer is the stored form of an Outcome, for repeats of its request (S6.5).
type answer struct {
	Run       json.RawMessage `json:"run"`
	Version   int64           `json:"version"`
	Rejection *Rejection      `json:"rejection,omitempty"`
}

func remembered(owner store.Key, name, digest string, out *workflow.Result) (*store.Idempotency, error) {
	run, err := encodeRun(&out.Run)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(answer{Run: run, Version: out.Run.Version, Rejection: rejectionOf(out)})
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return &store.Idempotency{Owner: owner, Name: name, Digest: digest, Answer: data, TTL: answersKept}, nil
}

func (a *App) decodeAnswer(ctx context.Context, namespace string, data []byte) (*Outcome, error) {
	var stored answer
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, fault.From(fmt.Errorf("decode answer: %w", err))
	}
	run, err := decodeRun(stored.Run, stored.Version)
	if err != nil {
		return nil, fault.From(err)
	}
	m, err := a.machine(ctx, namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	return &Outcome{View: &View{Run: run, Machine: m}, Rejection: stored.Rejection}, nil
}

// firstAnswer answers a repeated request, or nil when it is none. The digest is
// not compared: only a commit can do that, so this is for answers that commit
// nothing.
func (a *App) firstAnswer(ctx context.Context, owner store.Key, name string) (*Outcome, error) {
	data, err := a.store.Answer(ctx, owner, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return a.decodeAnswer(ctx, owner.Namespace, data)
}
