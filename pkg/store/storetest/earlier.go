package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

var earlierTests = []test{
	{"each has its version and entry", earlierEntries},
	{"of records that come back", earlierAfterDelete},
	{"of several records", earlierOfSeveral},
	{"a conflict keeps none", earlierConflict},
	{"as many as may be", earlierMost},
	{"what is refused", earlierRefused},
	{"writers in parallel", earlierInParallel},
}

// entries returns history entries as texts.
func entries(texts ...string) [][]byte {
	data := make([][]byte, 0, len(texts))
	for _, text := range texts {
		data = append(data, []byte(text))
	}
	return data
}

// several returns a put with a history entry of its last version and earlier ones.
func several(key store.Key, expect int64, last string, earlier ...string) store.Put {
	return store.Put{Key: key, Expect: expect, Data: []byte("data of " + last), History: []byte(last), Earlier: entries(earlier...)}
}

// told returns a record's history as "version:data".
func told(f *fixture, key store.Key) []string {
	f.Helper()
	var all []string
	for _, entry := range history(f, key, 0, 2*store.MaxEarlier) {
		all = append(all, fmt.Sprintf("%d:%s", entry.Version, entry.Data))
	}
	return all
}

// tells requires a record's history, as "version:data" with spaces between.
func tells(f *fixture, key store.Key, want string) {
	f.Helper()
	if diff := cmp.Diff(strings.Fields(want), told(f, key), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("history of %s (-want +got):\n%s", key, diff)
	}
}

// version commits one put, which must come to this version.
func version(f *fixture, put store.Put, want int64) {
	f.Helper()
	if diff := cmp.Diff([]int64{want}, f.commit(store.Batch{Puts: []store.Put{put}}).Versions); diff != "" {
		f.Fatalf("versions (-want +got):\n%s", diff)
	}
}

