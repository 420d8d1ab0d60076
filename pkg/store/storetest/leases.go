package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/store"
)

var leaseTests = []test{
	{"acquire, hold, lapse", acquireAndLapse},
	{"renew", renewLease},
	{"release", releaseLease},
	{"tokens only grow", tokensGrow},
	{"who holds it", whoHolds},
	{"one holder at a time", oneHolder},
}

// acquire takes a lease that must be free.
func acquire(f *fixture, key store.Key, holder string, ttl time.Duration) store.Lease {
	f.Helper()
	lease, err := f.AcquireLease(f.ctx, key, holder, ttl)
	if err != nil {
		f.Fatalf("acquire %s for %s: %v", key, holder, err)
	}
	return lease
}

// held requires that a lease cannot be had.
func held(f *fixture, key store.Key, holder string, want store.HeldError) {
	f.Helper()
	_, err := f.AcquireLease(f.ctx, key, holder, minute)
	var got *store.HeldError
	if !errors.As(err, &got) || !errors.Is(err, store.ErrHeld) {
		f.Errorf("acquire for %s: %v, not %v", holder, err, &want)
		return
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		f.Errorf("held (-want +got):\n%s", diff)
	}
}

func acquireAndLapse(f *fixture) {
	a := run("a")
	lease := acquire(f, a, "one", minute)
	want := store.Lease{Key: a, Holder: "one", Token: lease.Token, Expires: f.clock.Now().Add(minute)}
	if diff := cmp.Diff(want, lease); diff != "" {
		f.Errorf("lease (-want +got):\n%s", diff)
	}
	if lease.Token < 1 {
		f.Errorf("the token is %d", lease.Token)
	}
	refusal := store.HeldError{Key: a, Holder: "one", Until: lease.Expires}
	held(f, a, "two", refusal)
	f.clock.Advance(minute - microsecond)
	held(f, a, "two", refusal)
	acquire(f, run("b"), "two", minute)
	f.clock.Advance(microsecond)
	second := acquire(f, a, "two", hour)
	if second.Holder != "two" || second.Token <= lease.Token {
		f.Errorf("the second lease is %+v after %+v", second, lease)
	}
	held(f, a, "one", store.HeldError{Key: a, Holder: "two", Until: second.Expires})
}

func renewLease(f *fixture) {
	a := run("a")
	lease := acquire(f, a, "one", minute)
	f.clock.Advance(50 * second)
	renewed, err := f.RenewLease(f.ctx, lease, minute)
	if err != nil {
		f.Fatalf("renew: %v", err)
	}
	want := store.Lease{Key: a, Holder: "one", Token: lease.Token, Expires: f.clock.Now().Add(minute)}
	if diff := cmp.Diff(want, renewed); diff != "" {
		f.Errorf("renewed (-want +got):\n%s", diff)
	}
	f.clock.Advance(50 * second)
	held(f, a, "two", store.HeldError{Key: a, Holder: "one", Until: renewed.Expires})

	// A lease that lapsed cannot be renewed, even when it is free.
	f.clock.Advance(10 * second)
	if _, err := f.RenewLease(f.ctx, renewed, minute); !errors.Is(err, store.ErrFenced) {
		f.Errorf("renewing a lapsed lease: %v", err)
	}
	second := acquire(f, a, "two", minute)
	if _, err := f.RenewLease(f.ctx, renewed, minute); !errors.Is(err, store.ErrFenced) {
		f.Errorf("renewing a lost lease: %v", err)
	}
	if _, err := f.RenewLease(f.ctx, store.Lease{Key: run("never"), Holder: "one", Token: 1}, minute); !errors.Is(err, store.ErrFenced) {
		f.Errorf("renewing a lease that never was: %v", err)
	}
	held(f, a, "one", store.HeldError{Key: a, Holder: "two", Until: second.Expires})
}

