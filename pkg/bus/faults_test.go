package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/interlock-run/interlock/pkg/store"
)

func TestNATSStoppedUnderLoad(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), openStore(t)
	src := newSource(t, st)
	_, _ = run(t, st, r.config("a"))
	stop := src.load(20)
	js := r.js()
	for range 3 {
		before := stored(js)
		eventually(t, "events flow", func() bool { return stored(js) > before+100 })
		r.nats.Stop()
		n := src.count()
		eventually(t, "events are committed in the meantime", func() bool { return src.count() > n+200 })
		r.nats.Start()
	}
	stop()
	r.awaitAll(src)
}

// copyTree copies a folder.
func copyTree(tb testing.TB, from, to string) {
	tb.Helper()
	if err := os.RemoveAll(to); err != nil {
		tb.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		tb.Fatal(err)
	}
}

// NATS comes back with an older copy of its folder: the end of the stream, which
// it had acknowledged, is gone.
func TestNATSBackWithoutItsTail(t *testing.T) {
	t.Parallel()
	for _, relays := range []int{1, 2} {
		t.Run(strconv.Itoa(relays)+" relays", func(t *testing.T) {
			t.Parallel()
			r, st := newRig(t), openStore(t)
			src := newSource(t, st)
			all := make([]*Relay, relays)
			for i := range all {
				cfg := r.config("relay-" + strconv.Itoa(i))
				cfg.Keep = time.Duration(relays-1) * time.Hour
				all[i], _ = run(t, st, cfg)
			}
			eventually(t, "every relay has its share", func() bool {
				for _, relay := range all {
					if testutil.ToFloat64(relay.m.leases) != float64(8/relays) {
						return false
					}
				}
				return true
			})
			js := r.js()
			src.commit(300, 20)
			eventually(t, "the first part is there", func() bool { return stored(js) == 300 })
			older := filepath.Join(t.TempDir(), "older")
			r.nats.Stop()
			copyTree(t, r.nats.Dir, older)
			r.nats.Start()

			stop := src.load(20)
			eventually(t, "the tail is acknowledged", func() bool { return stored(js) > 1000 })
			r.nats.Stop()
			copyTree(t, older, r.nats.Dir)
			r.nats.Start()
			eventually(t, "the tail is back", func() bool { return stored(js) > 1100 })
			stop()
			r.awaitAll(src)
			var rewinds float64
			for _, relay := range all {
				rewinds += testutil.ToFloat64(relay.m.rewinds)
			}
			if rewinds < 1 {
				t.Error("no relay noticed the loss")
			}
		})
	}
}

// even reports whether there are that many holders, with equal shares.
func even(st *memStore, holders, shards int) bool {
	have := st.holders()
	if len(have) != holders {
		return false
	}
	for _, n := range have {
		if n != shards/holders {
			return false
		}
	}
	return true
}

// A relay that dies between publish and trim, and without giving up its leases.
func TestAnotherRelayTakesOverWhenOneDies(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(8)
	src := newSource(t, st)
	cfg := r.config("dies")
	cfg.LeaseTTL = 300 * time.Millisecond
	stop := src.load(20)
	_, kill := run(t, st, cfg)
	js := r.js()
	eventually(t, "events flow", func() bool { return stored(js) > 200 })
	// Dead processes do not renew, release or delete.
	st.setFail(func(_, holder string) error {
		if holder == "dies" {
			return store.ErrUnavailable
		}
		return nil
	})
	st.dead.Store(true)
	kill()
	st.dead.Store(false)
	cfg.Holder = "heir"
	_, _ = run(t, st, cfg)
	eventually(t, "the heir has all", func() bool { return st.holders()["heir"] == 8 })
	stop()
	r.awaitAll(src)
}

func TestRelayResumesUnderItsOwnName(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(4)
	src := newSource(t, st)
	cfg := r.config("same")
	cfg.LeaseTTL = time.Hour // too long to lapse in a test
	st.setFail(func(call, _ string) error {
		if call == "release" {
			return store.ErrUnavailable
		}
		return nil
	})
	for range 5 {
		relay, kill := run(t, st, cfg)
		src.commit(200, 9)
		eventually(t, "something is relayed", func() bool { return testutil.ToFloat64(relay.m.relayed) > 0 })
		kill()
	}
	_, _ = run(t, st, cfg)
	r.awaitAll(src)
}

func TestTwoRelaysShareTheShards(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(16)
	src := newSource(t, st)
	stop := src.load(40)
	cfg := r.config("one")
	cfg.LeaseTTL = 500 * time.Millisecond
	_, _ = run(t, st, cfg)
	eventually(t, "the first has all", func() bool { return st.holders()["one"] == 16 })
	cfg.Holder = "two"
	_, leave := run(t, st, cfg)
	eventually(t, "both have a half", func() bool { return even(st, 2, 16) })
	js := r.js()
	before := stored(js)
	eventually(t, "events flow", func() bool { return stored(js) > before+500 })
	leave()
	if n := st.holders()["two"]; n != 0 {
		t.Errorf("%d leases left behind", n)
	}
	eventually(t, "the first has all again", func() bool { return st.holders()["one"] == 16 })
	stop()
	r.awaitAll(src)
}

