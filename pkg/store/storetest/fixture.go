package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// patience is how long anything may take that must happen at all.
const patience = time.Minute

// Short names for the durations that the tests are full of.
const (
	microsecond = time.Microsecond
	second      = time.Second
	minute      = time.Minute
	hour        = time.Hour
)

// fixture is a test with a store of its own.
type fixture struct {
	*testing.T
	store.Store
	ctx     context.Context
	clock   *Clock
	storage *Storage
}

func newFixture(t *testing.T, open Opener) *fixture {
	t.Helper()
	clock := NewClock()
	storage := open(t, clock)
	return &fixture{T: t, Store: storage.Store, ctx: t.Context(), clock: clock, storage: storage}
}

// reopen restarts the store on the same storage.
func (f *fixture) reopen() {
	f.Helper()
	f.Store = f.storage.Reopen(f.T)
}

// commit applies a batch that must be applied, and that a probe must find so first.
func (f *fixture) commit(batch store.Batch) store.Result {
	f.Helper()
	if err := f.Probe(f.ctx, batch); err != nil {
		f.Fatalf("probe: %v", err)
	}
	result, err := f.Commit(f.ctx, batch)
	if err != nil {
		f.Fatalf("commit: %v", err)
	}
	return result
}

// refused commits a batch that must fail with target.
func (f *fixture) refused(batch store.Batch, target error) {
	f.Helper()
	_ = f.refusal(batch, target)
}

// refusal commits a batch that must fail with target, and returns the error, which a probe must return
// too.
func (f *fixture) refusal(batch store.Batch, target error) error {
	f.Helper()
	probed := f.Probe(f.ctx, batch)
	_, err := f.Commit(f.ctx, batch)
	if !errors.Is(probed, target) {
		f.Fatalf("probe answered %v, not %v", probed, target)
	}
	if !errors.Is(err, target) {
		f.Fatalf("commit answered %v, not %v", err, target)
	}
	return err
}

// get returns a record that must exist.
func (f *fixture) get(key store.Key) store.Record {
	f.Helper()
	record, err := f.Get(f.ctx, key)
	if err != nil {
		f.Fatalf("get %s: %v", key, err)
	}
	return record
}

// gone requires that there is no such record.
func (f *fixture) gone(key store.Key) {
	f.Helper()
	if record, err := f.Get(f.ctx, key); !errors.Is(err, store.ErrNotFound) {
		f.Fatalf("get %s answered version %d and %v, not %v", key, record.Version, err, store.ErrNotFound)
	}
}

// counters returns the plain counters of an owner.
func (f *fixture) counters(owner store.Key) map[string]int64 {
	f.Helper()
	values, err := f.Counters(f.ctx, owner)
	if err != nil {
		f.Fatalf("counters of %s: %v", owner, err)
	}
	return values
}

// events returns all of the outbox that is there now, shard by shard.
func (f *fixture) events() []store.OutboxEntry {
	f.Helper()
	var all []store.OutboxEntry
	for shard := range f.Shards() {
		after := map[int]int64{shard: 0}
		for {
			entries, err := f.Tail(f.ctx, after, 1000, 0)
			if err != nil {
				f.Fatalf("tail: %v", err)
			}
			if len(entries) == 0 {
				break
			}
			all = append(all, entries...)
			after[shard] = entries[len(entries)-1].Seq
		}
	}
	return all
}

// due returns the timers of runs that are due at now, at most limit of each shard.
func (f *fixture) due(now time.Time, limit int) []store.Timer {
	f.Helper()
	timers, err := f.Due(f.ctx, now, limit, "run")
	if err != nil {
		f.Fatalf("due: %v", err)
	}
	return timers
}

// sameShard returns n keys of one kind in the shard of key.
func (f *fixture) sameShard(key store.Key, n int) []store.Key {
	shard := key.Shard(f.Shards())
	var keys []store.Key
	for i := 0; len(keys) < n; i++ {
		k := run(fmt.Sprintf("%s.%d", key.ID, i))
		k.Namespace = key.Namespace
		if k.Shard(f.Shards()) == shard {
			keys = append(keys, k)
		}
	}
	return keys
}

// otherShard returns a key that does not live in the shard of key.
func (f *fixture) otherShard(key store.Key) store.Key {
	for i := 0; ; i++ {
		k := run(fmt.Sprintf("other.%d", i))
		if k.Shard(f.Shards()) != key.Shard(f.Shards()) {
			return k
		}
	}
}

// run returns the key of a run in the namespace that most tests use.
func run(id string) store.Key { return store.Key{Namespace: "test", Kind: "run", ID: id} }

// create returns a batch that creates a record.
func create(key store.Key, data string) store.Batch {
	return store.Batch{Puts: []store.Put{{Key: key, Expect: store.Absent, Data: []byte(data)}}}
}
