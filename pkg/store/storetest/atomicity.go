package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

var atomicityTests = []test{
	{"all or nothing", allOrNothing},
	{"order of evaluation", orderOfEvaluation},
	{"batch across shards", crossShard},
	{"counters, then puts, in one result", resultOrder},
}

// scene is a state with something of everything, and a batch that changes all
// of it.
type scene struct {
	a, b, c, d, lock store.Key
	batch            store.Batch
}

// setScene prepares a at version 2, b at version 1, c and d absent, a lease on
// lock, counters of a and b, a timer, and a used idempotency key "used".
func setScene(f *fixture) *scene {
	f.Helper()
	a := run("scene")
	others := f.sameShard(a, 4)
	s := &scene{a: a, b: others[0], c: others[1], d: others[2], lock: others[3]}
	f.commit(store.Batch{
		Puts: []store.Put{
			{Key: s.a, Expect: store.Absent, Data: []byte("a1"), Labels: map[string]string{"l": "old"}, History: []byte("h1")},
			{Key: s.b, Expect: store.Absent, Data: []byte("b1"), Labels: map[string]string{"l": "old"}},
		},
		Counters: []store.Counter{
			{Owner: s.a, Name: "plain", Delta: 1, Limit: 9},
			{Owner: s.a, Name: "windowed", Delta: 1, Limit: 9, Window: hour},
			{Owner: s.b, Name: "plain", Delta: 4, Limit: 9},
			{Owner: s.b, Name: "windowed", Delta: 4, Limit: 9, Window: hour},
		},
		Events: []store.Event{{Key: s.a, ID: "e1", Subject: "s", Payload: []byte("p")}},
		SetTimers: []store.Timer{
			{TimerID: store.TimerID{Key: s.a, Name: "old"}, Due: f.clock.Now(), Data: []byte("t")},
			{TimerID: store.TimerID{Key: s.b, Name: "late"}, Due: f.clock.Now(), Data: []byte("u")},
		},
	})
	f.commit(store.Batch{
		Idempotency: &store.Idempotency{Owner: s.a, Name: "used", Digest: "d", Answer: []byte("first"), TTL: hour},
		Puts:        []store.Put{{Key: s.a, Expect: 1, Data: []byte("a2"), Labels: map[string]string{"l": "old"}, History: []byte("h2")}},
	})
	lease, err := f.AcquireLease(f.ctx, s.lock, "me", hour)
	if err != nil {
		f.Fatal(err)
	}
	s.batch = store.Batch{
		Idempotency: &store.Idempotency{Owner: s.a, Name: "new", Digest: "d", Answer: []byte("answer"), TTL: hour},
		Fence:       &store.Fence{Key: s.lock, Token: lease.Token},
		Checks:      []store.Check{{Key: s.a, Version: 2}, {Key: s.c, Version: store.Absent}},
		Puts: []store.Put{
			{Key: s.a, Expect: 2, Data: []byte("a3"), Labels: map[string]string{"l": "new"}, History: []byte("h4"), Earlier: [][]byte{[]byte("h3")}},
			{Key: s.c, Expect: store.Absent, Data: []byte("c1"), Labels: map[string]string{"l": "new"}, History: []byte("h1")},
		},
		Deletes: []store.Check{{Key: s.b, Version: 1}, {Key: s.d, Version: store.Absent}},
		Forget:  []store.Forget{{Key: s.a, Through: 1}, {Key: s.b, Through: 1}},
		Reset:   []store.Key{s.b},
		Counters: []store.Counter{
			{Owner: s.a, Name: "plain", Delta: 1, Limit: 2},
			{Owner: s.a, Name: "windowed", Delta: 1, Limit: 2, Window: hour},
			{Owner: s.c, Name: "plain", Delta: 3, Limit: 3},
			{Owner: s.c, Name: "windowed", Delta: 3, Limit: 3, Window: hour},
		},
		Events:      []store.Event{{Key: s.a, ID: "e2", Subject: "s"}, {Key: s.c, ID: "e3", Subject: "s"}},
		SetTimers:   []store.Timer{{TimerID: store.TimerID{Key: s.c, Name: "new"}, Due: f.clock.Now()}},
		ClearTimers: []store.TimerID{{Key: s.a, Name: "old"}},
		Postpone: []store.Postpone{{
			Timer: store.Timer{TimerID: store.TimerID{Key: s.b, Name: "late"}, Due: f.clock.Now(), Data: []byte("u")},
			Until: f.clock.Now().Add(minute),
		}},
	}
	return s
}

