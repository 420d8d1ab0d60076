package store

import (
	"context"
	"fmt"
	"sync"
)

// ErrTurned means that the store's history may have gone back since the work began that
// this call belongs to. The store has not changed; the work has to begin anew.
var ErrTurned = fmt.Errorf("%w: its server has changed in between", ErrUnavailable)

// RolledBackError says that the store has lost acknowledged commits, and is not used
// until an operator accepts that. It is ErrUnavailable too.
type RolledBackError struct {
	// Lost describes the missing entries.
	Lost string
}

func (e *RolledBackError) Error() string {
	return fmt.Sprintf("%v: it has gone back in time: %s", ErrUnavailable, e.Lost)
}

// Is makes errors.Is(err, ErrUnavailable) true: the store has not changed.
func (e *RolledBackError) Is(target error) bool { return target == ErrUnavailable }

// Gate separates the work of a process before and after the history of its store may have gone
// back, for then equal versions may mean different things. Work that decides by what it has read,
// or has cached, enters. At a turn the contexts of all work end, its calls to the store fail, and
// when it has left, all caches are cleared; then the store is used again.
//
// A nil Gate is one of a store that never turns.
type Gate struct {
	mu     sync.Mutex
	era    *era
	turned chan struct{} // not nil during a turn, and closed at its end
	forget []func()
	lost   error
}

// era is the time between two turns.
type era struct {
	ctx  context.Context // ends with it
	end  context.CancelFunc
	work int
	idle chan struct{} // closed when a turn waits and the last work has left
}

// NewGate makes the gate of a store.
func NewGate() *Gate { return &Gate{era: newEra()} }

func newEra() *era {
	e := &era{}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

type eraKey struct{}

// OnTurn adds a function that clears a cache.
func (g *Gate) OnTurn(forget func()) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget = append(g.forget, forget)
}

// Enter begins work, which must leave. It waits while there is a turn. Work within other
// work, by its context, belongs to that.
func (g *Gate) Enter(ctx context.Context) (within context.Context, leave func(), err error) {
	if g == nil {
		return ctx, func() {}, nil
	}
	e, err := g.join(ctx)
	if err != nil {
		return ctx, func() {}, err
	}
	within, cancel := context.WithCancel(context.WithValue(ctx, eraKey{}, e))
	stop := context.AfterFunc(e.ctx, cancel)
	return within, func() {
		stop()
		cancel()
		g.leave(e)
	}, nil
}

func (g *Gate) join(ctx context.Context) (*era, error) {
	outer, _ := ctx.Value(eraKey{}).(*era)
	for {
		g.mu.Lock()
		turned := g.turned
		if outer != nil && (outer != g.era || turned != nil) {
			g.mu.Unlock()
			return nil, ErrTurned
		}
		if turned == nil {
			e := g.era
			e.work++
			g.mu.Unlock()
			return e, nil
		}
		g.mu.Unlock()
		if err := await(ctx, turned); err != nil {
			return nil, err
		}
	}
}

func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrTurned, ctx.Err())
	}
}

func (g *Gate) leave(e *era) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.work--; e.work == 0 && e.idle != nil {
		close(e.idle)
	}
}

// Pass returns whether the store may be used now; a store asks before each call. A call
// of no work waits while there is a turn.
func (g *Gate) Pass(ctx context.Context) error {
	work, _ := ctx.Value(eraKey{}).(*era)
	for {
		g.mu.Lock()
		lost, turned, old := g.lost, g.turned, work != nil && work != g.era
		g.mu.Unlock()
		switch {
		case lost != nil:
			return lost
		case old || turned != nil && work != nil:
			return ErrTurned
		case turned == nil:
			return nil
		}
		if err := await(ctx, turned); err != nil {
			return err
		}
	}
}

// Works reports whether a call belongs to work, which has to begin anew after a turn. Any
// other may be repeated when the store has not changed.
func Works(ctx context.Context) bool { return ctx.Value(eraKey{}) != nil }

// Turned reports whether the work that a call belongs to has ended with its era.
func Turned(ctx context.Context) bool {
	e, _ := ctx.Value(eraKey{}).(*era)
	return e != nil && e.ctx.Err() != nil
}

// Lose marks a store that has gone back: every call fails with why until the next turn.
func (g *Gate) Lose(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost = why
}

// Lost returns why the store is not used, or nil.
func (g *Gate) Lost() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

// Turn handles a store whose history may have gone back. It returns when all work has
// left and all caches are cleared, with a function that opens the gate again; or when ctx
// ends, with its error, and the gate is open as before. There is one turn at a time.
func (g *Gate) Turn(ctx context.Context) (open func(), err error) {
	g.mu.Lock()
	before, turned := g.era, make(chan struct{})
	g.turned = turned
	idle := make(chan struct{})
	if before.idle = idle; before.work == 0 {
		close(idle)
	}
	forget := g.forget
	g.mu.Unlock()
	before.end()
	err = await(ctx, idle)
	if err == nil {
		for _, f := range forget {
			f()
		}
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.era, g.turned, g.lost = newEra(), nil, nil
		close(turned)
	}, err
}
