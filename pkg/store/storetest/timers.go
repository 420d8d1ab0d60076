package storetest

import (
	"errors"
	"fmt"
	"slices"
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
	{"by kind", timersByKind},
	{"postponed", postponed},
	{"postponed only as it was read", postponedAsRead},
	{"a condition of a commit", timerUnchanged},
	{"independent of the record", timerWithoutRecord},
	{"read by their names", timersByName},
}

// timer returns a timer of key that is due then.
func timer(key store.Key, name string, due time.Time, data string) store.Timer {
	return store.Timer{TimerID: store.TimerID{Key: key, Name: name}, Due: due, Data: []byte(data)}
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
		if diff := cmp.Diff(tt.want, f.due(now.Add(tt.at), tt.limit), cmpopts.EquateEmpty()); diff != "" {
			f.Errorf("due after %v, at most %d (-want +got):\n%s", tt.at, tt.limit, diff)
		}
	}
}

func atLeastOnce(f *fixture) {
	a := run("a")
	due := f.clock.Now().Add(minute)
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", due, "data"), timer(a, "u", due.Add(second), "")}})
	if got := f.due(due.Add(-microsecond), 9); len(got) != 0 {
		f.Errorf("due a moment too early: %v", got)
	}
	want := []store.Timer{timer(a, "t", due, "data")}
	for range 3 {
		if diff := cmp.Diff(want, f.due(due, 9)); diff != "" {
			f.Errorf("due (-want +got):\n%s", diff)
		}
	}
	f.commit(store.Batch{ClearTimers: []store.TimerID{{Key: a, Name: "t"}, {Key: a, Name: "never set"}}})
	got := f.due(due.Add(hour), 9)
	if len(got) != 1 || got[0].Name != "u" {
		f.Errorf("due after clearing t: %v", got)
	}
}

func setAnew(f *fixture) {
	a := run("a")
	now := f.clock.Now()
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now, "old")}})
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now.Add(minute), "new")}})
	if got := f.due(now, 9); len(got) != 0 {
		f.Errorf("the old time is still due: %v", got)
	}
	want := []store.Timer{timer(a, "t", now.Add(minute), "new")}
	if diff := cmp.Diff(want, f.due(now.Add(minute), 9)); diff != "" {
		f.Errorf("set later (-want +got):\n%s", diff)
	}
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now.Add(-minute), "earlier")}})
	want = []store.Timer{timer(a, "t", now.Add(-minute), "earlier")}
	if diff := cmp.Diff(want, f.due(now, 9)); diff != "" {
		f.Errorf("set earlier (-want +got):\n%s", diff)
	}
}

func timersByShard(f *fixture) {
	now := f.clock.Now()
	const limit = 2
	var want []store.Timer
	count := map[int]int{}
	for i := range 60 {
		key := run(fmt.Sprint(i))
		due := timer(key, "t", now.Add(time.Duration(i-60)*second), fmt.Sprint(i))
		f.commit(store.Batch{SetTimers: []store.Timer{due}})
		shard := key.Shard(f.Shards())
		if count[shard]++; count[shard] <= limit {
			want = append(want, due)
		}
	}
	if diff := cmp.Diff(want, f.due(now, limit)); diff != "" {
		f.Errorf("the %d oldest of each shard (-want +got):\n%s", limit, diff)
	}
}

func timersByKind(f *fixture) {
	now := f.clock.Now()
	kinds := []string{"run", "ru", "run/t", "t"}
	byKind := map[string][]store.Timer{}
	for i := range 5 {
		for j, kind := range kinds {
			due := timer(store.Key{Namespace: "test", Kind: kind, ID: "a"}, fmt.Sprint(i), now.Add(time.Duration(10*j+i-60)*second), kind)
			f.commit(store.Batch{SetTimers: []store.Timer{due}})
			byKind[kind] = append(byKind[kind], due)
		}
	}
	for _, tt := range []struct {
		asked []string
		limit int
		want  [][]store.Timer
	}{
		{nil, 9, nil},
		{[]string{"none"}, 9, nil},
		{[]string{"ru"}, 9, [][]store.Timer{byKind["ru"]}},
		{[]string{"run", "t"}, 9, [][]store.Timer{byKind["run"], byKind["t"]}},
		// Due timers of one kind do not fill the page of another.
		{[]string{"t", "none", "run/t", "run"}, 2, [][]store.Timer{byKind["run"][:2], byKind["run/t"][:2], byKind["t"][:2]}},
	} {
		got, err := f.Due(f.ctx, now, tt.limit, tt.asked...)
		if err != nil {
			f.Fatal(err)
		}
		if diff := cmp.Diff(slices.Concat(tt.want...), got, cmpopts.EquateEmpty()); diff != "" {
			f.Errorf("due of %q, at most %d (-want +got):\n%s", tt.asked, tt.limit, diff)
		}
	}
}

