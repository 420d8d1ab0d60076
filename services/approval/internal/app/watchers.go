package app

import "sync"

// watchers are those of one process who watch namespaces. A change costs a watcher an
// id, and never waits for it: one that is slow gets several changes of an approval
// as one.
type watchers struct {
	mu  sync.Mutex
	all map[string]map[*watcher]struct{} // by namespace
}

func newWatchers() *watchers { return &watchers{all: map[string]map[*watcher]struct{}{}} }

type watcher struct {
	mu sync.Mutex
	// changed are ids in the order in which they changed first, and known the same.
	changed []string
	known   map[string]bool
	woken   chan struct{}
}

// join adds a watcher of a namespace, and answers how it leaves.
func (ws *watchers) join(namespace string) (*watcher, func()) {
	w := &watcher{known: map[string]bool{}, woken: make(chan struct{}, 1)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all[namespace] == nil {
		ws.all[namespace] = map[*watcher]struct{}{}
	}
	ws.all[namespace][w] = struct{}{}
	return w, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		delete(ws.all[namespace], w)
		if len(ws.all[namespace]) == 0 {
			delete(ws.all, namespace)
		}
	}
}

// wake tells the watchers of a namespace that an approval may have changed.
func (ws *watchers) wake(namespace, id string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all[namespace] {
		w.add(id)
	}
}

func (w *watcher) add(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.known[id] {
		w.known[id] = true
		w.changed = append(w.changed, id)
	}
	select {
	case w.woken <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// take answers what has changed since the last time.
func (w *watcher) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := w.changed
	w.changed = nil
	clear(w.known)
	return changed
}
