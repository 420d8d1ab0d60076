package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/store"
)

var windowTests = []test{
	{"half-open edges", windowEdges},
	{"several units at once", windowUnits},
	{"give back the oldest", windowGiveBack},
	{"give back what has left the window", windowGiveBackLate},
	{"give back within a batch", windowGiveBackInBatch},
	{"never reopens", windowNever},
	{"no limit", windowNoLimit},
	{"not among the plain counters", windowNotPlain},
	{"a clock that steps back admits nothing more", windowClockBack},
	{"as a model has it", windowProperty},
	{"never more than the limit in any window", windowTruth},
}

// admit returns a batch that adds to one windowed counter.
func admit(owner store.Key, name string, delta, limit int64, window time.Duration) store.Batch {
	return store.Batch{Counters: []store.Counter{{Owner: owner, Name: name, Delta: delta, Limit: limit, Window: window}}}
}

// giveBack returns a batch that gives units of the windowed counter "w" back.
func giveBack(owner store.Key, units, limit int64, window time.Duration, admitted time.Time) store.Batch {
	batch := admit(owner, "w", -units, limit, window)
	batch.Counters[0].Admitted = admitted
	return batch
}

// admitted returns the units in the window that ends now.
func admitted(f *fixture, owner store.Key, name string, window time.Duration) int64 {
	f.Helper()
	return f.commit(admit(owner, name, 0, store.NoLimit, window)).Counters[0]
}

func windowEdges(f *fixture) {
	a := run("a")
	first := f.clock.Now()
	one := admit(a, "w", 1, 2, minute)
	full := store.LimitError{Owner: a, Name: "w", Value: 2, Limit: 2, ReopensAt: first.Add(minute)}
	f.commit(one)
	f.clock.Advance(10 * second)
	f.commit(one)
	wantLimit(f.T, f.refusal(one, store.ErrLimit), full)

	// The last moment at which the first unit is still in the window.
	f.clock.Advance(50*second - microsecond)
	wantLimit(f.T, f.refusal(one, store.ErrLimit), full)
	f.clock.Advance(microsecond)
	if got := admitted(f, a, "w", minute); got != 1 {
		f.Errorf("%d units in the window (t-1m, t] when the first is 1m old, not 1", got)
	}
	if got := f.commit(one).Counters[0]; got != 2 {
		f.Errorf("the value is %d, not 2", got)
	}
	full.ReopensAt = first.Add(10 * second).Add(minute)
	wantLimit(f.T, f.refusal(one, store.ErrLimit), full)
	f.clock.Advance(hour)
	if got := admitted(f, a, "w", minute); got != 0 {
		f.Errorf("%d units an hour later, not 0", got)
	}
}

func windowUnits(f *fixture) {
	a := run("a")
	start := f.clock.Now()
	for _, units := range []int64{1, 2, 3} {
		f.commit(admit(a, "w", units, 6, minute))
		f.clock.Advance(10 * second)
	}
	for _, tt := range []struct {
		delta  int64
		reopen time.Duration
	}{{1, minute}, {2, 70 * second}, {3, 70 * second}, {4, 80 * second}, {6, 80 * second}} {
		wantLimit(f.T, f.refusal(admit(a, "w", tt.delta, 6, minute), store.ErrLimit),
			store.LimitError{Owner: a, Name: "w", Value: 6, Limit: 6, ReopensAt: start.Add(tt.reopen)})
	}
	f.clock.Advance(40 * second) // 70 s after the start: 3 units are left
	f.refused(admit(a, "w", 4, 6, minute), store.ErrLimit)
	if got := f.commit(admit(a, "w", 3, 6, minute)).Counters[0]; got != 6 {
		f.Errorf("the value is %d, not 6", got)
	}
}

func windowGiveBack(f *fixture) {
	a := run("a")
	start := f.clock.Now()
	f.commit(admit(a, "w", 2, 4, minute))
	f.clock.Advance(10 * second)
	newest := f.commit(admit(a, "w", 2, 4, minute)).Admitted
	f.clock.Advance(10 * second)
	if got := f.commit(giveBack(a, 3, 4, minute, start)).Counters[0]; got != 1 {
		f.Errorf("4 units less 3 are %d", got)
	}
	// The rest is the newest.
	f.commit(admit(a, "w", 3, 4, minute))
	wantLimit(f.T, f.refusal(admit(a, "w", 1, 4, minute), store.ErrLimit),
		store.LimitError{Owner: a, Name: "w", Value: 4, Limit: 4, ReopensAt: newest.Add(minute)})
	wantLimit(f.T, f.refusal(admit(a, "w", 2, 4, minute), store.ErrLimit),
		store.LimitError{Owner: a, Name: "w", Value: 4, Limit: 4, ReopensAt: f.clock.Now().Add(minute)})
	if got := f.commit(giveBack(a, 9, 4, minute, newest)).Counters[0]; got != 0 {
		f.Errorf("4 units less 9 are %d", got)
	}
	if got := f.commit(giveBack(a, 1, 0, minute, newest)).Counters[0]; got != 0 {
		f.Errorf("no units less 1 are %d", got)
	}
	f.commit(admit(a, "w", 4, 4, minute))
}

