package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// proxied returns a store whose connections go through a proxy that can cut
// them.
func proxied(t *testing.T, server *redistest.Server) (*redisstore.Store, *toxiproxy.Proxy) {
	t.Helper()
	metrics := toxiproxy.NewMetricsContainer(prometheus.NewRegistry())
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(metrics, zerolog.Nop()), "redis", "127.0.0.1:0", server.Addr())
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	return open(t, redisstore.Config{URL: "redis://" + proxy.Listen}), proxy
}

func key(id string) store.Key { return store.Key{Namespace: "test", Kind: "run", ID: id} }

// idempotent is a batch that counts how often it was applied.
func idempotent(id string) store.Batch {
	return store.Batch{
		Idempotency: &store.Idempotency{Owner: key(id), Name: "request", Digest: "digest", Answer: []byte("answer"), TTL: time.Hour},
		Puts:        []store.Put{{Key: key(id), Expect: store.AnyVersion, Data: []byte("data")}},
		Counters:    []store.Counter{{Owner: key(id), Name: "applied", Delta: 1, Limit: store.NoLimit}},
		Events:      []store.Event{{Key: key(id), ID: id, Subject: "s"}},
	}
}

// The answer is lost after the request was sent: it is unknown whether it was
// applied, and a repeat with the same idempotency key gets the first answer.
func TestLostAnswerIsUncertain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t) // its own, for it is paused
	s, proxy := proxied(t, server)
	direct := open(t, redisstore.Config{URL: server.URL(), Prefix: "direct"})
	if _, err := s.Commit(t.Context(), idempotent("warm")); err != nil {
		t.Fatal(err)
	}
	// Data from the server is dropped, and data to it arrives.
	addToxic(t, proxy, `{"name": "deaf", "type": "timeout", "stream": "downstream", "attributes": {"timeout": 0}}`)
	lost := make(chan error, 1)
	go func() {
		_, err := s.Commit(context.Background(), idempotent("a"))
		lost <- err
	}()
	applied := server.Client(t)
	waitFor(t, func() bool {
		// The request has arrived when its script has run.
		found, _, err := applied.Scan(t.Context(), 0, "*:r:test/run/a", 1000).Result()
		return err == nil && len(found) == 1
	})
	proxy.Stop()
	if err := <-lost; !errors.Is(err, store.ErrUncertain) {
		t.Fatalf("a lost answer is %v, not %v", err, store.ErrUncertain)
	}
	// Now no server listens.
	if _, err := s.Commit(t.Context(), idempotent("b")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a refused connection is %v, not %v", err, store.ErrUnavailable)
	}
	proxy.Toxics.ResetToxics(t.Context())
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	result, err := s.Commit(t.Context(), idempotent("a"))
	if err != nil || !result.Replayed || string(result.Answer) != "answer" {
		t.Errorf("the repeat answered %+v, %v", result, err)
	}
	counters, err := s.Counters(t.Context(), key("a"))
	if err != nil || counters["applied"] != 1 {
		t.Errorf("the batch was applied %d times, %v", counters["applied"], err)
	}
	if record, err := s.Get(t.Context(), key("b")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a commit that was unavailable is there: %v, %v", record, err)
	}
	if err := direct.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func addToxic(t *testing.T, proxy *toxiproxy.Proxy, toxic string) {
	t.Helper()
	if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		t.Fatal(err)
	}
}

// waitFor returns when the condition holds.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(time.Minute); !condition(); <-poll.C {
		if time.Now().After(end) {
			t.Fatal("the condition does not come true")
		}
	}
}

