package bus

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// waiting counts the entries that wait in the outbox for NATS.
type waiting struct {
	// relayed are events of shards that this relay has, others those of shards that no
	// relay has.
	relayed, others int64
	// oldest is when the first of them was decided; zero when none waits or that is not
	// known.
	oldest time.Time
}

// Measure sets the metrics of waiting entries. It is for the one timer of a process, and
// costs a few reads regardless of their number.
func (r *Relay) Measure(ctx context.Context) {
	w, err := r.waiting(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil { // else the waiting entries grow older
		r.waits = w
		r.m.outbox.WithLabelValues("here").Set(float64(w.relayed))
		r.m.outbox.WithLabelValues("nowhere").Set(float64(w.others))
	} else if ctx.Err() == nil {
		r.log.Debug("the outbox cannot be measured", "error", err)
	}
	age := 0.0
	if !r.waits.oldest.IsZero() {
		age = max(0, time.Since(r.waits.oldest).Seconds())
	}
	r.m.oldest.Set(age)
}

// waiting looks at the ends of the outbox.
func (r *Relay) waiting(ctx context.Context) (w waiting, err error) {
	after, number := r.relayedThrough(), &w.relayed
	if len(after) == 0 && !r.online() { // else some relay has each shard, or soon will
		number = &w.others
		if after, err = r.unheld(ctx); err != nil {
			return w, err
		}
	}
	backlog, err := r.store.Backlog(ctx)
	if err != nil {
		return w, err
	}
	for shard, through := range after {
		*number += max(0, backlog.Last[shard]-through)
	}
	if *number == 0 {
		return w, nil
	}
	first, err := r.store.Tail(ctx, after, len(after), 0)
	for i := range first {
		if at := decidedAt(&first[i]); !at.IsZero() && (w.oldest.IsZero() || at.Before(w.oldest)) {
			w.oldest = at
		}
	}
	return w, err
}

// relayedThrough returns the last entry that NATS has, for the shards that this relay
// has.
func (r *Relay) relayedThrough() map[int]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	through := make(map[int]int64, len(r.shards))
	for n, sh := range r.shards {
		through[n] = sh.acked
	}
	return through
}

// unheld returns the last entry that NATS is known to have, for the shards that no relay has:
// from when this one had them, or from the store, which is older by the grace.
func (r *Relay) unheld(ctx context.Context) (map[int]int64, error) {
	r.mu.Lock()
	through := maps.Clone(r.left)
	r.mu.Unlock()
	for n := range r.store.Shards() {
		if _, err := r.store.GetLease(ctx, leaseKey(n)); err == nil {
			delete(through, n)
			continue
		} else if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		p, err := readProgress(ctx, r.store, n)
		if err != nil {
			return nil, err
		}
		through[n] = max(through[n], p.through)
	}
	return through, nil
}

// decidedAt returns when an entry's event was decided; zero when that is not known.
func decidedAt(e *store.OutboxEntry) time.Time {
	if at := eventTime(e.Payload); !at.IsZero() {
		return at
	}
	return e.At
}
