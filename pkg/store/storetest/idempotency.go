package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

var idempotencyTests = []test{
	{"a replay changes nothing", replay},
	{"a replay comes before everything else", replayFirst},
	{"another digest", replayMismatch},
	{"a failed commit stores no answer", failedStoresNothing},
	{"keys expire", keysExpire},
	{"keys of owners are apart", keysByOwner},
	{"once among 64 callers", onceAmongMany},
}

// once returns a batch that adds one to a counter of a, once.
func once(a store.Key, name, digest, answer string) store.Batch {
	return store.Batch{
		Idempotency: &store.Idempotency{Owner: a, Name: name, Digest: digest, Answer: []byte(answer), TTL: hour},
		Puts:        []store.Put{{Key: a, Expect: store.AnyVersion, Data: []byte(answer), History: []byte(answer)}},
		Counters:    []store.Counter{{Owner: a, Name: "n", Delta: 1, Limit: store.NoLimit}},
		Events:      []store.Event{{Key: a, ID: name + answer, Subject: "s"}},
	}
}

// answer requires the stored data of an idempotency key; "" for none.
func answer(f *fixture, owner store.Key, name, want string) {
	f.Helper()
	got, err := f.Answer(f.ctx, owner, name)
	if want == "" {
		if !errors.Is(err, store.ErrNotFound) {
			f.Errorf("answer of %q is %q, %v", name, got, err)
		}
		return
	}
	if err != nil || string(got) != want {
		f.Errorf("answer of %q is %q, %v, not %q", name, got, err, want)
	}
}

func replay(f *fixture) {
	a := run("a")
	answer(f, a, "k", "")
	if first := f.commit(once(a, "k", "d", "first")); first.Replayed || len(first.Versions) != 1 {
		f.Errorf("the first commit answered %+v", first)
	}
	answer(f, a, "k", "first")
	for range 3 {
		want := store.Result{Replayed: true, Answer: []byte("first")}
		if diff := cmp.Diff(want, f.commit(once(a, "k", "d", "second")), cmpopts.EquateEmpty()); diff != "" {
			f.Errorf("replay (-want +got):\n%s", diff)
		}
	}
	answer(f, a, "k", "first")
	if got := f.get(a); got.Version != 1 || string(got.Data) != "first" {
		f.Errorf("the record is %q at version %d", got.Data, got.Version)
	}
	if got := f.counters(a)["n"]; got != 1 {
		f.Errorf("the counter is %d, not 1", got)
	}
	if got := f.events(); len(got) != 1 {
		f.Errorf("%d events, not 1", len(got))
	}
}

func replayFirst(f *fixture) {
	a := run("a")
	f.commit(once(a, "k", "d", "first"))
	again := once(a, "k", "d", "first")
	again.Fence = &store.Fence{Key: a, Token: 7}
	again.Checks = []store.Check{{Key: a, Version: 7}}
	again.Puts[0].Expect = store.Absent
	again.Counters[0].Limit = 0
	if got := f.commit(again); !got.Replayed || string(got.Answer) != "first" {
		f.Errorf("the replay answered %+v", got)
	}
}

func replayMismatch(f *fixture) {
	a := run("a")
	f.commit(once(a, "k", "d", "first"))
	err := f.refusal(once(a, "k", "other", "second"), store.ErrReplayMismatch)
	var got *store.ReplayMismatchError
	if !errors.As(err, &got) || *got != (store.ReplayMismatchError{Owner: a, Name: "k"}) {
		f.Errorf("mismatch is %+v", got)
	}
	answer(f, a, "k", "first")
	if got := f.counters(a)["n"]; got != 1 {
		f.Errorf("the counter is %d, not 1", got)
	}
}

func failedStoresNothing(f *fixture) {
	a := run("a")
	failing := once(a, "k", "d", "first")
	failing.Checks = []store.Check{{Key: a, Version: 7}}
	f.refused(failing, store.ErrConflict)
	answer(f, a, "k", "")
	if got := f.commit(once(a, "k", "other", "second")); got.Replayed {
		f.Errorf("the commit after a failed one answered %+v", got)
	}
	answer(f, a, "k", "second")
}

func keysExpire(f *fixture) {
	a := run("a")
	f.commit(once(a, "k", "d", "first"))
	f.clock.Advance(hour - microsecond)
	answer(f, a, "k", "first")
	if got := f.commit(once(a, "k", "d", "second")); !got.Replayed {
		f.Error("the key was forgotten too early")
	}
	// A replay does not prolong the key.
	f.clock.Advance(microsecond)
	answer(f, a, "k", "")
	if got := f.commit(once(a, "k", "other", "third")); got.Replayed {
		f.Error("the key was remembered too long")
	}
	answer(f, a, "k", "third")
	if got := f.counters(a)["n"]; got != 2 {
		f.Errorf("the counter is %d, not 2", got)
	}
	// Many more that expire, and one that has not.
	for i := range 300 {
		f.commit(store.Batch{Idempotency: &store.Idempotency{Owner: a, Name: fmt.Sprint(i), Digest: "d", Answer: []byte("x"), TTL: minute}})
	}
	f.clock.Advance(minute)
	f.commit(once(a, "last", "d", "fourth"))
	answer(f, a, "0", "")
	answer(f, a, "299", "")
	answer(f, a, "k", "third")
	answer(f, a, "last", "fourth")
}

func keysByOwner(f *fixture) {
	a := run("a")
	b := f.sameShard(a, 1)[0]
	f.commit(once(a, "k", "d", "of a"))
	if got := f.commit(once(b, "k", "d", "of b")); got.Replayed {
		f.Error("the key of one owner is known for another")
	}
	f.commit(once(a, "l", "d", "another"))
	answer(f, a, "k", "of a")
	answer(f, b, "k", "of b")
	answer(f, a, "l", "another")
}

func onceAmongMany(f *fixture) {
	a := run("a")
	var applied atomic.Int64
	inParallel(f.T, 64, func(worker int) error {
		result, err := f.Commit(f.ctx, once(a, "k", "d", fmt.Sprintf("of %d", worker)))
		if err != nil {
			return err
		}
		if !result.Replayed {
			applied.Add(1)
			return nil
		}
		stored, err := f.Answer(f.ctx, a, "k")
		if err == nil && string(stored) != string(result.Answer) {
			err = fmt.Errorf("the replay answered %q, stored is %q", result.Answer, stored)
		}
		return err
	})
	if applied.Load() != 1 || f.counters(a)["n"] != 1 || f.get(a).Version != 1 {
		f.Errorf("applied %d times, the counter is %d, the version %d", applied.Load(), f.counters(a)["n"], f.get(a).Version)
	}
}
