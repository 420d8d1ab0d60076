package bus

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// The relays' own records: who takes part, and the lease of each shard.
const (
	relayNamespace = "_relay"
	memberKind     = "member"
	leaseKind      = "lease"
	progressKind   = "progress"
)

// member is the state of another process's heartbeat, as seen here. Clocks are not
// compared: a member is alive while its record's version moves.
type member struct {
	version int64
	moved   time.Time
}

// roll is the membership as this process sees it.
type roll struct {
	holder string
	ttl    time.Duration
	seen   map[string]member
}

// keepLeases holds this process's share of the shards until ctx ends.
func (r *Relay) keepLeases(ctx context.Context) {
	members := &roll{holder: r.cfg.Holder, ttl: r.cfg.LeaseTTL, seen: make(map[string]member)}
	joined := false
	for ctx.Err() == nil {
		next := r.cfg.LeaseTTL / 3
		if r.online() {
			joined = true
			settled, err := r.share(ctx, members)
			if err != nil && ctx.Err() == nil {
				r.log.Warn("relay leases not settled", "error", err)
			}
			if !settled {
				next = r.cfg.LeaseTTL / 12
			}
		} else if joined {
			// Another process may reach NATS when this one can't.
			r.leave(ctx)
			joined = false
		}
		t := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-r.regroup:
		case <-t.C:
		}
		t.Stop()
	}
	if joined {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		r.leave(ending)
	}
}

// online reports whether the stream is in reach, or was a moment ago.
func (r *Relay) online() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session != nil || !r.offline.IsZero() && time.Since(r.offline) < r.cfg.LeaseTTL
}

func (r *Relay) askRegroup() {
	select {
	case r.regroup <- struct{}{}:
	default:
	}
}

// share announces this process, finds out who else is there and adjusts the
// leases to the fair share. It returns whether it has all of that.
func (r *Relay) share(ctx context.Context, members *roll) (settled bool, err error) {
	alive, err := r.meet(ctx, members)
	if err != nil {
		// Without a view of the others, keep our shards.
		r.renewAll(ctx, r.held())
		return false, err
	}
	mine := assign(alive, r.store.Shards(), r.cfg.Holder)
	held := r.held()
	var keep, give []*shard
	for _, sh := range held {
		if mine[sh.number] {
			keep = append(keep, sh)
			delete(mine, sh.number)
		} else {
			give = append(give, sh)
		}
	}
	r.renewAll(ctx, keep)
	r.giveUp(ctx, give)
	return r.takeAll(ctx, mine)
}

func (r *Relay) held() []*shard {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*shard, 0, len(r.shards))
	for _, sh := range r.shards {
		out = append(out, sh)
	}
	return out
}

// meet writes the heartbeat and returns who is alive, this process included.
func (r *Relay) meet(ctx context.Context, members *roll) ([]string, error) {
	_, err := r.store.Commit(ctx, store.Batch{Puts: []store.Put{{
		Key: memberKey(r.cfg.Holder), Expect: store.AnyVersion, Data: []byte("{}"),
	}}})
	if err != nil {
		return nil, fmt.Errorf("relay heartbeat: %w", err)
	}
	var records []store.Record
	query := store.Query{Namespace: relayNamespace, Kind: memberKind, Limit: 1000}
	for {
		page, err := r.store.List(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("list relays: %w", err)
		}
		records = append(records, page.Records...)
		if page.Next == "" {
			break
		}
		query.After = page.Next
	}
	alive, dead := members.update(records, time.Now())
	for _, rec := range dead {
		// A failure means it is alive after all, or tried again later.
		_, err := r.store.Commit(ctx, store.Batch{Deletes: []store.Check{{Key: rec.Key, Version: rec.Version}}})
		if err == nil {
			delete(members.seen, rec.Key.ID)
		}
	}
	return alive, nil
}

// update takes the records as they are now and returns who is alive, and the
// records that have not moved for very long.
func (m *roll) update(records []store.Record, now time.Time) (alive []string, dead []store.Record) {
	present := make(map[string]member, len(records))
	self := false
	for _, rec := range records {
		name := rec.Key.ID
		was, known := m.seen[name]
		if !known || was.version != rec.Version {
			was = member{version: rec.Version, moved: now}
		}
		present[name] = was
		switch still := now.Sub(was.moved); {
		case name == m.holder:
			self = true
			alive = append(alive, name)
		case still < m.ttl:
			alive = append(alive, name)
		case still > 10*m.ttl:
			dead = append(dead, rec)
		}
	}
	if !self {
		alive = append(alive, m.holder)
	}
	m.seen = present
	return alive, dead
}

