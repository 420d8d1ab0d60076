// Package snapshot caches immutable values by key. It makes no promise about
// freshness: callers that decide on a cached snapshot must let the store check its
// version in the same commit that records the decision.
package snapshot

import (
	"hash/maphash"
	"sync"
)

const stripes = 64

// Cache is a bounded map for concurrent use. When a stripe is full, an arbitrary
// entry of it makes room: a miss costs one load, so no order is kept.
type Cache[K comparable, V any] struct {
	seed   maphash.Seed
	limit  int
	stripe [stripes]struct {
		sync.RWMutex
		m map[K]V
		_ [32]byte // keeps neighbouring locks off one cache line
	}
}

// New makes a cache of about capacity entries.
func New[K comparable, V any](capacity int) *Cache[K, V] {
	c := &Cache[K, V]{seed: maphash.MakeSeed(), limit: max(1, capacity/stripes)}
	for i := range c.stripe {
		c.stripe[i].m = make(map[K]V)
	}
	return c
}

// Get returns the cached value.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	s := &c.stripe[maphash.Comparable(c.seed, key)%stripes]
	s.RLock()
	v, ok := s.m[key]
	s.RUnlock()
	return v, ok
}

// Put caches a value. When keep is given and answers true for the value that is
// cached already, that one stays: a late loader must not undo a newer snapshot.
func (c *Cache[K, V]) Put(key K, value V, keep func(old V) bool) {
	s := &c.stripe[maphash.Comparable(c.seed, key)%stripes]
	s.Lock()
	defer s.Unlock()
	old, ok := s.m[key]
	if ok && keep != nil && keep(old) {
		return
	}
	if !ok && len(s.m) >= c.limit {
		for k := range s.m {
			delete(s.m, k)
			break
		}
	}
	s.m[key] = value
}

// Drop forgets a key.
func (c *Cache[K, V]) Drop(key K) {
	s := &c.stripe[maphash.Comparable(c.seed, key)%stripes]
	s.Lock()
	delete(s.m, key)
	s.Unlock()
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
