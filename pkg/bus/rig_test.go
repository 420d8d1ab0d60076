package bus

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus/natstest"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for an expected event.
const patience = 60 * time.Second

func quiet() *slog.Logger {
	if os.Getenv("BUS_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// eventually waits until a condition holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			tb.Fatalf("still not so: %s", what)
		}
		time.Sleep(2 * time.Millisecond) // between looks
	}
}

// source commits events of many runs and remembers them.
type source struct {
	tb testing.TB
	st store.Store

	mu       sync.Mutex
	versions map[string]int64
	ids      map[string]struct{}
}

func newSource(tb testing.TB, st store.Store) *source {
	return &source{tb: tb, st: st, versions: map[string]int64{}, ids: map[string]struct{}{}}
}

func (s *source) event(run string) store.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[run]++
	ev := sample()
	ev.EntityId, ev.Version, ev.Time = run, s.versions[run], timestamppb.Now()
	if ev.Version%2 == 0 { // the order holds across all events of one id
		ev.Entity, ev.Type = "toolcall", "allowed"
		ev.Payload = &eventv1.Event_ToolcallDecided{ToolcallDecided: &eventv1.ToolCallDecided{CallId: "call_" + strconv.FormatInt(ev.Version, 10)}}
	}
	out, err := Encode(ev)
	if err != nil {
		s.tb.Error(err)
	}
	s.ids[out.ID] = struct{}{}
	return out
}

// commit commits n events, spread over the given number of runs.
func (s *source) commit(n, runs int) {
	s.tb.Helper()
	for i := range n {
		ev := s.event("run_" + strconv.Itoa(i%runs))
		if _, err := s.st.Commit(context.Background(), store.Batch{Events: []store.Event{ev}}); err != nil {
			s.tb.Errorf("commit: %v", err)
			return
		}
	}
}

// load commits events until the stop that it returns is called.
func (s *source) load(runs int) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				s.commit(runs, runs)
				time.Sleep(time.Millisecond) // a load, not a flood
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

// openStore opens an embedded store of 8 shards.
func openStore(tb testing.TB) store.Store {
	tb.Helper()
	st, err := sqlitestore.Open(context.Background(), sqlitestore.Config{Path: filepath.Join(tb.TempDir(), "store.db")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := st.Close(); err != nil {
			tb.Errorf("close store: %v", err)
		}
	})
	return st
}

// rig is a NATS server with connections for the test itself.
type rig struct {
	tb   testing.TB
	nats *natstest.Server
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	return &rig{tb: tb, nats: natstest.Start(tb)}
}

// js opens a connection of the test's own.
func (r *rig) js() jetstream.JetStream {
	r.tb.Helper()
	nc, err := (Endpoint{URL: r.nats.URL()}).Connect(r.tb.Name())
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		r.tb.Fatal(err)
	}
	return js
}

// config of a relay that is quick to notice, and never trims.
func (r *rig) config(holder string) Config {
	return Config{
		NATS: Endpoint{URL: r.nats.URL()}, Holder: holder, LeaseTTL: 2 * time.Second, Grace: time.Hour,
		AckTimeout: 5 * time.Second, Log: quiet(),
	}
}

// run starts a relay and returns it with a function that stops it.
func run(tb testing.TB, st store.Store, cfg Config) (relay *Relay, stop func()) {
	tb.Helper()
	relay, err := NewRelay(st, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := relay.Run(ctx); err != nil {
			tb.Errorf("relay: %v", err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	tb.Cleanup(stop)
	return relay, stop
}

// messages reads the whole stream.
func (r *rig) messages() []Message {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	js := r.js()
	defer js.Conn().Close()
	stream, err := js.Stream(ctx, DefaultStream)
	if err != nil {
		r.tb.Fatal(err)
	}
	n := stream.CachedInfo().State.Msgs
	w, err := Watch(ctx, js, WatchConfig{From: 1, Log: quiet()})
	if err != nil {
		r.tb.Fatal(err)
	}
	defer w.Stop()
	out := make([]Message, 0, n)
	for range n {
		m, err := w.Next(ctx)
		if err != nil {
			r.tb.Fatalf("after %d of %d messages: %v", len(out), n, err)
		}
		out = append(out, m)
	}
	return out
}

// stored is how many messages the stream has; 0 while it can't be asked.
func stored(js jetstream.JetStream) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, DefaultStream)
	if err != nil {
		return 0
	}
	return int(stream.CachedInfo().State.Msgs)
}

// awaitAll waits until the stream has as many messages as were committed, and
// then looks at every one: each event once, in order per run.
func (r *rig) awaitAll(s *source) {
	r.tb.Helper()
	js := r.js()
	eventually(r.tb, "the stream has every event", func() bool { return stored(js) >= s.count() })
	r.checkAll(s)
}

func (r *rig) checkAll(s *source) {
	r.tb.Helper()
	messages := r.messages()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[string]struct{}, len(messages))
	last := map[string]int64{}
	for _, m := range messages {
		id, _, _ := strings.Cut(m.ID, "@") // the rest is the era of the store
		if _, twice := seen[id]; twice {
			r.tb.Errorf("event %s is in the stream twice", m.ID)
		}
		seen[id] = struct{}{}
		ev, err := Decode(m.Payload)
		if err != nil {
			r.tb.Fatal(err)
		}
		if ev.Version != last[ev.EntityId]+1 {
			r.tb.Errorf("event %s (stream %d) came after version %d", m.ID, m.Seq, last[ev.EntityId])
		}
		last[ev.EntityId] = ev.Version
	}
	for id := range s.ids {
		if _, ok := seen[id]; !ok {
			r.tb.Errorf("event %s is missing", id)
		}
	}
	if len(seen) != len(s.ids) {
		r.tb.Errorf("%d events in the stream, %d committed", len(seen), len(s.ids))
	}
}
