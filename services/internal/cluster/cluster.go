// Package cluster runs every service in one process: the store, NATS, the relay,
// the gRPC server and the edge. `interlock up` is this; tests start the same.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/telemetry"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/decided"
	defs "github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/natsserver"
	"github.com/interlock-run/interlock/services/internal/presence"
	"github.com/interlock-run/interlock/services/internal/refused"
	"github.com/interlock-run/interlock/services/internal/tree"
	"github.com/interlock-run/interlock/services/policyenforcer"
	"github.com/interlock-run/interlock/services/statestore"
)

// Embedded NATS syncs every second, so events may leave the outbox soon after.
const (
	embeddedSync  = time.Second
	embeddedGrace = 5 * time.Second
)

// DefinitionFlags are the settings that definitions are compiled by.
type DefinitionFlags = defs.Flags

// Quotas are the limits of an agent in the engine.
type Quotas = engine.Quotas

// Retention is how long the engine keeps runs.
type Retention = engine.Retention

// Config of a cluster. The zero value runs on free loopback ports in the default
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

// Cluster is a running cluster.
type Cluster struct {
	// Endpoints is where it serves.
	Endpoints datadir.Endpoints
	// TokensFile holds a token per role.
	TokensFile string

	cfg           Config
	metrics       *metrics.Set
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
func Start(ctx context.Context, cfg Config) (_ *Cluster, err error) {
	cfg = cfg.withDefaults()
	c := &Cluster{cfg: cfg, metrics: metrics.New()}
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
	// The store gives its reserve up when it is opened, and so makes room for the other files
	// on a full disk.
	st, err := daemon.OpenStore(ctx, daemon.StoreConfig{
		URL: cfg.Store, Path: cfg.Data.Database(), AllowLossy: cfg.AllowLossyStore, SafetyFlags: cfg.Safety, StoreLogin: cfg.StoreLogin, Logger: cfg.Logger, Metrics: c.metrics,
		Program: cfg.Version,
	})
	if err != nil {
		return nil, err
	}
	c.onClose(st.Close)
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
	return c, cfg.Data.WriteEndpoints(c.Endpoints)
}

func (c Config) withDefaults() Config {
	c.Data = cmp.Or(c.Data, datadir.Default)
	for _, address := range []*string{&c.HTTP, &c.GRPC, &c.NATS} {
		*address = cmp.Or(*address, "127.0.0.1:0")
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// portsFree reports the first address in use, before a data folder with tokens is made for a
// server that cannot start.
func (c Config) portsFree() (err error) {
	addresses := []string{c.HTTP, c.GRPC}
	if c.NATSURL == "" {
		addresses = append(addresses, c.NATS)
	}
	var held []net.Listener
	defer func() { err = errors.Join(err, closeAll(held)) }()
	for _, address := range addresses {
		lis, err := net.Listen("tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		if err == nil { // other problems of an address are reported where it is used
			held = append(held, lis)
		}
	}
	return nil
}

func (c *Cluster) onClose(fn func() error) { c.closers = append(c.closers, fn) }

// openTokens makes the tokens of the five roles on the first start.
func (c *Cluster) openTokens() (*auth.Tokens, error) {
	c.TokensFile = c.cfg.Data.Tokens()
	if _, err := auth.WriteFile(c.TokensFile, auth.Generate()); err != nil {
		return nil, err
	}
	return auth.LoadTokens(c.TokensFile)
}

func (c *Cluster) openNATS(ctx context.Context) (bus.Endpoint, time.Duration, error) {
	if c.cfg.NATSURL != "" {
		c.Endpoints.NATS = c.cfg.NATSURL
		endpoint, err := c.cfg.NATSLogin.Endpoint(c.cfg.NATSURL)
		if err != nil {
			return bus.Endpoint{}, 0, err
		}
		if err := endpoint.Fit(ctx); err != nil {
			return bus.Endpoint{}, 0, fmt.Errorf("--nats-url: %w", err)
		}
		return endpoint, c.cfg.Grace, nil
	}
	server, err := natsserver.Start(natsserver.Config{
		Dir: c.cfg.Data.NATS(), Addr: c.cfg.NATS, SyncInterval: embeddedSync, Log: c.cfg.Logger,
	})
	if err != nil {
		return bus.Endpoint{}, 0, err
	}
	c.onClose(func() error { server.Stop(); return nil })
	c.Endpoints.NATS = server.URL()
	c.reopen = server.Reopen
	return server.Endpoint(), embeddedGrace, nil
}

func (c *Cluster) startRelay(st store.Store, witnessed store.Witnessed, endpoint bus.Endpoint, grace time.Duration) error {
	holder, err := c.holder()
	if err != nil {
		return err
	}
	relay, err := bus.NewRelay(decided.Outbox(st), bus.Config{
		NATS: endpoint, Stream: c.cfg.Events.Stream(), Witnessed: witnessed, Holder: holder, Grace: grace, Keep: c.cfg.Events.EventsKeep, Registerer: c.metrics.Registerer(),
		Tracer: c.cfg.Tracer, Log: c.cfg.Logger,
		Reopen: c.reopen,
	})
	if err != nil {
		return err
	}
	c.events = relay
	c.backgroundCtx, c.stop = context.WithCancel(context.WithoutCancel(c.ctx))
	c.relay = make(chan struct{})
	go func() {
		defer close(c.relay)
		if err := relay.Run(c.backgroundCtx); err != nil && c.backgroundCtx.Err() == nil {
			c.cancel(fmt.Errorf("relay: %w", err))
		}
	}()
	return nil
}

// background runs work in addition to the servers until they have drained. Its failure is
// that of the cluster.
func (c *Cluster) background(work func(context.Context) error) {
	c.work.Go(func() {
		if err := work(c.backgroundCtx); err != nil && c.backgroundCtx.Err() == nil {
			c.cancel(err)
		}
	})
}

// holder names this cluster among all that relay the same store. It is the same
// after a restart, which then has its shards back at once.
func (c *Cluster) holder() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name this process: %w", err)
	}
	folder, err := filepath.Abs(string(c.cfg.Data))
	if err != nil {
		return "", fmt.Errorf("name this process: %w", err)
	}
	return "up " + host + " " + folder, nil
}

// authenticator knows the tokens of the file, those of Auth, and that of the services
// themselves, which no other process learns.
func (c *Cluster) authenticator(tokens *auth.Tokens) (all auth.Authenticator, own string, err error) {
	flags := c.cfg.Auth
	if flags.TokenKey == "" {
		flags.TokenKey = c.cfg.Data.TokenKey()
		if err := sessiontoken.CreateKey(flags.TokenKey); err != nil {
			return nil, "", err
		}
	}
	outer, err := flags.Authenticator(tokens, c.cfg.Logger)
	if err != nil {
		return nil, "", err
	}
	own = auth.Mint()
	return auth.Chain(auth.One(auth.Principal{Name: auth.OwnName, Role: auth.Service}, own), outer), own, nil
}

func (c *Cluster) startServers(st store.Store, endpoint bus.Endpoint, known *auth.Tokens) (err error) {
	tokens, own, err := c.authenticator(known)
	if err != nil {
		return err
	}
	addresses := []string{c.cfg.GRPC}
	if socket := c.cfg.Data.GRPCSocket(); c.cfg.TLS != (rpc.ServerTLS{}) && socket != "" {
		// The certificate need not name this machine's own addresses.
		addresses = append(addresses, "unix:"+socket)
		c.Endpoints.GRPCSocket = socket
	}
	refusals := refused.New(st, c.cfg.Logger)
	server, err := rpc.NewServer(rpc.Config{
		Refused: refusals.Tell,
		Gate:    st.Gate(), Listen: addresses, Authenticator: tokens, Logger: c.cfg.Logger, TLS: c.cfg.TLS, Insecure: c.cfg.Insecure,
		Registerer: c.metrics.Registerer(), TracerProvider: c.cfg.Tracer,
	})
	if err != nil {
		return err
	}
	var listeners []net.Listener
	defer func() {
		if err != nil {
			server.Close()
			err = errors.Join(err, closeAll(listeners))
		}
	}()
	local := server.Local(rpc.ClientConfig{TracerProvider: c.cfg.Tracer})
	self := server.Local(rpc.ClientConfig{Token: own, TracerProvider: c.cfg.Tracer})
	if err := c.startServices(st, endpoint, server, local, self); err != nil {
		return err
	}
	c.Endpoints.GRPC = reachable(server.Addrs()[0])
	listeners, err = c.listen()
	if err != nil {
		return err
	}
	publicURL := cmp.Or(c.cfg.Approval.PublicURL, c.Endpoints.HTTP)
	issuer, err := c.cfg.Auth.Issuer(nil, c.cfg.Logger)
	if err != nil {
		return err
	}
	pages, err := c.cfg.Console.Console(cmp.Or(c.cfg.Auth.TokenKey, c.cfg.Data.TokenKey()), issuer, c.cfg.Approval.PublicURL)
	if err != nil {
		return err
	}
	signer, err := c.receiptKey()
	if err != nil {
		return err
	}
	edge := gateway.Config{
		Refused: refusals.Tell,
		Engine:  local, Policy: local, State: local, Approval: local, Self: self, Vouched: rpc.Vouching(local, func() string { return own }), NATS: &endpoint, Checks: c.checks(st), AdvertiseGRPC: server.Addrs()[0].String(), Tokens: tokens,
		Upstreams: c.cfg.Upstreams, Jails: gateway.Jails(c.cfg.Policy.Jail), DataFolder: string(c.cfg.Data), PublicURL: publicURL, ToolPrefix: c.cfg.ToolPrefix, StatePrefix: c.cfg.StatePrefix, AllowUnbound: c.cfg.AllowUnbound,
		Quotas: c.cfg.Quotas, Authz: c.cfg.Authz, Receipts: signer, Prove: known.Prove, Console: pages,
		Metrics: c.metrics, Tracer: c.cfg.Tracer, Version: c.cfg.Version, Logger: c.cfg.Logger, Places: gateway.PlacesOf(string(c.cfg.Data)),
	}
	if err := gateway.ExtAuthz(server.GRPC(), edge); err != nil {
		return err
	}
	g, err := gateway.New(edge)
	if err != nil {
		return err
	}
	c.onClose(g.Close)
	var ctx context.Context
	ctx, c.drained = context.WithCancel(c.ctx)
	c.edge, c.grpc = make(chan error, 1), make(chan error, 1)
	go func() { c.edge <- c.failing("edge", g.Serve(ctx, listeners...)) }()
	// The edge drains first: its requests in flight still need the services.
	go func() { c.grpc <- c.failing("services", server.Serve(c.ctx)) }()
	server.SetServing(true)
	checks := c.checks(st)
	c.background(func(ctx context.Context) error { server.FollowReady(ctx, &checks); return nil })
	c.Endpoints.PID = os.Getpid()
	return nil
}

func closeAll(listeners []net.Listener) (err error) {
	for _, lis := range listeners {
		err = errors.Join(err, lis.Close())
	}
	return err
}

// checks returns those of the cluster's dependencies: events may be late.
func (c *Cluster) checks(st store.Store) health.Checks {
	return append(daemon.StoreChecks(st), health.Check{Name: "events", Optional: true, Probe: func(context.Context) error { return c.events.Health() }})
}

// trees returns the digest of a workspace's files: the agents of a cluster are on its machine.
func (c *Cluster) trees(ctx context.Context, workspace string, reread bool) (string, error) {
	take := tree.Take
	if reread {
		take = tree.Reread
	}
	s, err := take(ctx, workspace, c.cfg.Data.TreeCache(workspace))
	if err != nil {
		return "", err
	}
	return s.Tree().Digest, nil
}

// startServices registers the services. They call each other through local with
// their callers' credentials, and through self with their own.
func (c *Cluster) startServices(st store.Store, endpoint bus.Endpoint, server *rpc.Server, local, self grpc.ClientConnInterface) error {
	e := engine.New(engine.Config{Store: st, Approval: self, Sessions: self, Logger: c.cfg.Logger, Definitions: c.cfg.Definitions, Enforcement: c.cfg.Enforcement, Quotas: c.cfg.Engine, Retention: c.cfg.Retention, Metrics: c.metrics, Trees: c.trees})
	policies, err := policyenforcer.New(policyenforcer.Config{
		Store: st, Engine: local, Approval: self, State: self, Logger: c.cfg.Logger, Flags: c.cfg.Policy, Definitions: c.cfg.Definitions,
		Places: gateway.PlacesOf(string(c.cfg.Data)), Metrics: c.metrics,
	})
	if err != nil {
		return err
	}
	flags := c.cfg.State
	flags.PromptPrefix = cmp.Or(flags.PromptPrefix, c.cfg.StatePrefix)
	states := statestore.New(statestore.Config{Store: st, Logger: c.cfg.Logger, Flags: flags, Metrics: c.metrics})
	approvals, err := approval.New(approval.Config{Store: st, Engine: self, Definitions: c.cfg.Definitions, Logger: c.cfg.Logger, Metrics: c.metrics, Flags: c.cfg.Approval})
	if err != nil {
		return err
	}
	for _, service := range []interface{ Register(grpc.ServiceRegistrar) }{e, policies, states, approvals} {
		service.Register(server.GRPC())
	}
	checks := c.checks(st)
	c.metrics.Health(&checks)
	c.metrics.Refresh(c.events.Measure)
	announce := presence.Self{Service: "interlock up", Version: c.cfg.Version, Metrics: c.metrics.Gatherer(), Log: c.cfg.Logger}.Announce(endpoint)
	for _, work := range []func(context.Context) error{e.Run, policies.Run, states.Run, approvals.Run, c.metrics.Run, announce} {
		c.background(work)
	}
	return nil
}

// failing ends the cluster when a server ends with an error.
func (c *Cluster) failing(part string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", part, err)
		c.cancel(err)
	}
	return err
}

