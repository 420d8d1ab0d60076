package sqlitestore

import (
	"database/sql/driver"
	"math"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// window is the state of a windowed counter. Units are kept by the moment of their
// admission, so the count is exact, and as long as their window, so there are never
// more of them than the limit.
type window struct {
	// span is the longest window that was asked for: units are kept as long.
	// total is the sum of all that are kept.
	span, total int64
	// since is when the oldest of them were admitted, or before: it is not stored.
	since int64
}

// readWindow judges a windowed counter: its count in a window of this length. All units
// after the window's begin count, also those that are later than now: a clock that steps
// back must not admit more.
func (w *writer) readWindow(j *judgement, length, now int64) (err error) {
	if j.window, err = w.windowOf(j.counterKey); err != nil {
		return err
	}
	state := &j.window
	state.span = max(state.span, length)
	if j.expired, err = w.sum(j, now-state.span); err != nil {
		return err
	}
	older := j.expired
	if length < state.span {
		if older, err = w.sum(j, now-length); err != nil {
			return err
		}
	}
	j.value = state.total - older
	return nil
}

// windowOf returns the state of a windowed counter.
func (w *writer) windowOf(key counterKey) (state window, err error) {
	state, known := w.cache.window(key.owner, key.name)
	if known {
		return state, nil
	}
	if state, known = w.pending.windows[key]; !known {
		found, err := w.findWindow.first(func(row []driver.Value) {
			state = window{span: row[0].(int64), total: row[1].(int64)}
		}, key.owner, key.name)
		if err != nil {
			return state, fail("reading a counter", err)
		}
		if found {
			if state.since, err = w.oldest(key); err != nil {
				return state, err
			}
		}
	}
	w.cache.setWindow(key.owner, key.name, state)
	return state, nil
}

// oldest returns when the oldest units were admitted.
func (w *writer) oldest(key counterKey) (at int64, err error) {
	_, err = w.oldestUnits.first(func(row []driver.Value) { at = row[0].(int64) }, key.owner, key.name, int64(math.MinInt64))
	return at, fail("reading a counter", err)
}

// addWindowed adds to a windowed counter that was judged.
func (w *writer) addWindowed(j *judgement, c *store.Counter, now int64) (value int64, err error) {
	state := j.window
	if j.expired > 0 {
		if err := w.expireUnits.run(j.owner, j.name, now-state.span); err != nil {
			return 0, fail("storing a counter", err)
		}
		state.total -= j.expired
		if state.since, err = w.oldest(j.counterKey); err != nil {
			return 0, err
		}
	}
	value = j.value
	switch {
	case c.Delta > 0:
		if state.total == 0 || now < state.since {
			state.since = now
		}
		state.total += c.Delta
		value += c.Delta
		err = w.addUnits.run(j.owner, j.name, now, c.Delta)
	case c.Delta < 0:
		var back int64
		back, err = w.giveBack(c, j.owner, now, value)
		state.total -= back
		value -= back
	}
	if err != nil {
		return 0, fail("storing a counter", err)
	}
	w.pending.windows[j.counterKey] = state
	w.cache.setWindow(j.owner, j.name, state)
	return value, nil
}

// sum returns the units of a window that were admitted until then.
func (w *writer) sum(j *judgement, until int64) (sum int64, err error) {
	if j.window.total == 0 || until < j.window.since {
		return 0, nil
	}
	_, err = w.sumUnits.first(func(row []driver.Value) { sum = row[0].(int64) }, j.owner, j.name, until)
	return sum, fail("reading a counter", err)
}

// reopensAt returns when enough of the units in the window will have left it,
// or no time when there never are enough.
func (w *writer) reopensAt(c *store.Counter, owner string, now, value int64) (at time.Time, err error) {
	excess := value + c.Delta - c.Limit
	length := c.Window.Microseconds()
	err = w.oldestUnits.each(func(row []driver.Value) bool {
		if excess -= row[1].(int64); excess > 0 {
			return true
		}
		at = fromMicros(row[0].(int64) + length)
		return false
	}, owner, c.Name, now-length)
	return at, fail("reading a counter", err)
}

// giveBack takes the oldest of the units in the window away, as many as the counter
// gives back of those that were admitted in it, and returns how many that are.
func (w *writer) giveBack(c *store.Counter, owner string, now, value int64) (int64, error) {
	edge := now - c.Window.Microseconds()
	back := min(-c.Delta, value)
	if back == 0 || micros(c.Admitted) <= edge {
		return 0, nil
	}
	left := back
	var at, rest int64 // of the last that are touched
	err := w.oldestUnits.each(func(row []driver.Value) bool {
		at = row[0].(int64)
		rest = row[1].(int64) - left
		left -= row[1].(int64)
		return left > 0
	}, owner, c.Name, edge)
	if err != nil {
		return 0, err
	}
	if rest <= 0 {
		return back, w.takeUnits.run(owner, c.Name, edge, at)
	}
	if err := w.takeUnits.run(owner, c.Name, edge, at-1); err != nil {
		return 0, err
	}
	return back, w.setUnits.run(rest, owner, c.Name, at)
}
