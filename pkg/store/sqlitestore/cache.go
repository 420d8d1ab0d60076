package sqlitestore

// maxCached bounds the records, and the owners of counters, that the cache
// remembers. A few hundred bytes each.
const maxCached = 1 << 16

// recordState is what the writer must know of a record to judge and apply a put.
type recordState struct {
	// row is 0 when the record does not exist.
	row int64
	// version of the last put, also when the record was deleted.
	version int64
	labels  string
}

// current is the version as callers know it.
func (s recordState) current() int64 {
	if s.row == 0 {
		return 0
	}
	return s.version
}

// cache remembers what the writer last read or wrote. It is exact because nobody
// else writes; it is cleared whenever a transaction is rolled back.
type cache struct {
	records  map[string]recordState
	counters map[string]map[string]int64
}

func newCache() *cache {
	return &cache{records: map[string]recordState{}, counters: map[string]map[string]int64{}}
}

func (c *cache) clear() {
	clear(c.records)
	clear(c.counters)
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

func (c *cache) setCounter(owner, name string, value int64) {
	names, ok := c.counters[owner]
	if !ok {
		if len(c.counters) >= maxCached {
			evict(c.counters)
		}
		names = map[string]int64{}
		c.counters[owner] = names
	}
	names[name] = value
}

// forgetCounters forgets the counters of an owner.
func (c *cache) forgetCounters(owner string) { delete(c.counters, owner) }

// evict drops some entries, whichever come first.
func evict[V any](m map[string]V) {
	n := maxCached / 16
	for key := range m {
		if n--; n < 0 {
			return
		}
		delete(m, key)
	}
}
