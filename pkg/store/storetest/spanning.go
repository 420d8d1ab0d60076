package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

// spanningTests are of batches whose checks and counters are of other shards than
// the rest.
var spanningTests = []test{
	{"one batch in several shards", spanningBatch},
	{"refused in another shard", spanningRefused},
	{"without anything else", spanningOnly},
	{"repeated", spanningRepeated},
	{"limit in another shard holds under concurrency", spanningLimit},
	{"after a restart", spanningRestart},
	{"across shards", across},
	{"refused across shards", acrossRefused},
	{"overlapping across shards", acrossOverlapping},
}

// span is a state in two shards, and a batch that changes a record here depending on the one
// there.
type span struct {
	here, there, third store.Key
	batch              store.Batch
}

// setSpan prepares here and there at version 1, and counters of both at 1 of 2.
func setSpan(f *fixture) *span {
	f.Helper()
	s := &span{here: run("here")}
	s.there = f.otherShard(s.here)
	s.third = s.there
	for i := 0; s.third.Shard(f.Shards()) == s.here.Shard(f.Shards()) || s.third.Shard(f.Shards()) == s.there.Shard(f.Shards()); i++ {
		s.third = run(string(rune('a' + i)))
	}
	for _, key := range []store.Key{s.here, s.there} {
		batch := create(key, "data")
		batch.Counters = []store.Counter{
			{Owner: key, Name: "n", Delta: 1, Limit: 2},
			{Owner: key, Name: "w", Delta: 1, Limit: 2, Window: hour},
		}
		f.commit(batch)
	}
	s.batch = store.Batch{
		Idempotency: &store.Idempotency{Owner: s.here, Name: "k", Digest: "d", Answer: []byte("answer"), TTL: hour},
		Checks:      []store.Check{{Key: s.there, Version: 1}, {Key: s.third, Version: store.Absent}},
		Puts:        []store.Put{{Key: s.here, Expect: 1, Data: []byte("more data"), History: []byte("h")}},
		Counters: []store.Counter{
			{Owner: s.there, Name: "n", Delta: 1, Limit: 2},
			{Owner: s.here, Name: "n", Delta: 1, Limit: 2},
			{Owner: s.third, Name: "w", Delta: 1, Limit: 2, Window: hour},
			{Owner: s.there, Name: "w", Delta: 1, Limit: 2, Window: hour},
			{Owner: s.there, Name: "m", Delta: 5, Limit: store.NoLimit},
		},
		Events:    []store.Event{{Key: s.here, ID: "e", Subject: "s"}},
		SetTimers: []store.Timer{timer(s.here, "t", f.clock.Now(), "")},
	}
	return s
}

// spanView is all that can be seen of a span.
type spanView struct {
	Versions []int64
	Counters []map[string]int64
	Windows  []int64
	Events   []string
	Timers   int
	Answer   string
}

func (s *span) view(f *fixture) spanView {
	f.Helper()
	v := spanView{Timers: len(f.due(f.clock.Now(), 10))}
	for _, key := range []store.Key{s.here, s.there, s.third} {
		record, err := f.Get(f.ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			f.Fatal(err)
		}
		v.Versions = append(v.Versions, record.Version)
		v.Counters = append(v.Counters, f.counters(key))
		v.Windows = append(v.Windows, admitted(f, key, "w", hour))
	}
	for _, event := range f.events() {
		if want := s.here.Shard(f.Shards()); event.Shard != want {
			f.Errorf("the event is in shard %d, not %d", event.Shard, want)
		}
		v.Events = append(v.Events, event.ID)
	}
	answer, err := f.Answer(f.ctx, s.here, "k")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		f.Fatal(err)
	}
	v.Answer = string(answer)
	return v
}

// unchanged requires that a refused batch has made no change.
func (f *fixture) unchanged(s *span, before spanView) {
	f.Helper()
	if diff := cmp.Diff(before, s.view(f), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("a refused batch changed something (-before +after):\n%s", diff)
	}
}

// applied is the result of the span's batch.
var applied = spanView{
	Versions: []int64{2, 1, 0},
	Counters: []map[string]int64{{"n": 2}, {"n": 2, "m": 5}, nil},
	Windows:  []int64{1, 2, 1},
	Events:   []string{"e"},
	Timers:   1,
	Answer:   "answer",
}