// assign returns the shards of one member. Every process that sees the same
// members computes the same: a shard goes to the member that ranks highest for it
// (rendezvous hashing) and has room, so that shares are equal and few shards move
// when a member comes or goes.
func assign(members []string, shards int, holder string) map[int]bool {
	room := (shards + len(members) - 1) / len(members)
	load := make(map[string]int, len(members))
	mine := make(map[int]bool, room)
	for n := range shards {
		best, bestRank := "", uint64(0)
		for _, name := range members {
			if load[name] == room {
				continue
			}
			if rank := rendezvous(name, n); best == "" || rank > bestRank || rank == bestRank && name < best {
				best, bestRank = name, rank
			}
		}
		load[best]++
		if best == holder {
			mine[n] = true
		}
	}
	return mine
}

func rendezvous(name string, shard int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name + "/" + strconv.Itoa(shard)))
	// FNV's high bits hardly depend on the last bytes: mix (murmur3's finaliser).
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

// takeAll acquires shards. It returns false when another still holds one.
func (r *Relay) takeAll(ctx context.Context, wanted map[int]bool) (bool, error) {
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		settled = true
		failed  error
	)
	for n := range wanted {
		wg.Go(func() {
			before := time.Now()
			lease, err := r.store.AcquireLease(ctx, leaseKey(n), r.cfg.Holder, r.cfg.LeaseTTL)
			if err == nil {
				var sh *shard
				if sh, err = r.resume(ctx, n); err == nil {
					sh.lease, sh.until = lease, r.safeUntil(before)
					r.gain(sh)
					return
				}
			}
			mu.Lock()
			defer mu.Unlock()
			settled = false
			if !errors.Is(err, store.ErrHeld) {
				failed = fmt.Errorf("acquire relay lease of shard %d: %w", n, err)
			}
		})
	}
	wg.Wait()
	return settled, failed
}

// safeUntil returns how long a lease counts that was asked for at a time: its TTL less an
// eighth, for clocks that run at different speeds.
func (r *Relay) safeUntil(asked time.Time) time.Time {
	return asked.Add(r.cfg.LeaseTTL - r.cfg.LeaseTTL/8)
}

func (r *Relay) gain(sh *shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shards[sh.number] = sh
	delete(r.left, sh.number)
	r.m.leases.Set(float64(len(r.shards)))
	if r.session != nil {
		r.session.rescan.Store(true)
	}
	r.refresh()
}

// renewAll renews leases; those that are lost are dropped.
func (r *Relay) renewAll(ctx context.Context, held []*shard) {
	var wg sync.WaitGroup
	for _, sh := range held {
		wg.Go(func() {
			before := time.Now()
			_, err := r.store.RenewLease(ctx, sh.lease, r.cfg.LeaseTTL)
			r.mu.Lock()
			defer r.mu.Unlock()
			switch {
			case err == nil:
				sh.until = r.safeUntil(before)
			case sh.gone:
			case errors.Is(err, store.ErrFenced), time.Now().After(sh.until):
				r.drop(sh)
				r.log.Warn("shard lost to another relay", "shard", sh.number, "error", err)
			}
		})
	}
	wg.Wait()
}

// giveUp drops shards and releases their leases.
func (r *Relay) giveUp(ctx context.Context, shards []*shard) {
	r.mu.Lock()
	for _, sh := range shards {
		if !sh.gone {
			r.drop(sh)
		}
	}
	r.mu.Unlock()
	var wg sync.WaitGroup
	for _, sh := range shards {
		wg.Go(func() {
			if err := r.store.ReleaseLease(ctx, sh.lease); err != nil {
				r.log.Warn("relay lease not released; it lapses", "shard", sh.number, "error", err)
			}
		})
	}
	wg.Wait()
}

// leave gives up all shards and the membership.
func (r *Relay) leave(ctx context.Context) {
	r.giveUp(ctx, r.held())
	_, err := r.store.Commit(ctx, store.Batch{Deletes: []store.Check{{Key: memberKey(r.cfg.Holder), Version: store.AnyVersion}}})
	if err != nil {
		r.log.Warn("relay membership not withdrawn; it lapses", "error", err)
	}
}

func memberKey(holder string) store.Key {
	return store.Key{Namespace: relayNamespace, Kind: memberKind, ID: holder}
}

func leaseKey(shard int) store.Key {
	return store.Key{Namespace: relayNamespace, Kind: leaseKind, ID: "shard-" + strconv.Itoa(shard)}
}