// A caller's deadline: a sent request is uncertain, a waiting one
// is not sent any more.
func TestDeadlineWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, redisstore.Config{URL: server.URL(), Flights: 1})
	if _, err := s.Commit(t.Context(), idempotent("warm")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Flying() == 0 })
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	const commits = 20
	errs := make(chan error, commits)
	for i := range commits {
		go func() {
			_, err := s.Commit(ctx, idempotent(fmt.Sprint(i)))
			errs <- err
		}()
		if i == 0 { // it flies alone, and the others wait behind it
			waitFor(t, func() bool { return s.Flying() == 1 && s.Waiting() == 0 })
		}
	}
	waitFor(t, func() bool { return s.Waiting() == commits-1 })
	cancel()
	uncertain, unsent := 0, 0
	for range commits {
		switch err := <-errs; {
		case errors.Is(err, store.ErrUncertain):
			uncertain++
		case errors.Is(err, context.Canceled):
			unsent++
		default:
			t.Errorf("commit answered %v", err)
		}
	}
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	if uncertain != 1 || unsent != commits-1 {
		t.Errorf("%d commits are uncertain and %d were not sent", uncertain, unsent)
	}
	// A commit after them is sent after them.
	if _, err := s.Commit(t.Context(), idempotent("after")); err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range commits {
		if _, err := s.Get(t.Context(), key(fmt.Sprint(i))); err == nil {
			found++
		}
	}
	if found != uncertain {
		t.Errorf("%d commits are there, of %d that were sent", found, uncertain)
	}
}

// Each flight counts its commits and those that it leaves waiting.
func TestFlightsAreObserved(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var mu sync.Mutex
	var flights [][2]int
	s := open(t, redisstore.Config{URL: server.URL(), Flights: 1, Measure: func(commits, waiting int) {
		mu.Lock()
		defer mu.Unlock()
		flights = append(flights, [2]int{commits, waiting})
	}})
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 130 {
		all.Go(func() {
			if _, err := s.Commit(t.Context(), idempotent(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
		if i == 0 {
			waitFor(t, func() bool { return s.Flying() == 1 && s.Waiting() == 0 })
		}
	}
	waitFor(t, func() bool { return s.Waiting() == 129 })
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if want := [][2]int{{1, 0}, {128, 1}, {1, 0}}; !slices.Equal(flights, want) {
		t.Errorf("commits of each flight, and how many waited: %v, want %v", flights, want)
	}
}

func TestScriptsComeBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	s := open(t, redisstore.Config{URL: server.URL()})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 20 {
				if worker == 0 {
					if err := client.ScriptFlush(t.Context()).Err(); err != nil {
						t.Error(err)
					}
				}
				id := fmt.Sprintf("%d.%d", worker, i)
				if _, err := s.Commit(t.Context(), idempotent(id)); err != nil {
					t.Errorf("commit: %v", err)
				}
				if answer, err := s.Answer(t.Context(), key(id), "request"); err != nil || string(answer) != "answer" {
					t.Errorf("answer %q, %v", answer, err)
				}
				if _, err := s.AcquireLease(t.Context(), key(id), "me", time.Hour); err != nil {
					t.Errorf("lease: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// A server that refuses writes is unchanged.
func TestRefusedWritesAreUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	s := open(t, redisstore.Config{URL: server.URL()})
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), idempotent("full")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a full server: %v", err)
	}
	if err := client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.ReplicaOf(t.Context(), "127.0.0.1", unusedPort(t)).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), idempotent("replica")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a replica: %v", err)
	}
	if _, err := s.AcquireLease(t.Context(), key("replica"), "me", time.Hour); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a lease from a replica: %v", err)
	}
	if err := client.ReplicaOf(t.Context(), "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"full", "replica"} {
		if result, err := s.Commit(t.Context(), idempotent(id)); err != nil || result.Replayed {
			t.Errorf("%s: the commit answered %+v, %v afterwards", id, result, err)
		}
	}
}

func unusedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// A key of another type must not be overwritten: the batch is refused whole,
// and its neighbours are not.
func TestForeignKeysAreRefused(t *testing.T) {
	t.Parallel()
	client := redistest.Shared(t).Client(t)
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t)}
	s := open(t, config)
	shard := key("a").Shard(s.Shards())
	foreign := fmt.Sprintf("%s:{%d}:r:test/run/a", config.Prefix, shard)
	if err := client.LPush(t.Context(), foreign, "mine").Err(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			id := "a"
			if i > 0 {
				id = fmt.Sprintf("neighbour %d", i)
			}
			_, err := s.Commit(t.Context(), idempotent(id))
			if i == 0 && !errors.Is(err, store.ErrUnavailable) || i > 0 && err != nil {
				t.Errorf("commit %s answered %v", id, err)
			}
		})
	}
	wg.Wait()
	if counters, err := s.Counters(t.Context(), key("a")); err != nil || len(counters) != 0 {
		t.Errorf("a refused batch left %v, %v", counters, err)
	}
}
