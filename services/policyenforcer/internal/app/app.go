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
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

const (
	// kindRun is the kind of the engine's run records: a decision holds only
	// while that record is at the version it was made on.
	kindRun = "run"
	// callsKept is how long a decided call can be repeated or reported.
	callsKept = 24 * time.Hour
)

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
}

// Target names a run by its id or by the session that drives it.
type Target struct{ RunID, SessionID string }

// Runs is the engine as the enforcer sees it.
type Runs interface {
	// Run answers a run as it is now.
	Run(ctx context.Context, namespace string, target Target) (*workflow.Run, error)
	// Machine answers the compiled version of a workflow.
	Machine(ctx context.Context, namespace, name string, version int64) (*workflow.Machine, error)
}

// Announcer turns a decision or report into the event that is committed with it.
type Announcer interface {
	Decided(namespace, actor string, d *Decision, at time.Time) (store.Event, error)
	Reported(namespace, actor string, r *Reported, at time.Time) (store.Event, error)
}

// App is the enforcer's use cases over one store and one engine.
type App struct {
	store    store.Store
	engine   Runs
	announce Announcer
	clock    func() time.Time
	log      *slog.Logger

	runs *snapshot.Cache[store.Key, *snapshotOf]
}

// snapshotOf is a run and its machine, as they were at the run's version.
type snapshotOf struct {
	run     *workflow.Run
	machine *workflow.Machine
}

// New makes the use cases. clock is time.Now outside of tests.
func New(st store.Store, engine Runs, announce Announcer, clock func() time.Time, log *slog.Logger) *App {
	return &App{
		store: st, engine: engine, announce: announce, clock: clock, log: log,
		runs: snapshot.New[store.Key, *snapshotOf](262_144),
	}
}

// Decision is the answer to one tool call.
type Decision struct {
	Verdict toolcall.Verdict
	Message string
	CallID  string
	Tool    string
	// InputDigest is the hex SHA-256 of the tool's name and input.
	InputDigest string
	Run         *workflow.Run
	Machine     *workflow.Machine
	// Iterations counts the allowed calls in this entry, this one included.
	Iterations int64
}

func runKey(namespace, id string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindRun, ID: id}
}

// load asks the engine for a run as it is now, and caches it.
func (a *App) load(ctx context.Context, namespace string, target Target) (*snapshotOf, error) {
	run, err := a.engine.Run(ctx, namespace, target)
	if err != nil {
		return nil, err
	}
	m, err := a.engine.Machine(ctx, namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	s := &snapshotOf{run: run, machine: m}
	a.runs.Put(runKey(namespace, run.ID), s, func(old *snapshotOf) bool { return old.run.Version > run.Version })
	return s, nil
}

// cached answers a snapshot that may be old: the commit must check its version.
// What a session drives can change at any moment, so that is always asked.
func (a *App) cached(ctx context.Context, namespace string, target Target) (*snapshotOf, error) {
	if target.RunID != "" {
		if s, ok := a.runs.Get(runKey(namespace, target.RunID)); ok {
			return s, nil
		}
	}
	return a.load(ctx, namespace, target)
}
