package storetest

import (
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/store"
)

var entryTests = []test{
	{"an event is a history entry", eventIsEntry},
	{"an answer is a history entry", answerIsEntry},
	{"entries that are forgotten", forgottenEntries},
	{"entries that the batch does not put", entriesOfNoPut},
	{"many events of entries", manyEntries},
	{"a log", log},
}

// logged returns a batch that adds an entry to the log of a, announces it and answers by
// it.
func logged(a store.Key, name, entry string) store.Batch {
	return store.Batch{
		Idempotency: &store.Idempotency{Owner: a, Name: name, Digest: "d", Entry: a, TTL: hour},
		Appends:     []store.Append{{Key: a, Entry: []byte(entry)}},
		Events:      []store.Event{{Key: a, ID: name, Subject: "s", Entry: a}},
	}
}

// announced requires the contents of the outbox: of each event its id, its payload and the
// version of the entry that it is.
func announced(f *fixture, want ...string) {
	f.Helper()
	var got []string
	for _, e := range f.events() {
		text := e.ID + "=" + string(e.Payload)
		if e.Version > 0 {
			text += fmt.Sprintf("@%s/%d", e.Entry.ID, e.Version)
			if known := len(e.Payload) > 0; known != e.At.Equal(f.clock.Now()) {
				f.Errorf("%s is of %v", text, e.At)
			}
		}
		got = append(got, text)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Errorf("the events are %q, not %q", got, want)
	}
}

func eventIsEntry(f *fixture) {
	a := run("a")
	f.commit(logged(a, "e1", "one"))
	f.commit(store.Batch{Puts: []store.Put{{
		Key: a, Expect: 1, Data: []byte("data"), Labels: map[string]string{"l": "1"}, Earlier: [][]byte{[]byte("two")}, History: []byte("three"),
	}}})
	batch := logged(a, "e4", "four")
	batch.Events = append(batch.Events, store.Event{Key: a, ID: "plain", Subject: "s", Payload: []byte("p")})
	f.commit(batch)
	announced(f, "e1=one@a/1", "e4=four@a/4", "plain=p")
	if got := f.get(a); got.Version != 4 || string(got.Data) != "data" || got.Labels["l"] != "1" {
		f.Errorf("the record is %+v", got)
	}
}

func answerIsEntry(f *fixture) {
	a := run("a/with=odd%marks")
	f.commit(logged(a, "call", "first"))
	f.commit(logged(a, "other", "second"))
	for range 2 {
		result := f.commit(logged(a, "call", "again"))
		if !result.Replayed || string(result.Answer) != "first" {
			f.Errorf("the replay is %+v with %q", result, result.Answer)
		}
	}
	answer(f, a, "call", "first")
	answer(f, a, "other", "second")
	bytes := create(run("plain"), "data")
	bytes.Idempotency = &store.Idempotency{Owner: run("plain"), Name: "plain", Digest: "d", Answer: []byte("7"), TTL: hour}
	f.commit(bytes)
	for _, of := range []struct {
		owner   store.Key
		name    string
		version int64
		err     error
	}{{a, "call", 1, nil}, {a, "other", 2, nil}, {run("plain"), "plain", 0, nil}, {a, "none", 0, store.ErrNotFound}} {
		if version, err := f.AnswerVersion(f.ctx, of.owner, of.name); version != of.version || !errors.Is(err, of.err) {
			f.Errorf("the answer of %s is entry %d, %v", of.name, version, err)
		}
	}
	for i, in := range []store.Key{{Namespace: a.Namespace, Kind: "odd/kind", ID: a.ID}, f.sameShard(a, 1)[0]} { // the log of another record
		name := fmt.Sprint("elsewhere/", i)
		batch := store.Batch{
			Idempotency: &store.Idempotency{Owner: a, Name: name, Digest: "d", Entry: in, TTL: hour},
			Appends:     []store.Append{{Key: in, Entry: []byte("of " + name)}},
		}
		f.commit(batch)
		if result := f.commit(batch); !result.Replayed || string(result.Answer) != "of "+name {
			f.Errorf("%s: the replay is %+v with %q", name, result, result.Answer)
		}
		answer(f, a, name, "of "+name)
	}
	plain := once(a, "plain", "d", "text")
	f.commit(plain)
	answer(f, a, "plain", "text")
	mismatch := logged(a, "call", "first")
	mismatch.Idempotency.Digest = "another"
	if _, err := f.Commit(f.ctx, mismatch); err == nil {
		f.Error("another digest was taken")
	}
	f.clock.Advance(2 * hour)
	if result := f.commit(logged(a, "call", "anew")); result.Replayed {
		f.Error("the key has not expired")
	}
	answer(f, a, "call", "anew")
}

