package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
)

// sweepInterval is how late a timer may fire.
const sweepInterval = 250 * time.Millisecond

// sweepPage is how many timers of a shard are read at once.
const sweepPage = 128

// system is who acts when time has passed.
func system(namespace string) Caller {
	return Caller{Namespace: namespace, Principal: auth.Principal{Name: "interlock", Role: auth.Operator}}
}

// Sweep fires timers until ctx ends: tasks that become ready, leases that lapse,
// attempts that take too long, what ended sessions leave behind. Any number of
// processes may sweep one store.
func (a *App) Sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		a.SweepOnce(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// SweepOnce fires what is due now.
func (a *App) SweepOnce(ctx context.Context) {
	for shard := range a.store.Shards() {
		timers, err := a.store.Due(ctx, shard, a.now(), sweepPage)
		if err != nil {
			if ctx.Err() == nil {
				a.log.LogAttrs(ctx, slog.LevelWarn, "timers can not be read", slog.Any("cause", err))
			}
			return
		}
		for _, timer := range timers {
			if err := a.fire(ctx, timer); err != nil && ctx.Err() == nil {
				a.log.LogAttrs(ctx, slog.LevelWarn, "a timer could not be fired and is tried again",
					slog.String("of", timer.Key.String()), slog.Any("cause", err))
			}
		}
	}
}

// fire does what a timer is for. Timers of other services are left to them.
func (a *App) fire(ctx context.Context, timer store.Timer) error {
	switch timer.Key.Kind {
	case KindSession:
		return a.tick(ctx, timer)
	case KindState:
		return a.expire(ctx, timer)
	case kindExecution:
		return a.abandon(ctx, timer)
	default:
		return nil
	}
}

// tick lets time pass for a session.
func (a *App) tick(ctx context.Context, timer store.Timer) error {
	caller := system(timer.Key.Namespace)
	m, err := a.loadMember(ctx, timer.Key)
	if fault.ReasonOf(err) == fault.NotFound {
		return a.clear(ctx, timer)
	}
	if err != nil {
		return err
	}
	if m.Cleanup {
		return a.cleanUp(ctx, caller, m)
	}
	var changed bool
	_, err = a.step(ctx, caller, timer.Key, "", func(m *Member, c session.Clock) (session.Result, error) {
		r := m.Tick(c)
		changed = r.Changed
		return r, nil
	})
	if err == nil && !changed && m.NextDue().IsZero() {
		return a.clear(ctx, timer)
	}
	return err
}

// clear forgets a timer that has nothing to do.
func (a *App) clear(ctx context.Context, timer store.Timer) error {
	if _, err := a.store.Commit(ctx, store.Batch{ClearTimers: []store.TimerID{timer.TimerID}}); err != nil {
		return fault.From(err)
	}
	return nil
}

// cleanUp removes what was kept for a session alone, and lets its state go when
// that is its time.
func (a *App) cleanUp(ctx context.Context, caller Caller, m *Member) error {
	if err := a.dropSessionValues(ctx, m); err != nil {
		return err
	}
	if m.Root() && m.StateID != "" && a.cfg.Retention > 0 {
		timer := store.Timer{
			TimerID: store.TimerID{Key: stateKey(m.Key.Namespace, m.StateID), Name: "retention"}, Due: m.EndedAt.Add(a.cfg.Retention),
		}
		if _, err := a.store.Commit(ctx, store.Batch{SetTimers: []store.Timer{timer}}); err != nil {
			return fault.From(err)
		}
	}
	_, err := a.step(ctx, caller, m.Key, "", func(m *Member, c session.Clock) (session.Result, error) {
		if !m.Cleanup {
			return session.Result{Session: m.Session}, nil
		}
		return m.Cleaned(c), nil
	})
	return err
}

// expire removes a state whose root session ended long ago, unless it has begun
// again.
func (a *App) expire(ctx context.Context, timer store.Timer) error {
	err := a.DeleteState(ctx, system(timer.Key.Namespace), timer.Key.ID, 0, false)
	switch fault.ReasonOf(err) {
	case "", fault.NotFound, fault.FailedPrecondition:
		return a.clear(ctx, timer)
	default:
		return err
	}
}
