// Package engine is the service that owns workflows and runs: it answers "I want
// to move on". This package composes its parts; it must never decide anything.
package engine

import (
	"log/slog"
	"time"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/engine/internal/rpc"
)

// Config is what the engine needs. The zero value of all but Store works.
type Config struct {
	Store  store.Store
	Clock  func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

// Engine serves WorkflowService and RunService.
type Engine struct {
	app *app.App
	log *slog.Logger
}

// New makes an engine over a store.
func New(cfg Config) *Engine {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Engine{app: app.New(cfg.Store, rpc.Announcer{}, cfg.Clock, cfg.Logger), log: cfg.Logger}
}

// Register adds the engine's services to a server.
func (e *Engine) Register(r grpc.ServiceRegistrar) {
	enginev1.RegisterWorkflowServiceServer(r, &rpc.Workflows{App: e.app})
	enginev1.RegisterRunServiceServer(r, rpc.NewRuns(e.app))
}