// view is all that can be seen of a scene.
type view struct {
	Records  []store.Record
	History  [][]store.HistoryEntry
	Counters []map[string]int64
	Windows  []int64
	Answers  []string
	Listed   map[string][]string
	Events   []store.OutboxEntry
	Timers   []store.Timer
}

func (s *scene) view(f *fixture) view {
	f.Helper()
	var v view
	for _, key := range []store.Key{s.a, s.b, s.c, s.d} {
		record, err := f.Get(f.ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			f.Fatal(err)
		}
		v.Records = append(v.Records, record)
		history, err := f.History(f.ctx, key, 0, 100)
		if err != nil {
			f.Fatal(err)
		}
		v.History = append(v.History, history)
		v.Counters = append(v.Counters, f.counters(key))
		v.Windows = append(v.Windows, admitted(f, key, "windowed", hour))
	}
	for _, name := range []string{"used", "new"} {
		answer, err := f.Answer(f.ctx, s.a, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			f.Fatal(err)
		}
		v.Answers = append(v.Answers, string(answer))
	}
	v.Listed = map[string][]string{}
	for _, label := range []string{"old", "new"} {
		page, err := f.List(f.ctx, store.Query{Namespace: "test", Kind: "run", Labels: map[string]string{"l": label}, Limit: 100})
		if err != nil {
			f.Fatal(err)
		}
		for _, record := range page.Records {
			v.Listed[label] = append(v.Listed[label], record.Key.ID)
		}
	}
	v.Events, v.Timers = f.events(), f.due(f.clock.Now(), 1000)
	return v
}