// The stream refuses in the middle of a window, and later accepts again.
func TestRefusedPublishesKeepTheOrder(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(4)
	src := newSource(t, st)
	js := r.js()
	relay, _ := run(t, st, r.config("a"))
	// The relay has the settings that it wants and won't change them again.
	eventually(t, "the relay is connected", func() bool { return testutil.ToFloat64(relay.m.connected) == 1 })
	stream, err := js.Stream(t.Context(), DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgs, cfg.Discard = 150, jetstream.DiscardNew
	for range 3 {
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		failures := testutil.ToFloat64(relay.m.failures)
		src.commit(600, 13)
		eventually(t, "a publish was refused", func() bool { return testutil.ToFloat64(relay.m.failures) > failures })
		cfg.MaxMsgs += 500
	}
	cfg.MaxMsgs = -1
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	r.awaitAll(src)
}

// An event that NATS can't take holds up only its own entity.
func TestOversizedEventHoldsUpOnlyItsEntity(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"server", "stream"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			r, st := newRig(t), newMemStore(2)
			js := r.js()
			size := 3 << 20
			if where == "stream" {
				stream, err := (Stream{}).Ensure(t.Context(), js)
				if err != nil {
					t.Fatal(err)
				}
				cfg := stream.CachedInfo().Config
				cfg.MaxMsgSize = 64 << 10
				if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
				size = 100 << 10
			}
			src := newSource(t, st)
			relay, _ := run(t, st, r.config("a"))
			big := newSource(t, st)
			ev := big.event("big")
			ev.Payload = make([]byte, size)
			for _, e := range []store.Event{ev, big.event("big")} {
				if _, err := st.Commit(t.Context(), store.Batch{Events: []store.Event{e}}); err != nil {
					t.Fatal(err)
				}
			}
			src.commit(500, 10)
			r.awaitAll(src)
			eventually(t, "the refusal is counted", func() bool { return testutil.ToFloat64(relay.m.refused) == 1 })
		})
	}
}

// After a stop longer than the duplicate window JetStream no longer recognises
// its messages; the relay does.
func TestNothingTwiceAfterTheDuplicateWindow(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(4)
	src := newSource(t, st)
	cfg := r.config("a")
	cfg.Grace = 50 * time.Millisecond
	cfg.Stream.Duplicates = 100 * time.Millisecond
	var hold atomic.Bool
	hold.Store(true)
	st.setFail(func(call, _ string) error {
		if call == "trim" && hold.Load() {
			return store.ErrUnavailable
		}
		return nil
	})
	_, stop := run(t, st, cfg)
	src.commit(300, 10)
	r.awaitAll(src)
	stop()
	awaitWindow(t, r.js())
	src.commit(100, 10) // committed without a relay
	relay, _ := run(t, st, cfg)
	eventually(t, "what the stream has is recognised", func() bool { return testutil.ToFloat64(relay.m.duplicates) == 300 })
	hold.Store(false)
	eventually(t, "the outbox is empty", func() bool { return st.retained() == 0 })
	r.checkAll(src)
}

// awaitWindow waits until JetStream has forgotten an id that it got just now, and
// removes the traces.
func awaitWindow(tb testing.TB, js jetstream.JetStream) {
	tb.Helper()
	ctx := context.Background()
	const subject = "interlock.test.probe"
	eventually(tb, "an id is forgotten", func() bool {
		for range 2 {
			ack, err := js.Publish(ctx, subject, nil, jetstream.WithMsgID("probe"))
			if err != nil {
				tb.Fatal(err)
			}
			if !ack.Duplicate && ack.Sequence > 301 {
				return true
			}
		}
		return false
	})
	stream, err := js.Stream(ctx, DefaultStream)
	if err != nil {
		tb.Fatal(err)
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
		tb.Fatal(err)
	}
}

