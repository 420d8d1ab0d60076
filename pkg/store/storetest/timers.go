package storetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

var timerTests = []test{
	{"due in order", dueInOrder},
	{"due from its moment on, until cleared", atLeastOnce},
	{"set anew", setAnew},
	{"by shard", timersByShard},
	{"independent of the record", timerWithoutRecord},
}

// timer is a timer of key that is due then.
func timer(key store.Key, name string, due time.Time, data string) store.Timer {
	return store.Timer{TimerID: store.TimerID{Key: key, Name: name}, Due: due, Data: []byte(data)}
}

// dueIn answers the timers of key's shard that are due at now.
func dueIn(f *fixture, key store.Key, now time.Time, limit int) []store.Timer {
	f.Helper()
	timers, err := f.Due(f.ctx, key.Shard(f.Shards()), now, limit)
	if err != nil {
		f.Fatalf("due: %v", err)
	}
	return timers
}

func dueInOrder(f *fixture) {
	a := run("a")
	b := f.sameShard(a, 1)[0]
	now := f.clock.Now()
	f.commit(store.Batch{SetTimers: []store.Timer{
		timer(a, "third", now.Add(3*second), "3"),
		timer(b, "first", now.Add(1*second), "1"),
		timer(a, "past", now.Add(-hour), "0"),
		timer(a, "fourth", now.Add(4*second), "4"),
		timer(b, "second", now.Add(2*second), "2"),
	}})
	all := []store.Timer{
		timer(a, "past", now.Add(-hour), "0"),
		timer(b, "first", now.Add(1*second), "1"),
		timer(b, "second", now.Add(2*second), "2"),
		timer(a, "third", now.Add(3*second), "3"),
		timer(a, "fourth", now.Add(4*second), "4"),
	}
	for _, tt := range []struct {
		at    time.Duration
		limit int
		want  []store.Timer
	}{
		{-2 * hour, 9, nil},
		{0, 9, all[:1]},
		{3 * second, 9, all[:4]},
		{hour, 9, all},
		{hour, 5, all},
		{hour, 2, all[:2]},
	} {
		if diff := cmp.Diff(tt.want, dueIn(f, a, now.Add(tt.at), tt.limit), cmpopts.EquateEmpty()); diff != "" {
			f.Errorf("due after %v, at most %d (-want +got):\n%s", tt.at, tt.limit, diff)
		}
	}
}

func atLeastOnce(f *fixture) {
	a := run("a")
	due := f.clock.Now().Add(minute)
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", due, "data"), timer(a, "u", due.Add(second), "")}})
	if got := dueIn(f, a, due.Add(-microsecond), 9); len(got) != 0 {
		f.Errorf("due a moment too early: %v", got)
	}
	want := []store.Timer{timer(a, "t", due, "data")}
	for range 3 {
		if diff := cmp.Diff(want, dueIn(f, a, due, 9)); diff != "" {
			f.Errorf("due (-want +got):\n%s", diff)
		}
	}
	f.commit(store.Batch{ClearTimers: []store.TimerID{{Key: a, Name: "t"}, {Key: a, Name: "never set"}}})
	got := dueIn(f, a, due.Add(hour), 9)
	if len(got) != 1 || got[0].Name != "u" {
		f.Errorf("due after clearing t: %v", got)
	}
}

func setAnew(f *fixture) {
	a := run("a")
	now := f.clock.Now()
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now, "old")}})
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now.Add(minute), "new")}})
	if got := dueIn(f, a, now, 9); len(got) != 0 {
		f.Errorf("the old time is still due: %v", got)
	}
	want := []store.Timer{timer(a, "t", now.Add(minute), "new")}
	if diff := cmp.Diff(want, dueIn(f, a, now.Add(minute), 9)); diff != "" {
		f.Errorf("set later (-want +got):\n%s", diff)
	}
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now.Add(-minute), "earlier")}})
	want = []store.Timer{timer(a, "t", now.Add(-minute), "earlier")}
	if diff := cmp.Diff(want, dueIn(f, a, now, 9)); diff != "" {
		f.Errorf("set earlier (-want +got):\n%s", diff)
	}
}

func timersByShard(f *fixture) {
	now := f.clock.Now()
	want := map[int]int{}
	for i := range 40 {
		key := run(fmt.Sprint(i))
		f.commit(store.Batch{SetTimers: []store.Timer{timer(key, "t", now, "")}})
		want[key.Shard(f.Shards())]++
	}
	for shard := range f.Shards() {
		timers, err := f.Due(f.ctx, shard, now, 100)
		if err != nil || len(timers) != want[shard] {
			f.Errorf("shard %d has %d timers, not %d, %v", shard, len(timers), want[shard], err)
		}
		for _, timer := range timers {
			if timer.Key.Shard(f.Shards()) != shard {
				f.Errorf("shard %d answers a timer of %s", shard, timer.Key)
			}
		}
	}
}

func timerWithoutRecord(f *fixture) {
	a := run("a")
	now := f.clock.Now()
	f.commit(create(a, "data"))
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now, "")}})
	f.commit(store.Batch{Deletes: []store.Check{{Key: a, Version: 1}}})
	if got := dueIn(f, a, now, 9); len(got) != 1 {
		f.Errorf("%d timers are due after the record went, not 1", len(got))
	}
}
