package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/runnotice"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// The engine keeps the notices of runs in a log of each run, in the commits of their events. The spreader makes the timers
// of receivers from them, in the order of the log: its commit holds only as long as the log is as it was read.

const (
	// spreadPage is how many logs of a shard are read at once, and spreadMost how many entries of one.
	spreadPage = 16
	spreadMost = 64
	// spreadSlots are how many logs are spread at once: their commits are made together.
	spreadSlots = 16
	// sayAgain is when it is said again whether there are receivers, after an error.
	sayAgain = time.Second
)

// spreader makes messages from the notices of runs.
func (a *App) spreader() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.store, Clock: a.now, Log: a.log, Kinds: []string{runnotice.Kind}, Fire: a.spread,
		Interval: sweepInterval, Page: spreadPage, Slots: spreadSlots, Watch: a.timers,
	}
}

// spread sets the timers by which receivers are notified of what has happened in a run, and forgets the notices.
func (a *App) spread(ctx context.Context, timer store.Timer) error {
	record, err := a.store.Get(ctx, timer.Key)
	if notFound(err) {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: timer.Key, Version: store.Absent})
	}
	if err != nil {
		return fault.From(err)
	}
	entries, err := a.store.History(ctx, timer.Key, 0, spreadMost)
	if err != nil {
		return fault.From(err)
	}
	notices, err := runnotice.Read(entries)
	if err != nil {
		return err
	}
	batch := store.Batch{Checks: []store.Check{{Key: timer.Key, Version: record.Version}}}
	if batch.SetTimers, err = a.messages(timer.Key.Namespace, notices); err != nil {
		return err
	}
	if n := len(entries); n > 0 {
		batch.Forget = []store.Forget{{Key: timer.Key, Through: entries[n-1].Version}}
	}
	if len(entries) < spreadMost {
		batch.ClearTimers = []store.TimerID{timer.TimerID}
	}
	_, err = a.store.Commit(ctx, batch)
	if retry.Lost(err) {
		return nil // there is a newer notice: the timer is still due
	}
	return retry.Fault(err)
}

// Listen says whether this process has receivers of events of runs: the engine keeps no notices where there are none.
func (a *App) Listen(ctx context.Context) error { return a.listeners.Say(ctx) }

// listen does so until ctx ends.
func (a *App) listen(ctx context.Context) {
	for {
		wait := runnotice.SayEvery
		if err := a.Listen(ctx); err != nil && ctx.Err() == nil {
			a.log.LogAttrs(ctx, slog.LevelWarn, "whether there are receivers of events of runs could not be said", slog.Any("cause", err))
			wait = sayAgain
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// messages returns the timers of notices of one run. A later message to an ordered receiver takes the place of those before.
func (a *App) messages(namespace string, notices []runnotice.Notice) (timers []store.Timer, err error) {
	if a.webhooks == nil {
		return nil, nil
	}
	for _, receiver := range a.webhooks.Receivers() {
		var newest []store.Timer
		for i := range notices {
			n := &notices[i]
			plan := a.webhooks.PlanRun(receiver, namespace, n, a.now())
			if !plan.Takes {
				continue
			}
			d := delivery{ID: n.ID, Type: n.Event, At: n.At, From: plan.NotBefore, Run: n}
			name := fmt.Sprintf("%d.%d.%s", n.Version, i, n.Event)
			if a.webhooks.Ordered(receiver) {
				name, newest = timerNewest, nil
			}
			timer, err := d.timer(store.TimerID{Key: store.Key{Namespace: namespace, Kind: receiverKind(receiver), ID: n.RunID}, Name: name})
			if err != nil {
				return nil, err
			}
			newest = append(newest, timer)
		}
		timers = append(timers, newest...)
	}
	return timers, nil
}

// sendRun sends a message about a run once, unless another process does.
func (a *App) sendRun(ctx context.Context, receiver string, timer store.Timer, d *delivery) error {
	m := &sending{app: a, receiver: receiver, asRead: timer, timer: timer, delivery: d}
	d.Tries++
	var err error
	if m.timer.Data, err = json.Marshal(d); err != nil {
		return fault.From(err)
	}
	if a.webhooks.Ordered(receiver) {
		return m.runInOrder(ctx)
	}
	mine, err := a.claim(ctx, m.timer, d.Tries)
	if err != nil || !mine {
		return err
	}
	out, err := m.send(ctx)
	if err != nil || out.ended {
		return err
	}
	_, err = a.store.Commit(ctx, out.batch)
	return err
}

// runInOrder sends the message about a run when it is its turn. The timer is changed only as long as no later message has
// taken its place, and the turn ends with it.
func (m *sending) runInOrder(ctx context.Context) error {
	a, key := m.app, turnKey(m.timer)
	t, version, err := a.turn(ctx, key)
	if err != nil {
		return err
	}
	now := a.now()
	if t.Until.After(now) {
		_, err := a.store.Commit(ctx, store.Batch{Postpone: []store.Postpone{{Timer: m.asRead, Until: now.Add(turnBusy)}}})
		return retry.Fault(err)
	}
	claim, err := turn{Until: now.Add(sendClaim)}.put(key, version)
	if err != nil {
		return err
	}
	// A message that another process has sent since is not sent again.
	claimed, err := a.store.Commit(ctx, store.Batch{Puts: []store.Put{claim}, Unchanged: []store.Timer{m.asRead}})
	if err != nil {
		if retry.Lost(err) || errors.Is(err, store.ErrUncertain) {
			return nil // another has the turn, or it comes again when the claim is over
		}
		return fault.From(err)
	}
	out, err := m.send(ctx)
	if err != nil || out.ended {
		return err
	}
	over := []store.Check{{Key: key, Version: claimed.Versions[0]}}
	out.batch.Deletes, out.batch.Unchanged = over, []store.Timer{m.asRead}
	if _, err = a.store.Commit(ctx, out.batch); retry.Lost(err) {
		_, err = a.store.Commit(ctx, store.Batch{Deletes: over}) // the next message waits for its turn
	}
	if retry.Lost(err) {
		return nil // it took so long that another has the turn
	}
	return retry.Fault(err)
}
