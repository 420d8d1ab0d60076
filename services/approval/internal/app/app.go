// Package app holds the approval service's use cases: load, decide in the pure core
// (package consent), commit, answer. It makes no decision itself, and it knows neither
// gRPC nor a particular store.
package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/personread"
	"github.com/interlock-run/interlock/services/internal/runnotice"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/internal/wakeup"
)

// Kinds of the records that the approval service owns.
const (
	// KindApproval is also the entity of events about approvals, and the kind of the
	// timers by which they expire and escalate.
	KindApproval = "approval"
	// kindAsk maps a question to the approval that it was asked by last. See asked.
	kindAsk = "approval_ask"
	// kindRetention is of the timers by which old approvals are dropped.
	kindRetention = "approval_retention"
	// kindWebhook, with the name of a receiver, is of the timers by which it is notified.
	kindWebhook = "approval_webhook"
)

// interlock acts when time has passed.
const interlock = "interlock"

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
}

// Announcer turns a change into the event that is committed with it.
type Announcer interface {
	ApprovalEvent(namespace, actor string, r *Record, ev *consent.Event, at time.Time) (store.Event, error)
	LeaseEvent(namespace, actor, change string, l *consent.Lease, at time.Time) (store.Event, error)
}

// Runs is the engine as the approval service sees it.
type Runs interface {
	// Settle reports that the approval that a run waits for is decided.
	Settle(ctx context.Context, namespace, runID, approvalID string) error
	// Entry is that of the state that a run is in, or a branch of it; 0 when it has ended.
	Entry(ctx context.Context, namespace, runID, branch string) (int64, error)
}

// Webhooks notifies receivers outside of Interlock.
type Webhooks interface {
	// Receivers are their names: of [a-z0-9], and the same after a restart.
	Receivers() []string
	// Plan returns whether one of them gets an event, and when.
	Plan(receiver string, r *Record, event string, now time.Time) Plan
	// PlanRun returns whether one of them gets an event of a run, and when.
	PlanRun(receiver, namespace string, n *runnotice.Notice, now time.Time) Plan
	// HearRuns reports that some of them get events of runs.
	HearRuns() bool
	// Ordered reports that one of them gets the messages about an approval or a run one after the other,
	// and of those that wait only the newest: people read it.
	Ordered(receiver string) bool
	// Send notifies one of them. An error means that it has to be tried again.
	Send(ctx context.Context, receiver string, n Notice) error
}

// Plan describes the delivery of an event to a receiver.
type Plan struct {
	// Takes means that it gets the event.
	Takes bool
	// NotBefore is the end of quiet hours; zero for at once.
	NotBefore time.Time
	// Remind is the interval of reminders of an approval that waits; 0 for none.
	Remind time.Duration
}

// Definitions are the workflows and processes of runs, by version.
type Definitions interface {
	Machine(ctx context.Context, namespace, workflow string, version int64) (*workflow.Machine, error)
}

// Config has the parts of the use cases. Runs, Webhooks and Definitions may be nil.
type Config struct {
	// Definitions show the effect of approving.
	Definitions Definitions
	Store       store.Store
	Announce    Announcer
	Runs        Runs
	Webhooks    Webhooks
	// Keys are those with which people sign; nil where none is registered. Signing returns the
	// place where they do; nil for nowhere.
	Keys    Keys
	Signing func() Signing
	// Retention is how long approvals are kept after they became final; 0 forever.
	Retention time.Duration
	// Quota is how many questions about calls a principal may have pending; 0 for any number.
	Quota int64
	// Leases are the most that a lease may have.
	Leases consent.LeaseBounds
	// Measure is notified of the status of each approval that is made or decided; nil if
	// there is none.
	Measure func(consent.Status)
	// Timers learns how late timers are; nil if there is none.
	Timers *sweep.Watch
	// Relays are the programs that pass on decisions of people, and People those people; nil for none.
	Relays Relays
	People People
	// Clock is time.Now outside of tests.
	Clock func() time.Time
	Log   *slog.Logger
}

// App is the approval service's use cases over one store.
type App struct {
	store       store.Store
	announce    Announcer
	runs        Runs
	webhooks    Webhooks
	definitions Definitions
	keys        Keys
	signing     func() Signing
	clock       func() time.Time
	log         *slog.Logger
	// retention is how long approvals are kept after they became final; 0 forever.
	retention time.Duration
	quota     int64
	leases    consent.LeaseBounds
	measure   func(consent.Status)
	timers    *sweep.Watch
	relays    Relays
	people    People
	listeners *runnotice.Listeners

	halts    *halts.Reader
	voters   *personread.Reader
	sessions *sessionread.Reader

	changes  *wakeup.Hub
	watchers *watchers
	// settling has a slot for each decision that the engine is notified of behind.
	settling chan struct{}
	behind   sync.WaitGroup

	pageBytes int // see the constant; less in tests
}

// New makes the use cases.
func New(cfg Config) *App {
	if cfg.Signing == nil {
		cfg.Signing = func() Signing { return Signing{} }
	}
	return &App{
		listeners: runnotice.NewListeners(cfg.Store, cfg.Clock, cfg.Webhooks != nil && cfg.Webhooks.HearRuns()),
		store:     cfg.Store, announce: cfg.Announce, runs: cfg.Runs, webhooks: cfg.Webhooks, definitions: cfg.Definitions, keys: cfg.Keys, signing: cfg.Signing, clock: cfg.Clock, log: cfg.Log,
		retention: cfg.Retention, quota: cfg.Quota, leases: cfg.Leases, measure: cfg.Measure, timers: cfg.Timers, halts: halts.New(cfg.Store), voters: personread.New(cfg.Store), sessions: sessionread.New(cfg.Store), changes: wakeup.New(), watchers: newWatchers(), settling: make(chan struct{}, 16),
		pageBytes: pageBytes, relays: cfg.Relays, people: cfg.People,
	}
}

// Changed wakes those of this process who wait for a change of an approval.
func (a *App) Changed(namespace, entity, id string) {
	if entity == KindApproval {
		a.changes.Wake(approvalKey(namespace, id))
		a.watchers.wake(namespace, id)
	}
}

func (a *App) now() time.Time { return a.clock().UTC() }

func notFound(err error) bool { return errors.Is(err, store.ErrNotFound) }
