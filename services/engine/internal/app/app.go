// Package app holds the engine's use cases: load what a decision depends on, decide in
// the pure core, commit, return what came of it. It decides nothing itself: package
// authority decides who may do what, and package workflow what follows. It knows neither
// gRPC nor a particular store.
package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/internal/wakeup"
)

// Kinds of the records that the engine owns.
const (
	kindWorkflow = "workflow"
	// kindClaim marks a workflow of an agent that an operator registered too.
	kindClaim = "workflow_claim"
	// KindRun is public to the policy enforcer by contract: a run's record is at
	// the version that decisions are made on.
	KindRun = ledger.KindRun
	// kindBinding maps a session to the run that it drives.
	kindBinding = "binding"
	// kindRequest owns the idempotency keys of requests that create something.
	kindRequest = "request"
)

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
	// itself: Interlock carries out what humans, or the end of a session, have settled.
	itself bool
}

// system is who acts when a session has ended or continues.
func system(namespace string) Caller {
	return decidedBy(namespace, "interlock")
}

// decidedBy is Interlock as it carries out what somebody has decided, whose name the
// history tells.
func decidedBy(namespace, name string) Caller {
	return Caller{Namespace: namespace, Principal: auth.Principal{Name: name, Role: auth.Operator}, itself: true}
}

// who is the caller as far as its authority goes.
func (c Caller) who() authority.Who {
	w := authority.Who{
		Role: authority.Operator, Name: c.Principal.Name, Session: c.Principal.Session, Branch: c.Principal.Branch,
	}
	switch {
	case c.itself:
		w.Role = authority.System
	case c.Principal.Role == auth.Agent:
		w.Role = authority.Agent
	}
	return w
}

// Announcer turns a change into the event that is committed with it.
type Announcer interface {
	RunEvent(namespace, actor string, run *workflow.Run, ev *workflow.Event, at time.Time) (store.Event, error)
	WorkflowEvent(namespace, actor string, version *Version) (store.Event, error)
}

// Sessions is the state-store as the engine sees it.
type Sessions interface {
	// Root is the root of a session's tree: itself when it is not registered.
	Root(ctx context.Context, namespace, session string) (string, error)
	// Lineage names a session and all above it, by names and ids; one that is not
	// registered by its own name alone.
	Lineage(ctx context.Context, namespace, session string) ([]string, error)
}

// App is the engine's use cases over one store.
type App struct {
	// Approvals asks humans. Without it what needs an approval is refused.
	Approvals Approvals
	// Sessions tells the trees of sessions. Without it each is its own root.
	Sessions Sessions

	store    store.Store
	announce Announcer
	clock    func() time.Time
	log      *slog.Logger

	machines *snapshot.Cache[machineKey, definition.Compiled]
	runs     *snapshot.Cache[store.Key, *workflow.Run]
	changes  *wakeup.Hub

	// Definitions are the settings that definitions are compiled by.
	Definitions definition.Flags

	pageBytes int // see the constant; less in tests
}

// New makes the use cases. clock is time.Now outside of tests.
func New(st store.Store, announce Announcer, clock func() time.Time, log *slog.Logger) *App {
	return &App{
		store:    st,
		announce: announce,
		clock:    clock,
		log:      log,
		machines: snapshot.New[machineKey, definition.Compiled](4096),
		runs:     snapshot.New[store.Key, *workflow.Run](262_144),
		changes:  wakeup.New(),

		pageBytes: pageBytes,
	}
}
