// Package storeguard bounds every call of a store in time, and answers at once while the
// store does not: callers of a silent store would wait, each for itself. It must never
// call something unchanged that may have been applied.
package storeguard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

const (
	// opens is how many calls in a row run out of time before the store counts as down.
	opens = 3
	// probeEvery is how often one call tries a store that is down.
	probeEvery = time.Second
)

// Wrap bounds the calls of a store. A timeout that is not positive bounds nothing.
func Wrap(st store.Store, timeout time.Duration) store.Store {
	if timeout <= 0 {
		return st
	}
	return &guarded{Store: st, timeout: timeout, now: time.Now}
}

type guarded struct {
	store.Store
	timeout time.Duration
	now     func() time.Time

	mu       sync.Mutex
	failures int
	// next is when a call may try again.
	next time.Time
}

var errOpen = fmt.Errorf("%w: it has not answered", store.ErrUnavailable)

// admit returns whether a call may try.
func (g *guarded) admit() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if g.failures < opens {
		return true
	}
	if now.Before(g.next) {
		return false
	}
	g.next = now.Add(max(probeEvery, g.timeout))
	return true
}

// judge counts an outcome. A caller that left tells nothing of the store.
func (g *guarded) judge(failed, left bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case failed:
		if g.failures++; g.failures == opens {
			g.next = g.now().Add(probeEvery)
		}
	case !left:
		g.failures = 0
	}
}

// call runs one call, which may wait for longer by extra.
func call[T any](ctx context.Context, g *guarded, extra time.Duration, do func(context.Context) (T, error)) (T, error) {
	if !g.admit() {
		var none T
		return none, errOpen
	}
	bounded, cancel := context.WithTimeout(ctx, g.timeout+extra)
	defer cancel()
	result, err := do(bounded)
	late := err != nil && bounded.Err() != nil && ctx.Err() == nil
	if late && !errors.Is(err, store.ErrUncertain) && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no answer within %s", store.ErrUnavailable, g.timeout+extra)
	}
	// An error that came in time costs its caller nothing and may be about that call alone.
	g.judge(late, ctx.Err() != nil)
	return result, err
}

func only(do func(context.Context) error) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) }
}

func (g *guarded) Get(ctx context.Context, key store.Key) (store.Record, error) {
	return call(ctx, g, 0, func(ctx context.Context) (store.Record, error) { return g.Store.Get(ctx, key) })
}

func (g *guarded) List(ctx context.Context, query store.Query) (store.Page, error) {
	return call(ctx, g, 0, func(ctx context.Context) (store.Page, error) { return g.Store.List(ctx, query) })
}

func (g *guarded) History(ctx context.Context, key store.Key, after int64, limit int) ([]store.HistoryEntry, error) {
	return call(ctx, g, 0, func(ctx context.Context) ([]store.HistoryEntry, error) {
		return g.Store.History(ctx, key, after, limit)
	})
}

func (g *guarded) Counters(ctx context.Context, owner store.Key) (map[string]int64, error) {
	return call(ctx, g, 0, func(ctx context.Context) (map[string]int64, error) { return g.Store.Counters(ctx, owner) })
}

func (g *guarded) Answer(ctx context.Context, owner store.Key, name string) ([]byte, error) {
	return call(ctx, g, 0, func(ctx context.Context) ([]byte, error) { return g.Store.Answer(ctx, owner, name) })
}

func (g *guarded) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	return call(ctx, g, 0, func(ctx context.Context) (store.Result, error) { return g.Store.Commit(ctx, batch) })
}

func (g *guarded) GetLease(ctx context.Context, key store.Key) (store.Lease, error) {
	return call(ctx, g, 0, func(ctx context.Context) (store.Lease, error) { return g.Store.GetLease(ctx, key) })
}

func (g *guarded) AcquireLease(ctx context.Context, key store.Key, holder string, ttl time.Duration) (store.Lease, error) {
	return call(ctx, g, 0, func(ctx context.Context) (store.Lease, error) { return g.Store.AcquireLease(ctx, key, holder, ttl) })
}

func (g *guarded) RenewLease(ctx context.Context, lease store.Lease, ttl time.Duration) (store.Lease, error) {
	return call(ctx, g, 0, func(ctx context.Context) (store.Lease, error) { return g.Store.RenewLease(ctx, lease, ttl) })
}

func (g *guarded) ReleaseLease(ctx context.Context, lease store.Lease) error {
	_, err := call(ctx, g, 0, only(func(ctx context.Context) error { return g.Store.ReleaseLease(ctx, lease) }))
	return err
}

func (g *guarded) Tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	return call(ctx, g, wait, func(ctx context.Context) ([]store.OutboxEntry, error) { return g.Store.Tail(ctx, after, limit, wait) })
}

func (g *guarded) Trim(ctx context.Context, shard int, through int64) error {
	_, err := call(ctx, g, 0, only(func(ctx context.Context) error { return g.Store.Trim(ctx, shard, through) }))
	return err
}

func (g *guarded) Due(ctx context.Context, now time.Time, limit int, kinds ...string) ([]store.Timer, error) {
	return call(ctx, g, 0, func(ctx context.Context) ([]store.Timer, error) { return g.Store.Due(ctx, now, limit, kinds...) })
}

func (g *guarded) Backlog(ctx context.Context, kinds ...string) (store.Backlog, error) {
	return call(ctx, g, 0, func(ctx context.Context) (store.Backlog, error) { return g.Store.Backlog(ctx, kinds...) })
}

// Ping always asks: it is how the store is seen to be back.
func (g *guarded) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	return g.Store.Ping(ctx)
}
