// Package app holds the engine's use cases: load the facts of a decision, decide in the
// pure core, commit, return the outcome. It makes no decision itself: package authority
// decides on rights, and package workflow on consequences. It knows neither gRPC nor a
// particular store.
package app

import (
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/internal/wakeup"
)

// pageBytes ends a page early: contexts and data are user's, up to 1 MiB each, and an
// answer must stay within the limits of clients.
const pageBytes = 8 << 20

// App is the engine's use cases over one store.
type App struct {
	// Approvals asks humans. Without it transitions that need an approval are refused.
	Approvals Approvals
	// Sessions gives the trees of sessions. Without it each is its own root.
	Sessions Sessions
	// Shared reads the facts that approvals rest on. Without it questions that name such
	// facts are refused.
	Shared Shared
	// Trees returns the digests of workspaces. Without it they are not known, unless callers send them.
	Trees Trees
	// SharedState gives the values of shared states. Without it no evidence is in them.
	SharedState SharedState

	store    store.Store
	announce Announcer
	clock    func() time.Time
	log      *slog.Logger

	machines *snapshot.Cache[machineKey, definition.Compiled]
	plans    *snapshot.Cache[planKey, *migrate.Plan]
	runs     *snapshot.Cache[store.Key, *workflow.Run]
	past     *snapshot.Cache[checkpoint, *workflow.Run]
	changes  *wakeup.Hub
	// sessions reads which sessions have ended; ended is its last result, which commits check.
	sessions *sessionread.Reader
	ended    *snapshot.Cache[store.Key, end]

	lastTrees lastTrees

	Quotas    Quotas
	Retention Retention
	bound     bound
	// Definitions are the settings that definitions are compiled by.
	Definitions definition.Flags
	// Enforcement is written into workflows that name none when they are registered.
	Enforcement workflow.Enforcement
	// Timers learns how late timers are; nil if there is none.
	Timers *sweep.Watch

	pageBytes, looked int // see the constants; less in tests
}

// These bound the memory of the caches: of definitions, and of runs, of which the smallest
// count as 4 KiB each.
const (
	cacheBytes    = 256 << 20
	runCacheBytes = 64 << 20
)

// New makes the use cases. clock is time.Now outside of tests.
func New(st store.Store, announce Announcer, clock func() time.Time, log *slog.Logger) *App {
	a := &App{
		store:    st,
		announce: announce,
		clock:    clock,
		log:      log,
		sessions: sessionread.New(st),
		ended:    snapshot.New[store.Key, end](65_536),
		machines: snapshot.New[machineKey, definition.Compiled](cacheBytes),
		plans:    snapshot.New[planKey, *migrate.Plan](cacheBytes),
		runs:     snapshot.New[store.Key, *workflow.Run](runCacheBytes),
		past:     snapshot.New[checkpoint, *workflow.Run](pastCacheBytes),
		changes:  wakeup.New(),
		bound:    bound{at: map[string]time.Time{}, runs: map[string]map[string]bool{}},

		pageBytes: pageBytes, looked: looked,
	}
	st.Gate().OnTurn(a.machines.Clear)
	st.Gate().OnTurn(a.plans.Clear)
	st.Gate().OnTurn(a.ended.Clear)
	st.Gate().OnTurn(a.runs.Clear)
	st.Gate().OnTurn(a.past.Clear)
	return a
}

// Caches returns its caches in memory.
func (a *App) Caches() []snapshot.Use {
	return []snapshot.Use{a.machines.UseBytes("engine_definitions"), a.runs.UseBytes("engine_runs"), a.past.UseBytes("engine_past_runs")}
}
