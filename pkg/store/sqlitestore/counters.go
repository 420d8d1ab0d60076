package sqlitestore

import (
	"database/sql/driver"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// count applies the resets and counters of a batch and answers the counters'
// values, or leaves everything as it was and answers a *store.LimitError.
func (w *writer) count(b *store.Batch, now int64) (values []int64, err error) {
	steps := len(b.Reset) + len(b.Counters)
	if steps == 0 {
		return nil, nil
	}
	// A single step is refused before it changes anything. Of several, the
	// later see what the earlier did, and take it with them when refused.
	if steps > 1 {
		if err := w.savepoint.run(); err != nil {
			return nil, fail("setting a savepoint", err)
		}
	}
	values, err = w.countAll(b, now)
	if steps == 1 || failed(err) {
		return values, err
	}
	if err == nil {
		return values, fail("releasing a savepoint", w.keep.run())
	}
	for i := range b.Counters {
		w.cache.forgetCounters(encodeKey(b.Counters[i].Owner))
	}
	if undoErr := w.undo.run(); undoErr != nil {
		return nil, fail("undoing a batch", undoErr)
	}
	if keepErr := w.keep.run(); keepErr != nil {
		return nil, fail("undoing a batch", keepErr)
	}
	return nil, err
}

func (w *writer) countAll(b *store.Batch, now int64) ([]int64, error) {
	for i := range b.Reset {
		if err := w.reset(encodeKey(b.Reset[i])); err != nil {
			return nil, err
		}
	}
	var values []int64
	if len(b.Counters) > 0 {
		values = make([]int64, len(b.Counters))
	}
	for i := range b.Counters {
		c := &b.Counters[i]
		value, refusal, err := w.add(c, now)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			refusal.Index, refusal.Owner, refusal.Name, refusal.Limit = i, c.Owner, c.Name, c.Limit
			return nil, refusal
		}
		values[i] = value
	}
	return values, nil
}

func (w *writer) reset(owner string) error {
	w.cache.forgetCounters(owner)
	for _, drop := range []*statement{w.dropCounters, w.dropWindows, w.dropUnits} {
		if err := drop.run(owner); err != nil {
			return fail("resetting counters", err)
		}
	}
	return nil
}

// add adds to one counter. It changes nothing when it answers a refusal.
func (w *writer) add(c *store.Counter, now int64) (value int64, refusal *store.LimitError, err error) {
	owner := encodeKey(c.Owner)
	if c.Window > 0 {
		return w.addWindowed(c, owner, now)
	}
	value, known := w.cache.counter(owner, c.Name)
	if !known {
		if _, err := w.findCounter.first(func(row []driver.Value) { value = row[0].(int64) }, owner, c.Name); err != nil {
			return 0, nil, fail("reading a counter", err)
		}
	}
	if exceeds(value, c) {
		w.cache.setCounter(owner, c.Name, value)
		return 0, &store.LimitError{Value: value}, nil
	}
	value = max(0, value+c.Delta)
	if err := w.setCounter.run(owner, c.Name, value); err != nil {
		return 0, nil, fail("storing a counter", err)
	}
	w.cache.setCounter(owner, c.Name, value)
	return value, nil, nil
}

// exceeds answers whether a counter's limit forbids its delta. A sum beyond all
// numbers exceeds any limit, also none.
func exceeds(value int64, c *store.Counter) bool {
	if c.Delta < 0 {
		return false
	}
	sum := value + c.Delta
	return sum < value || c.Limit != store.NoLimit && sum > c.Limit
}

// window is the state of a windowed counter.
type window struct {
	// span is the longest window that was asked for: units are kept as long.
	// total is the sum of all that are kept.
	span, total int64
}

// addWindowed adds to a windowed counter. Units are kept by the moment of their
// admission, so the count is exact, and as long as their window, so there are
// never more of them than the limit.
func (w *writer) addWindowed(c *store.Counter, owner string, now int64) (value int64, refusal *store.LimitError, err error) {
	var state window
	_, err = w.findWindow.first(func(row []driver.Value) {
		state = window{span: row[0].(int64), total: row[1].(int64)}
	}, owner, c.Name)
	if err != nil {
		return 0, nil, fail("reading a counter", err)
	}
	length := c.Window.Microseconds()
	state.span = max(state.span, length)

	// All units after the window's begin count, also those that are later than
	// now: a clock that steps back must not admit more.
	expired, err := w.sum(owner, c.Name, now-state.span)
	if err != nil {
		return 0, nil, err
	}
	value = state.total - expired
	if length < state.span {
		older, err := w.sum(owner, c.Name, now-length)
		if err != nil {
			return 0, nil, err
		}
		value = state.total - older
	}
	if exceeds(value, c) {
		refusal := &store.LimitError{Value: value}
		refusal.ReopensAt, err = w.reopensAt(c, owner, now, value)
		return 0, refusal, err
	}

	if expired > 0 {
		if err := w.expireUnits.run(owner, c.Name, now-state.span); err != nil {
			return 0, nil, fail("storing a counter", err)
		}
		state.total -= expired
	}
	switch {
	case c.Delta > 0:
		state.total += c.Delta
		err = w.addUnits.run(owner, c.Name, now, c.Delta)
	case c.Delta < 0:
		var back int64
		back, err = w.giveBack(c, owner, now, value)
		state.total -= back
		value -= back
	}
	if err == nil {
		err = w.setWindow.run(owner, c.Name, state.span, state.total)
	}
	return value + max(0, c.Delta), nil, fail("storing a counter", err)
}

// sum answers the units admitted until then.
func (w *writer) sum(owner, name string, until int64) (sum int64, err error) {
	_, err = w.sumUnits.first(func(row []driver.Value) { sum = row[0].(int64) }, owner, name, until)
	return sum, fail("reading a counter", err)
}

// reopensAt answers when enough of the units in the window will have left it,
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
// gives back of those that were admitted in it, and answers how many that are.
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
