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

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/redact"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Announcer creates the events that are committed with decisions, reports and changes of policies.
type Announcer interface {
	Decided(namespace, root string, d *ledger.Decision) (store.Event, error)
	LeaseEvent(namespace, actor, change string, l *consent.Lease, at time.Time) (store.Event, error)
	outcome.Announcer
	decisionlog.Announcer
	policystore.Announcer
	pins.Announcer
}

// App is the enforcer's use cases over one store and one engine.
type App struct {
	Config
	store    store.Store
	engine   Runs
	announce Announcer
	clock    func() time.Time
	log      *slog.Logger

	decisions *decisionlog.Log
	pins      *pins.Registry
	quota     *quota.Accounts
	runs      *runs.Reader
	policies  *policystore.Store
	calls     *calls.Store
	// Outcomes records the ends of calls.
	Outcomes *outcome.Service
}

// Config is what the use cases know of other services, and their settings.
type Config struct {
	// Approvals asks approvers. Without it, calls that need an approval are denied.
	Approvals Approvals
	// Sessions reads the status of sessions, from the store by default.
	Sessions Sessions
	// Shared reads what approvals rest on; without it a call whose approval rests on
	// something is denied.
	Shared Shared
	// Masks removes secrets from inputs before they are logged.
	Masks redact.Masks
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	// Jails is the mode of jails for command lines.
	Jails enforcer.Jails
	// Observe receives each committed decision. It must be quick, and may be nil.
	Observe func(*Observed)
	// Answered receives each answer to a check and its duration. It must be quick, and may be nil.
	Answered func(ctx context.Context, d *Decision, took time.Duration)
	// Timers measures how late timers fire. It may be nil.
	Timers *sweep.Watch
}

// Observed is a decision for metrics.
type Observed struct {
	Decision toolcall.Decision
	Code     toolcall.Code // empty for an allowed call, or NOT_ENFORCED
	// Reason is why nothing was enforced; empty for any other code.
	Reason string
	// Workflow and State are where it was made; empty without a run.
	Workflow, State string
	// Limits are those of policies that all callers share, as far as the call was counted.
	Limits []UsedLimit
}

// UsedLimit is the used part of a limit, 1 for all of it.
type UsedLimit struct {
	Policy, Pattern string
	Measure         rules.Measure
	Used            float64
}

// New returns the use cases. clock is time.Now outside of tests.
func New(st store.Store, engine Runs, announce Announcer, clock func() time.Time, log *slog.Logger, cfg Config) *App {
	if cfg.Sessions == nil {
		cfg.Sessions = sessionread.New(st)
	}
	a := &App{
		Config: cfg, store: st, engine: engine, announce: announce, clock: clock, log: log,
		decisions: decisionlog.New(st, engine, announce, clock, cfg.Timers), pins: pins.New(st, announce, clock),
		quota: quota.New(st, clock, log), runs: runs.NewReader(st, engine, cfg.Sessions),
		calls: calls.New(st),
	}
	a.policies = policystore.New(st, announce, clock, log, a.runs, a.quota)
	a.Outcomes = outcome.New(outcome.Config{
		Store: st, Engine: engine, Announce: announce, Clock: clock, Runs: a.runs, Policies: a.policies, Quota: a.quota, Calls: a.calls, Jails: cfg.Jails,
	})
	return a
}

// Log returns the decision log.
func (a *App) Log() *decisionlog.Log { return a.decisions }

// Pins returns the pinned tools of MCP servers.
func (a *App) Pins() *pins.Registry { return a.pins }

// Policies returns the policies.
func (a *App) Policies() *policystore.Store { return a.policies }

// Caches returns the memory that the caches use.
func (a *App) Caches() []snapshot.Use { return append(a.runs.Caches(), a.policies.Caches()...) }

// unmoved returns a conflict if a record is not at the version of its check.
func (a *App) unmoved(ctx context.Context, checks ...store.Check) error {
	return runs.CheckUnchanged(ctx, a.store, checks...)
}
