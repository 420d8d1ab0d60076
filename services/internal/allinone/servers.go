package allinone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/accessrefusal"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/namespaces"
	"github.com/interlock-run/interlock/services/internal/personread"
	"github.com/interlock-run/interlock/services/internal/presence"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/tree"
	"github.com/interlock-run/interlock/services/internal/unlock"
	"github.com/interlock-run/interlock/services/policyenforcer"
	"github.com/interlock-run/interlock/services/statestore"
)

func (c *Server) startServers(st store.Store, endpoint bus.Endpoint, known *auth.Tokens) (err error) {
	tokens, own, err := c.authenticator(known)
	if err != nil {
		return err
	}
	tokens = personread.New(st).Bind(tokens)
	addresses := []string{c.cfg.GRPC}
	if socket := c.cfg.Data.GRPCSocket(); c.cfg.TLS != (rpc.ServerTLS{}) && socket != "" {
		// The certificate need not name this machine's own addresses.
		addresses = append(addresses, "unix:"+socket)
		c.Endpoints.GRPCSocket = socket
	}
	refusals := accessrefusal.New(st, c.cfg.Logger)
	server, err := rpc.NewServer(rpc.Config{
		Refused: refusals.Announce, Standing: sessionread.New(st).Standing, Used: namespaces.New(st, c.cfg.Logger).Used,
		Gate: st.Gate(), Listen: addresses, Authenticator: tokens, Logger: c.cfg.Logger, TLS: c.cfg.TLS, Insecure: c.cfg.Insecure,
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
	c.starting = server.Local(rpc.ClientConfig{Token: c.starter, TracerProvider: c.cfg.Tracer})
	if err := c.startServices(st, endpoint, server, known, local, self); err != nil {
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
	pages, err := c.cfg.Console.Console(c.consoleKey(), issuer, c.cfg.Approval.PublicURL)
	if err != nil {
		return err
	}
	signer, err := c.receiptKey()
	if err != nil {
		return err
	}
	edge := gateway.Config{
		Refused: refusals.Announce,
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
	if err := c.serveLogins(server); err != nil {
		return err
	}
	checks := c.checks(st)
	c.background(func(ctx context.Context) error { server.FollowReady(ctx, &checks); return nil })
	c.Endpoints.PID = os.Getpid()
	return nil
}

// startServices registers the services. They call each other through local with
// their callers' credentials, and through self with their own.
func (c *Server) startServices(st store.Store, endpoint bus.Endpoint, server *rpc.Server, known *auth.Tokens, local, self grpc.ClientConnInterface) error {
	e := engine.New(engine.Config{Store: st, Approval: self, Sessions: self, Logger: c.cfg.Logger, Definitions: c.cfg.Definitions, Enforcement: c.cfg.Enforcement, Quotas: c.cfg.Engine, Retention: c.cfg.Retention, Metrics: c.metrics, Trees: c.trees, Standing: personread.Standing{People: personread.New(st), Tokens: known}})
	signer, err := c.receiptKey()
	if err != nil {
		return err
	}
	policies, err := policyenforcer.New(policyenforcer.Config{
		Receipts: signer, Store: st, Engine: local, Approval: self, State: self, Logger: c.cfg.Logger, Flags: c.cfg.Policy, Definitions: c.cfg.Definitions,
		Places: gateway.PlacesOf(string(c.cfg.Data)), Metrics: c.metrics,
	})
	if err != nil {
		return err
	}
	flags := c.cfg.State
	flags.PromptPrefix = cmp.Or(flags.PromptPrefix, c.cfg.StatePrefix)
	flagged, err := c.sessionKey(false)
	if err != nil {
		return err
	}
	key, err := flagged.MintingKey()
	if err != nil {
		return err
	}
	states := statestore.New(statestore.Config{Store: st, Logger: c.cfg.Logger, Flags: flags, Metrics: c.metrics, TokenKey: key, Names: known})
	people, err := c.cfg.Auth.PeopleKey()
	if err != nil {
		return err
	}
	masks, err := c.cfg.Policy.Masks()
	if err != nil {
		return err
	}
	decisions := approval.Config{
		Store: st, Engine: self, Definitions: c.cfg.Definitions, Masks: masks, Logger: c.cfg.Logger, Metrics: c.metrics, Flags: c.cfg.Approval,
		PersonKey: people, Names: known, Address: func() string { return c.Endpoints.HTTP },
	}
	if c.cfg.Seal != nil {
		decisions.Unseal = c.cfg.Seal.Open
	}
	if c.cfg.Bootstrap != nil { // a nil pointer in an interface would not be nil
		decisions.Code = c.cfg.Bootstrap
	}
	approvals, err := approval.New(decisions)
	if err != nil {
		return err
	}
	for _, service := range []interface{ Register(grpc.ServiceRegistrar) }{e, policies, states, approvals} {
		service.Register(server.GRPC())
	}
	c.people = approvals
	checks := c.checks(st)
	c.metrics.Health(&checks)
	c.metrics.Refresh(c.events.Measure)
	if err := approvals.Listen(c.ctx); err != nil {
		c.cfg.Logger.LogAttrs(c.ctx, slog.LevelWarn, "whether there are receivers of events of runs will be said later", slog.Any("cause", err))
	}
	announce := presence.Self{Service: "interlock up", Version: c.cfg.Version, Metrics: c.metrics.Gatherer(), Log: c.cfg.Logger}.Announce(endpoint)
	for _, work := range []func(context.Context) error{e.Run, policies.Run, states.Run, approvals.Run, c.metrics.Run, announce} {
		c.background(work)
	}
	return nil
}

// serveLogins lets people log in from terminals of this machine.
func (c *Server) serveLogins(server *rpc.Server) error {
	path := c.cfg.Data.PersonSocket()
	if path == "" {
		return nil
	}
	lis, err := unlock.Listen(path)
	if err != nil {
		return err
	}
	people := unlock.Over(func(token string) grpc.ClientConnInterface {
		return server.Local(rpc.ClientConfig{Token: token, TracerProvider: c.cfg.Tracer})
	})
	people.Log, people.Address = c.cfg.Logger, server.Addrs()[0].String()
	c.background(func(ctx context.Context) error { return unlock.New(people).Serve(ctx, lis) })
	return nil
}

func (c *Server) listen() ([]net.Listener, error) {
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

func closeAll(listeners []net.Listener) (err error) {
	for _, lis := range listeners {
		err = errors.Join(err, lis.Close())
	}
	return err
}

// reachable returns an address that this machine can call: of all of its own, loopback.
func reachable(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || len(tcp.IP) > 0 && !tcp.IP.IsUnspecified() {
		return address.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// failing ends all when one of the servers ends with an error.
func (c *Server) failing(part string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", part, err)
		c.cancel(err)
	}
	return err
}

// checks returns those of the server's dependencies: events may be late.
func (c *Server) checks(st store.Store) health.Checks {
	checks := daemon.StoreChecks(st)
	if c.sealed != nil {
		checks = append(checks, health.Check{Name: "seal", Optional: true, Probe: func(context.Context) error { return c.sealed.Refused() }})
	}
	return append(checks, health.Check{Name: "events", Optional: true, Probe: func(context.Context) error { return c.events.Health() }})
}

// trees returns the digest of a workspace's files: the agents of a server are on its machine.
func (c *Server) trees(ctx context.Context, workspace string, reread bool) (string, error) {
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

// HasPeople reports whether there is a person: then no code makes a first one.
func (c *Server) HasPeople(ctx context.Context) (bool, error) { return c.people.HasPeople(ctx) }
