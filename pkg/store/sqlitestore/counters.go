package sqlitestore

import (
	"database/sql/driver"

	"github.com/interlock-run/interlock/pkg/store"
)

// most counters of one batch that are judged first and then applied.
const mostJudged = 8

// count applies the resets and counters of a batch and returns the counters'
// values, or leaves everything as it was and returns a *store.LimitError.
func (w *writer) count(b *store.Batch, now int64) (values []int64, err error) {
	switch {
	case len(b.Reset) == 0 && len(b.Counters) == 0:
		return nil, nil
	case len(b.Reset) == 0 && distinct(b.Counters):
		return w.countDistinct(b.Counters, now)
	}
	// Earlier counts are written first: this may drop it, or be undone.
	if err := w.flush(); err != nil {
		return nil, err
	}
	if len(b.Reset) == 1 && len(b.Counters) == 0 {
		return nil, w.reset(encodeKey(b.Reset[0]))
	}
	return w.countInTurn(b, now)
}

// judgeCounts returns the error of count, and changes nothing.
func (w *writer) judgeCounts(b *store.Batch, now int64) error {
	if len(b.Reset) == 0 && distinct(b.Counters) {
		for i := range b.Counters {
			var j judgement
			if err := w.judge(&j, &b.Counters[i], i, now); err != nil {
				return err
			}
		}
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.savepoint.run(); err != nil {
		return fail("setting a savepoint", err)
	}
	_, err := w.countAll(b, now)
	if failed(err) {
		return err
	}
	if undone := w.undoCounts(b); undone != nil {
		return undone
	}
	return err
}

// distinct reports that no counter is there twice, in a list that is short enough to
// check.
func distinct(counters []store.Counter) bool {
	if len(counters) > mostJudged {
		return false
	}
	for i := range counters {
		for j := range i {
			if counters[i].Name == counters[j].Name && counters[i].Owner == counters[j].Owner {
				return false
			}
		}
	}
	return true
}

// countDistinct judges all counters, which are independent of each other, before it
// changes any.
func (w *writer) countDistinct(counters []store.Counter, now int64) ([]int64, error) {
	var room [mostJudged]judgement
	judged := room[:len(counters)]
	for i := range counters {
		if err := w.judge(&judged[i], &counters[i], i, now); err != nil {
			return nil, err
		}
	}
	values := make([]int64, len(counters))
	for i := range counters {
		var err error
		if values[i], err = w.add(&judged[i], &counters[i], now); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// countInTurn applies steps of which the later see the results of the earlier, and take
// it with them when refused.
func (w *writer) countInTurn(b *store.Batch, now int64) (values []int64, err error) {
	if err := w.savepoint.run(); err != nil {
		return nil, fail("setting a savepoint", err)
	}
	values, err = w.countAll(b, now)
	if failed(err) {
		return nil, err
	}
	if err == nil {
		return values, fail("releasing a savepoint", w.keep.run())
	}
	if undone := w.undoCounts(b); undone != nil {
		return nil, undone
	}
	return nil, err
}

// undoCounts returns to the savepoint before the counters of a batch.
func (w *writer) undoCounts(b *store.Batch) error {
	w.pending.clear()
	for i := range b.Counters {
		w.cache.forgetCounters(encodeKey(b.Counters[i].Owner))
	}
	for i := range b.Reset {
		w.cache.forgetCounters(encodeKey(b.Reset[i]))
	}
	if err := w.undo.run(); err != nil {
		return fail("undoing a batch", err)
	}
	if err := w.keep.run(); err != nil {
		return fail("undoing a batch", err)
	}
	return nil
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
		var j judgement
		if err := w.judge(&j, &b.Counters[i], i, now); err != nil {
			return nil, err
		}
		var err error
		if values[i], err = w.add(&j, &b.Counters[i], now); err != nil {
			return nil, err
		}
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

// judgement is the count of a counter before a batch.
type judgement struct {
	counterKey
	value int64
	// window is the state of a windowed counter, and expired the units in it that
	// have left.
	window  window
	expired int64
}

// judge reads a counter, the one with this index in its batch, and refuses a count above
// its limit. It makes no change.
func (w *writer) judge(j *judgement, c *store.Counter, index int, now int64) (err error) {
	j.counterKey = counterKey{encodeKey(c.Owner), c.Name}
	if c.Window > 0 {
		err = w.readWindow(j, c.Window.Microseconds(), now)
	} else {
		j.value, err = w.counter(j.counterKey)
	}
	if err != nil || !exceeds(j.value, c) {
		return err
	}
	refusal := &store.LimitError{Index: index, Owner: c.Owner, Name: c.Name, Limit: c.Limit, Value: j.value}
	if c.Window > 0 {
		refusal.ReopensAt, err = w.reopensAt(c, j.owner, now, j.value)
	}
	if err != nil {
		return err
	}
	return refusal
}

// add adds to a counter that was judged, and returns its value.
func (w *writer) add(j *judgement, c *store.Counter, now int64) (int64, error) {
	if c.Window > 0 {
		return w.addWindowed(j, c, now)
	}
	value := max(0, j.value+c.Delta)
	w.pending.counters[j.counterKey] = value
	w.cache.setCounter(j.owner, j.name, value)
	return value, nil
}

// counter returns the value of a plain counter.
func (w *writer) counter(key counterKey) (value int64, err error) {
	value, known := w.cache.counter(key.owner, key.name)
	if known {
		return value, nil
	}
	if value, known = w.pending.counters[key]; !known {
		_, err = w.findCounter.first(func(row []driver.Value) { value = row[0].(int64) }, key.owner, key.name)
		if err != nil {
			return 0, fail("reading a counter", err)
		}
	}
	w.cache.setCounter(key.owner, key.name, value)
	return value, nil
}

// exceeds returns whether a counter's limit forbids its delta. A sum beyond all
// numbers exceeds any limit, also none.
func exceeds(value int64, c *store.Counter) bool {
	if c.Delta < 0 {
		return false
	}
	sum := value + c.Delta
	return sum < value || c.Limit != store.NoLimit && sum > c.Limit
}
