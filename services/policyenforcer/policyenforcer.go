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
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/accessrefusal"
	"github.com/interlock-run/interlock/services/internal/definition"
	process "github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/namespaces"
	"github.com/interlock-run/interlock/services/internal/redact"
	"github.com/interlock-run/interlock/services/internal/sharedread"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
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
	// Receipts signs break-glass grants; nil where another service has the key.
	Receipts receipt.Signer
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	Flags
	// Definitions are the settings that definitions are compiled by.
	Definitions definition.Flags
}

// Flags are the settings of the policy enforcer.
type Flags struct {
	DecisionRetention  time.Duration  `help:"How long sealed decisions are kept; 0 keeps them forever." default:"2160h" env:"INTERLOCK_DECISION_RETENTION" placeholder:"DURATION"`
	Jail               enforcer.Jails `help:"Jails of command lines: required denies those that a state judges and whose caller has none, auto uses the jail that the caller has, off uses none." enum:"required,auto,off" default:"auto" env:"INTERLOCK_JAIL"`
	LogAttributes      []string       `help:"Attributes of humans that the decision log has, at most 8." env:"INTERLOCK_LOG_ATTRIBUTES" placeholder:"NAME"`
	LogInputs          check.Inputs   `help:"Calls whose masked input the decision log keeps: refused keeps those that were denied or asked about, all keeps every call, captured keeps those of workflows with meta.capture_output only." enum:"refused,all,captured" default:"refused" env:"INTERLOCK_LOG_INPUTS"`
	MetricsNames       bool           `name:"metrics-names" help:"Metrics also count denials by workflow and state, and the use of limits by policy. Whoever reads /metrics sees these names of all namespaces." env:"INTERLOCK_METRICS_NAMES"`
	BreakGlassFourEyes bool           `name:"breakglass-four-eyes" help:"A break-glass grant counts once another operator has confirmed it." env:"INTERLOCK_BREAKGLASS_FOUR_EYES"`
	redact.Flags
}

// Enforcer serves PolicyEnforcerService, PolicyService, SetService, DecisionService, HaltService, NamespaceService, BreakGlassService and
// UpstreamService.
type Enforcer struct {
	app     *app.App
	store   store.Store
	service *rpc.Enforcer
	// receipts signs break-glass grants; nil for none.
	receipts    receipt.Signer
	definitions definition.Flags
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
	masks, err := cfg.Masks()
	if err != nil {
		return nil, err
	}
	if err := check.LogAttributes(cfg.LogAttributes); err != nil {
		return nil, err
	}
	others := app.Config{LogAttributes: cfg.LogAttributes, Inputs: cfg.LogInputs, FourEyes: cfg.BreakGlassFourEyes, Masks: masks, Places: cfg.Places, Jails: cfg.Jail, Timers: cfg.Metrics.Timers()}
	if cfg.Metrics != nil {
		counted := newMetrics(cfg.Metrics, cfg.MetricsNames)
		others.Measure, others.TimeAnswer = counted.measure, counted.answered
	}
	if cfg.Approval != nil {
		others.Approvals = rpc.NewApprovals(approvalv1.NewApprovalServiceClient(cfg.Approval), peerv1.NewApprovalPeerServiceClient(cfg.Approval))
	}
	if cfg.State != nil {
		others.Shared = sharedread.NewShared(statev1.NewSessionServiceClient(cfg.State), statev1.NewStateServiceClient(cfg.State))
	}
	signers, err := cfg.Definitions.Signers()
	if err != nil {
		return nil, err
	}
	a := app.New(cfg.Store, engine, rpc.Announcer{}, cfg.Clock, cfg.Logger, others)
	a.Policies.Accept(signers, appliedBundles(cfg.Metrics))
	a.Policies.CompileBy(cfg.Definitions)
	a.Log.Retain(cfg.DecisionRetention)
	cfg.Metrics.Caches(append(a.Caches(), engine.Caches()...)...)
	cfg.Metrics.Register(unsealed(a.Log))
	announce := func(ctx context.Context, refusal *policyv1.ReportRefusalRequest) error {
		return accessrefusal.Commit(ctx, cfg.Store, refusal)
	}
	return &Enforcer{app: a, store: cfg.Store, receipts: cfg.Receipts, definitions: cfg.Definitions, service: rpc.NewEnforcer(a.Checks, a.Outcomes, runs, announce)}, nil
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

// refused returns the last callers that were refused before a decision.
func (e *Enforcer) refused(ctx context.Context, namespace string) ([]*policyv1.Refusal, error) {
	return accessrefusal.List(ctx, e.store, namespace)
}

// Register adds the enforcer's services to a server.
func (e *Enforcer) Register(r grpc.ServiceRegistrar) {
	policyv1.RegisterPolicyEnforcerServiceServer(r, e.service)
	policyv1.RegisterPolicyServiceServer(r, &rpc.Policies{Checks: e.app.Checks, Store: e.app.Policies, Pins: e.app.Pins, Definitions: e.definitions})
	policyv1.RegisterSetServiceServer(r, &rpc.Sets{Store: e.app.Policies})
	policyv1.RegisterDecisionServiceServer(r, &rpc.Decisions{Checks: e.app.Checks, Log: e.app.Log, Refused: e.refused})
	identityv1.RegisterHaltServiceServer(r, &rpc.Halts{Keeper: e.app.Halts})
	identityv1.RegisterNamespaceServiceServer(r, &rpc.Namespaces{Book: namespaces.New(e.store, nil)})
	policyv1.RegisterBreakGlassServiceServer(r, &rpc.BreakGlass{Keeper: e.app.Glass, Key: e.receipts})
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
