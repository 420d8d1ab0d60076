package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/interlock-run/interlock/pkg/store"
)

var contextTests = []test{
	{"cancelled before", cancelledBefore},
	{"expired before", expiredBefore},
	{"cancelled while tail waits", cancelledTail},
	{"cancelled under way", cancelledUnderWay},
}

// everyCall makes each kind of call.
func everyCall(f *fixture, ctx context.Context) map[string]error {
	a := run("a")
	calls := map[string]error{}
	_, calls["get"] = f.Get(ctx, a)
	_, calls["list"] = f.List(ctx, runs(nil, 10))
	_, calls["history"] = f.History(ctx, a, 0, 10)
	_, calls["counters"] = f.Counters(ctx, a)
	_, calls["answer"] = f.Answer(ctx, a, "k")
	_, calls["commit"] = f.Commit(ctx, create(a, "data"))
	_, calls["get lease"] = f.GetLease(ctx, a)
	_, calls["acquire"] = f.AcquireLease(ctx, a, "me", minute)
	_, calls["renew"] = f.RenewLease(ctx, store.Lease{Key: a, Holder: "me", Token: 1}, minute)
	calls["release"] = f.ReleaseLease(ctx, store.Lease{Key: a, Holder: "me", Token: 1})
	_, calls["tail"] = f.Tail(ctx, map[int]int64{0: 0}, 10, 10*patience)
	calls["trim"] = f.Trim(ctx, 0, 1)
	_, calls["timers"] = f.Timers(ctx, store.TimerID{Key: a, Name: "t"})
	_, calls["due"] = f.Due(ctx, f.clock.Now(), 10, "run")
	calls["ping"] = f.Ping(ctx)
	return calls
}

func cancelledBefore(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	for call, err := range everyCall(f, ctx) {
		if !errors.Is(err, context.Canceled) {
			f.Errorf("%s with a cancelled context answered %v", call, err)
		}
	}
	f.gone(run("a"))
	acquire(f, run("a"), "another", minute)
}

func expiredBefore(f *fixture) {
	ctx, cancel := context.WithTimeout(f.ctx, -1)
	defer cancel()
	for call, err := range everyCall(f, ctx) {
		if !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("%s with an expired context answered %v", call, err)
		}
	}
	f.gone(run("a"))
}

func cancelledTail(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := f.Tail(ctx, map[int]int64{0: 0}, 10, 10*patience); !errors.Is(err, context.Canceled) {
			f.Errorf("a cancelled tail answered %v", err)
		}
	})
	cancel()
	wg.Wait()
}

// cancelledUnderWay cancels commits at any moment. Their answers must be the
// truth: applied after nil, not applied after the context's error alone, either
// after ErrUncertain.
func cancelledUnderWay(f *fixture) {
	inParallel(f.T, 16, func(worker int) error {
		for i := range 20 {
			key := run(string(rune('a'+worker)) + string(rune('a'+i)))
			ctx, cancel := context.WithCancel(f.ctx)
			go cancel()
			_, err := f.Commit(ctx, create(key, "data"))
			cancel()
			switch {
			case err == nil:
				if _, err := f.Get(f.ctx, key); err != nil {
					return err
				}
			case errors.Is(err, store.ErrUncertain):
				// Repeating it must find either.
				if _, err := f.Commit(f.ctx, create(key, "data")); err != nil && !errors.Is(err, store.ErrConflict) {
					return err
				}
			case errors.Is(err, context.Canceled):
				if _, err := f.Commit(f.ctx, create(key, "data")); err != nil {
					return err
				}
			default:
				return err
			}
		}
		return nil
	})
}
