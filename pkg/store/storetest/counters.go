package storetest

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

var counterTests = []test{
	{"add up to the limit", addToLimit},
	{"never below 0", neverBelowZero},
	{"give back above a lowered limit", loweredLimit},
	{"in order within a batch", countersInOrder},
	{"that mean nothing", badCounters},
	{"reset", resetCounters},
	{"probed, and the rest of a batch", probeChangesNothing},
	{"independent of the record", countersWithoutRecord},
	{"limit holds under concurrency", limitUnderConcurrency},
	{"no increment is lost", noLostIncrement},
}

// add returns a batch that adds to one plain counter.
func add(owner store.Key, name string, delta, limit int64) store.Batch {
	return store.Batch{Counters: []store.Counter{{Owner: owner, Name: name, Delta: delta, Limit: limit}}}
}

func addToLimit(f *fixture) {
	a := run("a")
	if got := f.counters(a); len(got) != 0 {
		f.Errorf("counters before any commit: %v", got)
	}
	for _, tt := range []struct{ delta, want int64 }{{1, 1}, {3, 4}, {0, 4}} {
		if got := f.commit(add(a, "calls", tt.delta, 5)).Counters[0]; got != tt.want {
			f.Errorf("adding %d answered %d, not %d", tt.delta, got, tt.want)
		}
	}
	wantLimit(f.T, f.refusal(add(a, "calls", 2, 5), store.ErrLimit), store.LimitError{Owner: a, Name: "calls", Value: 4, Limit: 5})
	f.commit(add(a, "calls", 1, 5))
	wantLimit(f.T, f.refusal(add(a, "calls", 1, 5), store.ErrLimit), store.LimitError{Owner: a, Name: "calls", Value: 5, Limit: 5})
	f.refused(add(a, "first", 1, 0), store.ErrLimit)
	f.commit(add(a, "calls", 1<<40, store.NoLimit))
	f.commit(add(a, "other", 1, 1))
	want := map[string]int64{"calls": 5 + 1<<40, "other": 1}
	if diff := cmp.Diff(want, f.counters(a)); diff != "" {
		f.Errorf("counters (-want +got):\n%s", diff)
	}
}

func neverBelowZero(f *fixture) {
	a := run("a")
	for _, tt := range []struct{ delta, want int64 }{{-1, 0}, {3, 3}, {-2, 1}, {-5, 0}, {1, 1}} {
		if got := f.commit(add(a, "n", tt.delta, 5)).Counters[0]; got != tt.want {
			f.Errorf("adding %d answered %d, not %d", tt.delta, got, tt.want)
		}
		if got := f.counters(a)["n"]; got != tt.want {
			f.Errorf("after adding %d the counter is %d, not %d", tt.delta, got, tt.want)
		}
	}
}

func loweredLimit(f *fixture) {
	a := run("a")
	f.commit(add(a, "n", 10, 10))
	f.refused(add(a, "n", 1, 5), store.ErrLimit)
	f.refused(add(a, "n", 0, 5), store.ErrLimit)
	if got := f.commit(add(a, "n", -2, 5)).Counters[0]; got != 8 {
		f.Errorf("after giving back 2 of 10 the counter is %d", got)
	}
}

func countersInOrder(f *fixture) {
	a := run("a")
	b := store.Batch{Counters: []store.Counter{
		{Owner: a, Name: "n", Delta: 2, Limit: 3},
		{Owner: a, Name: "w", Delta: 2, Limit: 3, Window: hour},
		{Owner: a, Name: "n", Delta: 1, Limit: 3},
		{Owner: a, Name: "w", Delta: 1, Limit: 3, Window: hour},
		{Owner: a, Name: "n", Delta: 1, Limit: 3},
	}}
	wantLimit(f.T, f.refusal(b, store.ErrLimit), store.LimitError{Index: 4, Owner: a, Name: "n", Value: 3, Limit: 3})
	b.Counters[4].Delta = -1
	b.Counters = append(b.Counters, store.Counter{Owner: a, Name: "w", Delta: 1, Limit: 3, Window: hour})
	wantLimit(f.T, f.refusal(b, store.ErrLimit), store.LimitError{
		Index: 5, Owner: a, Name: "w", Value: 3, Limit: 3, ReopensAt: f.clock.Now().Add(hour),
	})
	b.Counters[5].Delta, b.Counters[5].Admitted = -2, f.clock.Now()
	if diff := cmp.Diff([]int64{2, 2, 3, 3, 2, 1}, f.commit(b).Counters); diff != "" {
		f.Errorf("values (-want +got):\n%s", diff)
	}
}

