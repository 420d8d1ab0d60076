package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// key is the key of the nth run.
func key(n int) store.Key {
	return store.Key{Namespace: "bench", Kind: "run", ID: fmt.Sprintf("run_%08d", n)}
}

// fill creates n records of about the size of a small run.
func fill(b *testing.B, s *sqlitestore.Store, n int) {
	b.Helper()
	data := make([]byte, 500)
	byShard := map[int][]store.Put{}
	flush := func(shard int) {
		if _, err := s.Commit(b.Context(), store.Batch{Puts: byShard[shard]}); err != nil {
			b.Fatal(err)
		}
		byShard[shard] = byShard[shard][:0]
	}
	for i := range n {
		shard := key(i).Shard(s.Shards())
		byShard[shard] = append(byShard[shard], store.Put{Key: key(i), Data: data})
		if len(byShard[shard]) == 1000 {
			flush(shard)
		}
	}
	for shard := range byShard {
		flush(shard)
	}
}

// callers runs b.N commits from this many callers at the same time.
func callers(b *testing.B, n int, commit func(caller, i int) error) {
	b.Helper()
	var next atomic.Int64
	done := make(chan error, n)
	b.ResetTimer()
	start := time.Now()
	for caller := range n {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					done <- nil
					return
				}
				if err := commit(caller, i); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for range n {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "commits/s")
}

// shapes are the commits that the services make most.
var shapes = []struct {
	name  string
	batch func(k store.Key, i int, payload []byte) store.Batch
}{
	// A write of one record.
	{"put", func(k store.Key, _ int, payload []byte) store.Batch {
		return store.Batch{Puts: []store.Put{{Key: k, Expect: store.AnyVersion, Data: payload}}}
	}},
	// A checked tool call: the run is still at its version, a counter, an event.
	{"check", func(k store.Key, i int, payload []byte) store.Batch {
		return store.Batch{
			Checks:   []store.Check{{Key: k, Version: 1}},
			Counters: []store.Counter{{Owner: k, Name: "calls", Delta: 1, Limit: store.NoLimit}},
			Events:   []store.Event{{Key: k, ID: fmt.Sprintf("%s-%d", k.ID, i), Subject: "run.checked", Payload: payload}},
		}
	}},
	// A transition: a new version with history, counters start again, an event.
	{"transition", func(k store.Key, i int, payload []byte) store.Batch {
		return store.Batch{
			Idempotency: &store.Idempotency{Owner: k, Name: fmt.Sprint(i), Digest: "digest", Answer: payload, TTL: time.Hour},
			Puts:        []store.Put{{Key: k, Expect: store.AnyVersion, Data: payload, History: payload, Labels: map[string]string{"status": "active"}}},
			Reset:       []store.Key{k},
			Events:      []store.Event{{Key: k, ID: fmt.Sprintf("%s-%d", k.ID, i), Subject: "run.moved", Payload: payload}},
		}
	}},
	// A rate-limited call.
	{"window", func(k store.Key, _ int, _ []byte) store.Batch {
		return store.Batch{Counters: []store.Counter{{Owner: k, Name: "rate", Delta: 1, Limit: 1 << 30, Window: time.Second}}}
	}},
}

// BenchmarkCommit measures durable commits, each caller on a record of its own.
func BenchmarkCommit(b *testing.B) {
	for _, shape := range shapes {
		for _, n := range []int{1, 16, 64, 256} {
			b.Run(fmt.Sprintf("%s/callers=%d", shape.name, n), func(b *testing.B) {
				s := open(b, sqlitestore.Config{Path: filepath.Join(b.TempDir(), "store.db")})
				fill(b, s, n)
				payload := make([]byte, 300)
				callers(b, n, func(caller, i int) error {
					_, err := s.Commit(context.Background(), shape.batch(key(caller), i, payload))
					return err
				})
			})
		}
	}
}

// BenchmarkStored measures the cost of a commit to any record with many stored.
func BenchmarkStored(b *testing.B) {
	for _, stored := range []int{1, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("records=%d", stored), func(b *testing.B) {
			s := open(b, sqlitestore.Config{Path: filepath.Join(b.TempDir(), "store.db")})
			fill(b, s, stored)
			payload := make([]byte, 300)
			callers(b, 64, func(_, i int) error {
				_, err := s.Commit(context.Background(), shapes[1].batch(key(i*7919%stored), i, payload))
				return err
			})
		})
	}
}

// BenchmarkDue measures looking for timers when none is due.
func BenchmarkDue(b *testing.B) {
	s := open(b, sqlitestore.Config{Path: filepath.Join(b.TempDir(), "store.db")})
	now := time.Now()
	for i := range 1000 {
		later := store.Timer{TimerID: store.TimerID{Key: key(i), Name: "t"}, Due: now.Add(time.Hour)}
		if _, err := s.Commit(b.Context(), store.Batch{SetTimers: []store.Timer{later}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if timers, err := s.Due(b.Context(), now, 32, "run", "session", "state"); err != nil || len(timers) > 0 {
			b.Fatalf("%v, %v", timers, err)
		}
	}
}

// BenchmarkGet measures reads.
func BenchmarkGet(b *testing.B) {
	s := open(b, sqlitestore.Config{Path: filepath.Join(b.TempDir(), "store.db")})
	fill(b, s, 10_000)
	callers(b, 16, func(_, i int) error {
		_, err := s.Get(context.Background(), key(i*7919%10_000))
		return err
	})
}
