package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

func copyKey(r *rand.Rand) store.Key {
	return store.Key{Namespace: "test", Kind: copyKinds[r.IntN(2)], ID: copyIDs[r.IntN(len(copyIDs))]}
}

// busy commits a random batch, of each kind of change for itself or together with others, and an
// event.
func (f *fixture) busy(r *rand.Rand, n int) {
	f.Helper()
	key := copyKey(r)
	data := fmt.Appendf(nil, "data %d", n)
	log := store.Key{Namespace: key.Namespace, Kind: "log", ID: key.ID}
	batch := store.Batch{Events: []store.Event{{Key: key, ID: fmt.Sprint("event ", n), Subject: "s", Payload: data}}}
	for first := true; first || r.IntN(2) == 0; first = false {
		f.change(r, n, &batch, key, log, data)
	}
	f.commit(batch)
	f.clock.Advance(time.Second)
}

// change adds a random change to a batch, unless it has one of this kind.
func (f *fixture) change(r *rand.Rand, n int, b *store.Batch, key, log store.Key, data []byte) {
	rolling := store.Key{Namespace: key.Namespace, Kind: "rolling", ID: key.ID}
	plain, window := r.IntN(3), 1+r.IntN(3)
	timer := store.TimerID{Key: key, Name: fmt.Sprint("t/", r.IntN(3))}
	due := f.clock.Now().Add(time.Duration(r.IntN(1000)) * microsecond)
	put := store.Put{
		Key: key, Expect: store.AnyVersion, Data: data,
		Labels: map[string]string{"status": copyLabels[r.IntN(3)], "b=/": fmt.Sprint(r.IntN(2))},
	}
	timed := len(b.SetTimers)+len(b.ClearTimers)+len(b.Postpone) > 0
	switch what := r.IntN(14); {
	case what == 0 && len(b.Puts)+len(b.Deletes) == 0:
		b.Deletes = []store.Check{{Key: key, Version: store.AnyVersion}}
	case what == 1 && len(b.Puts)+len(b.Deletes) == 0:
		put.Labels, put.History, put.Earlier = nil, data, [][]byte{nil, data}
		b.Puts = []store.Put{put}
	case what < 4 && len(b.Puts)+len(b.Deletes) == 0:
		b.Puts = []store.Put{put}
	case what == 4 && len(b.Appends) == 0:
		b.Appends = []store.Append{{Key: log, Entry: data}}
		b.Events[0].Entry, b.Events[0].Payload = log, nil
		if b.Idempotency == nil {
			b.Idempotency = &store.Idempotency{Owner: key, Name: fmt.Sprint("once/", n), Digest: "d", Entry: log, TTL: hour}
		}
	case what == 5 && b.Idempotency == nil:
		b.Idempotency = &store.Idempotency{Owner: key, Name: fmt.Sprint("once/", n), Digest: "d", Answer: data, TTL: hour}
	case what == 6 && len(b.Counters) == 0:
		b.Counters = []store.Counter{{Owner: key, Name: "plain", Delta: int64(plain), Limit: store.NoLimit}}
	case what == 7 && len(b.Counters) == 0:
		b.Counters = []store.Counter{
			{Owner: rolling, Name: "rolling", Delta: int64(window), Limit: store.NoLimit, Window: hour},
		}
	case what == 8 && len(b.Counters) == 0:
		b.Counters = []store.Counter{
			{Owner: key, Name: "plain", Delta: -1, Limit: store.NoLimit},
			{Owner: key, Name: "other", Delta: 1, Limit: store.NoLimit},
		}
	case what == 9 && len(b.Reset) == 0:
		b.Reset = []store.Key{[]store.Key{key, rolling}[r.IntN(2)]}
	case what == 10 && len(b.Forget) == 0:
		b.Forget = []store.Forget{{Key: log, Through: int64(n / 30)}, {Key: key, Through: int64(n / 10)}}
	case what == 11 && !timed:
		b.ClearTimers = []store.TimerID{timer}
	case what == 12 && !timed:
		b.SetTimers = []store.Timer{{TimerID: timer, Due: due, Data: data}}
	case what == 13 && !timed:
		for _, timer := range must(f.Due(f.ctx, f.clock.Now().Add(hour), 100, key.Kind))(f.T) {
			if timer.Key == key {
				b.Postpone = []store.Postpone{{Timer: timer, Until: due}}
			}
		}
	}
}

