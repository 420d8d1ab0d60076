package console

import (
	"context"
	"crypto/sha256"
	"maps"
	"sync"
	"time"
)

type sessionID [sha256.Size]byte

// maxEnded bounds the sessions that a process remembers as ended: the oldest go first.
const maxEnded = 100_000

// endedSessions are those that people have logged out of, as long as their cookies would be
// good, and the calls in flight of those that they have not. Each process remembers its own.
type endedSessions struct {
	mu    sync.Mutex
	until map[sessionID]time.Time
	calls map[sessionID]map[*context.CancelFunc]struct{}
}

func newEndedSessions() *endedSessions {
	return &endedSessions{until: map[sessionID]time.Time{}, calls: map[sessionID]map[*context.CancelFunc]struct{}{}}
}

func (e *endedSessions) has(id sessionID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ended := e.until[id]
	return ended
}

// end ends a session, and its calls in flight: streams of events among them.
func (e *endedSessions) end(id sessionID, until, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.until, func(_ sessionID, end time.Time) bool { return !now.Before(end) })
	if len(e.until) >= maxEnded {
		var first sessionID
		for id, end := range e.until {
			if e.until[first].IsZero() || end.Before(e.until[first]) {
				first = id
			}
		}
		delete(e.until, first)
	}
	e.until[id] = until
	for cancel := range e.calls[id] {
		(*cancel)()
	}
}

// follow returns a context that ends with a session. The caller ends it with release.
func (e *endedSessions) follow(ctx context.Context, id sessionID, left time.Duration) (_ context.Context, release func()) {
	ctx, cancel := context.WithTimeout(ctx, left)
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ended := e.until[id]; ended {
		cancel()
	}
	if e.calls[id] == nil {
		e.calls[id] = map[*context.CancelFunc]struct{}{}
	}
	e.calls[id][&cancel] = struct{}{}
	return ctx, func() {
		cancel()
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(e.calls[id], &cancel); len(e.calls[id]) == 0 {
			delete(e.calls, id)
		}
	}
}
