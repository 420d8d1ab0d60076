// Package policyenforcer is the service that answers "may I call this tool?".
// This package composes its parts; it must never decide anything.
package policyenforcer

import (
	"log/slog"
	"time"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/rpc"
)

// Config is what the policy enforcer needs. Store and Engine are required.
type Config struct {
	// Store is the one that the engine uses: a decision is committed on
	// condition that the run has not changed.
	Store store.Store
	// Engine is a connection to the engine's services.
	Engine grpc.ClientConnInterface
	Clock  func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

// Enforcer serves PolicyEnforcerService.
type Enforcer struct{ service *rpc.Enforcer }

// New makes a policy enforcer.
func New(cfg Config) *Enforcer {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	runs := enginev1.NewRunServiceClient(cfg.Engine)
	engine := rpc.NewEngine(enginev1.NewWorkflowServiceClient(cfg.Engine), runs)
	return &Enforcer{service: rpc.NewEnforcer(app.New(cfg.Store, engine, rpc.Announcer{}, cfg.Clock, cfg.Logger), runs)}
}

// Register adds the enforcer's service to a server.
func (e *Enforcer) Register(r grpc.ServiceRegistrar) {
	policyv1.RegisterPolicyEnforcerServiceServer(r, e.service)
}
