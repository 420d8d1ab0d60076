package bus

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/interlock-run/interlock/pkg/store"
)

// keeper is the configuration of a relay that is done with events at once, and whose store
// keeps them.
func (r *rig) keeper(holder string) Config {
	cfg := r.config(holder)
	cfg.Grace, cfg.Keep = 50*time.Millisecond, time.Hour
	return cfg
}

// retained counts the events in a store's outbox, and those that relays have not finished.
func retained(tb testing.TB, st store.Store) (all, open int) {
	tb.Helper()
	for shard := range st.Shards() {
		done, err := readProgress(tb.Context(), st, shard)
		if err != nil {
			tb.Fatal(err)
		}
		r := rebuild{store: st}
		err = r.each(tb.Context(), shard, func(e *store.OutboxEntry) (bool, error) {
			all++
			if e.Seq > done.through {
				open++
			}
			return true, nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return all, open
}

// relayed makes a store say that relays are done with all that it has.
func relayed(tb testing.TB, st store.Store) {
	tb.Helper()
	relay, err := NewRelay(st, Config{Holder: "done", Keep: time.Hour, Log: quiet()})
	if err != nil {
		tb.Fatal(err)
	}
	for n := range st.Shards() {
		sh, err := relay.resume(tb.Context(), n)
		if err != nil {
			tb.Fatal(err)
		}
		last := int64(0)
		r := rebuild{store: st}
		err = r.each(tb.Context(), n, func(e *store.OutboxEntry) (bool, error) { last = e.Seq; return true, nil })
		if err == nil {
			err = relay.finish(tb.Context(), sh, last)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func (r *rig) rebuild(st store.Store, cfg RebuildConfig) *Rebuilt {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(r.tb.Context(), patience)
	defer cancel()
	out, err := Rebuild(ctx, st, r.js().Conn(), cfg)
	if err != nil {
		r.tb.Fatal(err)
	}
	return out
}

func total(kinds map[string]int) (n int) {
	for _, count := range kinds {
		n += count
	}
	return n
}

// wire is all that consumers see of each event, by its id.
func (r *rig) wire() map[string]string {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(r.tb.Context(), patience)
	defer cancel()
	stream, err := r.js().Stream(ctx, DefaultStream)
	if err != nil {
		r.tb.Fatal(err)
	}
	seen := map[string]string{}
	for seq := stream.CachedInfo().State.FirstSeq; seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			r.tb.Fatal(err)
		}
		text := m.Subject + "\n" + string(m.Data)
		for _, name := range slices.Sorted(maps.Keys(m.Header)) {
			text += "\n" + name + ": " + strings.Join(m.Header[name], ", ")
		}
		if id := m.Header.Get(headerMsgID); seen[id] == "" {
			seen[id] = text
		} else {
			r.tb.Errorf("event %s is in the stream twice", id)
		}
	}
	return seen
}

// NATS loses all its data, long after the relay was done with the events. The relay has
// no events to publish, and the store has them all.
func TestRebuild(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), openStore(t)
	src := newSource(t, st)
	_, stop := run(t, st, r.keeper("a"))
	src.commit(700, 20)
	r.awaitAll(src)
	eventually(t, "the relay is done with all", func() bool { _, open := retained(t, st); return open == 0 })
	before := r.wire()
	if all, _ := retained(t, st); all != 700 || len(before) != 700 {
		t.Fatalf("the store keeps %d events, the stream has %d", all, len(before))
	}
	stop()
	r.nats.Stop()
	if err := os.RemoveAll(r.nats.Dir); err != nil {
		t.Fatal(err)
	}
	r.nats.Start()

	if out := r.rebuild(st, RebuildConfig{DryRun: true}); total(out.Missing) != 700 || stored(r.js()) != 0 {
		t.Errorf("a dry run finds %+v; the stream has %d", out, stored(r.js()))
	}
	out := r.rebuild(st, RebuildConfig{})
	if out.Missing["run.transitioned"] != 360 || out.Missing["toolcall.allowed"] != 340 || out.Present != 0 || out.Forgotten != 0 {
		t.Errorf("rebuilt %+v", out)
	}
	if after := r.wire(); !maps.Equal(before, after) {
		t.Errorf("the stream had %d events and has %d; not all are the same", len(before), len(after))
	}
	r.checkAll(src)

	// New events are published in addition, and none twice.
	relay, _ := run(t, st, r.keeper("a"))
	src.commit(100, 20)
	r.awaitAll(src)
	if n := testutil.ToFloat64(relay.m.relayed) + testutil.ToFloat64(relay.m.duplicates); n != 100 {
		t.Errorf("the relay published %v events", n)
	}
	if out := r.rebuild(st, RebuildConfig{}); total(out.Missing) != 0 || out.Present != 800 {
		t.Errorf("the second time: %+v", out)
	}
	r.checkAll(src)
}

// Missing events in the middle are published; relays and commits continue.
func TestRebuildUnderLoad(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), openStore(t)
	src := newSource(t, st)
	cfg := r.keeper("a")
	cfg.Stream.Duplicates = 100 * time.Millisecond
	_, _ = run(t, st, cfg)
	src.commit(300, 10)
	r.awaitAll(src)
	eventually(t, "the relay is done with all", func() bool { _, open := retained(t, st); return open == 0 })
	stream, err := r.js().Stream(t.Context(), DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject(Subject{Entity: "toolcall"}.Filter())); err != nil {
		t.Fatal(err)
	}
	stop := src.load(10)
	rebuilt := 0
	eventually(t, "JetStream takes none for a duplicate", func() bool {
		out := r.rebuild(st, RebuildConfig{})
		rebuilt += out.Missing["toolcall.allowed"]
		return total(out.Held) == 0
	})
	stop()
	if rebuilt != 150 {
		t.Errorf("rebuilt %d events", rebuilt)
	}
	eventually(t, "the stream has every event", func() bool { return stored(r.js()) >= src.count() })
	if seen := r.wire(); len(seen) != src.count() {
		t.Errorf("%d events in the stream, %d committed", len(seen), src.count())
	}
}

// The stream's limits hold: events that are too old for it stay away, and none pushes out one that
// is newer.
func TestRebuildWithinTheStreamsLimits(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), openStore(t)
	src := newSource(t, st)
	src.commit(200, 10)
	began := time.Now()
	src.commit(100, 10)
	if out := r.rebuild(st, RebuildConfig{DryRun: true}); total(out.Missing) != 0 || out.Pending != 300 {
		t.Errorf("before a relay was there: %+v", out)
	}
	relayed(t, st)
	if out := r.rebuild(st, RebuildConfig{DryRun: true, From: began}); total(out.Missing) != 100 {
		t.Errorf("since then: %+v", out)
	}
	if out := r.rebuild(st, RebuildConfig{DryRun: true, Stream: Stream{MaxAge: time.Since(began)}}); total(out.Expired) < 200 {
		t.Errorf("with a short life: %+v", out)
	}
	size := int64(64 << 10)
	out := r.rebuild(st, RebuildConfig{Stream: Stream{MaxBytes: size}})
	if n := total(out.Missing); n == 0 || n != stored(r.js()) || n+total(out.Crowded) != 300 {
		t.Errorf("with little room: %+v; the stream has %d", out, stored(r.js()))
	}
	newest := r.messages()
	if again := r.rebuild(st, RebuildConfig{}); total(again.Missing) != 0 || again.Present != len(newest) {
		t.Errorf("the second time: %+v", again)
	}
}

// An event that the stream cannot take holds up only its entity.
func TestRebuildWithoutOversizedEvents(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(2)
	src := newSource(t, st)
	ev := src.event("big")
	ev.Payload = append(slices.Clone(ev.Payload), make([]byte, 3<<20)...)
	for _, e := range []store.Event{ev, src.event("big"), src.event("small")} {
		if _, err := st.Commit(t.Context(), store.Batch{Events: []store.Event{e}}); err != nil {
			t.Fatal(err)
		}
	}
	relayed(t, st)
	if out := r.rebuild(st, RebuildConfig{}); total(out.Missing) != 1 || total(out.Refused) != 2 {
		t.Errorf("rebuilt %+v", out)
	}
}

// The store forgets events that were kept for long enough, and none that the stream may
// still lose.
func TestKeptEventsExpire(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), openStore(t)
	src := newSource(t, st)
	cfg := r.keeper("a")
	_, stop := run(t, st, cfg)
	src.commit(1000, 10)
	eventually(t, "the relay is done with all", func() bool { _, open := retained(t, st); return open == 0 })
	stop()
	cfg.Keep, cfg.Grace = 100*time.Millisecond, time.Hour
	_, _ = run(t, st, cfg)
	src.commit(50, 10) // the grace of these is not over
	eventually(t, "the old ones are gone", func() bool { all, _ := retained(t, st); return all == 50 })
	if out := r.rebuild(st, RebuildConfig{DryRun: true}); out.Forgotten != 1000 || out.Present != 50 {
		t.Errorf("rebuilt %+v", out)
	}
}

