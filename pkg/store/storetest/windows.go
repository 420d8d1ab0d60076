package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/store"
)

var windowTests = []test{
	{"half-open edges", windowEdges},
	{"several units at once", windowUnits},
	{"give back the newest", windowGiveBack},
	{"never reopens", windowNever},
	{"no limit", windowNoLimit},
	{"not among the plain counters", windowNotPlain},
	{"a clock that steps back admits nothing more", windowClockBack},
	{"never more than the limit in any window", windowProperty},
}

// admit is a batch that adds to one windowed counter.
func admit(owner store.Key, name string, delta, limit int64, window time.Duration) store.Batch {
	return store.Batch{Counters: []store.Counter{{Owner: owner, Name: name, Delta: delta, Limit: limit, Window: window}}}
}

// admitted answers the units in the window that ends now.
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
	f.commit(admit(a, "w", 2, 4, minute))
	f.clock.Advance(10 * second)
	if got := f.commit(admit(a, "w", -3, 4, minute)).Counters[0]; got != 1 {
		f.Errorf("4 units less 3 are %d", got)
	}
	// What is left is the oldest.
	f.commit(admit(a, "w", 3, 4, minute))
	wantLimit(f.T, f.refusal(admit(a, "w", 1, 4, minute), store.ErrLimit),
		store.LimitError{Owner: a, Name: "w", Value: 4, Limit: 4, ReopensAt: start.Add(minute)})
	if got := f.commit(admit(a, "w", -9, 4, minute)).Counters[0]; got != 0 {
		f.Errorf("4 units less 9 are %d", got)
	}
	if got := f.commit(admit(a, "w", -1, 0, minute)).Counters[0]; got != 0 {
		f.Errorf("no units less 1 are %d", got)
	}
	f.commit(admit(a, "w", 4, 4, minute))
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

// windowModel holds the moment of each unit that was admitted and not given
// back, the oldest first.
type windowModel struct {
	window time.Duration
	units  []time.Time
}

// in answers the units in (t-window, t].
func (m *windowModel) in(t time.Time) []time.Time {
	var in []time.Time
	for _, unit := range m.units {
		if unit.After(t.Add(-m.window)) && !unit.After(t) {
			in = append(in, unit)
		}
	}
	return in
}

// verdict answers whether delta more units may be admitted at t, and if not,
// when.
func (m *windowModel) verdict(t time.Time, delta, limit int64) (ok bool, reopensAt time.Time) {
	in := m.in(t)
	excess := int64(len(in)) + delta - limit
	switch {
	case excess <= 0:
		return true, time.Time{}
	case delta > limit:
		return false, time.Time{}
	default:
		return false, in[excess-1].Add(m.window)
	}
}

func windowProperty(f *fixture) {
	var round atomic.Int64
	rapid.Check(f.T, func(t *rapid.T) {
		owner := run(fmt.Sprintf("round %d", round.Add(1)))
		limit := rapid.Int64Range(1, 6).Draw(t, "limit")
		model := &windowModel{window: time.Duration(rapid.IntRange(1, 20).Draw(t, "window")) * time.Millisecond}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			f.clock.Advance(time.Duration(rapid.IntRange(0, 8).Draw(t, "advance")) * time.Millisecond)
			delta := rapid.Int64Range(-2, 4).Draw(t, "delta")
			model.step(t, f, owner, delta, limit)
		}
		for _, end := range model.units {
			if n := len(model.in(end)); int64(n) > limit {
				t.Fatalf("%d units in a window with a limit of %d", n, limit)
			}
		}
	})
}

// step commits a delta and demands the answer that the model gives.
func (m *windowModel) step(t *rapid.T, f *fixture, owner store.Key, delta, limit int64) {
	now := f.clock.Now()
	before := int64(len(m.in(now)))
	result, err := f.Commit(f.ctx, admit(owner, "w", delta, limit, m.window))
	if delta < 0 {
		if err != nil {
			t.Fatalf("giving back %d: %v", -delta, err)
		}
		m.units = m.units[:max(0, len(m.units)+int(delta))]
		if want := max(0, before+delta); result.Counters[0] != want {
			t.Fatalf("giving back %d of %d answered %d", -delta, before, result.Counters[0])
		}
		return
	}
	ok, reopensAt := m.verdict(now, delta, limit)
	var limited *store.LimitError
	switch {
	case err == nil && ok:
		m.units = append(m.units, slices.Repeat([]time.Time{now}, int(delta))...)
		if result.Counters[0] != before+delta {
			t.Fatalf("%d and %d more are %d, not %d", before, delta, result.Counters[0], before+delta)
		}
	case err == nil:
		t.Fatalf("%d more were admitted with %d of %d in the window", delta, before, limit)
	case !errors.As(err, &limited):
		t.Fatalf("commit: %v", err)
	case ok:
		t.Fatalf("%d more were refused with %d of %d in the window", delta, before, limit)
	case limited.Value != before || !limited.ReopensAt.Equal(reopensAt):
		t.Fatalf("refused with value %d and reopening at %v, not %d and %v", limited.Value, limited.ReopensAt, before, reopensAt)
	}
}
