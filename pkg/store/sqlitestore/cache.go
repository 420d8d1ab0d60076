package sqlitestore

// maxCached bounds the records, and the owners of counters, that the cache
// remembers. A few hundred bytes each.
const maxCached = 1 << 14

// recordState is the part of a record that the writer needs to judge and apply a put.
type recordState struct {
	// row is 0 when the record does not exist.
	row int64
	// version of the last put, also when the record was deleted.
	version int64
	labels  string
}

// current returns the version as callers know it.
func (s recordState) current() int64 {
	if s.row == 0 {
		return 0
	}
	return s.version
}

// timerKey and timerState are a timer as it is stored.
type timerKey struct{ key, name string }

type timerState struct {
	due  int64
	data string
}

// cache remembers the last reads and writes of the writer. It is exact because there is
// one writer; it is cleared whenever a transaction is rolled back.
type cache struct {
	records  map[string]recordState
	counters map[string]map[string]int64
	windows  map[string]map[string]window
	timers   map[timerKey]timerState
}

func newCache() *cache {
	return &cache{
		records: map[string]recordState{}, counters: map[string]map[string]int64{},
		windows: map[string]map[string]window{}, timers: map[timerKey]timerState{},
	}
}

func (c *cache) clear() {
	clear(c.records)
	clear(c.counters)
	clear(c.windows)
	clear(c.timers)
}

func (c *cache) setRecord(key string, state recordState) {
	if len(c.records) >= maxCached {
		evict(c.records)
	}
	c.records[key] = state
}

func (c *cache) counter(owner, name string) (value int64, known bool) {
	value, known = c.counters[owner][name]
	return value, known
}

func (c *cache) setCounter(owner, name string, value int64) { setNamed(c.counters, owner, name, value) }

func (c *cache) window(owner, name string) (state window, known bool) {
	state, known = c.windows[owner][name]
	return state, known
}

func (c *cache) setWindow(owner, name string, state window) { setNamed(c.windows, owner, name, state) }

// forgetCounters forgets the counters of an owner, windowed ones too.
func (c *cache) forgetCounters(owner string) {
	delete(c.counters, owner)
	delete(c.windows, owner)
}

func (c *cache) setTimer(key timerKey, state timerState) {
	if len(c.timers) >= maxCached {
		evict(c.timers)
	}
	c.timers[key] = state
}

func setNamed[V any](m map[string]map[string]V, owner, name string, value V) {
	names, ok := m[owner]
	if !ok {
		if len(m) >= maxCached {
			evict(m)
		}
		names = map[string]V{}
		m[owner] = names
	}
	names[name] = value
}

// evict drops some entries, in any order.
func evict[K comparable, V any](m map[K]V) {
	n := maxCached / 16
	for key := range m {
		if n--; n < 0 {
			return
		}
		delete(m, key)
	}
}