// A relay that was slower than another loses the shard, and takes it where the other was.
func TestProgressIsNotSetBack(t *testing.T) {
	t.Parallel()
	st := newMemStore(1)
	cfg := Config{Holder: "a", Keep: time.Hour, Log: quiet()}
	relays := make([]*Relay, 2)
	shards := make([]*shard, 2)
	for i := range relays {
		var err error
		if relays[i], err = NewRelay(st, cfg); err != nil {
			t.Fatal(err)
		}
		if shards[i], err = relays[i].resume(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		relays[i].gain(shards[i])
	}
	for _, through := range []int64{10, 20} {
		if err := relays[1].finish(t.Context(), shards[1], through); err != nil {
			t.Fatal(err)
		}
	}
	if err := relays[0].finish(t.Context(), shards[0], 5); err == nil || !shards[0].gone {
		t.Errorf("set back: %v, gone %t", err, shards[0].gone)
	}
	if sh, err := relays[0].resume(t.Context(), 0); err != nil || sh.read != 20 {
		t.Errorf("resumes at %+v, %v", sh, err)
	}
}

// The record of a shard's progress shares its history.
func TestProgressLivesInItsShard(t *testing.T) {
	t.Parallel()
	for shard := range 64 {
		if key := progressKey(shard, 64); key.Shard(64) != shard {
			t.Errorf("%s is in shard %d, not %d", key, key.Shard(64), shard)
		}
	}
}
