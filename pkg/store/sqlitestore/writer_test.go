package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// openHere opens a store whose insides a test looks at.
func openHere(t *testing.T, config Config) *Store {
	t.Helper()
	if config.Path == "" {
		config.Path = filepath.Join(t.TempDir(), "store.db")
	}
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// inWriter runs do in the writer's goroutine.
func inWriter(t *testing.T, s *Store, do func(w *writer) error) {
	t.Helper()
	if err := s.write(t.Context(), do); err != nil {
		t.Fatalf("in the writer: %v", err)
	}
}

// hold keeps the writer busy until the test calls release. Writes
// in between wait, and go into one group.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	held, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.write(context.Background(), func(*writer) error {
			close(held)
			<-end
			return nil
		})
	}()
	<-held
	return sync.OnceFunc(func() {
		close(end)
		if err := <-done; err != nil {
			t.Errorf("holding the writer: %v", err)
		}
	})
}

// waiting waits until n requests wait for the writer.
func waiting(t *testing.T, s *Store, n int) {
	t.Helper()
	for {
		s.writer.queue.mu.Lock()
		have := len(s.writer.queue.waiting)
		s.writer.queue.mu.Unlock()
		if have == n {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("%d of %d requests wait", have, n)
		}
		time.Sleep(time.Millisecond) // polls a condition
	}
}

func runKey(n int) store.Key { return store.Key{Namespace: "test", Kind: "run", ID: fmt.Sprint(n)} }

func createBatch(n, size int) store.Batch {
	return store.Batch{
		Puts:   []store.Put{{Key: runKey(n), Data: make([]byte, size)}},
		Events: []store.Event{{Key: runKey(n), ID: fmt.Sprint(n), Subject: "s"}},
	}
}

// commitTogether commits batches in one group and returns their errors.
func commitTogether(t *testing.T, s *Store, batches ...store.Batch) []error {
	t.Helper()
	release := hold(t, s)
	defer release()
	errs := make([]error, len(batches))
	var wg sync.WaitGroup
	for i, batch := range batches {
		wg.Go(func() { _, errs[i] = s.Commit(context.Background(), batch) })
	}
	waiting(t, s, len(batches))
	release()
	wg.Wait()
	return errs
}

func TestDurability(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	inWriter(t, s, func(w *writer) error {
		// 2 is FULL: the log is synced with every commit.
		if n, err := w.conn.number("PRAGMA synchronous"); err != nil || n != 2 {
			t.Errorf("synchronous is %d, %v", n, err)
		}
		return nil
	})
	var mode string
	if err := s.readers.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("the journal mode is %q, %v", mode, err)
	}
	if _, err := s.readers.ExecContext(t.Context(), "DELETE FROM records"); err == nil {
		t.Error("a reading connection can write")
	}
}

// TestNeighbours tests that a refused batch does not harm its group.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	refused := createBatch(1, 10)
	refused.Puts[0].Expect = 7
	limited := createBatch(2, 10)
	limited.Counters = []store.Counter{
		{Owner: runKey(2), Name: "n", Delta: 1, Limit: 5},
		{Owner: runKey(2), Name: "n", Delta: 5, Limit: 5},
	}
	counted := store.Batch{Counters: []store.Counter{{Owner: runKey(2), Name: "n", Delta: 1, Limit: 5}}}
	errs := commitTogether(t, s, createBatch(0, 10), refused, limited, counted, createBatch(3, 10))
	for i, want := range []error{nil, store.ErrConflict, store.ErrLimit, nil, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("batch %d answered %v, not %v", i, errs[i], want)
		}
	}
	for n, want := range []error{nil, store.ErrNotFound, store.ErrNotFound, nil} {
		if _, err := s.Get(t.Context(), runKey(n)); !errors.Is(err, want) {
			t.Errorf("record %d: %v, not %v", n, err, want)
		}
	}
	if counters, err := s.Counters(t.Context(), runKey(2)); err != nil || counters["n"] != 1 {
		t.Errorf("counters are %v, %v", counters, err)
	}
}

