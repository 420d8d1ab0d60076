// Package allinone runs every service in one process: the store, NATS, the relay,
// the gRPC server and the edge. `interlock up` is this; tests start the same.
package allinone

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth/persontoken"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/telemetry"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/beginning"
	"github.com/interlock-run/interlock/services/internal/bootstrap"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/datadir"
	defs "github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/seal"
	"github.com/interlock-run/interlock/services/internal/storeseal"
	"github.com/interlock-run/interlock/services/policyenforcer"
	"github.com/interlock-run/interlock/services/statestore"
)

// DefinitionFlags are the settings that definitions are compiled by.
type DefinitionFlags = defs.Flags

// Quotas are the limits of an agent in the engine.
type Quotas = engine.Quotas

// Retention is how long the engine keeps runs.
type Retention = engine.Retention

// Config of a server. The zero value runs on free loopback ports in the default
// data folder.
type Config struct {
	Data datadir.Dir
	// HTTP, GRPC and NATS are addresses; port 0 is any free one.
	HTTP, GRPC, NATS string
	// TLS of HTTP and gRPC, or Insecure, to serve them beyond loopback.
	TLS      rpc.ServerTLS
	Insecure bool
	// Store is "sqlite" (the default) or a Redis URL.
	Store           string
	AllowLossyStore bool
	Safety          daemon.SafetyFlags
	StoreLogin      daemon.StoreLogin
	Events          daemon.EventFlags
	// NATSURL, when set, is an external NATS instead of the embedded one.
	NATSURL   string
	NATSLogin daemon.NATSLogin
	// Grace for events in the outbox with an external NATS; default 150 s.
	Grace time.Duration

	// State are the settings of the state-store, Policy those of the policy enforcer,
	// Approval those of the approval service.
	State       statestore.Flags
	Policy      policyenforcer.Flags
	Approval    approval.Flags
	Definitions DefinitionFlags
	// Enforcement is that of workflows that name none.
	Enforcement workflow.Enforcement
	Engine      engine.Quotas
	Retention   engine.Retention
	// Auth says whose tokens count in addition to those of the tokens file.
	Auth daemon.AuthFlags
	// Tokens is a tokens file in addition to that of the data folder; empty for none.
	Tokens string
	// Seal is the open seal of the data folder; nil without one.
	Seal *seal.Box
	// WithoutPresence has tokens of operators and approvers made and kept in the data folder, where programs
	// of the same user read them (S23.2).
	WithoutPresence bool
	// Bootstrap is the code by which the first person registers; nil for none.
	Bootstrap *bootstrap.Code

	// Begin has definitions that are stored at the start where their names are free.
	Begin []beginning.Definition

	Upstreams    []gateway.Upstream
	ToolPrefix   string
	StatePrefix  string
	AllowUnbound bool
	Quotas       gateway.Quotas
	Authz        gateway.AuthzFlags
	// Receipts are signed with a key that is made in the data folder unless another is named.
	Receipts gateway.ReceiptFlags
	Console  gateway.ConsoleFlags

	Version string
	Tracer  trace.TracerProvider
	Logger  *slog.Logger // default slog.Default()
}

// Server is a running process with every service.
type Server struct {
	// Endpoints is where it serves.
	Endpoints datadir.Endpoints
	// TokensFile holds tokens of this machine's programs, by role.
	TokensFile string
	// Notes are what the person who started it should know, one text each.
	Notes []string

	cfg           Config
	starter       string // the token of the one who starts the server; empty when no definition is to be stored
	metrics       *metrics.Set
	sealed        *storeseal.Store         // nil without a seal
	starting      grpc.ClientConnInterface // of the starter
	people        *approval.Service
	closers       []func() error
	cancel        context.CancelCauseFunc
	ctx           context.Context
	edge          chan error
	grpc          chan error
	reopen        func() error // opens the embedded NATS's files anew; nil without one
	events        *bus.Relay
	relay         chan struct{}      // closed when the relay has ended
	backgroundCtx context.Context    // of the relay and other work alongside the servers
	work          sync.WaitGroup     // work alongside the servers
	stop          context.CancelFunc // ends the work alongside the servers
	drained       context.CancelFunc // ends the servers
}