func releaseLease(f *fixture) {
	a := run("a")
	first := acquire(f, a, "one", minute)
	stale := first
	stale.Token--
	for _, other := range []store.Lease{stale, {Key: run("never"), Holder: "one", Token: 1}} {
		if err := f.ReleaseLease(f.ctx, other); err != nil {
			f.Errorf("releasing what is not held: %v", err)
		}
	}
	held(f, a, "two", store.HeldError{Key: a, Holder: "one", Until: first.Expires})
	if err := f.ReleaseLease(f.ctx, first); err != nil {
		f.Fatalf("release: %v", err)
	}
	f.refused(store.Batch{Fence: &store.Fence{Key: a, Token: first.Token}}, store.ErrFenced)
	if _, err := f.RenewLease(f.ctx, first, minute); !errors.Is(err, store.ErrFenced) {
		f.Errorf("renewing a released lease: %v", err)
	}
	second := acquire(f, a, "two", minute)
	if err := f.ReleaseLease(f.ctx, first); err != nil {
		f.Errorf("releasing again: %v", err)
	}
	held(f, a, "one", store.HeldError{Key: a, Holder: "two", Until: second.Expires})
}

func tokensGrow(f *fixture) {
	a := run("a")
	last := int64(0)
	grows := func(what string) store.Lease {
		f.Helper()
		lease := acquire(f, a, "me", minute)
		if lease.Token <= last {
			f.Errorf("the token after %s is %d, after %d", what, lease.Token, last)
		}
		last = lease.Token
		return lease
	}
	grows("nothing")
	again := grows("acquiring again")
	f.clock.Advance(hour)
	grows("a lapse")
	if _, err := f.RenewLease(f.ctx, again, minute); !errors.Is(err, store.ErrFenced) {
		f.Errorf("renewing with an old token: %v", err)
	}
	lease := grows("acquiring again")
	if err := f.ReleaseLease(f.ctx, lease); err != nil {
		f.Fatal(err)
	}
	lease = grows("a release")
	f.reopen()
	f.commit(store.Batch{Fence: &store.Fence{Key: a, Token: lease.Token}})
	grows("a restart")
	if err := f.ReleaseLease(f.ctx, store.Lease{Key: a, Holder: "me", Token: last}); err != nil {
		f.Fatal(err)
	}
	f.reopen()
	f.clock.Advance(1000 * hour)
	grows("a release, a restart and weeks")
}

// whoHolds reads a lease over its whole life. That which is free, lapsed or was
// released is not there.
func whoHolds(f *fixture) {
	a := run("a")
	free := func(when string) {
		f.Helper()
		if got, err := f.GetLease(f.ctx, a); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("the lease %s is %+v, %v, not %v", when, got, err, store.ErrNotFound)
		}
	}
	is := func(want store.Lease) {
		f.Helper()
		got, err := f.GetLease(f.ctx, a)
		if err != nil {
			f.Fatalf("get the lease: %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			f.Errorf("lease (-want +got):\n%s", diff)
		}
	}

	free("that never was")
	acquire(f, run("b"), "another", hour)
	free("next to another")
	lease := acquire(f, a, "one", minute)
	is(lease)
	f.clock.Advance(minute - microsecond)
	is(lease)
	lease, err := f.RenewLease(f.ctx, lease, minute)
	if err != nil {
		f.Fatalf("renew: %v", err)
	}
	is(lease)
	f.clock.Advance(minute)
	free("that lapsed")
	lease = acquire(f, a, "two", minute)
	is(lease)
	lease = acquire(f, a, "two", hour)
	is(lease)
	f.reopen()
	is(lease)
	f.commit(store.Batch{Fence: &store.Fence{Key: a, Token: lease.Token}})
	if err := f.ReleaseLease(f.ctx, lease); err != nil {
		f.Fatalf("release: %v", err)
	}
	free("that was released")
}

func oneHolder(f *fixture) {
	a := run("a")
	for round := range 5 {
		var mu sync.Mutex
		var leases []store.Lease
		inParallel(f.T, 32, func(worker int) error {
			lease, err := f.AcquireLease(f.ctx, a, fmt.Sprintf("holder %d", worker), minute)
			if errors.Is(err, store.ErrHeld) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			leases = append(leases, lease)
			return err
		})
		if len(leases) != 1 {
			f.Errorf("round %d: %d hold the lease", round, len(leases))
		}
		f.clock.Advance(minute)
	}
}