func (f *fixture) isApplied(s *span) {
	f.Helper()
	if diff := cmp.Diff(applied, s.view(f), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("after the batch (-want +got):\n%s", diff)
	}
}

func spanningBatch(f *fixture) {
	s := setSpan(f)
	want := store.Result{Versions: []int64{2}, Counters: []int64{2, 2, 1, 2, 5}, Admitted: f.clock.Now()}
	if diff := cmp.Diff(want, f.commit(s.batch), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("result (-want +got):\n%s", diff)
	}
	f.isApplied(s)
}

func spanningRefused(f *fixture) {
	s := setSpan(f)
	before := s.view(f)
	for _, tt := range []struct {
		name  string
		spoil func(b *store.Batch)
		want  error
	}{
		{"check of another version", func(b *store.Batch) { b.Checks[0].Version = 2 }, store.ErrConflict},
		{"check of an absent record", func(b *store.Batch) { b.Checks[1].Version = 1 }, store.ErrConflict},
		{"put here", func(b *store.Batch) { b.Puts[0].Expect = 2 }, store.ErrConflict},
		{"counter there", func(b *store.Batch) { b.Counters[0].Limit = 1 }, store.ErrLimit},
		{"counter here", func(b *store.Batch) { b.Counters[1].Limit = 1 }, store.ErrLimit},
		{"window elsewhere", func(b *store.Batch) { b.Counters[2].Limit = 0 }, store.ErrLimit},
		{"window there", func(b *store.Batch) { b.Counters[3].Limit = 1 }, store.ErrLimit},
		{"put there", func(b *store.Batch) { b.Puts = append(b.Puts, store.Put{Key: s.there, Expect: 1}) }, store.ErrCrossShard},
		{"reset there", func(b *store.Batch) { b.Reset = []store.Key{s.there} }, store.ErrCrossShard},
	} {
		batch := s.batch
		batch.Checks, batch.Puts, batch.Counters = slices.Clone(batch.Checks), slices.Clone(batch.Puts), slices.Clone(batch.Counters)
		tt.spoil(&batch)
		if result, err := f.Commit(f.ctx, batch); !errors.Is(err, tt.want) {
			f.Errorf("%s: commit answered %+v, %v, not %v", tt.name, result, err, tt.want)
		}
		f.unchanged(s, before)
	}
	s.batch.Counters[3].Limit = 1
	wantLimit(f.T, f.refusal(s.batch, store.ErrLimit),
		store.LimitError{Index: 3, Owner: s.there, Name: "w", Value: 1, Limit: 1, ReopensAt: f.clock.Now().Add(hour)})
	s.batch.Counters[3].Limit, s.batch.Checks[1].Version = 2, 4
	wantConflict(f.T, f.refusal(s.batch, store.ErrConflict), store.ConflictError{Key: s.third, Want: 4, Have: store.Absent})
	s.batch.Checks[1].Version = store.Absent
	f.commit(s.batch)
	f.isApplied(s)
}

func spanningOnly(f *fixture) {
	s := setSpan(f)
	batch := store.Batch{Checks: s.batch.Checks, Counters: slices.Clone(s.batch.Counters)}
	if diff := cmp.Diff([]int64{2, 2, 1, 2, 5}, f.commit(batch).Counters); diff != "" {
		f.Errorf("counters (-want +got):\n%s", diff)
	}
	f.refused(batch, store.ErrLimit)
	for i := range batch.Counters {
		batch.Counters[i].Delta, batch.Counters[i].Admitted = -batch.Counters[i].Delta, f.clock.Now()
	}
	if diff := cmp.Diff([]int64{1, 1, 0, 1, 0}, f.commit(batch).Counters); diff != "" {
		f.Errorf("counters given back (-want +got):\n%s", diff)
	}
	f.commit(s.batch)
	f.isApplied(s)
}

func spanningRepeated(f *fixture) {
	s := setSpan(f)
	f.commit(s.batch)
	for range 3 {
		if got := f.commit(s.batch); !got.Replayed || string(got.Answer) != "answer" {
			f.Errorf("the repeat answered %+v", got)
		}
	}
	f.isApplied(s)
}

