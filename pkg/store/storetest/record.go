package storetest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

var recordTests = []test{
	{"put and get", putAndGet},
	{"delete", deleteRecord},
	{"ids of every kind", idsOfEveryKind},
	{"long ids are refused", longIDs},
	{"big data", bigData},
	{"data is copied", dataIsCopied},
	{"namespaces and kinds are apart", namespacesAreApart},
	{"empty batch", emptyBatch},
}

func putAndGet(f *fixture) {
	f.gone(run("a"))
	labels := map[string]string{"status": "active", "workflow": "release"}
	result := f.commit(store.Batch{Puts: []store.Put{{Key: run("a"), Expect: store.Absent, Data: []byte("one"), Labels: labels}}})
	if diff := cmp.Diff([]int64{1}, result.Versions); diff != "" {
		f.Errorf("versions of the first put (-want +got):\n%s", diff)
	}
	want := store.Record{Key: run("a"), Version: 1, Data: []byte("one"), Labels: labels, UpdatedAt: f.clock.Now()}
	if diff := cmp.Diff(want, f.get(run("a"))); diff != "" {
		f.Errorf("after the first put (-want +got):\n%s", diff)
	}

	f.clock.Advance(1500 * microsecond)
	result = f.commit(store.Batch{Puts: []store.Put{{Key: run("a"), Expect: 1, Data: []byte{0, 0xff, '\n'}}}})
	if diff := cmp.Diff([]int64{2}, result.Versions); diff != "" {
		f.Errorf("versions of the second put (-want +got):\n%s", diff)
	}
	want = store.Record{Key: run("a"), Version: 2, Data: []byte{0, 0xff, '\n'}, UpdatedAt: f.clock.Now()}
	if diff := cmp.Diff(want, f.get(run("a")), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("after the second put (-want +got):\n%s", diff)
	}
}

func deleteRecord(f *fixture) {
	f.commit(create(run("a"), "one"))
	f.commit(store.Batch{Puts: []store.Put{{Key: run("a"), Expect: 1, Data: []byte("two")}}})
	f.commit(store.Batch{Deletes: []store.Check{{Key: run("a"), Version: 2}}})
	f.gone(run("a"))

	err := f.refusal(store.Batch{Puts: []store.Put{{Key: run("a"), Expect: 2}}}, store.ErrConflict)
	wantConflict(f.T, err, store.ConflictError{Key: run("a"), Want: 2, Have: store.Absent})

	result := f.commit(create(run("a"), "three"))
	if got := result.Versions[0]; got != 3 {
		f.Errorf("a record that is created again is at version %d, not 3", got)
	}
	if got := f.get(run("a")); got.Version != 3 || string(got.Data) != "three" {
		f.Errorf("a record that is created again is %q at version %d", got.Data, got.Version)
	}

	// Deleting an absent record is no error unless a version is demanded.
	f.commit(store.Batch{Deletes: []store.Check{{Key: run("b"), Version: store.AnyVersion}}})
	f.commit(store.Batch{Deletes: []store.Check{{Key: run("b"), Version: store.Absent}}})
}

func idsOfEveryKind(f *fixture) {
	ids := []string{
		"plain", "with space", "dots.and.more", "{braces}", "a{b}c", "}{", "[brackets]", "colon:colon", "slash/slash", `back\slash`,
		`quote"quote'`, "%percent%", "_under_", "*", "?", "#hash", "käse", "日本語", "🦀", "new\nline", "tab\t", "-", "0", strings.Repeat("x", store.MaxIDBytes),
	}
	for _, id := range ids {
		key := run(id)
		f.commit(store.Batch{
			Puts:      []store.Put{{Key: key, Expect: store.Absent, Data: []byte(id), History: []byte(id)}},
			Counters:  []store.Counter{{Owner: key, Name: id, Delta: 2, Limit: 3}},
			Events:    []store.Event{{Key: key, ID: id, Subject: id, Payload: []byte(id)}},
			SetTimers: []store.Timer{{TimerID: store.TimerID{Key: key, Name: id}, Due: f.clock.Now(), Data: []byte(id)}},
		})
	}
	for _, id := range ids {
		if got := f.get(run(id)); got.Key != run(id) || string(got.Data) != id {
			f.Errorf("record %q came back as %q with %q", id, got.Key.ID, got.Data)
		}
		if diff := cmp.Diff(map[string]int64{id: 2}, f.counters(run(id))); diff != "" {
			f.Errorf("counters of %q (-want +got):\n%s", id, diff)
		}
		history, err := f.History(f.ctx, run(id), 0, 10)
		if err != nil || len(history) != 1 || string(history[0].Data) != id {
			f.Errorf("history of %q is %v, %v", id, history, err)
		}
	}
	if events := f.events(); len(events) != len(ids) {
		f.Errorf("%d events of %d", len(events), len(ids))
	}
	timers := f.due(f.clock.Now(), 1000)
	if len(timers) != len(ids) {
		f.Errorf("%d timers of %d", len(timers), len(ids))
	}
	for _, timer := range timers {
		if timer.Key != run(timer.Name) || string(timer.Data) != timer.Name {
			f.Errorf("timer %q came back with key %s and data %q", timer.Name, timer.Key, timer.Data)
		}
	}
}

func longIDs(f *fixture) {
	long := run(strings.Repeat("x", store.MaxIDBytes+1))
	if _, err := f.Commit(f.ctx, create(long, "data")); err == nil {
		f.Error("a put with an id that is too long was accepted")
	}
	if _, err := f.Get(f.ctx, long); err == nil {
		f.Error("a record with an id that is too long is there")
	}
}

