package bus

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// inbox collects what a handler was given.
type inbox struct {
	mu  sync.Mutex
	ids []string
}

func (b *inbox) add(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids = append(b.ids, id)
}

func (b *inbox) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ids)
}

// has tells whether exactly these ids arrived, in this order.
func (b *inbox) has(want ...string) bool { return slices.Equal(b.all(), want) }

// subscribe runs Subscribe until the test ends or stop is called.
func subscribe(tb testing.TB, js jetstream.JetStream, cfg SubscriberConfig) (stop func()) {
	tb.Helper()
	cfg.Log = quiet()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Subscribe(ctx, js, cfg); err != nil {
			tb.Errorf("subscribe: %v", err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	tb.Cleanup(stop)
	return stop
}

// say publishes an event without a relay.
func say(tb testing.TB, js jetstream.JetStream, entity string, ids ...string) {
	tb.Helper()
	for _, id := range ids {
		subject := Subject{Namespace: "default", Entity: entity, ID: id, Type: "said"}.String()
		if _, err := js.Publish(context.Background(), subject, []byte(`{}`), jetstream.WithMsgID(id)); err != nil {
			tb.Fatal(err)
		}
	}
}

// stray publishes messages without an id under the subjects of events.
func stray(tb testing.TB, js jetstream.JetStream, ids ...string) {
	tb.Helper()
	for _, id := range ids {
		subject := Subject{Namespace: "default", Entity: "run", ID: id, Type: "said"}.String()
		if _, err := js.Publish(context.Background(), subject, []byte(`{}`)); err != nil {
			tb.Fatal(err)
		}
	}
}

func stream(tb testing.TB, r *rig) jetstream.JetStream {
	tb.Helper()
	js := r.js()
	if _, err := (Stream{}).Ensure(context.Background(), js); err != nil {
		tb.Fatal(err)
	}
	return js
}

func TestSubscribeIsDurableAndFiltered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	js := stream(t, r)
	say(t, js, "run", "r1", "r2")
	say(t, js, "other", "o1")
	var got inbox
	cfg := SubscriberConfig{
		Durable: "d", FilterSubjects: []string{Subject{Entity: "run"}.Filter(), Subject{Entity: "toolcall"}.Filter()},
		Handler: func(_ context.Context, d *Delivery) error { got.add(d.ID); return nil },
	}
	stop := subscribe(t, js, cfg)
	eventually(t, "what was there arrives", func() bool { return got.has("r1", "r2") })
	stop()
	// Until the server knows that nobody pulls any more it may give the next event to
	// who has gone, and again only after a long time.
	eventually(t, "nobody pulls", func() bool {
		c, err := js.Consumer(t.Context(), DefaultStream, "d")
		return err == nil && c.CachedInfo().NumWaiting == 0
	})
	say(t, js, "toolcall", "t1")
	say(t, js, "run", "r3")
	stop = subscribe(t, js, cfg)
	eventually(t, "it continues where it was", func() bool { return got.has("r1", "r2", "t1", "r3") })
	stop()
	cfg.Durable, cfg.FromNew = "e", true
	cfg.Handler = func(_ context.Context, d *Delivery) error { got.add("new " + d.ID); return nil }
	stop = subscribe(t, js, cfg)
	defer stop()
	eventually(t, "the consumer exists", func() bool {
		_, err := js.Consumer(t.Context(), DefaultStream, "e")
		return err == nil
	})
	say(t, js, "run", "r4")
	eventually(t, "only the new arrives", func() bool { return got.has("r1", "r2", "t1", "r3", "new r4") })
}

func TestSubscribeTriesAgainAndGivesUp(t *testing.T) {
	t.Parallel()
	for _, inOrder := range []bool{false, true} {
		t.Run(strconv.FormatBool(inOrder), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			js := stream(t, r)
			var got, poison inbox
			cfg := SubscriberConfig{
				Durable: "d", Tries: 3, Backoff: []time.Duration{time.Millisecond},
				Handler: func(_ context.Context, d *Delivery) error {
					got.add(d.ID + " " + strconv.Itoa(d.Try))
					switch {
					case d.ID == "bad":
						return errors.New("always")
					case d.ID == "panics" && d.Try < 3:
						panic("test")
					}
					return nil
				},
				Poison: func(d *Delivery, _ error) { poison.add(d.ID) },
			}
			if inOrder {
				cfg.MaxInFlight = 1
			}
			subscribe(t, js, cfg)
			say(t, js, "run", "bad", "panics", "good")
			want := []string{"bad 1", "bad 2", "bad 3", "panics 1", "panics 2", "panics 3", "good 1"}
			eventually(t, "all tries are done", func() bool { return len(got.all()) == len(want) })
			have := got.all()
			if !inOrder {
				slices.Sort(have)
				slices.Sort(want)
			}
			if !slices.Equal(have, want) || !poison.has("bad") {
				t.Errorf("tries %v, given up %v", have, poison.all())
			}
			consumer, err := js.Consumer(t.Context(), DefaultStream, "d")
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "nothing is left to deliver", func() bool {
				info, err := consumer.Info(t.Context())
				return err == nil && info.NumAckPending == 0 && info.NumPending == 0
			})
		})
	}
}