// everything returns all data of a store, as lines of text. Leases are not part of a copy, and
// eras are random.
func (f *fixture) everything(commits int) []string {
	f.Helper()
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	record := func(r *store.Record) string {
		return fmt.Sprintf("%q version %d %q %q %s", r.Key, r.Version, r.Data, labelText(r.Labels), r.UpdatedAt)
	}
	for _, kind := range append(slices.Clone(copyKinds), "log", "rolling") {
		for _, labels := range []map[string]string{nil, {"status": "on"}, {"status": copyLabels[2], "b=/": "1"}} {
			page, err := f.List(f.ctx, store.Query{Namespace: "test", Kind: kind, Labels: labels, Limit: 1000})
			if err != nil {
				f.Fatal(err)
			}
			for i := range page.Records {
				say("listed by %q: %s", labelText(labels), record(&page.Records[i]))
			}
		}
		for _, id := range copyIDs {
			f.about(store.Key{Namespace: "test", Kind: kind, ID: id}, commits, say)
		}
	}
	for _, timer := range must(f.Due(f.ctx, f.clock.Now().Add(hour), 1000, copyKinds...))(f.T) {
		say("timer %q %s due %s %q", timer.Key, timer.Name, timer.Due, timer.Data)
	}
	for _, e := range f.events() {
		say("event %d/%d: %q %q %q", e.Shard, e.Seq, e.ID, e.Subject, e.Payload)
		say("event %q is entry %d of %q at %s", e.ID, e.Version, e.Entry, e.At)
	}
	return all
}

// about returns a store's data about a key.
func (f *fixture) about(key store.Key, commits int, say func(string, ...any)) {
	f.Helper()
	for _, entry := range must(f.History(f.ctx, key, 0, 10_000))(f.T) {
		say("history of %q: %d %s %q", key, entry.Version, entry.At, entry.Data)
	}
	say("counters of %q: %v", key, f.counters(key))
	say("window of %q: %d", key, f.rolling(key))
	for n := range commits {
		answer, err := f.Answer(f.ctx, key, fmt.Sprint("once/", n))
		switch {
		case err == nil:
			say("answer %d of %q: %q", n, key, answer)
		case !errors.Is(err, store.ErrNotFound):
			f.Fatal(err)
		}
	}
}

// rolling is the windowed counter of an owner.
func (f *fixture) rolling(owner store.Key) int64 {
	f.Helper()
	look := store.Counter{Owner: owner, Name: "rolling", Limit: store.NoLimit, Window: hour}
	return f.commit(store.Batch{Counters: []store.Counter{look}}).Counters[0]
}

// labelled lists the records with a label.
func (f *fixture) labelled(kind, name, value string) []store.Record {
	f.Helper()
	query := store.Query{Namespace: "test", Kind: kind, Labels: map[string]string{name: value}, Limit: 1000}
	return must(f.List(f.ctx, query))(f.T).Records
}

func labelText(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name+" is "+labels[name])
	}
	return strings.Join(parts, ", ")
}

func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// same requires that two stores have the same data.
func (f *fixture) same(other *fixture, commits int) {
	f.Helper()
	want, got := f.everything(commits), other.everything(commits)
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return
	}
	for _, line := range want {
		if _, found := slices.BinarySearch(got, line); !found {
			f.Errorf("it lacks    %s", line)
		}
	}
	for _, line := range got {
		if _, found := slices.BinarySearch(want, line); !found {
			f.Errorf("it also has %s", line)
		}
	}
	f.Fatalf("%d things became %d", len(want), len(got))
}