// TestObserved tests that each transaction counts its commits and those that
// it leaves waiting.
func TestObserved(t *testing.T) {
	t.Parallel()
	var groups [][2]int
	s := openHere(t, Config{Measure: func(commits, waiting int) { groups = append(groups, [2]int{commits, waiting}) }})
	batches := make([]store.Batch, maxGroup+1)
	for i := range batches {
		batches[i] = createBatch(i, 1)
	}
	for _, err := range commitTogether(t, s, batches...) {
		if err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if want := [][2]int{{1, 0}, {maxGroup, 1}, {1, 0}}; !slices.Equal(groups, want) {
		t.Errorf("commits of each group, and how many waited: %v, want %v", groups, want)
	}
}

// TestFullDisk tests that a batch that does not fit is refused with a remedy, that its
// neighbours are not, and that all is well when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	inWriter(t, s, func(w *writer) error { return w.conn.exec("PRAGMA max_page_count = 100") })
	errs := commitTogether(t, s, createBatch(0, 100), createBatch(1, 1<<20), createBatch(2, 100))
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("what fits answered %v and %v", errs[0], errs[2])
	}
	if !errors.Is(errs[1], store.ErrUnavailable) || !strings.Contains(errs[1].Error(), "the disk is full: free some space") {
		t.Errorf("what does not fit answered %v", errs[1])
	}
	if _, err := s.Get(t.Context(), runKey(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what does not fit is there: %v", err)
	}
	inWriter(t, s, func(w *writer) error { return w.conn.exec("PRAGMA max_page_count = 100000") })
	if _, err := s.Commit(t.Context(), createBatch(1, 1<<20)); err != nil {
		t.Errorf("with room again: %v", err)
	}
	// The events of the failed attempts left no trace and no gap.
	after := map[int]int64{}
	for shard := range s.Shards() {
		after[shard] = 0
	}
	entries, err := s.Tail(t.Context(), after, 100, 0)
	if err != nil || len(entries) != 3 {
		t.Errorf("%d events, not 3, %v", len(entries), err)
	}
	for _, entry := range entries {
		if after[entry.Shard]++; entry.Seq != after[entry.Shard] {
			t.Errorf("event %d of shard %d has sequence number %d", after[entry.Shard], entry.Shard, entry.Seq)
		}
	}
}

// TestBrokenCommit tests that after a commit of unknown outcome no request is
// answered any more until the file is opened again.
func TestBrokenCommit(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	err := s.write(t.Context(), func(w *writer) (err error) {
		// In place of COMMIT, something that fails: a number that is too large.
		w.commitGroup, err = w.conn.prepare("SELECT abs(-9223372036854775807 - 1)")
		return err
	})
	if !errors.Is(err, store.ErrUncertain) {
		t.Errorf("a failed COMMIT answered %v", err)
	}
	if _, err := s.Commit(t.Context(), createBatch(1, 10)); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "start again") {
		t.Errorf("a commit after a failed one answered %v", err)
	}
	if _, err := s.Get(t.Context(), runKey(1)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a read after a failed commit answered %v", err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrBroken) {
		t.Errorf("a ping after a failed commit answered %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	again := openHere(t, Config{Path: s.path})
	if _, err := again.Commit(t.Context(), createBatch(1, 10)); err != nil {
		t.Errorf("after opening again: %v", err)
	}
}

// TestWithdrawn tests that a commit which was given up while it waited is not
// applied, and says so.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Commit(ctx, createBatch(1, 10))
		done <- err
	}()
	waiting(t, s, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUncertain) {
		t.Errorf("a commit given up while it waited answered %v", err)
	}
	release()
	inWriter(t, s, func(*writer) error { return nil })
	if _, err := s.Get(t.Context(), runKey(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it was applied: %v", err)
	}
}

// TestUncertain tests that a commit which was given up under way says that it
// may be applied.
func TestUncertain(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	s.grace = time.Microsecond
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan struct{})
	err := s.write(ctx, func(*writer) error {
		cancel()
		<-end
		return nil
	})
	if !errors.Is(err, store.ErrUncertain) || !errors.Is(err, context.Canceled) {
		t.Errorf("a commit given up under way answered %v", err)
	}
	close(end)
}

