// Package app holds the policy enforcer's use cases: judge a tool call in the
// pure core, make the decision and its counters durable in one commit, answer.
//
// It fails closed: whatever keeps it from a decision that is both current and
// durable is a denial.
package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
}

// Target names a run by its id or by the session that drives it, and the branch
// of its fork that is meant: by default the session's own, or the one that unbound
// callers work in.
type Target struct{ RunID, SessionID, Branch string }

// Runs is the engine as the enforcer sees it.
type Runs interface {
	// Run answers the run whose rules are in force for a target, as it stands in
	// the branch: the innermost of the runs that were invoked.
	Run(ctx context.Context, namespace string, target Target) (*workflow.Run, error)
	// Lane answers a run itself, as it stands in a branch.
	Lane(ctx context.Context, namespace, runID, branch string) (*workflow.Run, error)
	// Interrupt diverts a run for a call that was allowed and has changed files.
	// It happens once per call. It answers nil when nothing has changed.
	Interrupt(ctx context.Context, runID, callID string, files []string) (*Interrupted, error)
	// Definition answers a version of a workflow or process.
	Definition(ctx context.Context, namespace, name string, version int64) (*Definition, error)
}

// Definition is a version of a workflow or process, compiled. It is immutable.
type Definition struct {
	Machine *workflow.Machine
	// Process is true of processes (S8). Rules are a process's own policy and limits.
	Process bool
	Rules   []*rules.Set
	// Policies are the names of those that the workflow wants to be held to
	// (meta.policy).
	Policies []string
}

// Announcer turns a decision or report into the event that is committed with it.
type Announcer interface {
	Decided(namespace, actor string, d *Decision, at time.Time) (store.Event, error)
	Reported(namespace, actor string, r *Reported, at time.Time) (store.Event, error)
	// Sealed tells that decisions are part of their hash chain.
	Sealed(namespace string, s Sealed, at time.Time) (store.Event, error)
	PolicyChanged(namespace, actor string, c *PolicyChange, at time.Time) (store.Event, error)
}

// App is the enforcer's use cases over one store and one engine.
type App struct {
	Config
	store    store.Store
	engine   Runs
	announce Announcer
	clock    func() time.Time
	log      *slog.Logger

	runs   *snapshot.Cache[lane, *snapshotOf]
	caches policyCaches
}

// Config is what the use cases know of other services, and their settings.
type Config struct {
	// Approvals asks humans; nil when nobody can be asked, which denies.
	Approvals Approvals
	// Sessions tells their trees; nil when there are none: each is its own.
	Sessions Sessions
	// Masks are what the log of decisions does not keep of inputs.
	Masks Masks
}

// lane is a run that is asked about, and the branch that is named with it.
type lane struct {
	asked  store.Key
	branch string
}

// snapshotOf is a run and its machine, as they were at the run's version.
type snapshotOf struct {
	run *workflow.Run
	*Definition
	// key is the run's, entry owns its counters, and root the idempotency keys of
	// calls: it is the same for all runs that invoke each other.
	key, entry, root store.Key
}

// New makes the use cases. clock is time.Now outside of tests.
func New(st store.Store, engine Runs, announce Announcer, clock func() time.Time, log *slog.Logger, cfg Config) *App {
	if cfg.Sessions == nil {
		cfg.Sessions = strangers{}
	}
	return &App{
		Config: cfg, store: st, engine: engine, announce: announce, clock: clock, log: log,
		runs: snapshot.New[lane, *snapshotOf](262_144), caches: newPolicyCaches(),
	}
}

// strangers are sessions of which nothing is known.
type strangers struct{}

func (strangers) Lineage(_ context.Context, _, session string) ([]string, error) {
	return []string{session}, nil
}

// load asks the engine for what is in force now, and caches it.
func (a *App) load(ctx context.Context, namespace string, target Target) (*snapshotOf, error) {
	run, err := a.engine.Run(ctx, namespace, target)
	if err != nil {
		return nil, err
	}
	s, err := a.snapshot(ctx, namespace, run)
	if err != nil {
		return nil, err
	}
	if target.RunID != "" {
		a.runs.Put(lane{ledger.Run(namespace, target.RunID), target.Branch}, s, func(old *snapshotOf) bool {
			return old.key == s.key && old.run.Version > run.Version
		})
	}
	return s, nil
}

func (a *App) snapshot(ctx context.Context, namespace string, run *workflow.Run) (*snapshotOf, error) {
	definition, err := a.engine.Definition(ctx, namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	key := ledger.Run(namespace, run.ID)
	return &snapshotOf{
		run: run, Definition: definition, key: key, entry: ledger.Entry(key, run.Entry), root: ledger.Run(namespace, run.Root()),
	}, nil
}

// cached answers a snapshot that may be old: the commit must check its version.
// What a session drives can change at any moment, so that is always asked; and so
// is what a caller asks who may act in one session only: the engine knows whether
// the run is that one's.
func (a *App) cached(ctx context.Context, caller Caller, target Target) (*snapshotOf, error) {
	if target.RunID != "" && caller.Principal.Session == "" {
		if s, ok := a.runs.Get(lane{ledger.Run(caller.Namespace, target.RunID), target.Branch}); ok {
			return s, nil
		}
	}
	return a.load(ctx, caller.Namespace, target)
}
