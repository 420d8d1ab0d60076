package app

import (
	"sync"

	"github.com/interlock-run/interlock/pkg/store"
)

// hub wakes those who wait for a record to change. A wake-up is a hint: whoever
// gets one reads the store.
type hub struct {
	mu      sync.Mutex
	waiters map[store.Key]map[chan struct{}]struct{}
}

// newHub makes a hub without waiters.
func newHub() *hub {
	return &hub{waiters: make(map[store.Key]map[chan struct{}]struct{})}
}

// wait answers a channel that receives after the record changed, and a function
// that ends the waiting.
func (h *hub) wait(key store.Key) (<-chan struct{}, func()) {
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

// wake tells every waiter of a record that it may have changed.
func (h *hub) wake(key store.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.waiters[key] {
		select {
		case ch <- struct{}{}:
		default: // a wake-up is pending already
		}
	}
}
