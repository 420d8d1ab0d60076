// Package app holds the policy enforcer's use cases: judge a tool call in the
// pure core, make the decision and its counters durable in one commit, answer.
//
// It fails closed: whatever keeps it from a decision that is both current and
// durable is a denial.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/principal"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
	// Observes: what it reports was observed, and is not the word of an agent (S14.4).
	Observes bool
}

// Target names a run by its id or by the session that drives it, and the branch
// of its fork that is meant: by default the session's own, or the one that unbound
// callers work in.
type Target struct{ RunID, SessionID, Branch string }

func (t Target) String() string {
	if t.RunID == "" {
		return "the run of session " + t.SessionID
	}
	return "run " + t.RunID
}

// Runs is the engine as the enforcer sees it.
type Runs interface {
	// Run returns the run whose rules are in force for a target, as it stands in
	// the branch: the innermost of the runs that were invoked. superseded is the run
	// that its session drives now, when that is another.
	Run(ctx context.Context, namespace string, target Target) (run *workflow.View, superseded string, err error)
	// Lane returns a run itself, as it stands in a branch.
	Lane(ctx context.Context, namespace, runID, branch string) (*workflow.View, error)
	// Interrupt diverts a run for a call that was allowed and has changed files.
	// It happens once per call. It answers nil when nothing has changed.
	Interrupt(ctx context.Context, runID, callID string, files []string) (*Interrupted, error)
	// Definition returns a version of a workflow or process.
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
	Decided(namespace, root string, d *ledger.Decision) (store.Event, error)
	Reported(namespace, actor string, r *Reported, at time.Time) (store.Event, error)
	// Sealed tells that decisions are part of their hash chain.
	Sealed(namespace string, s Sealed, at time.Time) (store.Event, error)
	PolicyChanged(namespace, actor string, c *PolicyChange, at time.Time) (store.Event, error)
	UpstreamChanged(namespace, actor string, c *UpstreamChange, at time.Time) (store.Event, error)
	// Unknown and Settled tell of a call whose outcome nobody has reported.
	Unknown(namespace string, c *evidence.Call, at time.Time) (store.Event, error)
	Settled(namespace string, s *Settled, at time.Time) (store.Event, error)
	LeaseEvent(namespace, actor, change string, l *consent.Lease, at time.Time) (store.Event, error)
}

// App is the enforcer's use cases over one store and one engine.
type App struct {
	Config
	store    store.Store
	engine   Runs
	announce Announcer
	clock    func() time.Time
	log      *slog.Logger

	runs     *snapshot.Cache[lane, *snapshotOf]
	ancestry *snapshot.Cache[store.Key, []*Definition]
	caches   policyCaches
	lastSeen *snapshot.Cache[counterName, seenValue]
	// places are how sessions stood when they were read; commits check that.
	places *snapshot.Cache[placeOf, *sessionread.Place]

	// latest is how many records of a partition are looked at for one call; less in tests.
	latest int

	// still: nobody writes to the store, see Verifier.
	still bool
}

// Config is what the use cases know of other services, and their settings.
type Config struct {
	// Approvals asks humans; nil when nobody can be asked, which denies.
	Approvals Approvals
	// Sessions reads how sessions stand; nil reads that from the store.
	Sessions Sessions
	// Shared reads what approvals rest on; without it a call whose approval rests on
	// something is denied.
	Shared Shared
	// Masks are what the log of decisions does not keep of inputs.
	Masks Masks
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	// Observe is told of each decision that was committed; nil for nobody. It must be quick.
	Observe func(*Observed)
	// Answered is told of each answer to a check and how long it took; nil for nobody. It
	// must be quick.
	Answered func(ctx context.Context, d *Decision, took time.Duration)
	// Timers learns how late timers are; nil for nobody.
	Timers *sweep.Watch
}

// Observed is what metrics tell of a decision.
type Observed struct {
	Decision toolcall.Decision
	Code     toolcall.Code // empty for an allowed call
	// Workflow and State are where it was made; empty without a run.
	Workflow, State string
	// Limits are those of policies that all callers share, as far as the call was counted.
	Limits []UsedLimit
}

// UsedLimit is how much of a limit is used, 1 for all of it.
type UsedLimit struct {
	Policy, Pattern string
	Measure         rules.Measure
	Used            float64
}

// lane is a run that is asked about, and the branch that is named with it.
type lane struct {
	asked  store.Key
	branch string
}

// snapshotOf is a run and its machine, as they were at the run's version.
type snapshotOf struct {
	run *workflow.View
	*Definition
	// key is the run's, entry owns its counters, and root the idempotency keys of
	// calls: it is the same for all runs that invoke each other.
	key, entry, root store.Key
	// all are the definitions whose policies hold: the run's own, and those of the runs
	// that have invoked it, from inside out.
	all []*Definition
	// superseded is the run that the session drives now, when that is another.
	superseded string
	// unbound: there is no run, see standIn.
	unbound bool
}

