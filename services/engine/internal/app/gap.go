package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
)

const (
	// gapLook is how often it is noted that a replica looks at the clocks.
	gapLook = 30 * time.Second
	// gapLimit is how long no replica may look before agents are not held for their silence in that time.
	gapLimit = 2 * time.Minute
	// restoreGrace bounds how long clocks wait that fell due before their store was restored.
	restoreGrace = 10 * time.Minute
)

// gaps knows when no replica looked at the clocks, because none ran, or because time jumped (S25.2).
type gaps struct {
	store store.Store
	clock func() time.Time
	log   *slog.Logger

	mu sync.Mutex
	// looked is when this replica has noted or read last that one looks.
	looked time.Time
	// idle: there was no clock when this replica looked last, so nothing was noted.
	idle bool
	seen ledger.ClockWatch
}

// now returns the time of day, without the clock that stands still while a machine sleeps.
func (g *gaps) now() time.Time { return g.clock().UTC().Round(0) }

// look notes that a replica looks at the clocks.
func (g *gaps) look(ctx context.Context) error {
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if since := now.Sub(g.looked); since >= 0 && since < gapLook {
		return nil
	}
	return retry.Run(ctx, "the watch of clocks", func() error { return g.note(ctx, now) })
}

// note compares the time with that at which a replica looked last.
func (g *gaps) note(ctx context.Context, now time.Time) error {
	waiting, err := g.store.Due(ctx, now.Add(200*365*24*time.Hour), 1, ledger.KindClock)
	if err != nil {
		return retry.Fault(err)
	}
	here := g.idle && now.Sub(g.looked) <= gapLimit
	if g.idle = len(waiting) == 0; g.idle {
		g.looked = now
		return nil
	}
	noted, err := g.store.Timers(ctx, ledger.ClockWatchID())
	if err != nil {
		return retry.Fault(err)
	}
	last := store.Timer{Due: now}
	if len(noted) > 0 {
		last = noted[0]
	}
	seen := ledger.ReadClockWatch(last)
	since := now.Sub(last.Due)
	if here { // it has looked all the time, and there was no clock
		since = min(since, gapLook)
	}
	if since >= 0 && since < gapLook && len(noted) > 0 { // another replica has looked
		g.looked, g.seen = now, seen
		return nil
	}
	if since > gapLimit {
		seen.Gap = now
	}
	batch := store.Batch{SetTimers: []store.Timer{seen.Timer(now)}, Unchanged: noted}
	if _, err := g.store.Commit(ctx, batch); err != nil {
		return retry.Fault(err)
	}
	g.looked, g.seen = now, seen
	switch {
	case since > gapLimit:
		g.log.LogAttrs(ctx, slog.LevelWarn, "nothing looked at the clocks of runs; the silence of agents counts from now on",
			slog.Duration("for", since.Truncate(time.Second)), slog.Time("since", last.Due))
	case since < -gapLimit:
		g.log.LogAttrs(ctx, slog.LevelWarn, "the time of this machine has gone back; clocks of runs that it set before are late by as much",
			slog.Duration("by", -since.Truncate(time.Second)), slog.Time("from", last.Due))
	}
	return nil
}

// last returns what is known of gaps.
func (g *gaps) last() ledger.ClockWatch {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen
}
