package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/principal"
)

// Kinds of the records that the engine owns.
const (
	kindWorkflow = "workflow"
	// kindClaim marks a workflow of an agent that an operator registered too.
	kindClaim = "workflow_claim"
	// KindRun is public to the policy enforcer by contract: a run's record is at
	// the version that decisions are made on.
	KindRun = ledger.KindRun
	// kindBinding maps a session to the run that it drives.
	kindBinding = ledger.KindBinding
	// kindRequest owns the idempotency keys of requests that create something.
	kindRequest = "request"
)

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
	// Vouched: its observations are not an agent's claim (S14.4).
	Vouched bool
	// itself: Interlock carries out decisions of humans, and ends of sessions.
	itself bool
}

// system returns the actor when a session has ended or continues.
func system(namespace string) Caller {
	return decidedBy(namespace, "interlock")
}

// decidedBy returns Interlock as the actor for a decision of a person, whose name the
// history has.
func decidedBy(namespace, name string) Caller {
	return Caller{Namespace: namespace, Principal: auth.Principal{Name: name, Role: auth.Operator}, itself: true}
}

// who returns the caller as far as its authority goes.
func (c Caller) who() authority.Who {
	w := principal.Who(c.Principal)
	if c.itself {
		w.Role = authority.System
	}
	return w
}

// Announcer turns a change into the event that is committed with it.
type Announcer interface {
	RunEvent(namespace, actor string, run *workflow.Run, ev *workflow.Event, at time.Time) (store.Event, error)
	WorkflowEvent(namespace, actor string, version *Version) (store.Event, error)
}

// Sessions is the state-store as the engine sees it.
type Sessions interface {
	// Root is the root of a session's tree: itself when it is not registered.
	Root(ctx context.Context, namespace, session string) (string, error)
	// Lineage names a session and all above it, by names and ids; one that is not
	// registered by its own name alone. fresh: that it is not registered must be true now.
	Lineage(ctx context.Context, namespace, session string, fresh bool) ([]string, error)
}

// Shared gives access to shared states, as approvals rest on it.
type Shared interface {
	// Reads are the values of a session's state at pointers as they are now; without a
	// state id when the session shares none.
	Reads(ctx context.Context, namespace, session string, pointers []string) (*consent.Reads, error)
}

// Version is one immutable version of a workflow or a process (S1.6). Its number is
// the version of its record, so it can neither skip nor be given twice.
type Version struct {
	// ID is that of the process, the same in each of its versions. Workflows have none, nor has
	// a version of a process from before there were ids.
	ID         string    `json:"id,omitempty"`
	Name       string    `json:"name"`
	Process    bool      `json:"process,omitempty"`
	Number     int64     `json:"-"`
	Digest     string    `json:"digest"`
	Definition []byte    `json:"definition"`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  string    `json:"created_by"`
	Role       auth.Role `json:"role"`
}

// what returns its kind, for messages.
func (v *Version) what() string {
	if v.Process {
		return "process"
	}
	return "workflow"
}

type machineKey struct {
	namespace, name string
	version         int64
}

// Approvals is the approval service as the engine sees it.
type Approvals interface {
	// Create asks humans. The same request again makes no change.
	Create(ctx context.Context, namespace, runID string, request consent.Request) error
	// Get returns an approval, or fault.NotFound.
	Get(ctx context.Context, namespace, approvalID string) (*Approval, error)
	// Consume uses a granted approval, once; the same usedBy may again.
	Consume(ctx context.Context, namespace, approvalID, digest, usedBy string) error
	// Void notes that the granted action cannot be done any more.
	Void(ctx context.Context, namespace, approvalID, reason string) error
	// Cancel withdraws a question.
	Cancel(ctx context.Context, namespace, approvalID, reason string) error
	// Open reports whether humans are asked for a run, or have granted an act that is yet to
	// be done.
	Open(ctx context.Context, namespace, runID string) (bool, error)
}

// Approval is an approval, and the run that waits for it.
type Approval struct {
	consent.Approval
	RunID string
}

// Target names a run by its id or by the session that drives it, and the branch
// of its fork that is meant: by default the session's own, or the one that
// unbound callers work in.
type Target struct{ RunID, SessionID, Branch string }

// refused returns a refusal as callers are notified.
func refused(r *authority.Refusal) error { return fault.New(fault.Reason(r.Code), "%s", r.Message) }