const (
	// cacheBytes bounds the memory of each cache of definitions.
	cacheBytes = 128 << 20
	// cachedRuns is more than agents work on at a time. Another one costs a read, which is less
	// than to collect garbage among many that nobody asks for again.
	cachedRuns = 16_384
)

// New makes the use cases. clock is time.Now outside of tests.
func New(st store.Store, engine Runs, announce Announcer, clock func() time.Time, log *slog.Logger, cfg Config) *App {
	if cfg.Sessions == nil {
		cfg.Sessions = sessionread.New(st)
	}
	a := &App{
		Config: cfg, store: st, engine: engine, announce: announce, clock: clock, log: log,
		runs: snapshot.New[lane, *snapshotOf](cachedRuns), ancestry: snapshot.New[store.Key, []*Definition](cachedRuns),
		caches: newPolicyCaches(), latest: scanned, lastSeen: snapshot.New[counterName, seenValue](seenCounters),
		places: snapshot.New[placeOf, *sessionread.Place](65_536),
	}
	for _, forget := range []func(){a.runs.Clear, a.ancestry.Clear, a.caches.indexes.Clear, a.caches.sets.Clear, a.caches.machines.Clear, a.caches.dropped.Clear, a.lastSeen.Clear, a.places.Clear} {
		st.Gate().OnTurn(forget)
	}
	return a
}

// Caches are what it keeps in memory.
func (a *App) Caches() []snapshot.Use {
	return []snapshot.Use{
		a.runs.Use("enforcer_runs"), a.caches.sets.UseBytes("enforcer_policies"), a.caches.machines.UseBytes("enforcer_shadow_workflows"),
	}
}

// load asks the engine for what is in force now, and caches it.
func (a *App) load(ctx context.Context, namespace string, target Target) (*snapshotOf, error) {
	run, superseded, err := a.engine.Run(ctx, namespace, target)
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, &noRunError{err}
	}
	if err != nil {
		return nil, err
	}
	s, err := a.snapshot(ctx, namespace, run)
	if err != nil {
		return nil, err
	}
	s.superseded = superseded
	if target.RunID != "" {
		a.runs.Put(lane{ledger.Run(namespace, target.RunID), target.Branch}, s, func(old *snapshotOf) bool {
			return old.key == s.key && old.run.Version > run.Version
		})
	}
	return s, nil
}

func (a *App) snapshot(ctx context.Context, namespace string, run *workflow.View) (*snapshotOf, error) {
	definition, err := a.engine.Definition(ctx, namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, incomplete(run, err)
	}
	above, err := a.above(ctx, namespace, run)
	if err != nil {
		return nil, incomplete(run, err)
	}
	key := ledger.Run(namespace, run.ID)
	return &snapshotOf{
		run: run, Definition: definition, key: key, entry: ledger.Entry(key, run.Entry), root: ledger.Run(namespace, run.Root()),
		all: append([]*Definition{definition}, above...),
	}, nil
}

// deepest bounds how many runs are followed; none is invoked as deep.
const deepest = 64

// above are the definitions of the runs that have invoked a run, from inside out: what
// has invoked a run, and by which version, never changes.
func (a *App) above(ctx context.Context, namespace string, run *workflow.View) ([]*Definition, error) {
	if run.Parent == nil {
		return nil, nil
	}
	key := ledger.Run(namespace, run.ID)
	if all, ok := a.ancestry.Get(key); ok {
		return all, nil
	}
	var all []*Definition
	for at := run; at.Parent != nil; {
		if len(all) == deepest {
			return nil, fault.From(fmt.Errorf("run %s is nested more than %d levels deep", run.ID, deepest))
		}
		parent, err := a.engine.Lane(ctx, namespace, at.Parent.RunID, "")
		if err != nil {
			return nil, err
		}
		definition, err := a.engine.Definition(ctx, namespace, parent.Workflow, parent.WorkflowVersion)
		if err != nil {
			return nil, err
		}
		all = append(all, definition)
		at = parent
	}
	a.ancestry.Put(key, all, nil)
	return all, nil
}

// cached returns a snapshot that may be old: the commit must check its version.
// What a session drives can change at any moment, so that is always asked; and so
// is what a caller asks who may act in one session only: the engine knows whether
// the run is that one's.
func (a *App) cached(ctx context.Context, caller Caller, target Target) (*snapshotOf, error) {
	if target.RunID != "" && !principal.Who(caller.Principal).Confined() {
		s, ok := a.runs.Get(lane{ledger.Run(caller.Namespace, target.RunID), target.Branch})
		// Whether its session has gone on to another run, a run's version does not tell.
		if ok && !s.run.Status.Stopped() && !s.run.Status.Ended() {
			return s, nil
		}
	}
	return a.load(ctx, caller.Namespace, target)
}