func forgottenEntries(f *fixture) {
	a := run("a")
	f.commit(logged(a, "call", "first"))
	f.commit(logged(a, "other", "second"))
	f.commit(store.Batch{Forget: []store.Forget{{Key: a, Through: 1}}})
	announced(f, "call=@a/1", "other=second@a/2")
	if result := f.commit(logged(a, "call", "again")); !result.Replayed || len(result.Answer) != 0 {
		f.Errorf("the replay is %+v with %q", result, result.Answer)
	}
	if got, err := f.Answer(f.ctx, a, "call"); err != nil || len(got) != 0 {
		f.Errorf("the answer is %q, %v", got, err)
	}
}

func entriesOfNoPut(f *fixture) {
	a, b := run("a"), run("b")
	for what, change := range map[string]func(*store.Batch){
		"an event of another record":   func(batch *store.Batch) { batch.Events[0].Entry = b },
		"an answer of another record":  func(batch *store.Batch) { batch.Idempotency.Entry = b },
		"two appends to one record":    func(batch *store.Batch) { batch.Appends = append(batch.Appends, batch.Appends[0]) },
		"an event with two payloads":   func(batch *store.Batch) { batch.Events[0].Payload = []byte("x") },
		"a request with two answers":   func(batch *store.Batch) { batch.Idempotency.Answer = []byte("x") },
		"an event of nothing appended": func(batch *store.Batch) { batch.Appends = nil },
	} {
		batch := logged(a, "call", "first")
		change(&batch)
		if _, err := f.Commit(f.ctx, batch); err == nil {
			f.Errorf("%s is taken", what)
		}
	}
	announced(f)
}

// manyEntries are of several records, with gaps between the versions that are events.
func manyEntries(f *fixture) {
	const logs, each = 5, 40
	want := map[string]string{}
	for n := range each {
		for i := range logs {
			a := run(fmt.Sprintf("log%d", i))
			if n%7 == i { // an entry that is no event, many of them now and then
				silent := store.Put{Key: a, Expect: store.AnyVersion, History: []byte("silent")}
				for range n {
					silent.Earlier = append(silent.Earlier, []byte("silent"))
				}
				f.commit(store.Batch{Puts: []store.Put{silent}})
			}
			name, entry := fmt.Sprintf("%d.%d", i, n), fmt.Sprintf("entry %d of %d", n, i)
			f.commit(logged(a, name, entry))
			want[name] = entry
		}
	}
	got := map[string]string{}
	for _, e := range f.events() {
		got[e.ID] = string(e.Payload)
	}
	if len(got) != len(want) {
		f.Errorf("%d events, not %d", len(got), len(want))
	}
	for name, entry := range want {
		if got[name] != entry {
			f.Errorf("event %s is %q, not %q", name, got[name], entry)
		}
	}
}

// log holds that appends count on from the last entry, and leave the rest as it is.
func log(f *fixture) {
	a, b := run("a"), f.sameShard(run("a"), 1)[0]
	result := f.commit(store.Batch{
		Puts:     []store.Put{{Key: b, Expect: store.Absent, Data: []byte("b")}},
		Appends:  []store.Append{{Key: a, Entry: []byte("1")}},
		Counters: []store.Counter{{Owner: a, Name: "n", Delta: 5, Limit: store.NoLimit}},
	})
	if len(result.Versions) != 1 || result.Versions[0] != 1 || len(result.Appended) != 1 || result.Appended[0] != 1 || result.Counters[0] != 5 {
		f.Errorf("the first append answers %+v", result)
	}
	if got := f.get(a); got.Version != 1 || len(got.Data) != 0 || got.UpdatedAt.IsZero() {
		f.Errorf("the new record is %+v", got)
	}
	if page, err := f.List(f.ctx, store.Query{Namespace: a.Namespace, Kind: a.Kind, Limit: 10}); err != nil || len(page.Records) != 2 {
		f.Errorf("the list has %+v, %v", page, err)
	}
	f.commit(store.Batch{Deletes: []store.Check{{Key: a, Version: 1}}})
	f.gone(a)
	if result = f.commit(store.Batch{Appends: []store.Append{{Key: a, Entry: []byte("2")}}}); result.Appended[0] != 2 {
		f.Errorf("after a delete it counts on with %d", result.Appended[0])
	}
	f.refused(store.Batch{
		Checks: []store.Check{{Key: b, Version: 9}}, Appends: []store.Append{{Key: a, Entry: []byte("never")}},
	}, store.ErrConflict)
	f.clock.Advance(minute)
	f.commit(store.Batch{Checks: []store.Check{{Key: a, Version: 2}}, Appends: []store.Append{{Key: a, Entry: []byte("3")}}})
	entries, err := f.History(f.ctx, a, 0, 10)
	if err != nil || len(entries) != 3 || string(entries[2].Data) != "3" || entries[2].Version != 3 {
		f.Errorf("the history is %+v, %v", entries, err)
	}
	if got := f.get(a); got.Version != 3 || !got.UpdatedAt.Equal(f.clock.Now()) {
		f.Errorf("the record is %+v", got)
	}
	f.refused(store.Batch{Checks: []store.Check{{Key: a, Version: 2}}}, store.ErrConflict)
}