// Start starts everything; when it returns nil, calls succeed. The caller ends
// it with Close.
func Start(ctx context.Context, cfg Config) (_ *Server, err error) {
	cfg = cfg.withDefaults()
	c := &Server{cfg: cfg, metrics: metrics.New()}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, c.shutDown())
		}
	}()
	if _, err := os.Stat(cfg.Data.Tokens()); errors.Is(err, fs.ErrNotExist) {
		if err := cfg.portsFree(); err != nil {
			return nil, err
		}
	}
	if err := cfg.Data.Make(); err != nil {
		return nil, err
	}
	unlock, err := cfg.Data.Lock()
	if err != nil {
		return nil, err
	}
	c.onClose(unlock)
	sealing, err := c.sealing()
	if err != nil {
		return nil, err
	}
	// The store gives its reserve up when it is opened, and so makes room for the other files
	// on a full disk.
	st, err := daemon.OpenStore(ctx, daemon.StoreConfig{
		URL: cfg.Store, Path: cfg.Data.Database(), AllowLossy: cfg.AllowLossyStore, SafetyFlags: cfg.Safety, StoreLogin: cfg.StoreLogin, Logger: cfg.Logger, Metrics: c.metrics,
		Program: cfg.Version, Seal: sealing,
	})
	if err != nil {
		return nil, err
	}
	c.onClose(st.Close)
	if err := c.marked(ctx, st); err != nil {
		return nil, err
	}
	tokens, err := c.openTokens()
	if err != nil {
		return nil, err
	}
	witnessed := daemon.Witnessed(st)
	st = telemetry.Store(st, cfg.Tracer)
	endpoint, grace, err := c.openNATS(ctx)
	if err != nil {
		return nil, err
	}
	if err := daemon.Attest(ctx, endpoint, cfg.Events.Stream(), witnessed, cfg.Logger); err != nil {
		return nil, err
	}
	if err := c.startRelay(st, witnessed, endpoint, grace); err != nil {
		return nil, err
	}
	if err := c.startServers(st, endpoint, tokens); err != nil {
		return nil, err
	}
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	return c, cfg.Data.WriteEndpoints(c.Endpoints)
}

// begin stores the definitions that the server begins with.
func (c *Server) begin(ctx context.Context) error {
	if len(c.cfg.Begin) == 0 {
		return nil
	}
	notes, err := beginning.Put(ctx, c.starting, c.cfg.Begin)
	c.Notes = append(c.Notes, notes...)
	return err
}

func (c Config) withDefaults() Config {
	c.Data = cmp.Or(c.Data, datadir.Default)
	for _, address := range []*string{&c.HTTP, &c.GRPC, &c.NATS} {
		*address = cmp.Or(*address, "127.0.0.1:0")
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Auth.PersonKey == "" && c.Auth.People.IsZero() {
		c.Auth.People = persontoken.NewKey()
	}
	return c
}

func (c *Server) onClose(fn func() error) { c.closers = append(c.closers, fn) }

// background runs work in addition to the servers until they have drained. Its failure is
// that of the server.
func (c *Server) background(work func(context.Context) error) {
	c.work.Go(func() {
		if err := work(c.backgroundCtx); err != nil && c.backgroundCtx.Err() == nil {
			c.cancel(err)
		}
	})
}

// Failed ends when a part of the server has failed; Close then says why.
func (c *Server) Failed() <-chan struct{} { return c.ctx.Done() }

// Close drains: the edge and the services finish their calls, the relay announces their
// changes, then all parts end.
func (c *Server) Close() error {
	c.cfg.Data.RemoveEndpoints()
	return c.shutDown()
}

func (c *Server) shutDown() error {
	var errs []error
	if c.drained != nil {
		c.drained()
		errs = append(errs, <-c.edge)
	}
	c.cancel(nil)
	if c.grpc != nil {
		errs = append(errs, <-c.grpc)
	}
	if c.stop != nil {
		c.stop()
		<-c.relay
		c.work.Wait()
	}
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i]())
	}
	return errors.Join(errs...)
}
