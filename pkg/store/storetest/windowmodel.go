package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
)

// windowModel holds the moments of the units that a windowed counter has, the oldest
// first.
type windowModel struct {
	window time.Duration
	units  []time.Time
}

// in returns the units in (t-window, t].
func (m *windowModel) in(t time.Time) []time.Time {
	var in []time.Time
	for _, unit := range m.units {
		if unit.After(t.Add(-m.window)) && !unit.After(t) {
			in = append(in, unit)
		}
	}
	return in
}

// verdict returns whether delta more units may be admitted at t, and if not,
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

// giveBack drops units that were admitted then, and returns the rest at t.
func (m *windowModel) giveBack(t time.Time, units int64, admitted time.Time) int64 {
	in := m.in(t)
	if admitted.After(t.Add(-m.window)) {
		in = in[min(units, int64(len(in))):]
	}
	m.units = in // units that have left do not come back
	return int64(len(in))
}

// windowProperty commits anything and requires the answers that the model gives.
func windowProperty(f *fixture) {
	var round atomic.Int64
	randtest.Check(f.T, func(t *rapid.T) {
		owner := run(fmt.Sprintf("round %d", round.Add(1)))
		limit := rapid.Int64Range(1, 6).Draw(t, "limit")
		model := &windowModel{window: time.Duration(rapid.IntRange(1, 20).Draw(t, "window")) * time.Millisecond}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			f.clock.Advance(time.Duration(rapid.IntRange(0, 8).Draw(t, "advance")) * time.Millisecond)
			if delta := rapid.Int64Range(-2, 4).Draw(t, "delta"); delta < 0 {
				age := time.Duration(rapid.IntRange(0, 25).Draw(t, "age")) * time.Millisecond
				model.stepBack(t, f, owner, -delta, limit, f.clock.Now().Add(-age))
			} else {
				model.step(t, f, owner, delta, limit)
			}
		}
	})
}

// stepBack gives units back and requires the value that the model has then.
func (m *windowModel) stepBack(t *rapid.T, f *fixture, owner store.Key, units, limit int64, admitted time.Time) {
	result, err := f.Commit(f.ctx, giveBack(owner, units, limit, m.window, admitted))
	if err != nil {
		t.Fatalf("giving back %d: %v", units, err)
	}
	before := m.in(f.clock.Now())
	if want := m.giveBack(f.clock.Now(), units, admitted); result.Counters[0] != want {
		t.Fatalf("giving back %d of %d answered %d, not %d", units, len(before), result.Counters[0], want)
	}
}

// step commits a delta and requires the answer that the model gives.
func (m *windowModel) step(t *rapid.T, f *fixture, owner store.Key, delta, limit int64) {
	now := f.clock.Now()
	before := int64(len(m.in(now)))
	result, err := f.Commit(f.ctx, admit(owner, "w", delta, limit, m.window))
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

// windowCall is a call that was admitted, and not given back yet.
type windowCall struct {
	at    time.Time
	units int64
}

// windowTruth admits calls and gives some of them back, in any order and however late.
// For any units given back, no window has more than the limit of the others,
// and units given back in time are free at once.
func windowTruth(f *fixture) {
	var round atomic.Int64
	randtest.Check(f.T, func(t *rapid.T) {
		owner := run(fmt.Sprintf("round %d", round.Add(1)))
		limit := rapid.Int64Range(1, 5).Draw(t, "limit")
		window := time.Duration(rapid.IntRange(1, 20).Draw(t, "window")) * time.Millisecond
		var calls []windowCall
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			f.clock.Advance(time.Duration(rapid.IntRange(0, 6).Draw(t, "advance")) * time.Millisecond)
			if len(calls) > 0 && rapid.Bool().Draw(t, "give back") {
				i := rapid.IntRange(0, len(calls)-1).Draw(t, "call")
				giveCallBack(t, f, owner, limit, window, calls[i])
				calls = slices.Delete(calls, i, i+1)
				continue
			}
			units := rapid.Int64Range(1, 3).Draw(t, "units")
			result, err := f.Commit(f.ctx, admit(owner, "w", units, limit, window))
			switch {
			case err == nil:
				calls = append(calls, windowCall{result.Admitted, units})
			case !errors.Is(err, store.ErrLimit):
				t.Fatal(err)
			}
			for _, last := range calls {
				if n := unitsIn(calls, last.at, window); n > limit {
					t.Fatalf("%d units are in a window with a limit of %d: %v", n, limit, calls)
				}
			}
		}
	})
}

func giveCallBack(t *rapid.T, f *fixture, owner store.Key, limit int64, window time.Duration, call windowCall) {
	before := admitted(f, owner, "w", window)
	result, err := f.Commit(f.ctx, giveBack(owner, call.units, limit, window, call.at))
	if err != nil {
		t.Fatal(err)
	}
	want := before
	if call.at.After(f.clock.Now().Add(-window)) {
		want -= call.units
	}
	if result.Counters[0] != want {
		t.Fatalf("%d units and %d, after %d were given back that are %v old", before, result.Counters[0], call.units, f.clock.Now().Sub(call.at))
	}
}

// unitsIn returns the units of calls in (t-window, t].
func unitsIn(calls []windowCall, t time.Time, window time.Duration) (n int64) {
	for _, call := range calls {
		if call.at.After(t.Add(-window)) && !call.at.After(t) {
			n += call.units
		}
	}
	return n
}
