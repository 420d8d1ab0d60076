package app

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
)

// watchInterval bounds how late one who waits learns of a change when no wake-up
// reached this process.
const watchInterval = time.Second

// Wait sends an approval as it stands and then after each change, until it is final,
// ctx is done or send fails. Changes in quick succession may be sent as one.
func (a *App) Wait(ctx context.Context, caller Caller, id string, send func(*Record) error) error {
	changed, stop := a.changes.Wait(approvalKey(caller.Namespace, id))
	defer stop()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	var sent struct {
		version  int64
		standing consent.Status // one that expires changes without a version
	}
	for {
		r, err := a.Get(ctx, caller, id)
		if err != nil {
			return err
		}
		if r.Version != sent.version || r.Standing() != sent.standing {
			if err := send(r); err != nil {
				return err
			}
			sent.version, sent.standing = r.Version, r.Standing()
		}
		if r.Status.Final() {
			return nil
		}
		select {
		case <-changed:
		case <-ticker.C:
		case <-ctx.Done():
			return fault.From(ctx.Err())
		}
	}
}

// mostSent bounds the changes that a watcher is known to have seen. Beyond it, one that
// is slow may see a change again.
const mostSent = 4096

// Watch sends every approval of the caller's namespace that changes from now on, until
// ctx is done or send fails. Changes in quick succession may be sent as one. Those
// of other processes are known by events: who must not miss one consumes these.
func (a *App) Watch(ctx context.Context, caller Caller, send func(*Record) error) error {
	w, leave := a.watchers.join(caller.Namespace)
	defer leave()
	sent := map[string]int64{}
	for {
		select {
		case <-w.woken:
		case <-ctx.Done():
			return fault.From(ctx.Err())
		}
		for _, id := range w.take() {
			r, err := a.Get(ctx, caller, id)
			switch {
			case fault.ReasonOf(err) == fault.NotFound:
				continue
			case err != nil:
				return err
			case r.Version <= sent[id]:
				continue // it was notified of twice: by this process, and by an event
			}
			if err := send(r); err != nil {
				return err
			}
			if len(sent) >= mostSent {
				clear(sent)
			}
			sent[id] = r.Version
		}
	}
}

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

// wake informs the watchers of a namespace that an approval may have changed.
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

// take returns the changes since the last time.
func (w *watcher) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := w.changed
	w.changed = nil
	clear(w.known)
	return changed
}