func badCounters(f *fixture) {
	a := run("a")
	f.commit(admit(a, "w", 2, 2, hour))
	for name, counter := range map[string]store.Counter{
		"negative window":                  {Owner: a, Name: "n", Delta: 1, Limit: 1, Window: -1},
		"limit below none":                 {Owner: a, Name: "n", Delta: 1, Limit: store.NoLimit - 1},
		"delta without an absolute value":  {Owner: a, Name: "n", Delta: math.MinInt64, Limit: 1},
		"units given back, without a time": {Owner: a, Name: "w", Delta: -1, Limit: 2, Window: hour},
	} {
		batch := create(a, "data")
		batch.Counters = []store.Counter{counter}
		if _, err := f.Commit(f.ctx, batch); err == nil {
			f.Errorf("%s: applied", name)
		}
	}
	f.gone(a)
	if got := admitted(f, a, "w", hour); got != 2 || len(f.counters(a)) > 0 {
		f.Errorf("left are %d units and the counters %v", got, f.counters(a))
	}
}

// probeChangesNothing probes batches of all kinds of changes, of which those that follow would see any
// that was applied.
func probeChangesNothing(f *fixture) {
	a := run("a")
	f.commit(store.Batch{Counters: []store.Counter{
		{Owner: a, Name: "plain", Delta: 1, Limit: 3}, {Owner: a, Name: "window", Delta: 1, Limit: 3, Window: hour},
	}})
	batch := create(a, "data")
	batch.Idempotency = &store.Idempotency{Owner: a, Name: "once", Digest: "d", TTL: hour}
	batch.Events = []store.Event{{Key: a, ID: "e", Subject: "s"}}
	batch.SetTimers = []store.Timer{{TimerID: store.TimerID{Key: a, Name: "t"}, Due: time.Unix(1, 0)}}
	batch.Counters = []store.Counter{
		{Owner: a, Name: "plain", Delta: 2, Limit: 3}, {Owner: a, Name: "window", Delta: 2, Limit: 3, Window: hour},
	}
	twice := store.Batch{Counters: append(slices.Clone(batch.Counters), store.Counter{Owner: a, Name: "plain", Delta: -3, Limit: store.NoLimit})}
	reset := store.Batch{Reset: []store.Key{a}, Counters: batch.Counters}
	full := store.Batch{Counters: append(slices.Clone(batch.Counters), store.Counter{Owner: a, Name: "plain", Delta: 1, Limit: 3})}
	for range 3 {
		for _, b := range []store.Batch{batch, twice, reset} {
			if err := f.Probe(f.ctx, b); err != nil {
				f.Errorf("probe: %v", err)
			}
		}
		if err := f.Probe(f.ctx, full); !errors.Is(err, store.ErrLimit) {
			f.Errorf("a probe over the limit answered %v", err)
		}
		f.gone(a)
		if got := f.counters(a); got["plain"] != 1 || admitted(f, a, "window", hour) != 1 {
			f.Errorf("counters after a probe: %v, %d", got, admitted(f, a, "window", hour))
		}
		if len(f.events()) > 0 || len(f.due(time.Unix(2, 0), 10)) > 0 {
			f.Errorf("a probe has left events or timers")
		}
	}
	if result := f.commit(batch); result.Replayed || result.Counters[0] != 3 || result.Counters[1] != 3 {
		f.Errorf("the commit after probes answered %+v", result)
	}
	if err := f.Probe(f.ctx, batch); err != nil {
		f.Errorf("a probe of a batch that was applied: %v", err)
	}
}

