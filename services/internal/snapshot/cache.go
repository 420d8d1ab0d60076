// Package snapshot caches immutable values by key. It makes no promise about
// freshness: callers that decide on a cached snapshot must let the store check its
// version in the same commit that records the decision.
package snapshot

import (
	"hash/maphash"
	"sync"
)

const stripes = 64

// Cache is a bounded map for concurrent use. When a stripe is full, arbitrary
// entries of it make room: a miss costs one load, so no order is kept.
type Cache[K comparable, V any] struct {
	seed   maphash.Seed
	limit  int
	stripe [stripes]struct {
		sync.RWMutex
		m      map[K]weighed[V]
		weight int
		_      [24]byte // keeps neighbouring locks off one cache line
	}
}

type weighed[V any] struct {
	value  V
	weight int
}

// New makes a cache of about capacity entries; with PutSized, of about capacity bytes.
func New[K comparable, V any](capacity int) *Cache[K, V] {
	c := &Cache[K, V]{seed: maphash.MakeSeed(), limit: max(1, capacity/stripes)}
	for i := range c.stripe {
		c.stripe[i].m = make(map[K]weighed[V])
	}
	return c
}

// Get returns the cached value.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	s := &c.stripe[maphash.Comparable(c.seed, key)%stripes]
	s.RLock()
	v, ok := s.m[key]
	s.RUnlock()
	return v.value, ok
}

// Put caches a value. When keep is given and answers true for the value that is
// cached already, that one stays: a late loader must not undo a newer snapshot.
func (c *Cache[K, V]) Put(key K, value V, keep func(old V) bool) { c.PutSized(key, value, 1, keep) }

// PutSized does the work of Put for a value of that many bytes. A value larger than a
// 64th of the capacity takes that place alone.
func (c *Cache[K, V]) PutSized(key K, value V, bytes int, keep func(old V) bool) {
	s := &c.stripe[maphash.Comparable(c.seed, key)%stripes]
	s.Lock()
	defer s.Unlock()
	old, ok := s.m[key]
	if ok && keep != nil && keep(old.value) {
		return
	}
	if ok {
		delete(s.m, key)
		s.weight -= old.weight
	}
	for k, other := range s.m {
		if s.weight+bytes <= c.limit {
			break
		}
		delete(s.m, k)
		s.weight -= other.weight
	}
	s.m[key] = weighed[V]{value, bytes}
	s.weight += bytes
}

// Drop forgets a key.
func (c *Cache[K, V]) Drop(key K) {
	s := &c.stripe[maphash.Comparable(c.seed, key)%stripes]
	s.Lock()
	defer s.Unlock()
	s.weight -= s.m[key].weight
	delete(s.m, key)
}

// Clear forgets everything.
func (c *Cache[K, V]) Clear() {
	for i := range c.stripe {
		s := &c.stripe[i]
		s.Lock()
		clear(s.m)
		s.weight = 0
		s.Unlock()
	}
}

// Len counts the entries.
func (c *Cache[K, V]) Len() int {
	n := 0
	for i := range c.stripe {
		s := &c.stripe[i]
		s.RLock()
		n += len(s.m)
		s.RUnlock()
	}
	return n
}

// Weight returns the sum of the entries' weights: 1 for each put by Put.
func (c *Cache[K, V]) Weight() int {
	n := 0
	for i := range c.stripe {
		s := &c.stripe[i]
		s.RLock()
		n += s.weight
		s.RUnlock()
	}
	return n
}

// Use is how much a cache holds, for metrics.
type Use struct {
	// Name of the cache, which no other of the process has.
	Name string
	// Of counts the entries and their weight.
	Of func() (entries, weight int)
	// Bytes is true when the weight is bytes.
	Bytes bool
}

// Use returns that of a cache whose entries were put by Put.
func (c *Cache[K, V]) Use(name string) Use {
	return Use{Name: name, Of: func() (int, int) { return c.Len(), c.Weight() }}
}

// UseBytes does the work of Use for a cache whose entries were put by PutSized.
func (c *Cache[K, V]) UseBytes(name string) Use {
	u := c.Use(name)
	u.Bytes = true
	return u
}
