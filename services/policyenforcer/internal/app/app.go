// Package app composes the parts of the policy enforcer.
package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/redact"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/breakglass"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pdp"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Announcer creates the events of all parts.
type Announcer interface {
	check.Announcer
	outcome.Announcer
	decisionlog.Announcer
	policystore.Announcer
	pins.Announcer
	halts.Announcer
	breakglass.Announcer
}

// App has the parts of the policy enforcer, over one store and one engine.
type App struct {
	Checks   *check.Service
	Outcomes *outcome.Service
	Log      *decisionlog.Log
	Pins     *pins.Registry
	Policies *policystore.Store
	Halts    *halts.Keeper
	Glass    *breakglass.Keeper

	runs  *runs.Reader
	quota *quota.Accounts
	sweep sweep.Sweeper
}

// Config has the ports to other services, and the settings. See check.Config.
type Config struct {
	Approvals enforcer.Approvals
	// Sessions reads the status of sessions, from the store by default.
	Sessions enforcer.Sessions
	Shared   enforcer.Shared
	Masks    redact.Masks
	Places   toolcall.Places
	Jails    enforcer.Jails
	// LogAttributes are the attributes of humans that the log has.
	LogAttributes []string
	// Inputs selects the calls whose input the log keeps.
	Inputs check.Inputs
	// FourEyes: a break-glass grant counts once another operator has confirmed it.
	FourEyes bool

	Measure    func(*check.Measured)
	TimeAnswer func(ctx context.Context, d *check.Decision, took time.Duration)
	// Timers measures how late timers fire. It may be nil.
	Timers *sweep.Watch
}

// New composes the parts. clock is time.Now outside of tests.
func New(st store.Store, engine enforcer.Runs, announce Announcer, clock func() time.Time, log *slog.Logger, cfg Config) *App {
	if cfg.Sessions == nil {
		cfg.Sessions = sessionread.New(st)
	}
	a := &App{
		Log: decisionlog.New(st, engine, announce, clock, cfg.Timers), Pins: pins.New(st, announce, clock),
		quota: quota.New(st, clock, log), runs: runs.NewReader(st, engine, cfg.Sessions),
	}
	halted := halts.New(st)
	a.Halts = halts.NewKeeper(halted, announce, clock)
	a.Glass = breakglass.New(breakglass.Config{Store: st, Announce: announce, Clock: clock, Masks: cfg.Masks, FourEyes: cfg.FourEyes})
	a.Policies = policystore.New(st, announce, clock, log, a.runs, a.quota, halted)
	kept := calls.New(st)
	a.Checks = check.New(check.Config{
		Store: st, Engine: engine, Announce: announce, Clock: clock, Log: log,
		Decisions: a.Log, Runs: a.runs, Policies: a.Policies, Quota: a.quota, Calls: kept,
		Sessions: cfg.Sessions, Approvals: cfg.Approvals, Points: pdp.New(), Shared: cfg.Shared, Masks: cfg.Masks, Places: cfg.Places, Jails: cfg.Jails,
		LogAttributes: cfg.LogAttributes, Inputs: cfg.Inputs, Measure: cfg.Measure, TimeAnswer: cfg.TimeAnswer, Described: a.Pins.Described,
	})
	a.Outcomes = outcome.New(outcome.Config{
		Store: st, Engine: engine, Announce: announce, Clock: clock,
		Runs: a.runs, Policies: a.Policies, Quota: a.quota, Calls: kept, Jails: cfg.Jails,
	})
	a.sweep = sweep.Sweeper{
		Store: st, Clock: clock, Log: log, Kinds: []string{ledger.KindDecisions, quota.Kind, ledger.KindEvidence},
		Fire: a.fire, Interval: sweepInterval, Page: sweepPage, Slots: sweepSlots,
		Watch: cfg.Timers, Label: timerLabel,
	}
	return a
}

// Caches returns the memory that the caches use.
func (a *App) Caches() []snapshot.Use { return append(a.runs.Caches(), a.Policies.Caches()...) }
