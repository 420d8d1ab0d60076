package storetest

import (
	"errors"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

var restartTests = []test{
	{"everything is still there", everythingStays},
	{"a closed store", closedStore},
}

func everythingStays(f *fixture) {
	s := setScene(f)
	shards := f.Shards()
	before := s.view(f)
	f.reopen()
	if f.Shards() != shards {
		f.Errorf("%d shards became %d", shards, f.Shards())
	}
	if diff := cmp.Diff(before, s.view(f), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("after a restart (-before +after):\n%s", diff)
	}
	f.refused(store.Batch{
		Idempotency: &store.Idempotency{Owner: s.a, Name: "used", Digest: "other", TTL: hour},
	}, store.ErrReplayMismatch)
	held(f, s.lock, "another", store.HeldError{Key: s.lock, Holder: "me", Until: f.clock.Now().Add(hour)})
	f.commit(s.batch)
	checkApplied(f, s, s.view(f))
	f.reopen()
	checkApplied(f, s, s.view(f))

	// A version is not used again after a delete and a restart.
	f.commit(store.Batch{Deletes: []store.Check{{Key: s.c, Version: 1}}})
	f.reopen()
	if got := f.commit(create(s.c, "again")).Versions[0]; got != 2 {
		f.Errorf("a record that is created again after a restart is at version %d, not 2", got)
	}
}

func closedStore(f *fixture) {
	f.commit(create(run("a"), "data"))
	if err := f.Close(); err != nil {
		f.Fatalf("close: %v", err)
	}
	if _, err := f.Commit(f.ctx, create(run("b"), "data")); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("a commit to a closed store answered %v", err)
	}
	if _, err := f.Get(f.ctx, run("a")); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("a get from a closed store answered %v", err)
	}
	if _, err := f.GetLease(f.ctx, run("a")); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("get of a closed store's lease answered %v", err)
	}
	if err := f.Ping(f.ctx); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("a ping of a closed store answered %v", err)
	}
	f.reopen()
	f.get(run("a"))
	f.gone(run("b"))
}
