// Package policyenforcer is the service that answers "may I call this tool?".
// This package composes its parts; it must never decide anything.
package policyenforcer

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/definition"
	process "github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/refused"
	"github.com/interlock-run/interlock/services/internal/sessiontree"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/redact"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/rpc"
)

// Config has the settings and the connections of the policy enforcer. Store and Engine are required.
type Config struct {
	// Store is the one that the engine uses: a decision is committed on
	// condition that the run has not changed.
	Store store.Store
	// Engine is a connection to the engine's services.
	Engine grpc.ClientConnInterface
	// Approval and State are connections to the approval service and the
	// state-store, with the enforcer's own credentials. Without Approval, calls that need an approval are
	// denied; without State, those whose approval rests on a shared state.
	Approval, State grpc.ClientConnInterface
	Clock           func() time.Time // default time.Now
	Logger          *slog.Logger     // default slog.Default()
	// Metrics are those of the process; nil for none.
	Metrics *process.Set
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	Flags
	// Definitions are the settings that definitions are compiled by.
	Definitions definition.Flags
}

// Flags are the settings of the policy enforcer.
type Flags struct {
	DecisionRetention time.Duration  `help:"How long sealed decisions are kept; 0 keeps them forever." default:"2160h" env:"INTERLOCK_DECISION_RETENTION" placeholder:"DURATION"`
	Jail              enforcer.Jails `help:"Jails of command lines: required denies those that a state judges and whose caller has none, auto uses the jail that the caller has, off uses none." enum:"required,auto,off" default:"auto" env:"INTERLOCK_JAIL"`
	MaskKeys          []string       `help:"Parts of names of input members that the decision log masks; replaces the defaults." env:"INTERLOCK_MASK_KEYS" placeholder:"NAME"`
	MaskPattern       []string       `help:"Regular expressions of text that the decision log masks; replace the defaults. May be repeated." env:"INTERLOCK_MASK_PATTERN" sep:"none" placeholder:"REGEXP"`
}

// masks returns the masks of the flags, or the defaults for those that are not set.
func (f Flags) masks() (redact.Masks, error) {
	keys, patterns := f.MaskKeys, f.MaskPattern
	if keys == nil {
		keys = redact.DefaultNames()
	}
	if patterns == nil {
		patterns = redact.DefaultPatterns()
	}
	return redact.New(keys, patterns)
}

// Enforcer serves PolicyEnforcerService, PolicyService, DecisionService and UpstreamService.
type Enforcer struct {
	app     *app.App
	service *rpc.Enforcer
}

// New returns a policy enforcer. It returns an error for invalid flags.
func New(cfg Config) (*Enforcer, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	runs := enginev1.NewRunServiceClient(cfg.Engine)
	engine := rpc.NewEngine(enginev1.NewWorkflowServiceClient(cfg.Engine), runs, peerv1.NewRunPeerServiceClient(cfg.Engine), cfg.Definitions)
	cfg.Store.Gate().OnTurn(engine.Forget)
	masks, err := cfg.masks()
	if err != nil {
		return nil, err
	}
	others := app.Config{Masks: masks, Places: cfg.Places, Jails: cfg.Jail, Timers: cfg.Metrics.Timers()}
	if cfg.Metrics != nil {
		counted := newMetrics(cfg.Metrics)
		others.Observe, others.Answered = counted.observe, counted.answered
	}
	if cfg.Approval != nil {
		others.Approvals = rpc.NewApprovals(approvalv1.NewApprovalServiceClient(cfg.Approval), peerv1.NewApprovalPeerServiceClient(cfg.Approval))
	}
	if cfg.State != nil {
		others.Shared = sessiontree.NewShared(statev1.NewSessionServiceClient(cfg.State), statev1.NewStateServiceClient(cfg.State))
	}
	a := app.New(cfg.Store, engine, rpc.Announcer{}, cfg.Clock, cfg.Logger, others)
	a.Log.Retain(cfg.DecisionRetention)
	cfg.Metrics.Caches(append(a.Caches(), engine.Caches()...)...)
	cfg.Metrics.Register(unsealed(a.Log))
	announce := func(ctx context.Context, refusal *policyv1.ReportRefusalRequest) error {
		return refused.Commit(ctx, cfg.Store, refusal)
	}
	return &Enforcer{app: a, service: rpc.NewEnforcer(a.Checks, a.Outcomes, runs, announce)}, nil
}

// ChainReport is the result of the verification of a chain of the decision log.
type ChainReport = decisionlog.Report

// VerifyLog recomputes the chains of the decision log of a namespace, in a store without writers, and yields the
// result of each.
func VerifyLog(ctx context.Context, st store.Store, namespace string, yield func(*ChainReport) error) error {
	verifier := decisionlog.NewReader(st)
	for after := ""; ; {
		reports, next, err := verifier.Verify(ctx, namespace, "", after)
		if err != nil {
			return err
		}
		for _, report := range reports {
			if err := yield(report); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

// Register adds the enforcer's services to a server.
func (e *Enforcer) Register(r grpc.ServiceRegistrar) {
	policyv1.RegisterPolicyEnforcerServiceServer(r, e.service)
	policyv1.RegisterPolicyServiceServer(r, &rpc.Policies{Checks: e.app.Checks, Store: e.app.Policies, Pins: e.app.Pins})
	policyv1.RegisterDecisionServiceServer(r, &rpc.Decisions{Checks: e.app.Checks, Log: e.app.Log})
	upstreams := &rpc.Upstreams{Pins: e.app.Pins}
	policyv1.RegisterUpstreamServiceServer(r, upstreams)
	peerv1.RegisterUpstreamPeerServiceServer(r, upstreams)
}

// Run seals decisions until ctx ends. It is called once.
func (e *Enforcer) Run(ctx context.Context) error {
	e.app.Sweep(ctx)
	e.service.End()
	return nil
}

// SweepOnce seals the present decisions, for callers with a clock of their own.
func (e *Enforcer) SweepOnce(ctx context.Context) { e.app.SweepOnce(ctx) }