// TestCloseDrains tests that commits which wait when the store is closed are
// applied and answered.
func TestCloseDrains(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	release := hold(t, s)
	errs := make(chan error, 10)
	for n := range cap(errs) {
		go func() {
			_, err := s.Commit(context.Background(), createBatch(n, 10))
			errs <- err
		}()
	}
	waiting(t, s, cap(errs))
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	release()
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Errorf("a commit that waited answered %v", err)
		}
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	again := openHere(t, Config{Path: s.path})
	for n := range cap(errs) {
		if _, err := again.Get(t.Context(), runKey(n)); err != nil {
			t.Errorf("record %d: %v", n, err)
		}
	}
}

// TestStorageIsBounded tests that expired answers and units are cleared away.
func TestStorageIsBounded(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := openHere(t, Config{Clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	for n := range 1000 {
		_, err := s.Commit(t.Context(), store.Batch{
			Idempotency: &store.Idempotency{Owner: runKey(1), Name: fmt.Sprint(n), TTL: time.Minute},
			Counters:    []store.Counter{{Owner: runKey(1), Name: "w", Delta: 1, Limit: 5, Window: time.Minute}},
		})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		now = now.Add(12 * time.Second)
		mu.Unlock()
	}
	inWriter(t, s, func(w *writer) error {
		units, err := w.conn.number("SELECT count(*) FROM units")
		if err != nil || units > 5 {
			t.Errorf("%d units are stored with a limit of 5, %v", units, err)
		}
		answers, err := w.conn.number("SELECT count(*) FROM answers")
		if err != nil || answers > 10 {
			t.Errorf("%d answers are stored, 5 have not expired, %v", answers, err)
		}
		return nil
	})
}

// TestEviction tests that evicted records are read again.
func TestEviction(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	batch := store.Batch{
		Puts:     []store.Put{{Key: runKey(1), Expect: store.AnyVersion, Labels: map[string]string{"l": "v"}}},
		Counters: []store.Counter{{Owner: runKey(1), Name: "n", Delta: 1, Limit: store.NoLimit}},
	}
	for want := int64(1); want <= 3; want++ {
		result, err := s.Commit(t.Context(), batch)
		if err != nil || result.Versions[0] != want || result.Counters[0] != want {
			t.Errorf("commit %d answered %+v, %v", want, result, err)
		}
		inWriter(t, s, func(w *writer) error {
			w.cache.clear()
			return nil
		})
	}
	c := newCache()
	for n := range 2 * maxCached {
		c.setRecord(fmt.Sprint(n), recordState{})
		c.setCounter(fmt.Sprint(n), "n", 1)
	}
	if len(c.records) > maxCached || len(c.counters) > maxCached {
		t.Errorf("the cache holds %d records and the counters of %d owners", len(c.records), len(c.counters))
	}
}

// TestWindowsOfOneCounter tests that a longer window than before still counts
// units that a shorter one would have dropped.
func TestWindowsOfOneCounter(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := openHere(t, Config{Clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	admit := func(delta, limit int64, window time.Duration) (int64, error) {
		result, err := s.Commit(t.Context(), store.Batch{
			Counters: []store.Counter{{Owner: runKey(1), Name: "w", Delta: delta, Limit: limit, Window: window, Admitted: now}},
		})
		if err != nil {
			return 0, err
		}
		return result.Counters[0], nil
	}
	if _, err := admit(3, 3, time.Hour); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	if n, err := admit(1, 1, time.Minute); err != nil || n != 1 {
		t.Errorf("a minute later: %d, %v", n, err)
	}
	if _, err := admit(1, 4, time.Hour); !errors.Is(err, store.ErrLimit) {
		t.Errorf("5 of 4 in an hour: %v", err)
	}
	if n, err := admit(-1, 4, time.Minute); err != nil || n != 0 {
		t.Errorf("after giving back: %d, %v", n, err)
	}
	if n, err := admit(1, 4, time.Hour); err != nil || n != 4 {
		t.Errorf("4 of 4 in an hour: %d, %v", n, err)
	}
}
