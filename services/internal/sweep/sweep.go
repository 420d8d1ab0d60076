// Package sweep fires the timers of a store. Any number of processes may sweep one store:
// the work of a timer must be safe to do twice at once.
package sweep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Later is the time after which a timer that could not be fired is fired again, by
// default: so late that it keeps no other of its shard from its turn.
const Later = 30 * time.Second

// Sweeper fires the timers of some kinds of records. Only the fields that say so may
// be left out.
type Sweeper struct {
	Store store.Store
	Clock func() time.Time
	Log   *slog.Logger
	// Kinds of the records whose timers are fired.
	Kinds []string
	// Begin is called before timers are read; its error ends the sweep. Nil for none.
	Begin func(ctx context.Context) error
	// Fire does the work of a timer. It has to clear the timer or to set it anew: one
	// that is still due after nil is fired again by the next sweep, and one after an
	// error later. ErrLater is not logged. ctx ends with the sweep.
	Fire func(ctx context.Context, timer store.Timer) error

	// Interval is how late a timer may fire, and Page how many of each kind and shard
	// one sweep fires at most.
	Interval time.Duration
	Page     int
	// Slots is how many are fired at once; 0 for one after the other.
	Slots int
	// Limit is how long one may take; 0 for as long as it wants.
	Limit time.Duration
	// Again is when a timer is fired again that could not be fired; nil for Later.
	Again func(timer store.Timer, now time.Time) time.Duration
	// Stop ends a sweep with the first timer that fails because a service cannot be
	// reached that all of them need. The others are still due at the next sweep.
	Stop bool

	// Watch learns how late timers are; nil if there is none. Label returns the label of
	// a timer, of few labels that no other sweeper uses; nil for the kind of its record.
	Watch *Watch
	Label func(timer store.Timer) string
	seen  *part
}

func (s *Sweeper) label(timer store.Timer) string {
	if s.Label != nil {
		return s.Label(timer)
	}
	return timer.Key.Kind
}

// ErrLater is for Fire to return when there was no work yet.
var ErrLater = errors.New("nothing to do yet")

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	s.seen = s.Watch.join(s.Kinds)
	ticker := time.NewTicker(s.Interval)
	defer ticker.Stop()
	for {
		for range mostPages { // the rest of what is due does not wait for the interval
			if !s.once(ctx) {
				break
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// mostPages bounds the sweeps that follow each other at once.
const mostPages = 16

// Once fires due timers, and returns when they are done.
func (s *Sweeper) Once(ctx context.Context) { s.once(ctx) }

// once is Once; more reports that all were fired, and that more may be due.
func (s *Sweeper) once(ctx context.Context) (more bool) {
	// With an error these are the timers of the shards that can be read.
	if s.Begin != nil {
		if err := s.Begin(ctx); err != nil {
			if ctx.Err() == nil {
				s.Log.LogAttrs(ctx, slog.LevelWarn, "a sweep could not begin", slog.Any("kinds", s.Kinds), slog.Any("cause", err))
			}
			return false
		}
	}
	now := s.Clock()
	timers, err := s.Store.Due(ctx, now, s.Page, s.Kinds...)
	if len(timers) > 0 || err == nil {
		s.seen.begin(timers, now, s.Interval, s.label)
		defer s.seen.end()
	}
	if err != nil && ctx.Err() == nil {
		s.Log.LogAttrs(ctx, slog.LevelWarn, "timers cannot be read", slog.Any("kinds", s.Kinds), slog.Any("cause", err))
	}
	r := &round{Sweeper: s}
	within, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	slots := make(chan struct{}, max(s.Slots, 1))
	for _, timer := range timers {
		select {
		case slots <- struct{}{}:
		case <-within.Done():
		}
		if within.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			if r.fire(ctx, within, timer) {
				stop()
			}
		})
	}
	group.Wait()
	if r.failed > 0 && ctx.Err() == nil {
		s.Log.LogAttrs(ctx, slog.LevelWarn, "timers could not be fired and are tried again", slog.Int("number", r.failed),
			slog.String("first", r.first.Name), slog.String("of", r.first.Key.String()), slog.Any("cause", r.cause))
	}
	return err == nil && r.failed == 0 && len(timers) >= s.Page && ctx.Err() == nil
}

// round is one sweep.
type round struct {
	*Sweeper
	mu     sync.Mutex
	failed int
	first  store.Timer // that failed, and why
	cause  error
}

// fire fires one timer; stop when the others are not to be fired.
func (r *round) fire(ctx, within context.Context, timer store.Timer) (stop bool) {
	limited, cancel := within, context.CancelFunc(func() {})
	if r.Limit > 0 {
		limited, cancel = context.WithTimeout(within, r.Limit)
	}
	defer cancel()
	limited, leave, err := r.Store.Gate().Enter(limited)
	defer leave()
	if err == nil {
		err = r.Fire(limited, timer)
	}
	if err == nil {
		r.seen.fired(timer, r.label(timer))
		return false
	}
	if within.Err() != nil { // it is due again at once
		return false
	}
	wait, unfinished := r.postpone(ctx, timer)
	if errors.Is(err, ErrLater) {
		r.seen.fired(timer, r.label(timer))
		err = nil
	} else if reason := fault.ReasonOf(err); r.Stop && (reason == fault.Unavailable || reason == fault.DeadlineExceeded) {
		stop = true
	}
	if err = errors.Join(err, unfinished); err != nil {
		r.seen.failed(timer, r.label(timer), r.Clock(), wait)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.failed++; r.failed == 1 {
			r.first, r.cause = timer, err
		}
	}
	return stop
}

// postpone puts off a timer, unless it was cleared or set anew since it was read. It returns
// for how long.
func (r *round) postpone(ctx context.Context, timer store.Timer) (wait time.Duration, err error) {
	now := r.Clock()
	wait = Later
	if r.Again != nil {
		wait = r.Again(timer, now)
	}
	_, err = r.Store.Commit(ctx, store.Batch{Postpone: []store.Postpone{{Timer: timer, Until: now.Add(wait)}}})
	return wait, err
}

// Clear forgets a timer without work, as long as the given checks hold: otherwise it may
// have been set anew.
func Clear(ctx context.Context, st store.Store, timer store.TimerID, while ...store.Check) error {
	_, err := st.Commit(ctx, store.Batch{ClearTimers: []store.TimerID{timer}, Checks: while})
	if retry.Lost(err) {
		return nil
	}
	return retry.Fault(err)
}
