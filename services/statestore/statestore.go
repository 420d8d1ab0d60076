// Package statestore is the service that answers "this is what the team knows now":
// schemas, the states that trees of sessions share, the sessions, their tasks, and
// state components. This package composes its parts; it must never decide anything.
package statestore

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/rpc"
)

// Config has the parts and settings of the state-store. The zero value of all but Store
// works.
type Config struct {
	Store  store.Store
	Clock  func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
	// Metrics are those of the process; nil for none.
	Metrics *metrics.Set
	// TokenKey signs session tokens; nil where there is none, and then none is minted.
	TokenKey *sessiontoken.Key
	// Names are those of the tokens file; nil without one.
	Names *auth.Tokens
	Flags
}

// Flags are the settings of the state-store.
type Flags struct {
	StateUpdateRetries int           `help:"How often a child is asked to update the state before it counts as failed." default:"3" env:"INTERLOCK_STATE_UPDATE_RETRIES" placeholder:"N"`
	StateUpdateTimeout time.Duration `help:"How long one such attempt may take." default:"120s" env:"INTERLOCK_STATE_UPDATE_TIMEOUT" placeholder:"DURATION"`
	StateUpdateDelay   time.Duration `help:"Pause before another attempt." default:"5s" env:"INTERLOCK_STATE_UPDATE_DELAY" placeholder:"DURATION"`
	TaskClaim          time.Duration `help:"How long a runner may be silent before its task is given to another." default:"30s" env:"INTERLOCK_TASK_CLAIM" placeholder:"DURATION"`
	MaxStateBytes      int           `help:"Maximum size of a state." default:"1048576" env:"INTERLOCK_MAX_STATE_BYTES" placeholder:"BYTES"`
	StateHistory       int64         `help:"Minimum number of versions of a state to keep; 0 keeps all." default:"0" env:"INTERLOCK_STATE_HISTORY" placeholder:"N"`
	PromptPrefix       string        `name:"prompt-tool-prefix" help:"Prefix that prompts put before the names of the state tools: the value of --state-tool-prefix where agents connect." env:"INTERLOCK_PROMPT_TOOL_PREFIX" placeholder:"PREFIX"`
	StateRetention     time.Duration `help:"How long a state is kept after its root session has ended; 0 keeps it forever." default:"0s" env:"INTERLOCK_STATE_RETENTION" placeholder:"DURATION"`
}

// Store serves the services of interlock.state.v1.
type Store struct{ app *app.App }

// New makes a state-store over a store.
func New(cfg Config) *Store {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	var minter ports.Minter
	if cfg.TokenKey != nil {
		minter = cfg.TokenKey
	}
	s := &Store{app: app.New(cfg.Store, rpc.Announcer{}, cfg.Clock, cfg.Logger, ports.Config{
		Session: session.Config{
			MaxAttempts: cfg.StateUpdateRetries, AttemptTimeout: cfg.StateUpdateTimeout, RetryDelay: cfg.StateUpdateDelay, ClaimTTL: cfg.TaskClaim,
		},
		ToolPrefix: cfg.PromptPrefix, MaxStateBytes: cfg.MaxStateBytes, HistoryVersions: cfg.StateHistory, Retention: cfg.StateRetention, Timers: cfg.Metrics.Timers(), Minter: minter, Names: cfg.Names,
	})}
	cfg.Metrics.Caches(s.app.Caches()...)
	return s
}

// Register adds the state-store's services to a server.
func (s *Store) Register(r grpc.ServiceRegistrar) {
	statev1.RegisterSchemaServiceServer(r, &rpc.Schemas{App: s.app})
	statev1.RegisterStateServiceServer(r, &rpc.States{App: s.app})
	statev1.RegisterSessionServiceServer(r, &rpc.Sessions{App: s.app})
	statev1.RegisterTaskServiceServer(r, &rpc.Tasks{App: s.app})
	statev1.RegisterComponentServiceServer(r, &rpc.Components{App: s.app})
	statev1.RegisterAgentServiceServer(r, &rpc.Agents{App: s.app})
}

// Run fires timers until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	s.app.Sweep(ctx)
	return nil
}

// SweepOnce fires the timers that are due now, for those that turn the clock themselves.
func (s *Store) SweepOnce(ctx context.Context) { s.app.SweepOnce(ctx) }

// Follow returns work that wakes the watchers and runners of this process when
// something changed in another one, until its context ends. Without NATS they still
// learn of changes, up to a second later.
func (s *Store) Follow(endpoint bus.Endpoint) func(context.Context) error {
	return bus.Follow(endpoint, "interlock-state-store-watch", s.app.Changed, ports.KindState, "task")
}
