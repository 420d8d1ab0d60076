package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/store"
)

var fenceTests = []test{
	{"with a token", fenceToken},
	{"on nobody", fenceUnheld},
	{"a paused holder is fenced off", pausedHolder},
	{"holders and the unheld exclude each other", fencesExclude},
}

// fenced returns a batch that puts a record behind a fence.
func fenced(lock store.Key, token int64, put store.Key) store.Batch {
	return store.Batch{
		Fence: &store.Fence{Key: lock, Token: token},
		Puts:  []store.Put{{Key: put, Expect: store.AnyVersion}},
	}
}

// wantFenced requires a *FencedError with these fields.
func wantFenced(t *testing.T, err error, want store.FencedError) {
	t.Helper()
	var got *store.FencedError
	if !errors.As(err, &got) {
		t.Errorf("%v is no *FencedError", err)
		return
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("fenced (-want +got):\n%s", diff)
	}
}

func fenceToken(f *fixture) {
	a := run("a")
	lock := f.sameShard(a, 1)[0]
	refused := func(token int64, holder *store.Lease) {
		f.Helper()
		want := store.FencedError{Key: lock, Token: token}
		if holder != nil {
			want.Holder, want.Until = holder.Holder, holder.Expires
		}
		wantFenced(f.T, f.refusal(fenced(lock, token, a), store.ErrFenced), want)
	}

	for _, token := range []int64{1, -1} {
		refused(token, nil)
	}
	lease := acquire(f, lock, "me", minute)
	for _, token := range []int64{-1, lease.Token - 1, lease.Token + 1} {
		refused(token, &lease)
	}
	f.gone(a)
	f.commit(fenced(lock, lease.Token, a))
	f.clock.Advance(minute - microsecond)
	f.commit(fenced(lock, lease.Token, a))
	f.clock.Advance(microsecond)
	refused(lease.Token, nil)
	if err := f.ReleaseLease(f.ctx, lease); err != nil {
		f.Errorf("releasing a lapsed lease: %v", err)
	}
	refused(lease.Token, nil)
	second := acquire(f, lock, "second", hour)
	refused(lease.Token, &second)
	f.commit(fenced(lock, second.Token, a))
	if err := f.ReleaseLease(f.ctx, second); err != nil {
		f.Fatalf("release: %v", err)
	}
	refused(second.Token, nil)
	if got := f.get(a).Version; got != 3 {
		f.Errorf("version is %d, not 3", got)
	}
}

func fenceUnheld(f *fixture) {
	a := run("a")
	lock := f.sameShard(a, 1)[0]
	batch := fenced(lock, store.Unheld, a)
	refused := func(holder store.Lease) {
		f.Helper()
		wantFenced(f.T, f.refusal(batch, store.ErrFenced),
			store.FencedError{Key: lock, Token: store.Unheld, Holder: holder.Holder, Until: holder.Expires})
	}

	f.commit(batch) // never held
	acquire(f, run("another lock"), "me", hour)
	f.commit(batch)
	lease := acquire(f, lock, "me", minute)
	refused(lease)
	f.clock.Advance(minute - microsecond)
	refused(lease)
	lease, err := f.RenewLease(f.ctx, lease, minute)
	if err != nil {
		f.Fatalf("renew: %v", err)
	}
	refused(lease)
	f.clock.Advance(minute)
	f.commit(batch) // lapsed
	lease = acquire(f, lock, "second", minute)
	refused(lease)
	f.reopen()
	refused(lease)
	if err := f.ReleaseLease(f.ctx, lease); err != nil {
		f.Fatalf("release: %v", err)
	}
	f.commit(batch) // released
	f.reopen()
	f.commit(batch)
	if got := f.get(a).Version; got != 5 {
		f.Errorf("version is %d, not 5", got)
	}
}

// pausedHolder is the story that fencing exists for: a holder sleeps past its
// lease, another takes over and writes, the first wakes up and writes too.
func pausedHolder(f *fixture) {
	lock := run("lock")
	data := f.sameShard(lock, 1)[0]
	write := func(lease store.Lease, expect int64, text string) store.Batch {
		return store.Batch{
			Fence: &store.Fence{Key: lock, Token: lease.Token},
			Puts:  []store.Put{{Key: data, Expect: expect, Data: []byte(text)}},
		}
	}
	paused := acquire(f, lock, "paused", minute)
	f.commit(write(paused, store.Absent, "by the first"))
	f.clock.Advance(2 * minute)
	second := acquire(f, lock, "second", minute)
	f.commit(write(second, 1, "by the second"))
	f.refused(write(paused, store.AnyVersion, "too late"), store.ErrFenced)
	f.clock.Advance(2 * minute)
	f.refused(write(paused, store.AnyVersion, "later still"), store.ErrFenced)
	if got := f.get(data); got.Version != 2 || string(got.Data) != "by the second" {
		f.Errorf("the record is %q at version %d", got.Data, got.Version)
	}
}

// fencesExclude lets writers that hold a lease now and then, and writers that may write
// only without a lease, fight over one record: no other caller writes while a lease
// is held.
func fencesExclude(f *fixture) {
	lock := run("lock")
	data := f.sameShard(lock, 1)[0]
	f.commit(create(data, "data"))
	inParallel(f.T, 16, func(worker int) error {
		for round := range 25 {
			if worker%2 == 0 {
				if _, err := f.Commit(f.ctx, fenced(lock, store.Unheld, data)); err != nil && !errors.Is(err, store.ErrFenced) {
					return err
				}
				continue
			}
			lease, err := f.AcquireLease(f.ctx, lock, fmt.Sprintf("%d.%d", worker, round), hour)
			if errors.Is(err, store.ErrHeld) {
				continue
			}
			if err != nil {
				return err
			}
			if err := writeAlone(f, lease, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeAlone puts a record several times while a lease is held, and releases it.
// Its versions must follow each other.
func writeAlone(f *fixture, lease store.Lease, data store.Key) error {
	before, err := f.Get(f.ctx, data)
	if err != nil {
		return err
	}
	for n := range int64(3) {
		result, err := f.Commit(f.ctx, fenced(lease.Key, lease.Token, data))
		if err != nil {
			return err
		}
		if want := before.Version + 1 + n; result.Versions[0] != want {
			return fmt.Errorf("another wrote while %s held the lease: version %d, not %d", lease.Holder, result.Versions[0], want)
		}
	}
	return f.ReleaseLease(f.ctx, lease)
}