// spanningLimit lets commits to many shards fight for one limit, in a shard of its own.
func spanningLimit(f *fixture) {
	s := setSpan(f)
	const limit, workers, each = 50, 64, 4
	for _, counter := range []store.Counter{
		{Owner: s.there, Name: "plain", Delta: 1, Limit: limit},
		{Owner: s.there, Name: "windowed", Delta: 1, Limit: limit, Window: hour},
	} {
		var admitted atomic.Int64
		inParallel(f.T, workers, func(worker int) error {
			key := run(fmt.Sprintf("%s.%d", counter.Name, worker))
			for range each {
				_, err := f.Commit(f.ctx, store.Batch{
					Puts:     []store.Put{{Key: key, Expect: store.AnyVersion}},
					Counters: []store.Counter{counter, {Owner: key, Name: "own", Delta: 1, Limit: store.NoLimit}},
				})
				switch {
				case err == nil:
					admitted.Add(1)
				case !errors.Is(err, store.ErrLimit):
					return err
				}
			}
			return nil
		})
		var put, own int64
		for worker := range workers {
			key := run(fmt.Sprintf("%s.%d", counter.Name, worker))
			if record, err := f.Get(f.ctx, key); err == nil {
				put += record.Version
			}
			own += f.counters(key)["own"]
		}
		if admitted.Load() != limit || put != limit || own != limit {
			f.Errorf("%s: %d commits were admitted, %d puts and %d counts were made, with a limit of %d",
				counter.Name, admitted.Load(), put, own, limit)
		}
	}
}

func spanningRestart(f *fixture) {
	s := setSpan(f)
	f.commit(s.batch)
	f.reopen()
	f.isApplied(s)
	f.refused(add(s.there, "n", 1, 2), store.ErrLimit)
	f.refused(admit(s.there, "w", 1, 2, hour), store.ErrLimit)
}

// acrossBatch creates a record in each of three shards, with an event and a timer of each
// and a counter of one.
func acrossBatch(f *fixture) (keys []store.Key, batch store.Batch) {
	f.Helper()
	for i := 0; len(keys) < 3; i++ {
		key := run(fmt.Sprint("across ", i))
		if !slices.ContainsFunc(keys, func(k store.Key) bool { return k.Shard(f.Shards()) == key.Shard(f.Shards()) }) {
			keys = append(keys, key)
		}
	}
	batch.Across = true
	for i, key := range keys {
		f.commit(store.Batch{SetTimers: []store.Timer{timer(key, "old", f.clock.Now(), "")}})
		batch.Puts = append(batch.Puts, store.Put{Key: key, Expect: store.Absent, Data: []byte(key.ID), History: []byte("h"), Labels: map[string]string{"of": "one"}})
		batch.Events = append(batch.Events, store.Event{Key: key, ID: fmt.Sprint("e", i), Subject: "s"})
		batch.SetTimers = append(batch.SetTimers, timer(key, "new", f.clock.Now(), ""))
		batch.ClearTimers = append(batch.ClearTimers, store.TimerID{Key: key, Name: "old"})
	}
	batch.Appends = []store.Append{{Key: acrossLog(keys), Entry: []byte("entry")}}
	batch.Counters = []store.Counter{{Owner: keys[1], Name: "n", Delta: 1, Limit: 1}}
	batch.Idempotency = &store.Idempotency{Owner: keys[2], Name: "k", Digest: "d", Answer: []byte("answer"), TTL: hour}
	without := batch
	without.Across = false
	f.refused(without, store.ErrCrossShard)
	entries := batch
	entries.Events = append(slices.Clone(batch.Events), store.Event{Key: keys[0], ID: "of an entry", Subject: "s", Entry: acrossLog(keys)})
	if _, err := f.Commit(f.ctx, entries); err == nil {
		f.Error("a batch across shards has the event of an entry")
	}
	return keys, batch
}

// acrossLog is the log of an acrossBatch, next to the last of its records.
func acrossLog(keys []store.Key) store.Key {
	return store.Key{Namespace: keys[2].Namespace, Kind: "log", ID: keys[2].ID}
}

