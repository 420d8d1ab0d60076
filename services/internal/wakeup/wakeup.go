// Package wakeup wakes those of one process who wait for a record to change.
package wakeup

import (
	"sync"

	"github.com/interlock-run/interlock/pkg/store"
)

// Hub wakes callers that wait for a record to change. A wake-up is a hint: its
// receiver reads the store.
type Hub struct {
	mu      sync.Mutex
	waiters map[store.Key]map[chan struct{}]struct{}
}

// Waiting counts the records that callers wait for.
func (h *Hub) Waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiters)
}

// New makes a hub without waiters.
func New() *Hub {
	return &Hub{waiters: make(map[store.Key]map[chan struct{}]struct{})}
}

// Wait returns a channel that receives after the record changed, and a function
// that ends the waiting.
func (h *Hub) Wait(key store.Key) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiters[key] == nil {
		h.waiters[key] = make(map[chan struct{}]struct{})
	}
	h.waiters[key][ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiters[key], ch)
		if len(h.waiters[key]) == 0 {
			delete(h.waiters, key)
		}
	}
}

// Wake informs every waiter of a record that it may have changed.
func (h *Hub) Wake(key store.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.waiters[key] {
		select {
		case ch <- struct{}{}:
		default: // a wake-up is pending already
		}
	}
}
