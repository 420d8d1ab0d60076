package redisstore

import (
	"context"
	"sync"
)

// watcher waits for new entries in one shard's outbox, on behalf of the callers that
// tail it. Only a Cluster needs one: there a command waits on one slot, so each
// shard has a connection of its own, which stays with it from one Tail to the
// next.
type watcher struct {
	mu      sync.Mutex
	wanted  map[chan struct{}]int64 // who waits, and after which entry
	running bool
}

// add makes woken receive as soon as there is an entry after the position.
func (w *watcher) add(s *Store, p position, woken chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted == nil {
		w.wanted = make(map[chan struct{}]int64)
	}
	w.wanted[woken] = p.after
	if !w.running {
		w.running = true
		s.work.Go(func() { w.watch(s, p.shard) })
	}
}

func (w *watcher) remove(woken chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wanted, woken)
}

// watch waits while any caller does. A caller that arrives while it waits is served by that
// wait: having read the outbox just before, it wants the next entry as well.
func (w *watcher) watch(s *Store, shard int) {
	for {
		after, any := w.first()
		if !any {
			return
		}
		found, err := (&tailer{s}).readStreamsAtOnce(context.Background(), []position{{shard, after}}, 1, slice)
		if err != nil || len(found[0]) > 0 {
			w.wake()
		}
	}
}

// first returns the earliest position that is wanted. When none is, the watch
// has ended.
func (w *watcher) first() (after int64, wanted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, seq := range w.wanted {
		if !wanted || seq < after {
			after, wanted = seq, true
		}
	}
	w.running = wanted
	return after, wanted
}

// wake makes all waiting callers look, and forgets them.
func (w *watcher) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for woken := range w.wanted {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
	clear(w.wanted)
}