func (c *Cluster) listen() ([]net.Listener, error) {
	lis, err := daemon.ListenHTTP(c.cfg.HTTP, rpc.Exposure{TLS: c.cfg.TLS, Insecure: c.cfg.Insecure})
	if err != nil {
		return nil, err
	}
	c.Endpoints.HTTP = "http://" + reachable(lis.Addr())
	if c.cfg.TLS != (rpc.ServerTLS{}) {
		c.Endpoints.HTTP = "https://" + reachable(lis.Addr())
	}
	listeners := []net.Listener{lis}
	if path := c.cfg.Data.Socket(); path != "" {
		// The store is open for this process alone, so a socket that is there
		// was left behind.
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(fmt.Errorf("remove the old socket: %w", err), lis.Close())
		}
		socket, err := net.Listen("unix", path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listen on the hook's socket: %w", err), lis.Close())
		}
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("protect the hook's socket: %w", err), lis.Close(), socket.Close())
		}
		c.Endpoints.Socket = path
		listeners = append(listeners, socket)
	}
	return listeners, nil
}

// reachable returns an address that this machine can call: of all of its own, loopback.
func reachable(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || len(tcp.IP) > 0 && !tcp.IP.IsUnspecified() {
		return address.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// Failed ends when a part of the cluster has failed; Close then says why.
func (c *Cluster) Failed() <-chan struct{} { return c.ctx.Done() }

// Close drains: the edge and the services finish their calls, the relay announces their
// changes, then all parts end.
func (c *Cluster) Close() error {
	c.cfg.Data.RemoveEndpoints()
	return c.shutDown()
}

func (c *Cluster) shutDown() error {
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

// receiptKey returns the key that signs receipts.
func (c *Cluster) receiptKey() (receipt.Signer, error) {
	if c.cfg.Receipts.ReceiptKey != "" {
		return c.cfg.Receipts.Signer()
	}
	return gateway.KeptReceiptKey(c.cfg.Data.ReceiptKey())
}