func TestRelaySurvivesTheStore(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(4)
	src := newSource(t, st)
	cfg := r.config("a")
	cfg.LeaseTTL = 200 * time.Millisecond
	relay, _ := run(t, st, cfg)
	eventually(t, "it has all", func() bool { return st.holders()["a"] == 4 })
	src.commit(100, 5)
	for _, broken := range []string{"tail", "renew", "acquire", "list"} {
		var calls atomic.Int32
		st.setFail(func(call, _ string) error {
			if call == broken || broken == "acquire" && call == "renew" {
				if call == broken {
					calls.Add(1)
				}
				return fmt.Errorf("test: %w", store.ErrUnavailable)
			}
			return nil
		})
		st.kick()
		eventually(t, broken+" failed a few times", func() bool { return calls.Load() > 4 })
		st.setFail(nil)
		src.commit(100, 5)
		r.awaitAll(src)
	}
	// Without leases no event is relayed.
	st.setFail(func(call, _ string) error {
		if call == "renew" || call == "acquire" {
			return errors.New("test: no leases")
		}
		return nil
	})
	eventually(t, "the leases are dropped", func() bool { return testutil.ToFloat64(relay.m.leases) == 0 })
}

func TestStreamDeletedUnderTheRelay(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(4)
	src := newSource(t, st)
	_, _ = run(t, st, r.config("a"))
	src.commit(200, 10)
	r.awaitAll(src)
	if err := r.js().DeleteStream(t.Context(), DefaultStream); err != nil {
		t.Fatal(err)
	}
	src.commit(200, 10)
	r.awaitAll(src)
}

// A falling sequence shows that the stream lost its end behind the relay's
// back, on a connection that never broke.
func TestFallingSequenceIsALoss(t *testing.T) {
	t.Parallel()
	relay, err := NewRelay(newMemStore(1), Config{Holder: "a", Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	sh := &shard{lanes: map[string]*queue{}, until: time.Now().Add(time.Hour)}
	s := &session{failed: make(chan error, 1), flights: map[string]*entry{}}
	relay.session, relay.shards[0] = s, sh
	fly := func(token string, seq int64) {
		e := &entry{OutboxEntry: store.OutboxEntry{Seq: seq, ID: token, Subject: "interlock.a.b." + token + ".c"}, shard: sh, highest: relay.high.seq}
		sh.note(e)
		q := sh.add(e)
		q.waiting, q.flying = nil, true
		relay.buffered++
		s.flights[token] = e
	}
	fly("one", 1)
	relay.acknowledged(s, "one", pubAck{seq: 100})
	fly("two", 2)
	relay.acknowledged(s, "two", pubAck{seq: 40, duplicate: true}) // had been there before
	fly("three", 3)
	fly("four", 4)
	relay.acknowledged(s, "four", pubAck{seq: 102}) // in another order than sent
	relay.acknowledged(s, "three", pubAck{seq: 101})
	if relay.lost || len(s.failed) > 0 {
		t.Fatalf("lost without a loss: %v", <-s.failed)
	}
	if sh.acked != 4 || relay.high != (position{102, "four"}) {
		t.Fatalf("acknowledged %d, newest %+v", sh.acked, relay.high)
	}
	fly("five", 5)
	relay.acknowledged(s, "five", pubAck{seq: 102})
	if err := <-s.failed; !relay.lost || !errors.Is(err, errLost) {
		t.Fatalf("not noticed: %v", err)
	}
}

func TestReadAck(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]pubAck{
		`{"stream":"INTERLOCK","seq":7}`:                    {seq: 7},
		`{"stream":"INTERLOCK", "seq":7,"duplicate": true}`: {seq: 7, duplicate: true},
	} {
		if got := readAck(&nats.Msg{Data: []byte(data)}); got != want {
			t.Errorf("%s is %+v", data, got)
		}
	}
	for _, bad := range []string{``, `x`, `{}`, `{"seq":0}`, `{"seq":7`, `{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},"stream":"S","seq":0}`} {
		if got := readAck(&nats.Msg{Data: []byte(bad)}); got.err == nil {
			t.Errorf("%s is %+v", bad, got)
		}
	}
	if got := readAck(&nats.Msg{Header: nats.Header{"Status": {"503"}}}); !errors.Is(got.err, jetstream.ErrNoStreamResponse) {
		t.Errorf("no responders: %+v", got)
	}
}

// Data that was read for a shard is not used after the shard went and came back.
func TestEntriesReadForAnEarlierTenureAreDropped(t *testing.T) {
	t.Parallel()
	relay, err := NewRelay(newMemStore(2), Config{Holder: "a", Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour)
	gain := func(number int) { relay.gain(&shard{number: number, until: until, lanes: map[string]*queue{}}) }
	gain(0)
	gain(1)
	_, owners, _, cancel := relay.cursors(t.Context())
	defer cancel()
	relay.drop(relay.shards[0])
	gain(0)
	relay.take([]store.OutboxEntry{{Shard: 0, Seq: 100, Subject: "a"}, {Shard: 1, Seq: 100, Subject: "b"}}, owners, nil)
	if got := relay.shards[0].read; got != 0 || relay.buffered != 1 {
		t.Errorf("shard 0 read through %d, %d buffered", got, relay.buffered)
	}
	if got := relay.shards[1].read; got != 100 {
		t.Errorf("shard 1 read through %d", got)
	}
}