func earlierEntries(f *fixture) {
	a := run("a")
	start := f.clock.Now()
	put := several(a, store.Absent, "c", "a", "b")
	put.Labels = map[string]string{"l": "v"}
	version(f, put, 3)
	want := store.Record{Key: a, Version: 3, Data: []byte("data of c"), Labels: put.Labels, UpdatedAt: start}
	if diff := cmp.Diff(want, f.get(a)); diff != "" {
		f.Errorf("record (-want +got):\n%s", diff)
	}
	f.clock.Advance(second)
	version(f, store.Put{Key: a, Expect: 3}, 4)
	version(f, several(a, 4, "e"), 5)
	put = several(a, store.AnyVersion, "i", "f", "", "h")
	put.Earlier[1] = nil
	version(f, put, 9)
	f.refused(store.Batch{Checks: []store.Check{{Key: a, Version: 8}}}, store.ErrConflict)
	later := f.clock.Now()
	all := []store.HistoryEntry{
		{Version: 1, At: start, Data: []byte("a")},
		{Version: 2, At: start, Data: []byte("b")},
		{Version: 3, At: start, Data: []byte("c")},
		{Version: 5, At: later, Data: []byte("e")},
		{Version: 6, At: later, Data: []byte("f")},
		{Version: 7, At: later},
		{Version: 8, At: later, Data: []byte("h")},
		{Version: 9, At: later, Data: []byte("i")},
	}
	if diff := cmp.Diff(all, history(f, a, 0, 100), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("history (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(all[4:6], history(f, a, 5, 2), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("a page amid the entries of one put (-want +got):\n%s", diff)
	}
	if got := f.get(a); string(got.Data) != "data of i" || got.Version != 9 {
		f.Errorf("the record is %q at version %d", got.Data, got.Version)
	}
}

func earlierAfterDelete(f *fixture) {
	a := run("a")
	version(f, several(a, store.Absent, "b", "a"), 2)
	f.commit(store.Batch{Deletes: []store.Check{{Key: a, Version: 2}}})
	f.gone(a)
	version(f, several(a, store.Absent, "e", "c", "d"), 5)
	f.commit(store.Batch{Deletes: []store.Check{{Key: a, Version: 5}}})
	f.reopen()
	version(f, several(a, store.AnyVersion, "g", "f"), 7)
	version(f, store.Put{Key: a, Expect: 7}, 8)
	tells(f, a, "1:a 2:b 3:c 4:d 5:e 6:f 7:g")
}

func earlierOfSeveral(f *fixture) {
	a := run("a")
	keys := f.sameShard(a, 2)
	f.commit(record(keys[0], "old"))
	labelled := several(a, store.Absent, "b", "a")
	labelled.Labels = map[string]string{"l": "v", "m": "w"}
	result := f.commit(store.Batch{
		Puts:     []store.Put{labelled, several(keys[0], 1, "new"), {Key: keys[1]}},
		Counters: []store.Counter{{Owner: a, Name: "c", Delta: 5, Limit: 5}},
		Events:   []store.Event{{Key: a, ID: "e", Subject: "s"}},
	})
	want := store.Result{Versions: []int64{2, 2, 1}, Counters: []int64{5}}
	if diff := cmp.Diff(want, result, cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("result (-want +got):\n%s", diff)
	}
	tells(f, a, "1:a 2:b")
	tells(f, keys[0], "1:old 2:new")
	tells(f, keys[1], "")
	if events := f.events(); len(events) != 1 || events[0].ID != "e" {
		f.Errorf("events are %v", events)
	}
}

func earlierConflict(f *fixture) {
	a := run("a")
	b := f.sameShard(a, 1)[0]
	version(f, several(a, store.Absent, "b", "a"), 2)
	for _, expect := range []int64{store.Absent, 1, 3, 4} {
		err := f.refusal(store.Batch{Puts: []store.Put{several(b, store.Absent, "y", "x"), several(a, expect, "d", "c")}}, store.ErrConflict)
		wantConflict(f.T, err, store.ConflictError{Key: a, Want: expect, Have: 2})
	}
	tells(f, a, "1:a 2:b")
	tells(f, b, "")
	f.gone(b)
}

// most returns a put with n entries next to the last.
func most(key store.Key, n int) store.Put {
	put := several(key, store.AnyVersion, "last")
	for i := range n {
		put.Earlier = append(put.Earlier, fmt.Append(nil, i+1))
	}
	return put
}

func earlierMost(f *fixture) {
	a := run("a")
	version(f, most(a, store.MaxEarlier), store.MaxEarlier+1)
	got := history(f, a, 0, 2*store.MaxEarlier)
	if len(got) != store.MaxEarlier+1 {
		f.Fatalf("%d entries of %d", len(got), store.MaxEarlier+1)
	}
	for i, entry := range got[:store.MaxEarlier] {
		if entry.Version != int64(i+1) || string(entry.Data) != fmt.Sprint(entry.Version) {
			f.Fatalf("entry %d is %q of version %d", i, entry.Data, entry.Version)
		}
	}
	if last := got[store.MaxEarlier]; last.Version != store.MaxEarlier+1 || string(last.Data) != "last" {
		f.Errorf("the last entry is %q of version %d", last.Data, last.Version)
	}
	version(f, several(a, store.MaxEarlier+1, "next"), store.MaxEarlier+2)
}

func earlierRefused(f *fixture) {
	s := setScene(f)
	before := s.view(f)
	for _, tt := range []struct {
		name string
		put  store.Put
	}{
		{"no entry of the last version", store.Put{Key: s.a, Expect: store.AnyVersion, Earlier: entries("x")}},
		{"too many", most(s.a, store.MaxEarlier+1)},
	} {
		// In turn, on one store: each leaves everything as it was.
		f.Run(tt.name, func(t *testing.T) {
			batch := s.batch
			batch.Puts = []store.Put{s.batch.Puts[1], tt.put}
			if result, err := f.Commit(f.ctx, batch); err == nil {
				t.Errorf("commit answered %+v", result)
			}
			if diff := cmp.Diff(before, s.view(f), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("a refused batch changed something (-before +after):\n%s", diff)
			}
		})
	}
	f.commit(store.Batch{Puts: []store.Put{{Key: s.d, Earlier: [][]byte{}}}}) // none is none
}

// earlierInParallel lets writers append several versions at once. Those of one
// put follow each other.
func earlierInParallel(f *fixture) {
	const writers, puts = 16, 8
	a := run("a")
	var mu sync.Mutex
	want := map[int64]string{}
	total := int64(0)
	inParallel(f.T, writers, func(worker int) error {
		for n := range puts {
			texts := make([]string, 1+(worker+n)%4)
			for i := range texts {
				texts[i] = fmt.Sprintf("%d.%d.%d", worker, n, i)
			}
			last := len(texts) - 1
			result, err := f.Commit(f.ctx, store.Batch{Puts: []store.Put{several(a, store.AnyVersion, texts[last], texts[:last]...)}})
			if err != nil {
				return err
			}
			mu.Lock()
			for i, text := range texts {
				want[result.Versions[0]-int64(last-i)] = text
			}
			total += int64(len(texts))
			mu.Unlock()
		}
		return nil
	})
	got := map[int64]string{}
	for _, entry := range history(f, a, 0, 2*store.MaxEarlier) {
		got[entry.Version] = string(entry.Data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("history by what the writers were told (-want +got):\n%s", diff)
	}
	if record := f.get(a); record.Version != total || string(record.Data) != "data of "+want[total] {
		f.Errorf("the record is %q at version %d of %d", record.Data, record.Version, total)
	}
}
