package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// trim lets go of entries that NATS must have synced by now: acknowledged longer than the
// grace ago, on a stream that still has its newest message.
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
		if err := r.finish(ctx, sh, through); err != nil {
			if ctx.Err() == nil {
				r.log.Warn("outbox not trimmed; will be tried again", "shard", sh.number, "error", err)
			}
			return nil
		}
		r.m.trimmed.Inc()
		r.mu.Lock()
		sh.finish(through)
		r.mu.Unlock()
	}
	return nil
}

// due returns the entries that may be trimmed if the stream has high.
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

// finish makes durable that the relay is done with entries: they are forgotten, or when
// the store keeps them it is remembered.
func (r *Relay) finish(ctx context.Context, sh *shard, through int64) error {
	if r.cfg.Keep == 0 {
		return r.store.Trim(ctx, sh.number, through)
	}
	// Another relay that has the shard by now has read the record, and this one loses it.
	result, err := r.store.Commit(ctx, store.Batch{Puts: []store.Put{{
		Key: progressKey(sh.number, r.store.Shards()), Expect: sh.progress, Data: strconv.AppendInt(nil, through, 10),
	}}})
	if err == nil {
		sh.progress = result.Versions[0]
		return nil
	}
	if !errors.Is(err, store.ErrUnavailable) {
		r.mu.Lock()
		if !sh.gone {
			r.drop(sh) // it is taken anew, from its record
		}
		r.mu.Unlock()
		r.askRegroup()
	}
	return err
}

// resume returns a shard from where relays are done with it.
func (r *Relay) resume(ctx context.Context, number int) (*shard, error) {
	p, err := readProgress(ctx, r.store, number)
	return &shard{
		number: number, lanes: make(map[string]*queue),
		progress: p.version, trimmed: p.through, acked: p.through, read: p.through,
	}, err
}

// progress is how far a shard was relayed, and the version of the record of that.
type progress struct{ version, through int64 }

func readProgress(ctx context.Context, st store.Store, shard int) (progress, error) {
	record, err := st.Get(ctx, progressKey(shard, st.Shards()))
	if errors.Is(err, store.ErrNotFound) {
		return progress{version: store.Absent}, nil
	}
	if err != nil {
		return progress{}, err
	}
	through, err := strconv.ParseInt(string(record.Data), 10, 64)
	if err != nil {
		return progress{}, fmt.Errorf("progress of shard %d: %w", shard, err)
	}
	return progress{version: record.Version, through: through}, nil
}

// progressKey returns the record of how far a shard was relayed. It lives in that shard:
// when the shard's history goes back, the record goes with it, and no entry is passed
// over.
func progressKey(shard, shards int) store.Key {
	for i := 0; ; i++ {
		key := store.Key{Namespace: relayNamespace, Kind: progressKind, ID: strconv.Itoa(i)}
		if key.Shard(shards) == shard {
			return key
		}
	}
}

// expirePage is how many entries are looked at together.
const expirePage = 256

// expire lets the store forget expired entries, now and then.
func (r *Relay) expire(ctx context.Context) {
	now := time.Now()
	if r.cfg.Keep == 0 || now.Before(r.expires) {
		return
	}
	r.expires = now.Add(max(r.cfg.Keep/64, 10*time.Millisecond))
	for _, sh := range r.held() {
		if err := r.expireShard(ctx, sh, now.Add(-r.cfg.Keep)); err != nil {
			if ctx.Err() == nil {
				r.log.Warn("old events are not forgotten; will be tried again", "shard", sh.number, "error", err)
			}
			return
		}
	}
}

// expireShard forgets the entries of before a time, as far as the relay is done with them.
func (r *Relay) expireShard(ctx context.Context, sh *shard, before time.Time) error {
	r.mu.Lock()
	done := sh.trimmed
	r.mu.Unlock()
	for more := sh.forgotten < done; more; {
		entries, err := r.store.Tail(ctx, map[int]int64{sh.number: sh.forgotten}, expirePage, 0)
		if err != nil {
			return err
		}
		through := int64(0)
		more = len(entries) > 0
		for i := range entries {
			if more = entries[i].Seq <= done && eventTime(entries[i].Payload).Before(before); !more {
				break
			}
			through = entries[i].Seq
		}
		if through == 0 {
			return nil
		}
		if err := r.store.Trim(ctx, sh.number, through); err != nil {
			return err
		}
		sh.forgotten = through
	}
	return nil
}
