package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

var historyTests = []test{
	{"order and paging", historyPages},
	{"only of puts that record it", historyWhenGiven},
	{"outlives the record", historyOutlives},
	{"with versions left out", historyGaps},
}

// history returns a page of a record's history.
func history(f *fixture, key store.Key, after int64, limit int) []store.HistoryEntry {
	f.Helper()
	entries, err := f.History(f.ctx, key, after, limit)
	if err != nil {
		f.Fatalf("history: %v", err)
	}
	return entries
}

// record puts a record with a history entry.
func record(key store.Key, text string) store.Batch {
	return store.Batch{Puts: []store.Put{{Key: key, Expect: store.AnyVersion, Data: []byte("data"), History: []byte(text)}}}
}

func historyPages(f *fixture) {
	const n = 130
	a := run("a")
	start := f.clock.Now()
	for i := 1; i <= n; i++ {
		f.commit(record(a, fmt.Sprint(i)))
		f.clock.Advance(second)
	}
	f.commit(record(run("b"), "of another"))
	var want []store.HistoryEntry
	for i := int64(1); i <= n; i++ {
		want = append(want, store.HistoryEntry{Version: i, At: start.Add(time.Duration(i-1) * second), Data: fmt.Append(nil, i)})
	}
	if diff := cmp.Diff(want, history(f, a, 0, 1000)); diff != "" {
		f.Errorf("history (-want +got):\n%s", diff)
	}
	var got []store.HistoryEntry
	for after := int64(0); ; {
		page := history(f, a, after, 50)
		if len(page) == 0 {
			break
		}
		if len(page) > 50 {
			f.Fatalf("a page of %d with a limit of 50", len(page))
		}
		got = append(got, page...)
		after = page[len(page)-1].Version
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("history in pages (-want +got):\n%s", diff)
	}
	if got := history(f, a, n, 10); len(got) != 0 {
		f.Errorf("after the last version comes %v", got)
	}
	if got := history(f, run("none"), 0, 10); len(got) != 0 {
		f.Errorf("the history of nothing is %v", got)
	}
}

func historyWhenGiven(f *fixture) {
	a := run("a")
	now := f.clock.Now()
	for _, text := range [][]byte{[]byte("1"), nil, {}, []byte("4")} {
		f.commit(store.Batch{Puts: []store.Put{{Key: a, Expect: store.AnyVersion, History: text}}})
	}
	want := []store.HistoryEntry{{Version: 1, At: now, Data: []byte("1")}, {Version: 3, At: now}, {Version: 4, At: now, Data: []byte("4")}}
	if diff := cmp.Diff(want, history(f, a, 0, 10), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("history (-want +got):\n%s", diff)
	}
}

func historyOutlives(f *fixture) {
	a := run("a")
	f.commit(record(a, "1"))
	f.commit(record(a, "2"))
	f.commit(store.Batch{Deletes: []store.Check{{Key: a, Version: 2}}})
	want := []store.HistoryEntry{{Version: 1, At: f.clock.Now(), Data: []byte("1")}, {Version: 2, At: f.clock.Now(), Data: []byte("2")}}
	if diff := cmp.Diff(want, history(f, a, 0, 10)); diff != "" {
		f.Errorf("history after a delete (-want +got):\n%s", diff)
	}
	f.commit(record(a, "3"))
	want = append(want, store.HistoryEntry{Version: 3, At: f.clock.Now(), Data: []byte("3")})
	if diff := cmp.Diff(want, history(f, a, 0, 10)); diff != "" {
		f.Errorf("history after a new beginning (-want +got):\n%s", diff)
	}
}

// historyGaps reads from every version on, and forgets up to it, when puts in between have
// no history.
func historyGaps(f *fixture) {
	for _, recorded := range []string{"1", "01", "10", "0111", "1000001", "1100000000", "0000000011", "1010010001000010"} {
		a := run("gaps " + recorded)
		var want []int64
		for i, bit := range recorded {
			put := store.Put{Key: a, Expect: store.AnyVersion}
			if bit == '1' {
				put.History = []byte("recorded")
				want = append(want, int64(i+1))
			}
			f.commit(store.Batch{Puts: []store.Put{put}})
		}
		for after := range int64(len(recorded) + 1) {
			for len(want) > 0 && want[0] <= after {
				want = want[1:]
			}
			if got := versionsAfter(f, a, after, 100); !slices.Equal(got, want) {
				f.Errorf("%s: after %d come %v, not %v", recorded, after, got, want)
			}
			if got := versionsAfter(f, a, after, 1); !slices.Equal(got, want[:min(1, len(want))]) {
				f.Errorf("%s: the next after %d is %v, not of %v", recorded, after, got, want)
			}
			f.commit(store.Batch{Forget: []store.Forget{{Key: a, Through: after}}})
			if got := versionsAfter(f, a, 0, 100); !slices.Equal(got, want) {
				f.Errorf("%s: without those up to %d there are %v, not %v", recorded, after, got, want)
			}
		}
	}
}

// versionsAfter returns the versions in a page of a history.
func versionsAfter(f *fixture, key store.Key, after int64, limit int) (versions []int64) {
	f.Helper()
	for _, entry := range history(f, key, after, limit) {
		versions = append(versions, entry.Version)
	}
	return versions
}
