// Package storeguard bounds the time of every call of a store. While the store does not
// answer, it refuses calls at once, so that callers do not wait one after the other. It must
// never report that a commit was not applied if it may have been.
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
	// downAfter is how many calls in a row run out of time before the store counts as down.
	downAfter = 3
	// probeEvery is how often one call tries a store that is down.
	probeEvery = time.Second
)

// Config of a guard.
type Config struct {
	// Timeout of a call. One that is not positive is no bound.
	Timeout time.Duration
	// Measure is notified of each call that has ended, by the name of its method. It must
	// be quick; nil if there is none.
	Measure func(ctx context.Context, method string, took time.Duration, err error)
}

// Wrap bounds the calls of a store.
func Wrap(st store.Store, cfg Config) store.Store {
	if cfg.Measure == nil {
		cfg.Measure = func(context.Context, string, time.Duration, error) {}
	}
	return &guarded{Store: st, Config: cfg, now: time.Now}
}

type guarded struct {
	store.Store
	Config
	now func() time.Time

	mu       sync.Mutex
	failures int
	// next is when a call may try again.
	next time.Time
}

// Unwrap returns the store whose calls are bounded.
func (g *guarded) Unwrap() store.Store { return g.Store }

var errDown = fmt.Errorf("%w: it has not answered", store.ErrUnavailable)

// admit reports whether a call may reach the store: any call while it is up, and now and then one while it is down.
func (g *guarded) admit() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if g.failures < downAfter {
		return true
	}
	if now.Before(g.next) {
		return false
	}
	g.next = now.Add(max(probeEvery, g.Timeout))
	return true
}

// judge counts an outcome. A caller that left does not count for the store.
func (g *guarded) judge(failed, left bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case failed:
		if g.failures++; g.failures == downAfter {
			g.next = g.now().Add(probeEvery)
		}
	case !left:
		g.failures = 0
	}
}

// call runs one call of a method, which may wait for longer by extra.
func call[T any](
	ctx context.Context, g *guarded, method string, extra time.Duration, do func(context.Context) (T, error),
) (T, error) {
	began := g.now()
	result, err := bounded(ctx, g, extra, do)
	g.Measure(ctx, method, g.now().Sub(began), err)
	return result, err
}

// bounded runs a call for as long as it may take.
func bounded[T any](ctx context.Context, g *guarded, extra time.Duration, do func(context.Context) (T, error)) (T, error) {
	if g.Timeout <= 0 {
		return do(ctx)
	}
	if !g.admit() {
		var none T
		return none, errDown
	}
	limited, cancel := context.WithTimeout(ctx, g.Timeout+extra)
	defer cancel()
	result, err := do(limited)
	late := err != nil && limited.Err() != nil && ctx.Err() == nil
	if late && !errors.Is(err, store.ErrUncertain) && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no answer within %s", store.ErrUnavailable, g.Timeout+extra)
	}
	// An error that came in time has not delayed its caller and may be about that call
	// alone.
	g.judge(late, ctx.Err() != nil)
	return result, err
}

func only(do func(context.Context) error) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) }
}

func (g *guarded) Get(ctx context.Context, key store.Key) (store.Record, error) {
	return call(ctx, g, "Get", 0, func(ctx context.Context) (store.Record, error) { return g.Store.Get(ctx, key) })
}

func (g *guarded) List(ctx context.Context, query store.Query) (store.Page, error) {
	return call(ctx, g, "List", 0, func(ctx context.Context) (store.Page, error) { return g.Store.List(ctx, query) })
}

func (g *guarded) History(ctx context.Context, key store.Key, after int64, limit int) ([]store.HistoryEntry, error) {
	return call(ctx, g, "History", 0, func(ctx context.Context) ([]store.HistoryEntry, error) {
		return g.Store.History(ctx, key, after, limit)
	})
}

func (g *guarded) Counters(ctx context.Context, owner store.Key) (map[string]int64, error) {
	return call(ctx, g, "Counters", 0, func(ctx context.Context) (map[string]int64, error) { return g.Store.Counters(ctx, owner) })
}

func (g *guarded) Answer(ctx context.Context, owner store.Key, name string) ([]byte, error) {
	return call(ctx, g, "Answer", 0, func(ctx context.Context) ([]byte, error) { return g.Store.Answer(ctx, owner, name) })
}

func (g *guarded) AnswerVersion(ctx context.Context, owner store.Key, name string) (int64, error) {
	return call(ctx, g, "AnswerVersion", 0, func(ctx context.Context) (int64, error) { return g.Store.AnswerVersion(ctx, owner, name) })
}

func (g *guarded) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	return call(ctx, g, "Commit", 0, func(ctx context.Context) (store.Result, error) { return g.Store.Commit(ctx, batch) })
}

func (g *guarded) Probe(ctx context.Context, batch store.Batch) error {
	_, err := call(ctx, g, "Probe", 0, func(ctx context.Context) (struct{}, error) { return struct{}{}, g.Store.Probe(ctx, batch) })
	return err
}

func (g *guarded) GetLease(ctx context.Context, key store.Key) (store.Lease, error) {
	return call(ctx, g, "GetLease", 0, func(ctx context.Context) (store.Lease, error) { return g.Store.GetLease(ctx, key) })
}

func (g *guarded) AcquireLease(ctx context.Context, key store.Key, holder string, ttl time.Duration) (store.Lease, error) {
	return call(ctx, g, "AcquireLease", 0, func(ctx context.Context) (store.Lease, error) { return g.Store.AcquireLease(ctx, key, holder, ttl) })
}

func (g *guarded) RenewLease(ctx context.Context, lease store.Lease, ttl time.Duration) (store.Lease, error) {
	return call(ctx, g, "RenewLease", 0, func(ctx context.Context) (store.Lease, error) { return g.Store.RenewLease(ctx, lease, ttl) })
}

func (g *guarded) ReleaseLease(ctx context.Context, lease store.Lease) error {
	_, err := call(ctx, g, "ReleaseLease", 0, only(func(ctx context.Context) error { return g.Store.ReleaseLease(ctx, lease) }))
	return err
}

func (g *guarded) Tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	return call(ctx, g, "Tail", wait, func(ctx context.Context) ([]store.OutboxEntry, error) { return g.Store.Tail(ctx, after, limit, wait) })
}

func (g *guarded) Trim(ctx context.Context, shard int, through int64) error {
	_, err := call(ctx, g, "Trim", 0, only(func(ctx context.Context) error { return g.Store.Trim(ctx, shard, through) }))
	return err
}

func (g *guarded) Due(ctx context.Context, now time.Time, limit int, kinds ...string) ([]store.Timer, error) {
	return call(ctx, g, "Due", 0, func(ctx context.Context) ([]store.Timer, error) { return g.Store.Due(ctx, now, limit, kinds...) })
}

func (g *guarded) Timers(ctx context.Context, names ...store.TimerID) ([]store.Timer, error) {
	return call(ctx, g, "Timers", 0, func(ctx context.Context) ([]store.Timer, error) { return g.Store.Timers(ctx, names...) })
}

func (g *guarded) Backlog(ctx context.Context, kinds ...string) (store.Backlog, error) {
	return call(ctx, g, "Backlog", 0, func(ctx context.Context) (store.Backlog, error) { return g.Store.Backlog(ctx, kinds...) })
}

// Ping always asks: it is how the store is seen to be back.
func (g *guarded) Ping(ctx context.Context) error {
	if g.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.Timeout)
		defer cancel()
	}
	return g.Store.Ping(ctx)
}
