// Package ports has the caller of the engine, its ports and settings, and the quotas of callers. It
// imports no other part of the engine.
package ports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/principal"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/internal/wakeup"
)

// Ports are what every part of the engine acts through.
type Ports struct {
	// Approvals asks humans. Without it transitions that need an approval are refused.
	Approvals Approvals
	// Shared reads the facts that approvals rest on. Without it questions that name such
	// facts are refused.
	Shared Shared
	// Trees returns the digests of workspaces. Without it they are not known, unless callers send them.
	Trees Trees
	// SharedState gives the values of shared states. Without it no evidence is in them.
	SharedState SharedState
	// Sessions creates sessions. Without it no schedule narrows the sessions of its runs.
	Sessions Sessions

	Store store.Store
	Clock func() time.Time
	Log   *slog.Logger
	// Changed wakes those of this process that wait for a change of a run.
	Changed *wakeup.Hub

	Quotas    Quotas
	Retention Retention
	// Definitions are the settings that definitions are compiled by.
	Definitions definition.Flags
	// Enforcement is written into workflows that name none when they are registered.
	Enforcement workflow.Enforcement
	// Timers records how late timers are; nil for none.
	Timers *sweep.Watch
	// Standing says whether the operators who have put schedules still count. Without it all of them do.
	Standing Standing
	// Scheduled counts times of schedules by their result; nil for none. late is of a start.
	Scheduled func(result string, times int64, late time.Duration)
}

// Standing is the registers of tokens and people.
type Standing interface {
	// Counts returns why a principal, as it was known before, is no operator of a namespace now; empty if it is one.
	Counts(ctx context.Context, namespace string, was auth.Principal) (why string, err error)
}

// ScheduledStart is the start of a run by a schedule.
type ScheduledStart struct {
	Workflow  string
	Version   int64
	SessionID string
	Context   []byte
	Workspace string
	// RunID is in the shard of the session's binding.
	RunID string
	// Schedule is the name of the schedule, and Cause the time.
	Schedule string
	Cause    workflow.Cause
	Reason   string
	// Join adds what changes of the schedule to the commit of the start.
	Join func(batch *store.Batch) error
}

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
	// Vouched: its observations are not an agent's claim (S14.4).
	Vouched bool
	// itself: Interlock carries out decisions of humans, and ends of sessions.
	itself bool
}

// System returns the actor when a session has ended or continues.
func System(namespace string) Caller {
	return DecidedBy(namespace, "interlock")
}

// DecidedBy returns Interlock as the actor for a decision of a person, whose name the
// history has.
func DecidedBy(namespace, name string) Caller {
	return Caller{Namespace: namespace, Principal: auth.Principal{Name: name, Role: auth.Operator}, itself: true}
}

// Itself reports that Interlock acts, for a decision of people or the end of a session.
func (c Caller) Itself() bool { return c.itself }

// Who returns the caller as far as its authority goes.
func (c Caller) Who() authority.Who {
	w := principal.Who(c.Principal)
	if c.itself {
		w.Role = authority.System
	}
	return w
}

// Shared gives access to shared states, as approvals rest on it.
type Shared interface {
	// Reads are the values of a session's state at pointers as they are now; without a
	// state id when the session shares none.
	Reads(ctx context.Context, namespace, session string, pointers []string) (*consent.Reads, error)
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

// Refused returns a refusal as callers are notified.
func Refused(r *authority.Refusal) error { return fault.New(fault.Reason(r.Code), "%s", r.Message) }

// Retention is how long runs are kept.
type Retention struct {
	Runs time.Duration `name:"run-retention" help:"How long a run is kept with its history after it has ended, 24h at least; 0 keeps it forever." default:"0s" env:"INTERLOCK_RUN_RETENTION"`
}

// Trees returns the digest of the files of a workspace, as the jails on that machine compute it. An error means
// that it is not known.
type Trees func(ctx context.Context, workspace string, reread bool) (string, error)

// SharedState is the shared state of a session, as evidence asks for it. Written.Unknown
// explains unknown values.
type SharedState interface {
	Written(ctx context.Context, namespace, session, pointer string, byWhom bool) (evidence.Written, error)
}

// Sessions creates sessions at the state-store.
type Sessions interface {
	// Open creates a session of a name whose calls must meet the entries, unless it is there (S22.24).
	Open(ctx context.Context, namespace, name string, only []byte) error
}

// Source returns the source of a caller's data: only an operator is more than an agent.
func (c Caller) Source() evidence.Source {
	if c.Who().Role == authority.Agent {
		return evidence.Agent
	}
	return evidence.Operator
}

// Kept returns how long runs are kept: the answers to their callers are not kept for
// less.
func (r Retention) Kept() time.Duration {
	if r.Runs <= 0 {
		return 0
	}
	return max(r.Runs, idempotency.TTL)
}

// KindRun is public to the policy enforcer by contract: a run's record is at
// the version that decisions are made on.
const KindRun = ledger.KindRun

// KindBinding maps a session to the run that it drives.
const KindBinding = ledger.KindBinding

// Digest binds an idempotency key to its request.
func Digest(parts ...string) string {
	var room [1024]byte // most requests fit, and need no memory of their own
	asked := room[:0]
	for _, p := range parts {
		asked = append(strconv.AppendInt(asked, int64(len(p)), 10), ':')
		asked = append(append(asked, p...), ',')
	}
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:])
}

// RequestKey makes a caller's request happen once, by its idempotency key; it has no name
// without that. Other keys have names of other forms (the decisions on a run's tool calls, say),
// which no caller's key may be taken for.
func RequestKey(caller Caller, idempotencyKey, digest string) idempotency.Key {
	if idempotencyKey == "" {
		return idempotency.Key{Digest: digest}
	}
	return idempotency.Key{Name: "request/" + idempotency.NameBy(caller.Principal, idempotencyKey), Digest: digest}
}