// A unit that has left the window is free already: giving it back would take the place of
// one that is still in it.
func windowGiveBackLate(f *fixture) {
	a := run("a")
	first := f.commit(admit(a, "w", 1, 1, minute)).Admitted
	f.clock.Advance(minute)
	f.commit(admit(a, "w", 1, 1, minute))
	if got := f.commit(giveBack(a, 1, 1, minute, first)).Counters[0]; got != 1 {
		f.Errorf("a unit is in the window, and %d when one from before it was given back", got)
	}
	f.refused(admit(a, "w", 1, 1, minute), store.ErrLimit)
	f.clock.Advance(second)
	if got := f.commit(giveBack(a, 1, 1, minute, f.clock.Now().Add(-minute))).Counters[0]; got != 1 {
		f.Errorf("%d units when one that has just left was given back", got)
	}
	if got := f.commit(giveBack(a, 1, 1, minute, f.clock.Now().Add(microsecond-minute))).Counters[0]; got != 0 {
		f.Errorf("%d units when one that was about to leave was given back", got)
	}
	f.commit(admit(a, "w", 1, 1, minute))
}

func windowGiveBackInBatch(f *fixture) {
	a := run("a")
	f.commit(admit(a, "w", 3, 9, minute))
	f.clock.Advance(second)
	f.commit(admit(a, "w", 2, 9, minute))
	f.clock.Advance(second)
	now := f.clock.Now()
	batch := store.Batch{Counters: []store.Counter{
		{Owner: a, Name: "w", Delta: 1, Limit: 9, Window: minute},
		{Owner: a, Name: "w", Delta: -4, Limit: 9, Window: minute, Admitted: now},
		{Owner: a, Name: "w", Delta: 2, Limit: 4, Window: minute},
		{Owner: a, Name: "w", Delta: 1, Limit: 4, Window: minute},
	}}
	wantLimit(f.T, f.refusal(batch, store.ErrLimit),
		store.LimitError{Index: 3, Owner: a, Name: "w", Value: 4, Limit: 4, ReopensAt: now.Add(-second).Add(minute)})
	if got := admitted(f, a, "w", minute); got != 5 {
		f.Errorf("%d units after a batch was refused, not 5", got)
	}
	batch.Counters[3].Delta, batch.Counters[3].Admitted = -3, now
	if diff := cmp.Diff([]int64{6, 2, 4, 1}, f.commit(batch).Counters); diff != "" {
		f.Errorf("values (-want +got):\n%s", diff)
	}
	// The one that is left is of the batch.
	f.clock.Advance(minute - microsecond)
	if got := admitted(f, a, "w", minute); got != 1 {
		f.Errorf("%d units before the last leaves", got)
	}
	f.clock.Advance(microsecond)
	if got := admitted(f, a, "w", minute); got != 0 {
		f.Errorf("%d units after the last has left", got)
	}
}

func windowNever(f *fixture) {
	a := run("a")
	wantLimit(f.T, f.refusal(admit(a, "w", 3, 2, minute), store.ErrLimit), store.LimitError{Owner: a, Name: "w", Limit: 2})
	wantLimit(f.T, f.refusal(admit(a, "w", 1, 0, minute), store.ErrLimit), store.LimitError{Owner: a, Name: "w", Limit: 0})
	f.commit(admit(a, "w", 2, 2, minute))
	wantLimit(f.T, f.refusal(admit(a, "w", 3, 2, minute), store.ErrLimit), store.LimitError{Owner: a, Name: "w", Value: 2, Limit: 2})
}

func windowNoLimit(f *fixture) {
	a := run("a")
	for want := int64(1); want <= 20; want++ {
		if got := f.commit(admit(a, "w", 1, store.NoLimit, minute)).Counters[0]; got != want {
			f.Errorf("the value is %d, not %d", got, want)
		}
	}
	f.refused(admit(a, "w", 1, 20, minute), store.ErrLimit)
	f.clock.Advance(minute)
	f.commit(admit(a, "w", 1, 1, minute))
}

func windowNotPlain(f *fixture) {
	a := run("a")
	f.commit(admit(a, "w", 2, 5, minute))
	f.commit(add(a, "n", 1, 5))
	if got := f.counters(a); len(got) != 1 || got["n"] != 1 {
		f.Errorf("the plain counters are %v", got)
	}
}

func windowClockBack(f *fixture) {
	a := run("a")
	f.clock.Advance(hour)
	f.commit(admit(a, "w", 2, 2, minute))
	f.clock.Advance(-30 * second)
	f.refused(admit(a, "w", 1, 2, minute), store.ErrLimit)
	f.clock.Advance(-hour)
	f.refused(admit(a, "w", 1, 2, minute), store.ErrLimit)
	f.clock.Advance(hour + 90*second)
	f.commit(admit(a, "w", 2, 2, minute))
}
