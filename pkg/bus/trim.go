package bus

import (
	"context"
	"errors"
	"time"
)

// trim lets the store forget what NATS must have synced by now: acknowledged
// longer than the grace ago, on a stream that still has its newest message.
func (r *Relay) trim(ctx context.Context, s *session) error {
	due, high := r.due()
	if len(due) == 0 {
		return nil
	}
	if err := s.verify(ctx, high); err != nil {
		if errors.Is(err, errLost) {
			r.mu.Lock()
			r.lost = true
			r.mu.Unlock()
		}
		return err
	}
	for sh, through := range due {
		if err := r.store.Trim(ctx, sh.number, through); err != nil {
			if ctx.Err() == nil {
				r.log.Warn("outbox not trimmed; will be tried again", "shard", sh.number, "error", err)
			}
			return nil
		}
		r.m.trimmed.Inc()
		r.mu.Lock()
		sh.forget(through)
		r.mu.Unlock()
	}
	return nil
}

// due returns what may be trimmed if the stream has high.
func (r *Relay) due() (map[*shard]int64, position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := time.Now().Add(-r.cfg.Grace)
	var due map[*shard]int64
	for _, sh := range r.shards {
		if through := sh.trimmable(before); through > sh.trimmed {
			if due == nil {
				due = make(map[*shard]int64)
			}
			due[sh] = through
		}
	}
	return due, r.high
}
