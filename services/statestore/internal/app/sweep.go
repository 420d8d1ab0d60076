package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// sweepInterval is how late a timer may fire.
const sweepInterval = 250 * time.Millisecond

// sweepPage is how many timers of a shard and kind are read at once.
const sweepPage = 32

// swept are the kinds of records whose timers are fired here.
var swept = []string{KindSession, KindState, kindExecution}

// system returns the actor when time has passed.
func system(namespace string) Caller {
	return Caller{Namespace: namespace, Principal: auth.Principal{Name: "interlock", Role: auth.Operator}}
}

// Sweep fires timers until ctx ends: tasks that become ready, claims that lapse, attempts
// that take too long, remains of ended sessions.
func (a *App) Sweep(ctx context.Context) { a.sweeper().Run(ctx) }

// SweepOnce fires due timers.
func (a *App) SweepOnce(ctx context.Context) { a.sweeper().Once(ctx) }

func (a *App) sweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.store, Clock: a.now, Log: a.log, Kinds: swept, Fire: a.fire, Interval: sweepInterval, Page: sweepPage,
		Watch: a.cfg.Timers,
	}
}

// fire carries out a timer of a swept kind.
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
	m, err := a.step(ctx, system(timer.Key.Namespace), timer.Key, once.Key{}, func(m *Member, c session.Clock) (session.Result, error) {
		r := m.Tick(c)
		changed = r.Changed
		return r, nil
	})
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: timer.Key, Version: store.Absent})
	case err != nil:
		return err
	case !changed && m.NextDue().IsZero():
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: m.Key, Version: m.Version})
	default:
		return nil
	}
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
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: timer.Key, Version: store.Absent})
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
		return sweep.Clear(ctx, a.store, timer.TimerID, while)
	}
	if timer.Due = root.EndedAt.Add(a.cfg.Retention); timer.Due.After(a.now()) { // it is kept for longer now
		_, err = a.store.Commit(ctx, store.Batch{SetTimers: []store.Timer{timer}, Checks: []store.Check{while}})
	} else {
		err = a.removeState(ctx, system(timer.Key.Namespace), st, root, false, nil)
	}
	if retry.Lost(err) {
		return nil // the next sweep tries again
	}
	return err
}
