package bus

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/interlock-run/interlock/pkg/store"
)

func TestRelayRefusesBadConfig(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		"Holder is empty":      {},
		"Grace is negative":    {Holder: "a", Grace: -1},
		"Window is negative":   {Holder: "a", Window: -1},
		"LeaseTTL is negative": {Holder: "a", LeaseTTL: -1},
		"MaxAge":               {Holder: "a", Grace: time.Hour, Stream: Stream{MaxAge: time.Hour}},
	} {
		if _, err := NewRelay(newMemStore(1), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

func TestRelayDeliversInOrderAndKeepsTheOutboxForTheGrace(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(8)
	src := newSource(t, st)
	src.commit(500, 7)
	relay, _ := run(t, st, r.config("a"))
	src.commit(1500, 50)
	r.awaitAll(src)
	eventually(t, "all is acknowledged", func() bool { return testutil.ToFloat64(relay.m.relayed) == 2000 })
	if n := st.retained(); n != 2000 {
		t.Errorf("%d entries retained within the grace, want all 2000", n)
	}
	if n := testutil.ToFloat64(relay.m.republished); n != 0 {
		t.Errorf("%v published again", n)
	}
	if n := testutil.ToFloat64(relay.m.leases); n != 8 {
		t.Errorf("%v leases", n)
	}
}

func TestRelayTrimsAfterTheGrace(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(8)
	src := newSource(t, st)
	cfg := r.config("a")
	cfg.Grace = 50 * time.Millisecond
	relay, stop := run(t, st, cfg)
	src.commit(1000, 10)
	r.awaitAll(src)
	eventually(t, "the outbox is empty", func() bool { return st.retained() == 0 })
	// Another run of the relay has no work, and continues from there.
	stop()
	_, _ = run(t, st, cfg)
	src.commit(100, 10)
	r.awaitAll(src)
	if n := testutil.ToFloat64(relay.m.rewinds); n != 0 {
		t.Errorf("%v rewinds", n)
	}
}

// A server that acknowledged and then lost it must find the entries in the
// outbox, however late: acknowledged entries are not trimmed on time alone.
func TestRelayDoesNotTrimWhatTheStreamLost(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(1)
	src := newSource(t, st)
	cfg := r.config("a")
	cfg.Grace = 200 * time.Millisecond
	var hold atomic.Bool
	hold.Store(true)
	st.setFail(func(call, _ string) error {
		if call == "trim" && hold.Load() {
			return store.ErrUnavailable
		}
		return nil
	})
	relay, _ := run(t, st, cfg)
	src.commit(50, 5)
	r.awaitAll(src)
	// The stream is another one now; no event is published, so only the
	// check before a trim can notice.
	js := r.js()
	if err := js.DeleteStream(t.Context(), DefaultStream); err != nil {
		t.Fatal(err)
	}
	if _, err := (Stream{}).Ensure(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	hold.Store(false)
	r.awaitAll(src)
	eventually(t, "the outbox is empty", func() bool { return st.retained() == 0 })
	if n := testutil.ToFloat64(relay.m.rewinds); n < 1 {
		t.Errorf("%v rewinds", n)
	}
}

// The store goes back under a running relay: the events that come then have the ids and
// the sequence numbers of those that are lost, and are published all the same.
func TestRelayBeginsAgainWhenTheStoreHasGoneBack(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(1)
	st.gate, st.era = store.NewGate(), "a"
	relay, _ := run(t, st, r.config("a"))
	newSource(t, st).commit(10, 1)
	eventually(t, "all is published", func() bool { return testutil.ToFloat64(relay.m.relayed) == 10 })
	open, err := st.gate.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	st.mu.Lock()
	st.outbox[0], st.seq[0], st.era = st.outbox[0][:4], 4, "b"
	st.mu.Unlock()
	open()
	lost := newSource(t, st)
	lost.versions["run_0"] = 4
	lost.commit(4, 1)
	eventually(t, "the new history is published", func() bool { return testutil.ToFloat64(relay.m.relayed) == 14 })
	var eras []string
	for _, m := range r.messages() {
		_, era, _ := strings.Cut(m.ID, "@")
		eras = append(eras, era)
	}
	if got := strings.Join(eras, ""); got != "aaaaaaaaaabbbb" {
		t.Errorf("the stream has the eras %s", got)
	}
}

// The bounds of a stream follow the settings, and other bounds stay.
func TestBoundsOfAStream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	js := r.js()
	for _, c := range []struct {
		set   Stream
		age   time.Duration
		bytes int64
	}{
		{Stream{}, 7 * 24 * time.Hour, -1},
		{Stream{MaxAge: time.Hour, MaxBytes: 1 << 20}, time.Hour, 1 << 20},
		{Stream{MaxAge: time.Hour}, time.Hour, 1 << 20},
		{Stream{MaxAge: -1, MaxBytes: 2 << 20}, 0, 2 << 20},
		{Stream{MaxBytes: -1}, 7 * 24 * time.Hour, -1},
	} {
		stream, err := c.set.Ensure(t.Context(), js)
		if err != nil {
			t.Fatal(err)
		}
		if have := stream.CachedInfo().Config; have.MaxAge != c.age || have.MaxBytes != c.bytes {
			t.Errorf("%+v: the stream keeps %s and %d bytes", c.set, have.MaxAge, have.MaxBytes)
		}
	}
}