func TestSubscribeSkipsWhatItHandled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	js := stream(t, r)
	var got inbox
	subscribe(t, js, SubscriberConfig{
		Durable: "d",
		Handler: func(_ context.Context, d *Delivery) error { got.add(d.ID); return nil },
	})
	for _, id := range []string{"a", "b", "a", "a", "b", "c"} {
		// Without the Nats-Msg-Id of JetStream's own dedupe the stream has all.
		msg := Subject{Namespace: "default", Entity: "run", ID: id, Type: "said"}.String()
		say(t, js, "run", id)
		if _, err := js.Publish(t.Context(), msg, nil, jetstream.WithMsgID(id)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all arrived", func() bool { return len(got.all()) >= 3 })
	if !got.has("a", "b", "c") {
		t.Errorf("got %v", got.all())
	}
	m := newMemory(2)
	for _, id := range []string{"a", "b", "c"} {
		m.add(id)
	}
	if m.has("a") || !m.has("b") || !m.has("c") || m.has("") || len(m.ids) != 2 {
		t.Errorf("memory %v", m.ids)
	}
}

// What has no id is not an event: it is not handled, and not delivered again.
func TestSubscribeLeavesOutWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	js := stream(t, newRig(t))
	stray(t, js, "a")
	say(t, js, "run", "a")
	stray(t, js, "a", "b")
	say(t, js, "run", "b")
	var got inbox
	subscribe(t, js, SubscriberConfig{
		Durable: "d", MaxInFlight: 1, // what is not acknowledged would hold up the rest
		Handler: func(_ context.Context, d *Delivery) error { got.add(d.ID); return nil },
	})
	eventually(t, "all is acknowledged", func() bool {
		consumer, err := js.Consumer(t.Context(), DefaultStream, "d")
		return err == nil && consumer.CachedInfo().AckFloor.Stream == 5
	})
	if !got.has("a", "b") {
		t.Errorf("handled %q", got.all())
	}
}

// The consumer is deleted, the server restarts, the stream is created again.
func TestSubscribeSurvives(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	js := stream(t, r)
	var got inbox
	subscribe(t, js, SubscriberConfig{
		Durable: "d",
		Handler: func(_ context.Context, d *Delivery) error { got.add(d.ID); return nil },
	})
	say(t, js, "run", "1")
	eventually(t, "the first arrives", func() bool { return got.has("1") })
	if err := js.DeleteConsumer(t.Context(), DefaultStream, "d"); err != nil {
		t.Fatal(err)
	}
	say(t, js, "run", "2")
	eventually(t, "it continues without its consumer", func() bool { return got.has("1", "2") })
	r.nats.Stop()
	r.nats.Start()
	eventually(t, "nats is back", func() bool { return stored(js) == 2 })
	say(t, js, "run", "3")
	eventually(t, "it continues after a restart", func() bool { return got.has("1", "2", "3") })
	if err := js.DeleteStream(t.Context(), DefaultStream); err != nil {
		t.Fatal(err)
	}
	stream(t, r)
	say(t, js, "run", "3", "4")
	eventually(t, "it continues with another stream", func() bool { return got.has("1", "2", "3", "4") })
}

func TestSubscribeRefusesBadConfig(t *testing.T) {
	t.Parallel()
	handler := func(context.Context, *Delivery) error { return nil }
	for name, cfg := range map[string]SubscriberConfig{
		"no name":    {Handler: handler},
		"no handler": {Durable: "d"},
		"negative":   {Durable: "d", Handler: handler, Tries: -1},
	} {
		if err := Subscribe(t.Context(), nil, cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A relay and a subscriber together: what is committed is handled once, whatever
// happens to NATS in between.
func TestCommitToHandler(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), openStore(t)
	src := newSource(t, st)
	_, _ = run(t, st, r.config("a"))
	var handled atomic.Int64
	var got sync.Map
	subscribe(t, r.js(), SubscriberConfig{
		Durable: "d", Remember: 100_000,
		Handler: func(_ context.Context, d *Delivery) error {
			if _, twice := got.LoadOrStore(d.ID, true); twice {
				t.Errorf("%s was handled twice", d.ID)
			}
			handled.Add(1)
			return nil
		},
	})
	stop := src.load(10)
	eventually(t, "events are handled", func() bool { return handled.Load() > 100 })
	r.nats.Stop()
	r.nats.Start()
	n := handled.Load()
	eventually(t, "events are handled again", func() bool { return handled.Load() > n+100 })
	stop()
	eventually(t, "every event is handled", func() bool { return int(handled.Load()) == src.count() })
}
