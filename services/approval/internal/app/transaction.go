package app

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// transaction is a change of one approval: the record, its events, its timers and those
// by which receivers are notified, in one commit.
type transaction struct {
	app *App
	// before is nil for a new approval.
	before, after *Record
	at            time.Time
	said          []said
	once          idempotency.Key
	// lease is granted with it; nil for none.
	lease *consent.Lease
	// checks are its preconditions besides the approval.
	checks []store.Check
	// clear are timers that have served their purpose.
	clear []store.TimerID
}

// said is an event, and who has caused it.
type said struct {
	actor string
	event consent.Event
}

func (t *transaction) announce(actor string, events []consent.Event) {
	for _, ev := range events {
		t.said = append(t.said, said{actor, ev})
	}
}

// decided reports whether this is the change that has made the decision.
func (t *transaction) decided() bool {
	return t.after.Status.Final() && (t.before == nil || !t.before.Status.Final())
}

// commit stores the change. It answers replayed when the same request was faster. The
// error is a fault, or a lost race.
func (t *transaction) commit(ctx context.Context) (replayed bool, err error) {
	batch, err := t.batch()
	if err != nil {
		return false, err
	}
	result, err := t.app.store.Commit(ctx, batch)
	if err != nil {
		return false, retry.Fault(err)
	}
	if !result.Replayed {
		t.committed()
	}
	return result.Replayed, nil
}

// committed notifies observers in this process of the change.
func (t *transaction) committed() {
	t.app.Changed(t.after.Namespace, KindApproval, t.after.ID)
	if t.app.measure != nil && (t.before == nil || t.decided()) {
		t.app.measure(t.after.Status)
	}
}

func (t *transaction) batch() (store.Batch, error) {
	var batch store.Batch
	expect := store.Absent
	if t.before != nil {
		expect = t.before.Version
	}
	// The approval of a refused command may be the one before.
	next := *t.after.Approval
	next.Version = expect + 1
	t.after.Approval = &next
	data, err := t.after.encode()
	if err != nil {
		return batch, err
	}
	batch.Checks = t.checks
	batch.Puts = []store.Put{{Key: t.after.key(), Expect: expect, Data: data, Labels: t.after.labels()}}
	if due := next.NextDue(); due.IsZero() {
		batch.ClearTimers = []store.TimerID{t.after.timer()}
	} else {
		batch.SetTimers = []store.Timer{{TimerID: t.after.timer(), Due: due}}
	}
	batch.ClearTimers = append(batch.ClearTimers, t.clear...)
	if t.decided() && t.app.retention > 0 {
		batch.SetTimers = append(batch.SetTimers, store.Timer{TimerID: t.after.retentionTimer(), Due: next.DecidedAt.Add(t.app.retention)})
	}
	for i := range t.said {
		ev := &t.said[i].event
		event, err := t.app.announce.ApprovalEvent(t.after.Namespace, t.said[i].actor, t.after, ev, t.at)
		if err != nil {
			return batch, fault.From(err)
		}
		batch.Events = append(batch.Events, event)
		timers, err := t.app.deliveries(t.after, ev.Type, event.ID, t.at)
		if err != nil {
			return batch, err
		}
		// Of the messages of one change, an ordered receiver gets the last.
		batch.SetTimers = slices.DeleteFunc(batch.SetTimers, func(t store.Timer) bool {
			return slices.ContainsFunc(timers, func(later store.Timer) bool { return later.TimerID == t.TimerID })
		})
		batch.SetTimers = append(batch.SetTimers, timers...)
	}
	batch.Idempotency, batch.Counters = t.once.Keep(t.after.key()), t.counted()
	if t.lease != nil {
		return batch, t.grantLease(&batch)
	}
	return batch, nil
}

// grantLease adds the lease.
func (t *transaction) grantLease(batch *store.Batch) error {
	put, err := ledger.PutLease(t.after.Namespace, t.lease)
	if err != nil {
		return fault.From(err)
	}
	event, err := t.app.leaseEvent(t.after.Namespace, t.lease.GrantedBy, consent.EventLeaseGranted, t.lease, t.at)
	if err != nil {
		return err
	}
	batch.Across = true
	batch.Puts = append(batch.Puts, put)
	batch.Events = append(batch.Events, event)
	return nil
}
