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

// sweepPage is how many timers of a shard and kind are read at once.
const sweepPage = 32

// swept are the kinds of records whose timers are fired here.
var swept = []string{KindSession, KindState, kindExecution}

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
	timers, unread := a.store.Due(ctx, a.now(), sweepPage, swept...)
	for _, timer := range timers {
		err := a.fire(ctx, timer)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			a.postpone(ctx, timer)
			a.log.LogAttrs(ctx, slog.LevelWarn, "a timer could not be fired and is tried again",
				slog.String("of", timer.Key.String()), slog.Any("cause", err))
		}
	}
	if unread != nil && ctx.Err() == nil { // shards may live on different servers
		a.log.LogAttrs(ctx, slog.LevelWarn, "timers cannot be read", slog.Any("cause", unread))
	}
}

// firedAgain is when a timer that could not be fired is tried again: later, so that
// it does not keep others of its shard from their turn.
const firedAgain = 30 * time.Second

// postpone puts off a timer, unless it was cleared or set anew meanwhile.
func (a *App) postpone(ctx context.Context, timer store.Timer) {
	_, err := a.store.Commit(ctx, store.Batch{Postpone: []store.Postpone{{Timer: timer, Until: a.now().Add(firedAgain)}}})
	if err != nil && ctx.Err() == nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "a timer could not be put off", slog.String("of", timer.Key.String()), slog.Any("cause", err))
	}
}

// fire does what a timer of a swept kind is for.
func (a *App) fire(ctx context.Context, timer store.Timer) error {
	switch timer.Key.Kind {
	case KindSession:
		return a.tick(ctx, timer)
	case KindState:
		return a.expire(ctx, timer)
	default:
		return a.abandon(ctx, timer)
	}
}

// tick lets time pass for a session.
func (a *App) tick(ctx context.Context, timer store.Timer) error {
	var changed bool
	m, err := a.step(ctx, system(timer.Key.Namespace), timer.Key, once{}, func(m *Member, c session.Clock) (session.Result, error) {
		r := m.Tick(c)
		changed = r.Changed
		return r, nil
	})
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return a.clear(ctx, timer, store.Check{Key: timer.Key, Version: store.Absent})
	case err != nil:
		return err
	case !changed && m.NextDue().IsZero():
		return a.clear(ctx, timer, store.Check{Key: m.Key, Version: m.Version})
	default:
		return nil
	}
}

// clear forgets a timer that has nothing to do, as long as what says so stands:
// otherwise it may have been set anew.
func (a *App) clear(ctx context.Context, timer store.Timer, while store.Check) error {
	_, err := a.store.Commit(ctx, store.Batch{ClearTimers: []store.TimerID{timer.TimerID}, Checks: []store.Check{while}})
	if err != nil && !lostRace(err) {
		return fault.From(err)
	}
	return nil
}

// retentionTimer ends the state of a root session.
func retentionTimer(root *Member) store.TimerID {
	return store.TimerID{Key: stateKey(root.Key.Namespace, root.StateID), Name: "retention"}
}

// expire removes a state whose root session ended long ago, unless that has begun
// again: then its next end sets the time.
func (a *App) expire(ctx context.Context, timer store.Timer) error {
	st, err := a.loadState(ctx, timer.Key)
	if fault.ReasonOf(err) == fault.NotFound {
		return a.clear(ctx, timer, store.Check{Key: timer.Key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	root, err := a.loadMember(ctx, sessionKey(timer.Key.Namespace, st.RootHome))
	if err != nil {
		return err
	}
	while := store.Check{Key: root.Key, Version: root.Version}
	if root.Status != session.Ended || a.cfg.Retention <= 0 {
		return a.clear(ctx, timer, while)
	}
	if timer.Due = root.EndedAt.Add(a.cfg.Retention); timer.Due.After(a.now()) { // it is kept for longer now
		_, err = a.store.Commit(ctx, store.Batch{SetTimers: []store.Timer{timer}, Checks: []store.Check{while}})
	} else {
		err = a.removeState(ctx, system(timer.Key.Namespace), st, root, false)
	}
	if lostRace(err) {
		return nil // the next sweep tries again
	}
	return err
}
