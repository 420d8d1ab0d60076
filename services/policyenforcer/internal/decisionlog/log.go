// Package decisionlog reads, seals, verifies and drops the records of decisions on tool calls. Each
// partition of the log has the decisions of runs that invoke each other, or of a session without a run.
package decisionlog

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Announcer creates the events of the decision log.
type Announcer interface {
	// Sealed announces that decisions are part of their hash chain.
	Sealed(namespace string, s Sealed, at time.Time) (store.Event, error)
}

// Log reads, seals, verifies and drops the records of decisions. Checks append them: see Append.
type Log struct {
	store    store.Store
	runs     enforcer.Runs
	announce Announcer
	clock    func() time.Time
	timers   *sweep.Watch

	// retention is the age at which sealed decisions are dropped, or 0 for never.
	retention time.Duration
	// latest bounds the records that are searched for one call. Tests reduce it.
	latest int
	// still disables the check that records are sealed in time: see NewReader.
	still bool
}

// New returns the decision log in a store. timers measures how late timers fire; it may be nil.
func New(st store.Store, runs enforcer.Runs, announce Announcer, clock func() time.Time, timers *sweep.Watch) *Log {
	return &Log{store: st, runs: runs, announce: announce, clock: clock, timers: timers, latest: scanned}
}

// NewReader returns the decision log in a store without writers, such as a copy. It can only be
// verified. Its last records may have no seal.
func NewReader(st store.Store) *Log {
	return &Log{store: st, clock: time.Now, latest: scanned, still: true}
}

// Retain sets the age at which sealed decisions are dropped; 0 keeps them forever. Decisions that a
// repeat of their call may request are kept in any case. It must be called before timers fire.
// Decisions that were sealed without an age are dropped after the next seal of their partition.
func (l *Log) Retain(age time.Duration) {
	if age > 0 {
		age = max(age, idempotency.TTL)
	}
	l.retention = age
}

// Unsealed returns the age of the oldest decision whose seal is late, or 0 if none is.
func (l *Log) Unsealed() time.Duration {
	if late := l.timers.Late(ledger.KindDecisions); late > 0 {
		return late + sealEvery
	}
	return 0
}

// Fire handles a due timer of a partition: it seals new records, or drops old ones.
func (l *Log) Fire(ctx context.Context, timer store.Timer) error {
	if timer.Name == forgetName {
		return l.forget(ctx, timer)
	}
	return l.sealAll(ctx, timer.Key)
}

// TimerLabel returns the label of a timer of a partition in metrics.
func TimerLabel(timer store.Timer) string {
	if timer.Name == forgetName {
		return "decisions_retention"
	}
	return timer.Key.Kind
}

// PartitionKey returns the key of a partition. root is the outermost run.
func PartitionKey(namespace, root string) store.Key {
	return ledger.Decisions(store.Key{Namespace: namespace, ID: root})
}

// Append appends a record to the partition of a root run, in the commit of the decision.
func Append(namespace, root string, rec *ledger.Decision) store.Append {
	return store.Append{Key: PartitionKey(namespace, root), Entry: rec.Encode()}
}
