package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// sweepInterval is how late a timer may fire.
const sweepInterval = 250 * time.Millisecond

// sweepPage is how many timers of a shard and kind are read at once.
const sweepPage = 32

// swept are the kinds of records whose timers are fired here.
var swept = []string{member.Kind, ports.KindState, components.KindExecution}

// Sweep fires timers until ctx ends: tasks that become ready, claims that lapse, attempts
// that take too long, remains of ended sessions.
func (a *App) Sweep(ctx context.Context) { a.sweeper().Run(ctx) }

// SweepOnce fires due timers.
func (a *App) SweepOnce(ctx context.Context) { a.sweeper().Once(ctx) }

func (a *App) sweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.ports.Store, Clock: a.ports.Now, Log: a.ports.Log, Kinds: swept, Fire: a.fire, Interval: sweepInterval, Page: sweepPage,
		Watch: a.ports.Config.Timers,
	}
}

// fire carries out a timer of a swept kind.
func (a *App) fire(ctx context.Context, timer store.Timer) error {
	switch timer.Key.Kind {
	case member.Kind:
		return a.members.Tick(ctx, timer)
	case ports.KindState:
		return a.Remover.Expire(ctx, timer)
	default:
		return a.Executions.Abandon(ctx, timer)
	}
}
