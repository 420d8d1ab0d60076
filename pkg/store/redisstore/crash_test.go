package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

// Two replicas race on one server, which is killed in the middle and comes back
// with its files.
func TestHistoryAcrossAKilledServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	replicas := []*redisstore.Store{
		open(t, redisstore.Config{URL: server.URL(), Prefix: "il"}),
		open(t, redisstore.Config{URL: server.URL(), Prefix: "il"}),
	}
	var once sync.Once
	work := storetest.Workload{Clients: 8, Ops: 60, Keys: 6, Prefix: "crash"}
	work.Done = func(calls int) {
		if calls < work.Clients*work.Ops/2 {
			return
		}
		once.Do(func() {
			server.Kill()
			if err := server.Restart(); err != nil {
				t.Error(err)
			}
		})
	}
	histories := make([]storetest.History, len(replicas))
	var wg sync.WaitGroup
	for i, replica := range replicas {
		wg.Go(func() { histories[i] = storetest.RecordHistory(t, replica, work) })
	}
	wg.Wait()
	var all storetest.History
	for _, history := range histories {
		all = append(all, history...)
	}
	all = append(all, storetest.ReadHistory(t, replicas[0], work)...)
	storetest.CheckHistory(t, all)
}

// Every commit that was acknowledged before the server is killed is there
// afterwards, with its history and its event, and no record is there twice.
func TestNoAcknowledgedCommitIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, redisstore.Config{URL: server.URL(), Prefix: "il"})
	const writers, before = 16, 20
	acknowledged := make([]int64, writers) // the last version that each writer received
	var ready, done sync.WaitGroup
	ready.Add(writers)
	for writer := range writers {
		done.Go(func() {
			for n := 1; ; n++ {
				version, err := writeNext(t, s, writer, acknowledged[writer])
				if err != nil {
					return // the server is gone
				}
				acknowledged[writer] = version
				if n == before {
					ready.Done()
				}
			}
		})
	}
	ready.Wait()
	server.Kill()
	done.Wait()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for writer, version := range acknowledged {
		checkRun(t, s, writer, version)
	}
	checkEvents(t, s, acknowledged)
}

func runKey(writer int) store.Key {
	return store.Key{Namespace: "test", Kind: "run", ID: fmt.Sprintf("writer %d", writer)}
}

// writeNext puts the version after this one, with a history entry and an event.
func writeNext(t *testing.T, s *redisstore.Store, writer int, version int64) (int64, error) {
	key, text := runKey(writer), fmt.Appendf(nil, "%d", version+1)
	result, err := s.Commit(context.Background(), store.Batch{
		Puts: []store.Put{{
			Key: key, Expect: version, Data: text, History: text,
			Labels: map[string]string{"parity": fmt.Sprint(version % 2), "writer": fmt.Sprint(writer)},
		}},
		Events: []store.Event{{Key: key, ID: fmt.Sprintf("%d/%s", writer, text), Subject: key.ID}},
	})
	switch {
	case err == nil:
		return result.Versions[0], nil
	case !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUncertain):
		t.Errorf("a commit to a server that is killed answered %v", err)
	}
	return 0, err
}

// checkRun requires that a record is at the acknowledged version, or at the one
// whose outcome is unknown, and that its history is whole.
func checkRun(t *testing.T, s *redisstore.Store, writer int, acknowledged int64) {
	t.Helper()
	record, err := s.Get(t.Context(), runKey(writer))
	if err != nil {
		t.Fatal(err)
	}
	if record.Version != acknowledged && record.Version != acknowledged+1 {
		t.Errorf("writer %d was told version %d and finds %d", writer, acknowledged, record.Version)
	}
	if want := fmt.Sprint(record.Version); string(record.Data) != want {
		t.Errorf("version %s has data %q", want, record.Data)
	}
	labels := map[string]string{"parity": fmt.Sprint((record.Version - 1) % 2), "writer": fmt.Sprint(writer)}
	page, err := s.List(t.Context(), store.Query{Namespace: "test", Kind: "run", Labels: labels, Limit: 10})
	if err != nil || len(page.Records) != 1 || page.Records[0].Key != record.Key {
		t.Errorf("listed by its labels: %+v, %v", page, err)
	}
	history, err := s.History(t.Context(), runKey(writer), 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(history)) != record.Version {
		t.Errorf("%d history entries of %d versions", len(history), record.Version)
	}
	for i, entry := range history {
		if entry.Version != int64(i+1) || string(entry.Data) != fmt.Sprint(i+1) {
			t.Errorf("history entry %d is version %d with %q", i, entry.Version, entry.Data)
		}
	}
}

// checkEvents requires an event for each acknowledged version, in order.
func checkEvents(t *testing.T, s *redisstore.Store, acknowledged []int64) {
	t.Helper()
	seen := map[string]int64{}
	for shard := range s.Shards() {
		entries, err := s.Tail(t.Context(), map[int]int64{shard: 0}, 1<<20, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			seen[entry.Subject]++
			var writer, version int64
			if _, err := fmt.Sscanf(entry.ID, "%d/%d", &writer, &version); err != nil || version != seen[entry.Subject] {
				t.Errorf("event %s came as number %d of %s", entry.ID, seen[entry.Subject], entry.Subject)
			}
		}
	}
	for writer, version := range acknowledged {
		if n := seen[runKey(writer).ID]; n != version && n != version+1 {
			t.Errorf("writer %d was told version %d and has %d events", writer, version, n)
		}
	}
}
