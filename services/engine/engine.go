// Package engine is the service that owns workflows and runs: it answers "I want
// to move on". This package composes its parts; it must never decide anything.
package engine

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/rpc"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/sharedread"
)

// Config has the parts and settings of the engine. The zero value of all but Store works.
type Config struct {
	Store store.Store
	// Approval is a connection to the approval service, with the engine's own
	// credentials. Without it transitions that need an approval are refused.
	Approval grpc.ClientConnInterface
	// Sessions is a connection to the state-store, with the engine's own credentials,
	// which reports which sessions are in the caller's tree. Without it every session is
	// a tree of its own.
	Sessions grpc.ClientConnInterface
	Clock    func() time.Time // default time.Now
	Logger   *slog.Logger     // default slog.Default()
	// Definitions are the settings that definitions are compiled by.
	Definitions definition.Flags
	// Enforcement is that of workflows that name none.
	Enforcement workflow.Enforcement
	Quotas      Quotas
	Retention   Retention
	// Trees returns the digest of the files of a workspace; nil where the engine is on another machine than those.
	Trees ports.Trees
	// Standing says whether the operators who have put schedules still count; nil where all of them do.
	Standing ports.Standing
	// Metrics are those of the process; nil for none.
	Metrics *metrics.Set
}

// Retention is how long runs are kept.
type Retention = ports.Retention

// Quotas are the limits of an agent.
type Quotas = ports.Quotas

// Engine serves WorkflowService, RunService, ProcessService and ScheduleService.
type Engine struct {
	app *app.App
	log *slog.Logger
}

// New makes an engine over a store.
func New(cfg Config) *Engine {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	e := &Engine{app: app.New(cfg.Store, rpc.Announcer{}, cfg.Clock, cfg.Logger), log: cfg.Logger}
	e.app.Definitions, e.app.Enforcement, e.app.Quotas, e.app.Retention = cfg.Definitions, cfg.Enforcement, cfg.Quotas, cfg.Retention
	e.app.Trees, e.app.Standing = cfg.Trees, cfg.Standing
	e.app.Timers = cfg.Metrics.Timers()
	cfg.Metrics.Caches(e.app.Caches()...)
	silentRuns(cfg.Metrics, e.app)
	scheduledTimes(cfg.Metrics, e.app)
	if cfg.Approval != nil {
		e.app.Approvals = rpc.NewApprovals(approvalv1.NewApprovalServiceClient(cfg.Approval), peerv1.NewApprovalPeerServiceClient(cfg.Approval))
	}
	if cfg.Sessions != nil {
		e.app.Shared = sharedread.NewShared(statev1.NewSessionServiceClient(cfg.Sessions), statev1.NewStateServiceClient(cfg.Sessions))
		e.app.Sessions = rpc.NewSessions(statev1.NewSessionServiceClient(cfg.Sessions))
		e.app.SharedState = rpc.NewSharedState(statev1.NewSessionServiceClient(cfg.Sessions), statev1.NewStateServiceClient(cfg.Sessions))
	}
	return e
}

// Register adds the engine's services to a server.
func (e *Engine) Register(r grpc.ServiceRegistrar) {
	enginev1.RegisterWorkflowServiceServer(r, &rpc.Workflows{App: e.app})
	runs := rpc.NewRuns(e.app)
	enginev1.RegisterRunServiceServer(r, runs)
	peerv1.RegisterRunPeerServiceServer(r, runs)
	enginev1.RegisterScheduleServiceServer(r, &rpc.Schedules{Schedules: e.app.Schedules})
	enginev1.RegisterProcessServiceServer(r, &rpc.Processes{App: e.app, Runs: runs})
}

// Run carries out the consequences for runs when time has passed, approvals are decided
// and sessions end, until ctx ends.
func (e *Engine) Run(ctx context.Context) error {
	e.app.Upkeep.Sweep(ctx)
	return nil
}

// SweepOnce does so for due timers, for callers that turn the clock themselves.
func (e *Engine) SweepOnce(ctx context.Context) { e.app.Upkeep.SweepOnce(ctx) }
