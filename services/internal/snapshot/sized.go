package snapshot

import (
	"container/list"
	"sync"
)

// Sized is a Cache for values of very different sizes: it keeps those that were
// used last, up to a number of bytes in all.
type Sized[K comparable, V any] struct {
	mu    sync.Mutex
	limit int
	bytes int
	items map[K]*list.Element
	order list.List // most recent first
}

type sizedItem[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

// NewSized makes a cache of at most limit bytes.
func NewSized[K comparable, V any](limit int) *Sized[K, V] {
	return &Sized[K, V]{limit: limit, items: make(map[K]*list.Element)}
}

// Get returns the cached value.
func (c *Sized[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		var none V
		return none, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*sizedItem[K, V]).value, true
}

// Put caches a value of a size. keep is as with Cache. A value larger than a tenth of the
// cache is not kept.
func (c *Sized[K, V]) Put(key K, value V, bytes int, keep func(old V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		if keep != nil && keep(e.Value.(*sizedItem[K, V]).value) {
			return
		}
		c.remove(e)
	}
	if bytes > c.limit/10 {
		return
	}
	c.items[key] = c.order.PushFront(&sizedItem[K, V]{key, value, bytes})
	c.bytes += bytes
	for c.bytes > c.limit {
		c.remove(c.order.Back())
	}
}

// Drop forgets a value.
func (c *Sized[K, V]) Drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		c.remove(e)
	}
}

// Clear forgets everything.
func (c *Sized[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.items)
	c.order.Init()
	c.bytes = 0
}

// Use returns how much the cache holds, for metrics.
func (c *Sized[K, V]) Use(name string) Use {
	return Use{Name: name, Bytes: true, Of: func() (entries, bytes int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.items), c.bytes
	}}
}

func (c *Sized[K, V]) remove(e *list.Element) {
	item := e.Value.(*sizedItem[K, V])
	c.order.Remove(e)
	delete(c.items, item.key)
	c.bytes -= item.bytes
}