func postponed(f *fixture) {
	a := run("a")
	now := f.clock.Now()
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now, "data"), timer(a, "u", now.Add(second), "")}})
	read := f.due(now.Add(minute), 9)
	later := now.Add(hour)
	f.commit(store.Batch{Postpone: []store.Postpone{{Timer: read[0], Until: later}, {Timer: read[1], Until: now}}})
	if diff := cmp.Diff([]store.Timer{timer(a, "u", now, "")}, f.due(later.Add(-microsecond), 9), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("before the one is due again (-want +got):\n%s", diff)
	}
	want := []store.Timer{timer(a, "u", now, ""), timer(a, "t", later, "data")}
	if diff := cmp.Diff(want, f.due(later, 9), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("when it is due again (-want +got):\n%s", diff)
	}
}

func postponedAsRead(f *fixture) {
	a := run("a")
	now := f.clock.Now()
	for name, since := range map[string]store.Batch{
		"cleared":       {ClearTimers: []store.TimerID{{Key: a, Name: "t"}}},
		"set later":     {SetTimers: []store.Timer{timer(a, "t", now.Add(microsecond), "data")}},
		"set earlier":   {SetTimers: []store.Timer{timer(a, "t", now.Add(-hour), "data")}},
		"set otherwise": {SetTimers: []store.Timer{timer(a, "t", now, "more data")}},
		"emptied":       {SetTimers: []store.Timer{timer(a, "t", now, "")}},
	} {
		f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now, "data")}})
		read := f.due(now, 9)
		if len(read) != 1 {
			f.Fatalf("%s: due are %v", name, read)
		}
		f.commit(since)
		before := f.due(now.Add(minute), 9)
		f.commit(store.Batch{Postpone: []store.Postpone{{Timer: read[0], Until: now.Add(minute)}}})
		if diff := cmp.Diff(before, f.due(now.Add(minute), 9)); diff != "" {
			f.Errorf("a timer that was %s since it was read is postponed (-want +got):\n%s", name, diff)
		}
	}
}

func timerUnchanged(f *fixture) {
	a := run("a")
	now := f.clock.Now()
	for name, since := range map[string]store.Batch{
		"cleared":       {ClearTimers: []store.TimerID{{Key: a, Name: "t"}}},
		"set later":     {SetTimers: []store.Timer{timer(a, "t", now.Add(microsecond), "data")}},
		"set otherwise": {SetTimers: []store.Timer{timer(a, "t", now, "more data")}},
	} {
		f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now, "data")}})
		read := f.due(now, 9)
		f.commit(since)
		batch := store.Batch{Unchanged: read, Puts: []store.Put{{Key: a, Expect: store.AnyVersion, Data: []byte("x")}}}
		if err := f.Probe(f.ctx, batch); !errors.Is(err, store.ErrConflict) {
			f.Errorf("a timer that was %s: the probe says %v", name, err)
		}
		if _, err := f.Commit(f.ctx, batch); !errors.Is(err, store.ErrConflict) {
			f.Errorf("a timer that was %s: the commit says %v", name, err)
		}
	}
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now, "data")}})
	read := f.due(now, 9)
	f.commit(store.Batch{Unchanged: read, ClearTimers: []store.TimerID{read[0].TimerID}})
	if got := f.due(now, 9); len(got) != 0 {
		f.Errorf("due are %v", got)
	}
}

func timerWithoutRecord(f *fixture) {
	a := run("a")
	now := f.clock.Now()
	f.commit(create(a, "data"))
	f.commit(store.Batch{SetTimers: []store.Timer{timer(a, "t", now, "")}})
	f.commit(store.Batch{Deletes: []store.Check{{Key: a, Version: 1}}})
	if got := f.due(now, 9); len(got) != 1 {
		f.Errorf("%d timers are due after the record went, not 1", len(got))
	}
}

func timersByName(f *fixture) {
	a := run("a")
	b := f.sameShard(a, 1)[0]
	far := run("b")
	for n := 0; far.Shard(f.Shards()) == a.Shard(f.Shards()) && n < 100; n++ {
		far = run(fmt.Sprintf("b%d", n))
	}
	now := f.clock.Now()
	past, later, elsewhere := timer(a, "past", now.Add(-hour), "1"), timer(b, "later", now.Add(hour), ""), timer(far, "past", now, "3")
	f.commit(store.Batch{SetTimers: []store.Timer{past, later}})
	f.commit(store.Batch{SetTimers: []store.Timer{elsewhere}})
	missing := store.TimerID{Key: a, Name: "missing"}
	for _, tt := range []struct {
		names []store.TimerID
		want  []store.Timer
	}{
		{nil, nil},
		{[]store.TimerID{missing}, nil},
		{[]store.TimerID{later.TimerID, missing, elsewhere.TimerID, past.TimerID}, []store.Timer{later, elsewhere, past}},
	} {
		got, err := f.Timers(f.ctx, tt.names...)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			f.Errorf("timers by name, %v (-want +got):\n%s", err, diff)
		}
	}
	f.commit(store.Batch{ClearTimers: []store.TimerID{past.TimerID}})
	if got, err := f.Timers(f.ctx, past.TimerID); err != nil || len(got) != 0 {
		f.Errorf("a timer that was cleared is %v, %v", got, err)
	}
}
