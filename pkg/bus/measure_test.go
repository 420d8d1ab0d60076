package bus

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/interlock-run/interlock/pkg/store"
)

// outbox has a relay's metrics of the outbox, after a look at it.
func (r *Relay) outbox(t *testing.T) (here, nowhere, age float64) {
	t.Helper()
	r.Measure(t.Context())
	gauge := func(relayed string) float64 { return testutil.ToFloat64(r.m.outbox.WithLabelValues(relayed)) }
	return gauge("here"), gauge("nowhere"), testutil.ToFloat64(r.m.oldest)
}

// Events that wait for NATS are counted, and grow older: also in shards without a relay, because
// none reaches NATS, and without the events that NATS had before.
func TestMeasureOfTheOutbox(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), openStore(t)
	cfg := r.config("a")
	cfg.LeaseTTL, cfg.Keep = 200*time.Millisecond, time.Hour
	relay, _ := run(t, st, cfg)
	src := newSource(t, st)
	src.commit(100, 10)
	r.awaitAll(src)
	eventually(t, "nothing waits", func() bool {
		here, nowhere, age := relay.outbox(t)
		return here == 0 && nowhere == 0 && age == 0
	})
	r.nats.Stop()
	eventually(t, "the relay has no shard", func() bool { return testutil.ToFloat64(relay.m.leases) == 0 })
	before := time.Now()
	src.commit(30, 10)
	if here, nowhere, age := relay.outbox(t); here != 0 || nowhere != 30 || age <= 0 || age > time.Since(before).Seconds() {
		t.Errorf("%v wait here, %v nowhere, the oldest for %vs, want 30 nowhere for at most %s", here, nowhere, age, time.Since(before))
	}
	// A process without knowledge of the past reports at least as much.
	other, err := NewRelay(st, r.config("b"))
	if err != nil {
		t.Fatal(err)
	}
	if _, nowhere, _ := other.outbox(t); nowhere < 30 {
		t.Errorf("another process tells %v", nowhere)
	}
	r.nats.Start()
	r.awaitAll(src)
	eventually(t, "nothing waits", func() bool {
		here, nowhere, age := relay.outbox(t)
		return here == 0 && nowhere == 0 && age == 0
	})
}

// Unread events count too, and while the store cannot be asked, waiting events grow older.
func TestMeasureOfAShardThatIsBehind(t *testing.T) {
	t.Parallel()
	st := &unasked{Store: openStore(t)}
	relay, err := NewRelay(st, Config{Holder: "a", Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	src := newSource(t, st)
	src.commit(50, 1)
	shard := store.Key{Namespace: "default", Kind: "run", ID: "run_0"}.Shard(st.Shards())
	relay.shards[shard] = newShard(shard, 20)
	here, nowhere, age := relay.outbox(t)
	if here != 30 || nowhere != 0 || age <= 0 {
		t.Errorf("%v wait here, %v nowhere, for %vs; want 30 here", here, nowhere, age)
	}
	st.unavailable = true
	if again, _, older := relay.outbox(t); again != 30 || older <= age {
		t.Errorf("without the store %v wait for %vs, after %vs", again, older, age)
	}
}

func newShard(number int, acked int64) *shard {
	return &shard{number: number, lanes: map[string]*queue{}, acked: acked, read: acked}
}

// unasked is a store that does not list waiting events when it is unavailable.
type unasked struct {
	store.Store
	unavailable bool
}

func (u *unasked) Backlog(ctx context.Context, kinds ...string) (store.Backlog, error) {
	if u.unavailable {
		return store.Backlog{}, store.ErrUnavailable
	}
	return u.Store.Backlog(ctx, kinds...)
}