func allOrNothing(f *fixture) {
	s := setScene(f)
	before := s.view(f)
	tests := []struct {
		name  string
		spoil func(b *store.Batch)
		want  error
	}{
		{"idempotency", func(b *store.Batch) {
			b.Idempotency = &store.Idempotency{Owner: s.a, Name: "used", Digest: "other", TTL: hour}
		}, store.ErrReplayMismatch},
		{"fence", func(b *store.Batch) { b.Fence = &store.Fence{Key: s.lock, Token: b.Fence.Token + 1} }, store.ErrFenced},
		{"fence on nobody", func(b *store.Batch) { b.Fence = &store.Fence{Key: s.lock, Token: store.Unheld} }, store.ErrFenced},
		{"check", func(b *store.Batch) { b.Checks[1].Version = 1 }, store.ErrConflict},
		{"put that should replace", func(b *store.Batch) { b.Puts[0].Expect = 1 }, store.ErrConflict},
		{"put that should create", func(b *store.Batch) { b.Puts[0].Expect = store.Absent }, store.ErrConflict},
		{"put of an absent record", func(b *store.Batch) { b.Puts[1].Expect = 1 }, store.ErrConflict},
		{"delete", func(b *store.Batch) { b.Deletes[0].Version = 2 }, store.ErrConflict},
		{"delete of an absent record", func(b *store.Batch) { b.Deletes[1].Version = 1 }, store.ErrConflict},
		{"first counter", func(b *store.Batch) { b.Counters[0].Limit = 1 }, store.ErrLimit},
		{"first windowed counter", func(b *store.Batch) { b.Counters[1].Limit = 1 }, store.ErrLimit},
		{"second counter", func(b *store.Batch) { b.Counters[2].Limit = 2 }, store.ErrLimit},
		{"last counter", func(b *store.Batch) { b.Counters[3].Limit = 2 }, store.ErrLimit},
		{"other shard", func(b *store.Batch) {
			b.Events = append(b.Events, store.Event{Key: f.otherShard(s.a), ID: "e9", Subject: "s"})
		}, store.ErrCrossShard},
	}
	for _, tt := range tests {
		// In turn, on one store: each leaves everything as it was.
		f.Run(tt.name, func(t *testing.T) {
			batch := s.batch
			batch.Checks = append([]store.Check(nil), batch.Checks...)
			batch.Puts = append([]store.Put(nil), batch.Puts...)
			batch.Deletes = append([]store.Check(nil), batch.Deletes...)
			batch.Counters = append([]store.Counter(nil), batch.Counters...)
			batch.Events = append([]store.Event(nil), batch.Events...)
			tt.spoil(&batch)
			if result, err := f.Commit(f.ctx, batch); !errors.Is(err, tt.want) {
				t.Fatalf("commit answered %+v, %v, not %v", result, err, tt.want)
			}
			if diff := cmp.Diff(before, s.view(f), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("a refused batch changed something (-before +after):\n%s", diff)
			}
		})
	}

	result := f.commit(s.batch)
	if diff := cmp.Diff([]int64{4, 1}, result.Versions); diff != "" {
		f.Errorf("versions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{2, 2, 3, 3}, result.Counters); diff != "" {
		f.Errorf("counters (-want +got):\n%s", diff)
	}
	after := s.view(f)
	checkApplied(f, s, after)
}

// checkApplied requires that all of the scene's batch can be seen.
func checkApplied(f *fixture, s *scene, got view) {
	f.Helper()
	now := f.clock.Now()
	want := view{
		Records: []store.Record{
			{Key: s.a, Version: 4, Data: []byte("a3"), Labels: map[string]string{"l": "new"}, UpdatedAt: now},
			{},
			{Key: s.c, Version: 1, Data: []byte("c1"), Labels: map[string]string{"l": "new"}, UpdatedAt: now},
			{},
		},
		History: [][]store.HistoryEntry{
			{{Version: 2, At: now, Data: []byte("h2")}, {Version: 3, At: now, Data: []byte("h3")}, {Version: 4, At: now, Data: []byte("h4")}},
			nil,
			{{Version: 1, At: now, Data: []byte("h1")}},
			nil,
		},
		Counters: []map[string]int64{{"plain": 2}, nil, {"plain": 3}, nil},
		Windows:  []int64{2, 0, 3, 0},
		Answers:  []string{"first", "answer"},
		Listed:   map[string][]string{"new": {s.a.ID, s.c.ID}},
		Timers:   []store.Timer{{TimerID: store.TimerID{Key: s.c, Name: "new"}, Due: now}},
	}
	ids := make([]string, 0, len(got.Events))
	for _, event := range got.Events {
		ids = append(ids, event.ID)
	}
	if diff := cmp.Diff([]string{"e1", "e2", "e3"}, ids); diff != "" {
		f.Errorf("events (-want +got):\n%s", diff)
	}
	got.Events = nil
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("after the batch (-want +got):\n%s", diff)
	}
}

func orderOfEvaluation(f *fixture) {
	s := setScene(f)
	good := s.batch
	bad := good
	bad.Idempotency = &store.Idempotency{Owner: s.a, Name: "used", Digest: "other", TTL: hour}
	bad.Fence = &store.Fence{Key: s.lock, Token: good.Fence.Token + 1}
	bad.Checks = []store.Check{{Key: s.a, Version: 7}, {Key: s.c, Version: 7}}
	bad.Puts = []store.Put{{Key: s.a, Expect: 8}, {Key: s.c, Expect: 8}}
	bad.Deletes = []store.Check{{Key: s.b, Version: 9}, {Key: s.d, Version: 9}}
	bad.Counters = []store.Counter{{Owner: s.a, Name: "plain", Delta: 1, Limit: 1}, {Owner: s.c, Name: "plain", Delta: 1, Limit: 0}}

	err := f.refusal(bad, store.ErrReplayMismatch)
	var mismatch *store.ReplayMismatchError
	if !errors.As(err, &mismatch) || *mismatch != (store.ReplayMismatchError{Owner: s.a, Name: "used"}) {
		f.Errorf("mismatch is %+v", mismatch)
	}
	bad.Idempotency = good.Idempotency
	f.refused(bad, store.ErrFenced)
	bad.Fence = good.Fence

	conflict := func(key store.Key, want, have int64) {
		f.Helper()
		wantConflict(f.T, f.refusal(bad, store.ErrConflict), store.ConflictError{Key: key, Want: want, Have: have})
	}
	conflict(s.a, 7, 2)
	bad.Checks = bad.Checks[1:]
	conflict(s.c, 7, store.Absent)
	bad.Checks = good.Checks
	conflict(s.a, 8, 2)
	bad.Puts = bad.Puts[1:]
	conflict(s.c, 8, store.Absent)
	bad.Puts = good.Puts
	conflict(s.b, 9, 1)
	bad.Deletes = bad.Deletes[1:]
	conflict(s.d, 9, store.Absent)
	bad.Deletes = good.Deletes

	wantLimit(f.T, f.refusal(bad, store.ErrLimit), store.LimitError{Index: 0, Owner: s.a, Name: "plain", Value: 1, Limit: 1})
	bad.Counters[0] = good.Counters[0]
	wantLimit(f.T, f.refusal(bad, store.ErrLimit), store.LimitError{Index: 1, Owner: s.c, Name: "plain", Value: 0, Limit: 0})
	bad.Counters[1] = good.Counters[1]
	f.commit(bad)
}

