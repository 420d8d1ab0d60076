package bus

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// see returns the ids of the next n events.
func see(tb testing.TB, w *Watcher, n int) []string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var ids []string
	for range n {
		m, err := w.Next(ctx)
		if err != nil {
			tb.Fatalf("after %v: %v", ids, err)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

func watch(tb testing.TB, js jetstream.JetStream, cfg WatchConfig) *Watcher {
	tb.Helper()
	cfg.Log = quiet()
	w, err := Watch(context.Background(), js, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.Stop)
	return w
}

func TestWatchFrom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	js := stream(t, r)
	for i := range 40 {
		say(t, js, "run", "r"+strconv.Itoa(i))
		if i%10 == 9 {
			say(t, js, "rare", "x"+strconv.Itoa(i))
		}
	}
	rare := []string{Subject{Entity: "rare"}.Filter()}
	watchers := map[string]struct {
		cfg  WatchConfig
		want []string
	}{
		"new":                      {WatchConfig{}, []string{"r40", "x40"}},
		"new, filtered":            {WatchConfig{Subjects: rare}, []string{"x40"}},
		"a sequence":               {WatchConfig{From: 43}, []string{"r39", "x39", "r40", "x40"}},
		"a sequence, filtered":     {WatchConfig{From: 30, Subjects: rare}, []string{"x29", "x39", "x40"}},
		"the last":                 {WatchConfig{Last: 3}, []string{"r38", "r39", "x39", "r40", "x40"}},
		"the last, filtered":       {WatchConfig{Last: 2, Subjects: rare}, []string{"x29", "x39", "x40"}},
		"more than there are":      {WatchConfig{Last: 9, Subjects: rare}, []string{"x9", "x19", "x29", "x39", "x40"}},
		"nothing that is there":    {WatchConfig{Last: 5, Subjects: []string{"interlock.default.none.*.*", "interlock.default.rare.x40.*"}}, []string{"x40"}},
		"a sequence that is to be": {WatchConfig{From: 46}, []string{"x40"}},
	}
	open := map[string]*Watcher{}
	for name, c := range watchers {
		open[name] = watch(t, js, c.cfg)
	}
	say(t, js, "run", "r40")
	say(t, js, "rare", "x40")
	for name, c := range watchers {
		if got := see(t, open[name], len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open["new"].Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// No message stays behind in NATS.
	for _, w := range open {
		w.Stop()
	}
	s, err := js.Stream(t.Context(), DefaultStream)
	if err != nil || s.CachedInfo().State.Consumers != 0 {
		t.Errorf("consumers left: %d, %v", s.CachedInfo().State.Consumers, err)
	}
}

func TestWatchEmptyAndMissingStream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	js := r.js()
	if _, err := Watch(t.Context(), js, WatchConfig{}); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("error %v", err)
	}
	js = stream(t, r)
	w := watch(t, js, WatchConfig{Last: 5})
	say(t, js, "run", "a")
	if got := see(t, w, 1); got[0] != "a" {
		t.Errorf("got %v", got)
	}
}

// A message without an id is not an event: others may get messages into the stream.
func TestWatchLeavesOutWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	js := stream(t, newRig(t))
	all, live := watch(t, js, WatchConfig{From: 1}), watch(t, js, WatchConfig{})
	stray(t, js, "a")
	say(t, js, "run", "a")
	stray(t, js, "a", "b")
	say(t, js, "run", "b")
	want := []string{"a", "b"}
	for name, w := range map[string]*Watcher{"all": all, "live": live, "the last": watch(t, js, WatchConfig{Last: 5})} {
		if got := see(t, w, len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Restarts, and a stream that comes back shorter: the watch continues.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	js := stream(t, r)
	w := watch(t, js, WatchConfig{})
	say(t, js, "run", "a", "b")
	got := see(t, w, 2)
	older := filepath.Join(t.TempDir(), "older")
	r.nats.Stop()
	copyTree(t, r.nats.Dir, older)
	r.nats.Start()
	eventually(t, "nats is back", func() bool { return stored(js) == 2 })
	say(t, js, "run", "c", "d", "e")
	got = append(got, see(t, w, 3)...)
	r.nats.Stop()
	copyTree(t, older, r.nats.Dir)
	r.nats.Start()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// The watcher notices while it waits.
	next := make(chan Message, 1)
	go func() {
		m, err := w.Next(ctx)
		if err != nil {
			t.Error(err)
		}
		next <- m
	}()
	eventually(t, "the watch is back", func() bool {
		// A server that just starts may never answer.
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		s, err := js.Stream(ctx, DefaultStream)
		return err == nil && s.CachedInfo().State.Consumers > 0
	})
	say(t, js, "run", "f")
	got = append(got, (<-next).ID)
	if !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f"}) {
		t.Errorf("saw %v", got)
	}
}
