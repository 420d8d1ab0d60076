package bus

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
)

func TestAssignIsFairAndMovesLittle(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 128).Draw(t, "shards")
		members := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9.-]{1,12}`), 1, 9, rapid.ID).Draw(t, "members")
		room := (shards + len(members) - 1) / len(members)
		owner := owners(t, members, shards)
		load := map[string]int{}
		for _, name := range owner {
			load[name]++
		}
		for name, n := range load {
			if n > room {
				t.Fatalf("%s has %d of %d shards among %d", name, n, shards, len(members))
			}
		}
		// The order in which members are seen does not matter.
		turned := slices.Clone(members)
		slices.Reverse(turned)
		if got := owners(t, turned, shards); !slices.Equal(got, owner) {
			t.Fatalf("%v, in another order %v", owner, got)
		}
	})
	members := []string{"a", "b", "c", "d"}
	four, three := owners(t, members, 64), owners(t, members[:3], 64)
	moved := 0
	for n := range four {
		if four[n] != "d" && four[n] != three[n] {
			moved++
		}
	}
	if moved > 16 {
		t.Errorf("%d of 64 shards move between members that stay", moved)
	}
}

type failer interface {
	Fatalf(format string, args ...any)
}

// owners asks every member for its share: each shard must be in exactly one.
func owners(t failer, members []string, shards int) []string {
	out := make([]string, shards)
	for _, name := range members {
		for n := range assign(members, shards, name) {
			if out[n] != "" {
				t.Fatalf("shard %d is %s's and %s's", n, out[n], name)
			}
			out[n] = name
		}
	}
	if n := slices.Index(out, ""); n >= 0 {
		t.Fatalf("shard %d is nobody's", n)
	}
	return out
}

func TestRollFollowsHeartbeatsWithoutClocks(t *testing.T) {
	t.Parallel()
	const ttl = 10 * time.Second
	m := &roll{holder: "me", ttl: ttl, seen: map[string]member{}}
	now := time.Unix(1000, 0)
	record := func(name string, version int64) store.Record {
		return store.Record{Key: memberKey(name), Version: version}
	}
	check := func(what string, records []store.Record, wantAlive, wantDead []string) {
		t.Helper()
		alive, dead := m.update(records, now)
		slices.Sort(alive)
		var names []string
		for _, rec := range dead {
			names = append(names, rec.Key.ID)
		}
		if !slices.Equal(alive, wantAlive) || !slices.Equal(names, wantDead) {
			t.Errorf("%s: alive %v, dead %v", what, alive, names)
		}
	}
	check("alone", nil, []string{"me"}, nil)
	check("another, perhaps dead", []store.Record{record("me", 1), record("b", 7)}, []string{"b", "me"}, nil)
	now = now.Add(ttl - 1)
	check("not yet", []store.Record{record("me", 2), record("b", 7)}, []string{"b", "me"}, nil)
	now = now.Add(1)
	check("it did not move", []store.Record{record("me", 2), record("b", 7)}, []string{"me"}, nil)
	check("it moves again", []store.Record{record("me", 2), record("b", 8)}, []string{"b", "me"}, nil)
	now = now.Add(10*ttl + 1)
	check("long gone; not so this process itself", []store.Record{record("me", 2), record("b", 8)}, []string{"me"}, []string{"b"})
	check("it was cleared away", []store.Record{record("me", 2)}, []string{"me"}, nil)
	check("and is new", []store.Record{record("me", 2), record("b", 1)}, []string{"b", "me"}, nil)
}

func TestShardCursors(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	sh := &shard{lanes: map[string]*queue{}}
	var entries []*entry
	for n := range int64(6) {
		e := &entry{OutboxEntry: store.OutboxEntry{Seq: n + 1, Subject: "interlock.a.run.r" + strconv.FormatInt(n%2, 10) + ".x"}, shard: sh}
		entries = append(entries, e)
		sh.note(e)
		if q := sh.add(e); (q != nil) != (n < 2) {
			t.Errorf("entry %d ready: %v", n, q != nil)
		}
	}
	slice := time.Second
	sh.done(entries[1], now, slice)
	if sh.acked != 0 || sh.trimmable(now) != 0 {
		t.Fatalf("acknowledged %d behind a gap", sh.acked)
	}
	sh.done(entries[0], now, slice)
	sh.done(entries[2], now.Add(slice/2), slice) // shares the mark, which gets younger
	sh.done(entries[3], now.Add(slice), slice)
	if sh.acked != 4 || sh.read != 6 {
		t.Fatalf("acked %d, read %d", sh.acked, sh.read)
	}
	for at, want := range map[time.Duration]int64{0: 0, slice/2 - 1: 0, slice / 2: 3, slice - 1: 3, slice: 4} {
		if got := sh.trimmable(now.Add(at)); got != want {
			t.Errorf("after %v trimmable through %d, want %d", at, got, want)
		}
	}
	sh.finish(3)
	if sh.trimmed != 3 || len(sh.marks) != 1 {
		t.Fatalf("trimmed %d, marks %v", sh.trimmed, sh.marks)
	}
	// A new connection: read on after the acknowledged events, and wait again.
	later := now.Add(time.Hour)
	sh.rewind(false, later)
	if sh.read != 4 || sh.trimmable(later.Add(-1)) != 0 || sh.trimmable(later) != 4 {
		t.Fatalf("rewound: %+v", sh)
	}
	// A loss: read on after the trimmed events.
	sh.rewind(true, later)
	if sh.read != 3 || sh.acked != 3 || sh.trimmable(later.Add(time.Hour)) != 0 {
		t.Fatalf("rewound to the start: %+v", sh)
	}
}