// acrossLeft requires the records of an acrossBatch: all at a version, or none.
func acrossLeft(f *fixture, keys []store.Key, version int64) {
	f.Helper()
	events := map[string]int{}
	for _, event := range f.events() {
		events[event.ID] = event.Shard
	}
	names := map[store.Key]string{}
	for _, t := range f.due(f.clock.Now(), 100) {
		names[t.Key] += t.Name
	}
	for i, key := range keys {
		record, err := f.Get(f.ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			f.Fatal(err)
		}
		shard, announced := events[fmt.Sprint("e", i)]
		wantTimer := "old"
		if version > 0 {
			wantTimer = "new"
		}
		if record.Version != version || announced != (version > 0) || announced && shard != key.Shard(f.Shards()) || names[key] != wantTimer {
			f.Errorf("%s: version %d, want %d; event %v in shard %d of %d; timers %q", key, record.Version, version, announced, shard, key.Shard(f.Shards()), names[key])
		}
	}
	want := 0
	if version > 0 {
		want = len(keys)
	}
	if entries, err := f.History(f.ctx, acrossLog(keys), 0, 10); err != nil || int64(len(entries)) != version {
		f.Errorf("the log has %d entries, want %d: %v", len(entries), version, err)
	}
	page, err := f.List(f.ctx, store.Query{Namespace: keys[0].Namespace, Kind: keys[0].Kind, Labels: map[string]string{"of": "one"}, Limit: 10})
	if err != nil || len(page.Records) != want {
		f.Errorf("%d records have the label, want %d: %v", len(page.Records), want, err)
	}
}

func across(f *fixture) {
	keys, batch := acrossBatch(f)
	result := f.commit(batch)
	if !slices.Equal(result.Versions, []int64{1, 1, 1}) || !slices.Equal(result.Counters, []int64{1}) {
		f.Errorf("answered %+v", result)
	}
	acrossLeft(f, keys, 1)
	if result = f.commit(batch); !result.Replayed || string(result.Answer) != "answer" {
		f.Errorf("a repeat is answered %+v", result)
	}
	acrossLeft(f, keys, 1)
	batch.Appends = []store.Append{{Key: keys[0], Entry: []byte("x")}}
	if _, err := f.Commit(f.ctx, batch); err == nil {
		f.Error("a batch across shards appends")
	}
}

// One condition that fails, any of them, undoes the whole batch.
func acrossRefused(f *fixture) {
	keys, batch := acrossBatch(f)
	var conflict *store.ConflictError
	for i := range batch.Puts {
		wrong := batch
		wrong.Puts = slices.Clone(batch.Puts)
		wrong.Puts[i].Expect = 7
		if _, err := f.Commit(f.ctx, wrong); !errors.As(err, &conflict) || conflict.Key != keys[i] {
			f.Errorf("put %d of another version: %v", i, err)
		}
		acrossLeft(f, keys, 0)
	}
	wrong := batch
	wrong.Counters = []store.Counter{{Owner: keys[1], Name: "n", Delta: 2, Limit: 1}}
	var limit *store.LimitError
	if _, err := f.Commit(f.ctx, wrong); !errors.As(err, &limit) {
		f.Errorf("over a limit: %v", err)
	}
	acrossLeft(f, keys, 0)
	f.commit(batch)
	acrossLeft(f, keys, 1)
}

// Of batches that overlap one wins, and the others leave no trace.
func acrossOverlapping(f *fixture) {
	keys, batch := acrossBatch(f)
	const writers = 12
	var won atomic.Int64
	inParallel(f.T, writers, func(i int) error {
		one := batch
		one.Idempotency = nil
		one.Puts = slices.Clone(batch.Puts)
		for j := range one.Puts {
			one.Puts[j].Data = fmt.Append(nil, i)
		}
		// Each begins elsewhere, so that none has the same order.
		one.Puts = append(one.Puts[i%3:len(one.Puts):len(one.Puts)], one.Puts[:i%3]...)
		_, err := f.Commit(f.ctx, one)
		switch {
		case err == nil:
			won.Add(1)
		case !errors.As(err, new(*store.ConflictError)):
			return err
		}
		return nil
	})
	if won.Load() != 1 {
		f.Errorf("%d of %d batches have won", won.Load(), writers)
	}
	acrossLeft(f, keys, 1)
	var data []string
	for _, key := range keys {
		record, err := f.Get(f.ctx, key)
		if err != nil {
			f.Fatal(err)
		}
		data = append(data, string(record.Data))
	}
	if data[0] != data[1] || data[1] != data[2] {
		f.Errorf("the records are of several batches: %q", data)
	}
}
