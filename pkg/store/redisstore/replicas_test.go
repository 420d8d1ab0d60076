package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// replicas returns two stores on the same data, as two processes have them, by
// the server's clock.
func replicas(t *testing.T) [2]*redisstore.Store {
	t.Helper()
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t)}
	return [2]*redisstore.Store{open(t, config), open(t, config)}
}

func TestReplicasRaceForVersions(t *testing.T) {
	t.Parallel()
	stores := replicas(t)
	const rounds = 30
	var wg sync.WaitGroup
	var won [rounds + 1]atomic.Int64
	for worker := range 16 {
		wg.Go(func() {
			for version := range int64(rounds) {
				_, err := stores[worker%2].Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: key("a"), Expect: version}}})
				switch {
				case err == nil:
					won[version+1].Add(1)
				case !errors.Is(err, store.ErrConflict):
					t.Errorf("commit: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for version := 1; version <= rounds; version++ {
		if n := won[version].Load(); n != 1 {
			t.Errorf("%d writers made version %d", n, version)
		}
	}
}

func TestReplicasRaceForLimits(t *testing.T) {
	t.Parallel()
	stores := replicas(t)
	for _, window := range []time.Duration{0, time.Hour} {
		const limit = 40
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for worker := range 16 {
			wg.Go(func() {
				for range 5 {
					_, err := stores[worker%2].Commit(t.Context(), store.Batch{Counters: []store.Counter{
						{Owner: key("a"), Name: window.String(), Delta: 1, Limit: limit, Window: window},
					}})
					switch {
					case err == nil:
						admitted.Add(1)
					case !errors.Is(err, store.ErrLimit):
						t.Errorf("commit: %v", err)
					}
				}
			})
		}
		wg.Wait()
		if n := admitted.Load(); n != limit {
			t.Errorf("window %v: %d were admitted with a limit of %d", window, n, limit)
		}
	}
}

// A commit by one replica wakes another's Tail, in any shard, however long
// that would wait.
func TestTailWakesWhenAnotherCommits(t *testing.T) {
	t.Parallel()
	stores := replicas(t)
	after := map[int]int64{}
	for shard := range stores[0].Shards() {
		after[shard] = 0
	}
	seen := make(chan store.OutboxEntry)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for {
			entries, err := stores[1].Tail(ctx, after, 10, time.Hour)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Errorf("tail: %v", err)
				return
			}
			for _, entry := range entries {
				after[entry.Shard] = entry.Seq
				select {
				case seen <- entry:
				case <-ctx.Done():
				}
			}
		}
	})
	for i := range 100 {
		id := fmt.Sprint(i)
		batch := store.Batch{Events: []store.Event{{Key: key(id), ID: id, Subject: "s", Payload: []byte(id)}}}
		if _, err := stores[0].Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		select {
		case entry := <-seen:
			if entry.ID != id || string(entry.Payload) != id {
				t.Errorf("tail answered %+v, not event %s", entry, id)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("tail does not wake")
		}
	}
}

// Data that lapses by the server's own clock, which other tests replace.
func TestServerClock(t *testing.T) {
	t.Parallel()
	stores := replicas(t)
	lease, err := stores[0].AcquireLease(t.Context(), key("a"), "me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if ttl := time.Until(lease.Expires); ttl <= 0 || ttl > time.Hour+time.Minute {
		t.Errorf("the lease expires in %v", ttl)
	}
	if _, err := stores[1].AcquireLease(t.Context(), key("a"), "you", time.Hour); !errors.Is(err, store.ErrHeld) {
		t.Errorf("a held lease: %v", err)
	}
	batch := idempotent("a")
	batch.Fence = &store.Fence{Key: key("a"), Token: lease.Token}
	batch.Counters = append(batch.Counters, store.Counter{Owner: key("a"), Name: "w", Delta: 1, Limit: 1, Window: 5 * time.Millisecond})
	if _, err := stores[1].Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if lease, err = stores[1].RenewLease(t.Context(), lease, time.Microsecond); err != nil {
		t.Fatal(err)
	}
	batch.Idempotency = nil
	waitFor(t, func() bool {
		_, err := stores[0].Commit(t.Context(), batch)
		return errors.Is(err, store.ErrFenced)
	})
	batch.Fence = nil
	waitFor(t, func() bool { // the window moves on
		_, err := stores[0].Commit(t.Context(), batch)
		return err == nil
	})
	again, err := stores[1].AcquireLease(t.Context(), key("a"), "you", time.Hour)
	if err != nil || again.Token <= lease.Token {
		t.Errorf("a lapsed lease: token %d after %d, %v", again.Token, lease.Token, err)
	}
	short := idempotent("b")
	short.Idempotency.TTL = time.Millisecond
	if _, err := stores[0].Commit(t.Context(), short); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		_, err := stores[1].Answer(t.Context(), key("b"), "request")
		return errors.Is(err, store.ErrNotFound)
	})
}
