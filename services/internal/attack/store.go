package attack

import (
	"context"
	"fmt"
	"sync"

	"github.com/interlock-run/interlock/pkg/store"
)

// hooked is the store of one life of the services: something can be done before one of its
// commits, and the services can die at one.
type hooked struct {
	store.Store
	mu      sync.Mutex
	commits int
	at      int
	do      func()
	dieAt   int
	applied bool
	dead    bool
}

// before has something done before the nth commit from now on.
func (h *hooked) before(n int, do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.do = h.commits+n, do
}

// die ends the services at the nth commit from now on: after it was made, or instead.
func (h *hooked) die(n int, applied bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dieAt, h.applied = h.commits+n, applied
}

// calm drops the pending acts, and reports that the services are dead.
func (h *hooked) calm() (dead bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.do, h.dieAt = nil, 0
	return h.dead
}

// next returns the act before a commit, and whether the services die at it, or are dead.
func (h *hooked) next() (do func(), dies, dead bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead {
		return nil, false, true
	}
	h.commits++
	if h.do != nil && h.commits == h.at {
		do, h.do = h.do, nil
	}
	dies = h.dieAt > 0 && h.commits == h.dieAt
	h.dead = dies
	return do, dies, false
}

// isDead reports that the services have died.
func (h *hooked) isDead() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

// Probe implements store.Store.
func (h *hooked) Probe(ctx context.Context, batch store.Batch) error {
	if h.isDead() {
		return fmt.Errorf("%w: the services were killed", store.ErrUnavailable)
	}
	return h.Store.Probe(ctx, batch)
}

// Commit implements store.Store.
func (h *hooked) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	do, dies, dead := h.next()
	if do != nil {
		do()
		dead = h.isDead() // it may have been the end
	}
	switch {
	case dead && !dies, dies && !h.applied:
		return store.Result{}, fmt.Errorf("%w: the services were killed", store.ErrUnavailable)
	case dies:
		if _, err := h.Store.Commit(ctx, batch); err != nil {
			return store.Result{}, err
		}
		return store.Result{}, fmt.Errorf("%w: the services were killed", store.ErrUncertain)
	default:
		return h.Store.Commit(ctx, batch)
	}
}