func resetCounters(f *fixture) {
	a := run("a")
	other := f.sameShard(a, 1)[0]
	fill := store.Batch{Counters: []store.Counter{
		{Owner: a, Name: "x", Delta: 2, Limit: 2},
		{Owner: a, Name: "y", Delta: 2, Limit: 2},
		{Owner: a, Name: "w", Delta: 2, Limit: 2, Window: hour},
		{Owner: other, Name: "x", Delta: 2, Limit: 2},
		{Owner: other, Name: "w", Delta: 2, Limit: 2, Window: hour},
	}}
	f.commit(fill)

	// Reset comes first, so the limits are judged without the dropped counts.
	again := store.Batch{Reset: []store.Key{a}, Counters: fill.Counters[1:3]}
	if diff := cmp.Diff([]int64{2, 2}, f.commit(again).Counters); diff != "" {
		f.Errorf("values after a reset (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"y": 2}, f.counters(a)); diff != "" {
		f.Errorf("counters after a reset (-want +got):\n%s", diff)
	}
	f.commit(store.Batch{Reset: []store.Key{a, other}})
	for _, owner := range []store.Key{a, other} {
		if diff := cmp.Diff(map[string]int64{}, f.counters(owner), cmpopts.EquateEmpty()); diff != "" {
			f.Errorf("counters of %s after a reset (-want +got):\n%s", owner, diff)
		}
		if got := admitted(f, owner, "w", hour); got != 0 {
			f.Errorf("%d units of %s are left after a reset", got, owner)
		}
	}
	f.commit(fill)
}

func countersWithoutRecord(f *fixture) {
	a := run("a")
	f.commit(add(a, "n", 1, 5))
	f.gone(a)
	f.commit(create(a, "data"))
	f.commit(store.Batch{Deletes: []store.Check{{Key: a, Version: 1}}})
	if got := f.counters(a)["n"]; got != 1 {
		f.Errorf("the counter is %d after its owner's record went, not 1", got)
	}
}

func limitUnderConcurrency(f *fixture) {
	const limit = 50
	a := run("a")
	for _, counter := range []store.Counter{
		{Owner: a, Name: "plain", Delta: 1, Limit: limit},
		{Owner: a, Name: "windowed", Delta: 1, Limit: limit, Window: hour},
	} {
		var admitted, highest atomic.Int64
		inParallel(f.T, 64, func(int) error {
			for range 4 {
				result, err := f.Commit(f.ctx, store.Batch{Counters: []store.Counter{counter}})
				switch {
				case err == nil:
					admitted.Add(1)
					for value := result.Counters[0]; ; {
						if seen := highest.Load(); value <= seen || highest.CompareAndSwap(seen, value) {
							break
						}
					}
				case !errors.Is(err, store.ErrLimit):
					return err
				}
			}
			return nil
		})
		if admitted.Load() != limit || highest.Load() != limit {
			f.Errorf("%s: %d units were admitted and the highest value was %d, with a limit of %d", counter.Name, admitted.Load(), highest.Load(), limit)
		}
	}
}

func noLostIncrement(f *fixture) {
	const workers, each = 32, 10
	owners := []store.Key{run("a"), run("b"), run("c")}
	inParallel(f.T, workers, func(worker int) error {
		for i := range each {
			owner := owners[(worker+i)%len(owners)]
			if _, err := f.Commit(f.ctx, add(owner, "n", 1, store.NoLimit)); err != nil {
				return err
			}
		}
		return nil
	})
	var sum int64
	for _, owner := range owners {
		sum += f.counters(owner)["n"]
	}
	if sum != workers*each {
		f.Errorf("the sum is %d after %d increments", sum, workers*each)
	}
}
