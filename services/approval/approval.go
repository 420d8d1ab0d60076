// Package approval is the service that asks humans: "may this be done?". It owns
// approvals and the decisions of people. This package composes its parts; it must never
// decide.
package approval

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/persontoken"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/approval/internal/people"
	"github.com/interlock-run/interlock/services/approval/internal/rpc"
	"github.com/interlock-run/interlock/services/approval/internal/webhook"
	"github.com/interlock-run/interlock/services/internal/definition"
	process "github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/redact"
)

// Config has the parts and settings of the approval service. The zero value of all but
// Store works.
type Config struct {
	Store store.Store
	// Engine is called with the service's own credentials, to report a decision at once
	// that a run waits for. Without it the engine's timer looks.
	Engine grpc.ClientConnInterface
	// Definitions are the settings that definitions are compiled by.
	Definitions definition.Flags
	// Masks find the secrets in texts for people.
	Masks  redact.Masks
	Clock  func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
	// Metrics are those of the process; nil for none.
	Metrics *process.Set
	// PersonKey signs the tokens of people; without it no one can log in. Names are those of the tokens
	// file, which people may not take; nil for none.
	PersonKey persontoken.Key
	Names     *auth.Tokens
	// Code lets the first person register; nil for none.
	Code people.Code
	// Address returns where people reach the console, unless PublicURL says so; nil for nowhere.
	Address func() string
	Flags
}

// Service serves ApprovalService, PersonService and LoginService.
type Service struct {
	app       *app.App
	people    *people.App
	receivers *webhook.Receivers // nil without any
	masks     redact.Masks
}

// New makes an approval service over a store. An error describes the problem with the
// flags.
func New(cfg Config) (*Service, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	receivers, err := cfg.receivers(cfg.Masks)
	if err != nil {
		return nil, err
	}
	parts := app.Config{
		Store: cfg.Store, Announce: rpc.Announcer{}, Clock: cfg.Clock, Log: cfg.Logger, Retention: cfg.ApprovalRetention, Quota: cfg.ApprovalsEach,
		Leases: consent.LeaseBounds{Calls: cfg.LeaseCalls, For: cfg.LeaseTime},
	}
	if parts.Relays, err = cfg.relays(); err != nil {
		return nil, err
	}
	if cfg.Metrics != nil {
		parts.Measure, parts.Timers = counted(cfg.Metrics), cfg.Metrics.Timers()
	}
	// A nil pointer in an interface would not be nil.
	if receivers != nil {
		parts.Webhooks = receivers
	}
	if cfg.Engine != nil {
		parts.Runs = rpc.NewRuns(enginev1.NewRunServiceClient(cfg.Engine), peerv1.NewRunPeerServiceClient(cfg.Engine))
		definitions := rpc.NewDefinitions(enginev1.NewWorkflowServiceClient(cfg.Engine), cfg.Definitions)
		cfg.Store.Gate().OnTurn(definitions.Forget)
		parts.Definitions = definitions
	}
	s := &Service{receivers: receivers, masks: cfg.Masks}
	s.people = people.New(people.Config{
		Store: cfg.Store, Announce: rpc.Announcer{}, Key: cfg.PersonKey, Names: cfg.Names, Site: cfg.site, Code: cfg.Code, Clock: cfg.Clock, Log: cfg.Logger,
	})
	parts.Keys, parts.Signing = keys{s.people}, cfg.signing
	parts.People = register{s.people}
	s.app = app.New(parts)
	if cfg.Metrics != nil {
		waiting(cfg.Metrics, s.app, cfg.Clock)
	}
	return s, nil
}

// site returns where people use passkeys.
func (c *Config) site() people.Site {
	address := c.PublicURL
	if address == "" && c.Address != nil {
		address = c.Address()
	}
	return people.SiteOf(address)
}

// HasPeople reports whether there is a person: then no code makes a first one.
func (s *Service) HasPeople(ctx context.Context) (bool, error) { return s.people.Any(ctx) }

// AskAgain returns the timer that a restore sets on a record, if that is an approval which
// waits for people: they may have decided it after the backup was made.
func AskAgain(record store.Record, of, now time.Time) (timer store.Timer, waits bool, err error) {
	return app.AskAgain(record, of, now)
}

// EndLease returns the timer that a restore sets on a record, if that is a lease: it may have
// been revoked, or used, after the backup was made.
func EndLease(record store.Record, now time.Time) (timer store.Timer, ends bool) {
	return app.EndLease(record, now)
}

// Register adds ApprovalService, ApprovalPeerService, PersonService and LoginService to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	approvals := &rpc.Approvals{App: s.app, Masks: s.masks}
	approvalv1.RegisterApprovalServiceServer(r, approvals)
	peerv1.RegisterApprovalPeerServiceServer(r, approvals)
	who := &rpc.People{App: s.people}
	identityv1.RegisterPersonServiceServer(r, who)
	identityv1.RegisterLoginServiceServer(r, who)
}

// Run lets approvals expire and escalate, drops old ones, and sends webhooks, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	parts.Go(func() { s.app.Sweep(ctx) })
	parts.Go(func() { s.app.Deliver(ctx) })
	parts.Wait()
	if s.receivers != nil {
		s.receivers.Close()
	}
	return nil
}

// Listen says whether there are receivers of events of runs. Run says it too: where the engine is in the same process, say it before
// that moves runs, so that new receivers get all events.
func (s *Service) Listen(ctx context.Context) error { return s.app.Listen(ctx) }

// SweepOnce lets approvals that are due now expire and escalate, and returns when the engine
// was notified. It is for those that turn the clock themselves.
func (s *Service) SweepOnce(ctx context.Context) { s.app.SweepAndSettle(ctx) }

// Follow returns work that wakes those of this process who wait for an approval that
// changed in another one, until its context ends. Without NATS who waits still learns
// of it, up to a second later; who watches all does not.
func (s *Service) Follow(endpoint bus.Endpoint) func(context.Context) error {
	return bus.Follow(endpoint, "interlock-approval-watch", s.app.Changed, app.KindApproval)
}
