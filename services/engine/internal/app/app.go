// Package app holds the engine's use cases: load the facts of a decision, decide in the
// pure core, commit, return the outcome. It makes no decision itself: package authority
// decides on rights, and package workflow on consequences. It knows neither gRPC nor a
// particular store.
package app

import (
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/engine/internal/schedules"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/internal/wakeup"
)

// pageBytes ends a page early: contexts and data are user's, up to 1 MiB each, and an
// answer must stay within the limits of clients.
const pageBytes = 8 << 20

// App is the engine's use cases over one store.
type App struct {
	*ports.Ports

	Registry   *registry.Registry
	Views      *Views
	Starts     *Starts
	Branches   *Branches
	Moves      *Moves
	Reads      *Reads
	Settlement *Settlement
	Ends       *Ends
	Upkeep     *Upkeep
	Schedules  *schedules.Schedules

	runs      *Runs
	questions *Questions
	changes   *Changes
}

// Events turns changes into the events that are committed with them.
type Events interface {
	Announcer
	registry.Announcer
	schedules.Announcer
}

// New joins the parts. clock is time.Now outside of tests.
func New(st store.Store, announce Events, clock func() time.Time, log *slog.Logger) *App {
	p := &ports.Ports{Store: st, Clock: clock, Log: log, Changed: wakeup.New()}
	a := &App{Ports: p, Registry: registry.New(p, announce), runs: newRuns(p)}
	a.Views = &Views{ports: p, registry: a.Registry, runs: a.runs}
	a.questions = &Questions{ports: p, registry: a.Registry, runs: a.runs, sessions: sessionread.New(st)}
	a.changes = newChanges(p, announce, a.Registry, a.runs, a.Views, a.questions)
	a.Reads = newReads(p, a.Registry, a.runs, a.Views, a.changes)
	a.Starts = &Starts{ports: p, registry: a.Registry, runs: a.runs, views: a.Views, changes: a.changes}
	a.Branches = &Branches{ports: p, registry: a.Registry, runs: a.runs, changes: a.changes, reads: a.Reads}
	a.Moves = &Moves{ports: p, registry: a.Registry, runs: a.runs, views: a.Views, changes: a.changes, reads: a.Reads}
	a.Settlement = &Settlement{ports: p, registry: a.Registry, runs: a.runs, questions: a.questions, changes: a.changes, reads: a.Reads}
	a.Ends = &Ends{ports: p, runs: a.runs, changes: a.changes}
	a.Schedules = schedules.New(p, a.Registry, starter{a.Starts, a.runs}, announce)
	a.Upkeep = &Upkeep{
		schedules: a.Schedules,
		ports:     p, runs: a.runs, questions: a.questions, settlement: a.Settlement, ends: a.Ends,
		clocks: &Clocks{ports: p, registry: a.Registry, runs: a.runs, changes: a.changes, gaps: &gaps{store: p.Store, clock: p.Clock, log: p.Log}},
		bound:  bound{at: map[string]time.Time{}, runs: map[string]map[string]bool{}},
	}
	return a
}

// starter starts the runs of schedules, and reads them.
type starter struct {
	*Starts
	*Runs
}

// Caches returns the caches in memory.
func (a *App) Caches() []snapshot.Use {
	return []snapshot.Use{a.Registry.Cache(), a.runs.cache.UseBytes("engine_runs"), a.Reads.past.UseBytes("engine_past_runs")}
}