func bigData(f *fixture) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	f.commit(store.Batch{
		Puts:   []store.Put{{Key: run("big"), Expect: store.Absent, Data: big, History: big}},
		Events: []store.Event{{Key: run("big"), ID: "big", Subject: "s", Payload: big}},
	})
	if got := f.get(run("big")); !bytes.Equal(got.Data, big) {
		f.Errorf("1 MiB of data came back as %d other bytes", len(got.Data))
	}
	history, err := f.History(f.ctx, run("big"), 0, 1)
	if err != nil || len(history) != 1 || !bytes.Equal(history[0].Data, big) {
		f.Errorf("1 MiB of history came back otherwise, %v", err)
	}
	if events := f.events(); len(events) != 1 || !bytes.Equal(events[0].Payload, big) {
		f.Error("1 MiB of payload came back otherwise")
	}
}

func dataIsCopied(f *fixture) {
	data := []byte("one")
	labels := map[string]string{"status": "active"}
	f.commit(store.Batch{Puts: []store.Put{{Key: run("a"), Expect: store.Absent, Data: data, Labels: labels}}})
	data[0], labels["status"] = 'X', "changed"
	first := f.get(run("a"))
	first.Data[1], first.Labels["status"] = 'X', "changed"
	if got := f.get(run("a")); string(got.Data) != "one" || got.Labels["status"] != "active" {
		f.Errorf("the stored record changed to %q %v with a caller's copy", got.Data, got.Labels)
	}
}

func namespacesAreApart(f *fixture) {
	one := store.Key{Namespace: "one", Kind: "run", ID: "a"}
	for _, other := range []store.Key{{Namespace: "two", Kind: "run", ID: "a"}, {Namespace: "one", Kind: "state", ID: "a"}} {
		f.commit(store.Batch{
			Puts:        []store.Put{{Key: other, Expect: store.Absent, Data: []byte(other.String()), History: []byte("h"), Labels: map[string]string{"l": "v"}}},
			Counters:    []store.Counter{{Owner: other, Name: "calls", Delta: 5, Limit: 5}},
			Idempotency: &store.Idempotency{Owner: other, Name: "key", Digest: other.String(), Answer: []byte("a"), TTL: hour},
			SetTimers:   []store.Timer{{TimerID: store.TimerID{Key: other, Name: "t"}, Due: f.clock.Now()}},
		})
		if _, err := f.AcquireLease(f.ctx, other, "holder", hour); err != nil {
			f.Fatal(err)
		}
	}

	f.gone(one)
	if history, err := f.History(f.ctx, one, 0, 10); err != nil || len(history) != 0 {
		f.Errorf("history is %v, %v", history, err)
	}
	if got := f.counters(one); len(got) != 0 {
		f.Errorf("counters are %v", got)
	}
	if _, err := f.Answer(f.ctx, one, "key"); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("answer: %v", err)
	}
	if _, err := f.GetLease(f.ctx, one); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("lease: %v", err)
	}
	if _, err := f.AcquireLease(f.ctx, one, "another", hour); err != nil {
		f.Errorf("lease: %v", err)
	}
	page, err := f.List(f.ctx, store.Query{Namespace: "one", Kind: "run", Labels: map[string]string{"l": "v"}, Limit: 10})
	if err != nil || len(page.Records) != 0 {
		f.Errorf("list is %v, %v", page.Records, err)
	}
	f.commit(store.Batch{
		Puts:        []store.Put{{Key: one, Expect: store.Absent, Data: []byte("mine")}},
		Counters:    []store.Counter{{Owner: one, Name: "calls", Delta: 5, Limit: 5}},
		Idempotency: &store.Idempotency{Owner: one, Name: "key", Digest: "mine", Answer: []byte("a"), TTL: hour},
		ClearTimers: []store.TimerID{{Key: one, Name: "t"}},
	})
	f.commit(store.Batch{
		Deletes: []store.Check{{Key: one, Version: 1}},
		Forget:  []store.Forget{{Key: one, Through: 9}},
		Reset:   []store.Key{one},
	})
	for _, other := range []store.Key{{Namespace: "two", Kind: "run", ID: "a"}, {Namespace: "one", Kind: "state", ID: "a"}} {
		if got := f.get(other); string(got.Data) != other.String() {
			f.Errorf("%s has %q", other, got.Data)
		}
		if got := f.counters(other); got["calls"] != 5 {
			f.Errorf("counters of %s are %v", other, got)
		}
		if got := history(f, other, 0, 10); len(got) != 1 {
			f.Errorf("history of %s is %v", other, got)
		}
	}
	if timers, err := f.Due(f.ctx, f.clock.Now(), 10, "run", "state"); err != nil || len(timers) != 2 {
		f.Errorf("%d timers, not 2, %v", len(timers), err)
	}
}

func emptyBatch(f *fixture) {
	result := f.commit(store.Batch{})
	if diff := cmp.Diff(store.Result{}, result, cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("result (-want +got):\n%s", diff)
	}
	if err := f.Ping(f.ctx); err != nil {
		f.Errorf("ping: %v", err)
	}
}

// wantConflict requires a *ConflictError with these fields.
func wantConflict(t *testing.T, err error, want store.ConflictError) {
	t.Helper()
	var got *store.ConflictError
	if !errors.As(err, &got) {
		t.Errorf("%v is no *ConflictError", err)
		return
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("conflict (-want +got):\n%s", diff)
	}
}