func crossShard(f *fixture) {
	a := run("a")
	b := f.otherShard(a)
	lease, err := f.AcquireLease(f.ctx, b, "me", hour)
	if err != nil {
		f.Fatal(err)
	}
	put := []store.Put{{Key: a, Expect: store.Absent}}
	for _, batch := range []store.Batch{
		{Puts: put, Idempotency: &store.Idempotency{Owner: b, Name: "k", TTL: hour}},
		{Puts: put, Fence: &store.Fence{Key: b, Token: lease.Token}},
		{Puts: []store.Put{{Key: a, Expect: store.Absent}, {Key: b, Expect: store.Absent}}},
		{Puts: put, Deletes: []store.Check{{Key: b, Version: store.AnyVersion}}},
		{Puts: put, Forget: []store.Forget{{Key: b, Through: 1}}},
		{Puts: put, Reset: []store.Key{b}},
		{Puts: put, Events: []store.Event{{Key: b, ID: "e", Subject: "s"}}},
		{Puts: put, SetTimers: []store.Timer{{TimerID: store.TimerID{Key: b, Name: "t"}, Due: f.clock.Now()}}},
		{Puts: put, ClearTimers: []store.TimerID{{Key: b, Name: "t"}}},
		{Puts: put, Postpone: []store.Postpone{{Timer: timer(b, "t", f.clock.Now(), ""), Until: f.clock.Now()}}},
	} {
		f.refused(batch, store.ErrCrossShard)
	}
	f.gone(a)
	f.gone(b)
	if got := len(f.counters(a)) + len(f.counters(b)); got != 0 {
		f.Errorf("%d counters are there", got)
	}
	if events := f.events(); len(events) != 0 {
		f.Errorf("events are %v", events)
	}
}

func resultOrder(f *fixture) {
	a := run("a")
	keys := f.sameShard(a, 3)
	for range 2 {
		f.commit(store.Batch{Puts: []store.Put{{Key: keys[1], Expect: store.AnyVersion}}})
	}
	result := f.commit(store.Batch{
		Puts: []store.Put{{Key: keys[2], Expect: store.Absent}, {Key: keys[1], Expect: 2}, {Key: keys[0], Expect: store.AnyVersion}},
		Counters: []store.Counter{
			{Owner: a, Name: "z", Delta: 3, Limit: store.NoLimit},
			{Owner: a, Name: "a", Delta: 5, Limit: store.NoLimit, Window: hour},
			{Owner: a, Name: "m", Delta: 4, Limit: 4},
		},
	})
	want := store.Result{Versions: []int64{1, 3, 1}, Counters: []int64{3, 5, 4}, Admitted: f.clock.Now()}
	if diff := cmp.Diff(want, result, cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("result (-want +got):\n%s", diff)
	}
}

// wantLimit requires a *LimitError with these fields.
func wantLimit(t *testing.T, err error, want store.LimitError) {
	t.Helper()
	var got *store.LimitError
	if !errors.As(err, &got) {
		t.Errorf("%v is no *LimitError", err)
		return
	}
	if diff := cmp.Diff(want, *got, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("limit (-want +got):\n%s", diff)
	}
}
