// Package gateway is the edge: REST, server-sent events, MCP, agents' hooks, and the
// page where people decide approvals.
// It translates and proxies; it must never hold a rule of a workflow or policy. By itself it denies only what none of these could
// judge: places of this machine, changed tools, and calls that it cannot place.
package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/authzen"
	"github.com/interlock-run/interlock/services/gateway/internal/behalf"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/console"
	"github.com/interlock-run/interlock/services/gateway/internal/fill"
	"github.com/interlock-run/interlock/services/gateway/internal/forward"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/otlp"
	"github.com/interlock-run/interlock/services/gateway/internal/pulse"
	"github.com/interlock-run/interlock/services/gateway/internal/rest"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/hookwire"
	"github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/presence"
)

// drainTimeout is how long requests in flight may take when serving ends.
const drainTimeout = 20 * time.Second

// Upstream is an MCP server behind the gate.
type Upstream = upstream.Server

// Shell runs command lines of the client on stdio in jails.
type Shell = gate.Shell

// Jails says how the processes of upstream servers are jailed.
type Jails = upstream.Jails

// Identity is who calls on stdio.
type Identity = caller.Identity

// Binding says which run is driven.
type Binding = caller.Binding

// Config has the parts and settings of the gateway. Engine, Policy and State are
// required.
type Config struct {
	// Refused is called with every request that the door does not let in; nil for none. It must
	// not wait.
	Refused func(rpc.Refusal)
	// Engine, Policy and State are connections to these services.
	Engine grpc.ClientConnInterface
	Policy grpc.ClientConnInterface
	State  grpc.ClientConnInterface
	// Approval is that to the approval service; by default Engine's, for callers
	// that have one connection to all of them.
	Approval grpc.ClientConnInterface
	// Self is a connection to the policy enforcer on which the gateway calls as itself; nil
	// for a gateway of an agent, which calls with the agent's token only. It needs Tokens.
	Self grpc.ClientConnInterface

	// Vouched is a connection to the policy enforcer with a witness for the reports of the
	// MCP gate (rpc.Vouching): the gate itself has called the tool. By default there is
	// none, and evidence cannot be had of its calls.
	Vouched grpc.ClientConnInterface

	// Gate returns the token by which the policy enforcer believes how calls came here; nil where that is in this process.
	Gate func() string

	// NATS is where live events come from; without it there are none.
	NATS *bus.Endpoint
	// Checks are of the dependencies of calls.
	Checks health.Checks
	// AdvertiseGRPC is the address of the gRPC services, given to command lines that only
	// know this server's URL.
	AdvertiseGRPC string
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	// Tokens refuses callers without a good token before anything is done; nil
	// leaves that to the services.
	Tokens auth.Authenticator
	// Prove proves to clients on this machine that this server knows a static token; nil
	// when it cannot.
	Prove func(c auth.Challenge, address string) (auth.Proof, bool)
	// AllowAnonymous lets callers without a token through to the services.
	AllowAnonymous bool
	// PublicURL is where people reach this server, as in https://gate.example, for
	// links to approvals and for their page; empty for its own address and no links.
	PublicURL string

	// Console is how the console is served.
	Console Console

	Upstreams []Upstream
	// Jails says which of their processes run in jails, DataFolder is hidden from these.
	Jails      Jails
	DataFolder string
	// Shell is for the client on stdio; nil for none.
	Shell       *Shell
	ToolPrefix  string
	StatePrefix string
	// Resume is the reason why the agent on stdio was resumed; empty if there is none.
	Resume       map[string]any
	AllowUnbound bool
	// Authz are the settings for questions of other gateways.
	Authz AuthzFlags
	// Receipts signs receipts of runs; nil where there are none.
	Receipts receipt.Signer
	// Quotas of callers; 0 is the default.
	Quotas Quotas
	// Stdio is who calls on stdio.
	Stdio Identity
	// UpstreamStderr gets the stderr of stdio upstreams.
	UpstreamStderr io.Writer

	// Metrics are served at /metrics; nil for none.
	Metrics *metrics.Set
	// Tracer makes spans of requests; nil for none.
	Tracer trace.TracerProvider

	Version string
	Logger  *slog.Logger // default slog.Default()
}

// Gateway is the edge.
type Gateway struct {
	handler http.Handler
	mcp     *mcp.Server
	events  *events
	pulse   *pulse.Pulse
	// heard are the processes of the deployment, and listen hears them; nil without NATS.
	heard  *presence.Board
	listen func(context.Context) error
	log    *slog.Logger
}

// New makes a gateway. Close must follow.
func New(cfg Config) (*Gateway, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Console.Key == (ConsoleKey{}) {
		cfg.Console.Key = console.NewKey()
	}
	if cfg.Approval == nil {
		cfg.Approval = cfg.Engine
	}
	on := clientsOf(cfg.through(rpc.ViaREST))
	undecided := undecidedAt(cfg.Metrics.FailClosed(metrics.AtGateway))
	g := &Gateway{log: cfg.Logger, heard: &presence.Board{}}
	var source rest.EventSource
	if cfg.NATS != nil {
		g.events = newEvents(*cfg.NATS, cmp.Or(cfg.Quotas.Streams, 64))
		source = g.events
		g.pulse = pulse.New(g.events.stream, cfg.Logger)
		g.listen = g.heard.Follow(*cfg.NATS)
	}
	api, err := newREST(cfg, on, source, g, undecided)
	if err != nil {
		return nil, fmt.Errorf("build the REST edge: %w", err)
	}
	overMCP, overHook, byAuthZEN := cfg.through(rpc.ViaMCP), clientsOf(cfg.through(rpc.ViaHook)), clientsOf(cfg.through(rpc.ViaAuthZEN))
	g.mcp, err = newMCP(overMCP, clientsOf(overMCP), undecided)
	if err != nil {
		return nil, fmt.Errorf("build the MCP edge: %w", err)
	}
	door := access.Guard{Identify: identify(cfg), AllowAnonymous: cfg.AllowAnonymous, Hosts: publicHosts(cfg), Refused: logRefused(cfg)}
	people := console.Config{
		Key: cfg.Console.Key, API: door.Protect(api, api.Refuse), Identify: identify(cfg), AllowAnonymous: cfg.AllowAnonymous,
		People:   identityv1.NewLoginServiceClient(cfg.Approval),
		ReadOnly: cfg.Console.ReadOnly, Notice: cfg.Console.Notice, PublicURL: cfg.PublicURL, Logger: cfg.Logger,
	}
	if cfg.Console.Issuer != nil {
		people.Issuer = cfg.Console.Issuer
	}
	pages, err := console.New(people)
	if err != nil {
		return nil, fmt.Errorf("build the console: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", api)
	for path, handler := range map[string]access.Part{
		mcp.Path: g.mcp.HTTPHandler(), mcp.ProcessPath: g.mcp.ProcessHandler(), console.Path: pages,
	} {
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	asked := authzen.New(authzen.Config{
		Policy: byAuthZEN.policy, Approvals: on.approvals, PublicURL: cfg.PublicURL, Input: cfg.Authz.AuthZENInput, Resource: cfg.Authz.AuthZENResource,
		SessionProperty: cfg.Authz.AuthZENSession, RunProperty: cfg.Authz.AuthZENRun, AllowUnbound: cfg.AllowUnbound, Undecided: undecided, Logger: cfg.Logger,
		HumanType: cfg.Authz.AuthZENHuman, HumanIssuer: cfg.Authz.AuthZENIssuer, GroupsProperty: cfg.Authz.AuthZENGroups, Attributes: cfg.Authz.AuthZENAttributes,
	})
	mux.Handle(authzen.Path, asked)
	mux.Handle(authzen.ConfigurationPath, asked)
	mux.Handle("POST "+hookwire.EventPath, &hook.Handler{
		Runs: on.runs, Policy: overHook.policy, Sessions: on.sessions, Processes: on.processes, Approvals: on.approvals, PublicURL: cfg.PublicURL,
		Places: cfg.Places, Undecided: undecided,
	})
	commands := &hook.Commands{Policy: overHook.policy}
	mux.Handle("POST "+hookwire.StartPath, commands)
	mux.Handle("POST "+hookwire.FinishPath, commands)
	mux.Handle("POST "+otlp.Path, &otlp.Handler{Policy: on.policy, Logger: cfg.Logger})
	mux.HandleFunc("POST "+hookwire.ProofPath, proof(cfg.Prove))
	mux.HandleFunc("GET /.well-known/interlock", discovery(cfg.AdvertiseGRPC))
	if cfg.Metrics != nil {
		mux.Handle("GET /metrics", rpc.Metrics(cfg.Metrics.Gatherer()))
	}
	g.handler = traced(door.Protect(exactPaths(mux, api), refusals(mux, api)), cfg.Tracer)
	return g, nil
}

// refusals lets the part that a request is for say why it is not let in, in its own form.
// Other parts leave that to otherwise.
func refusals(mux *http.ServeMux, otherwise access.Part) func(http.ResponseWriter, *http.Request, *access.Refusal) {
	return func(w http.ResponseWriter, r *http.Request, why *access.Refusal) {
		handler, _ := mux.Handler(r)
		part, ok := handler.(access.Part)
		if !ok {
			part = otherwise
		}
		part.Refuse(w, r, why)
	}
}

// exactPaths refuses paths that are not written as they are: //mcp, /v1/./runs. To send
// clients elsewhere loses the bodies of some requests.
func exactPaths(mux *http.ServeMux, otherwise access.Part) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		written := r.URL.EscapedPath()
		meant := path.Clean("/" + written)
		if strings.HasSuffix(written, "/") && meant != "/" {
			meant += "/"
		}
		if written == meant {
			mux.ServeHTTP(w, r)
			return
		}
		otherwise.Refuse(w, r, &access.Refusal{
			Status: http.StatusNotFound, Code: string(fault.NotFound), Message: fmt.Sprintf("there is no path %.256q; write %.256q", written, meant),
		})
	})
}

// clients are those of services that several parts of the edge call.
type clients struct {
	workflows enginev1.WorkflowServiceClient
	runs      enginev1.RunServiceClient
	processes enginev1.ProcessServiceClient
	policy    policyv1.PolicyEnforcerServiceClient
	approvals approvalv1.ApprovalServiceClient
	sessions  statev1.SessionServiceClient
	states    statev1.StateServiceClient
	schemas   statev1.SchemaServiceClient

	components statev1.ComponentServiceClient
}

// through returns the settings of a part of the edge, whose calls say how they came.
func (cfg Config) through(via string) Config {
	cfg.Policy = rpc.Through(cfg.Policy, via, cfg.Gate)
	if cfg.Vouched != nil {
		cfg.Vouched = rpc.Through(cfg.Vouched, via, cfg.Gate)
	}
	return cfg
}

func clientsOf(cfg Config) clients {
	c := clients{
		workflows: enginev1.NewWorkflowServiceClient(cfg.Engine), runs: enginev1.NewRunServiceClient(cfg.Engine),
		processes: enginev1.NewProcessServiceClient(cfg.Engine), policy: policyv1.NewPolicyEnforcerServiceClient(cfg.Policy),
		approvals: approvalv1.NewApprovalServiceClient(cfg.Approval), sessions: statev1.NewSessionServiceClient(cfg.State),
		states: statev1.NewStateServiceClient(cfg.State), schemas: statev1.NewSchemaServiceClient(cfg.State),
		components: statev1.NewComponentServiceClient(cfg.State),
	}
	from := fill.Sources{States: c.states, Components: c.components}
	c.runs = behalf.Runs(fill.Runs(c.runs, from), c.sessions)
	c.processes = behalf.Processes(fill.Processes(c.processes, from), c.sessions)
	return c
}

func newREST(cfg Config, on clients, events rest.EventSource, g *Gateway, undecided func(error)) (access.Part, error) {
	var latestSeen rest.Pulse
	if g.pulse != nil {
		latestSeen = g.pulse
	}
	return rest.New(rest.Config{
		Workflows: on.workflows, Runs: on.runs, Processes: on.processes, Schedules: enginev1.NewScheduleServiceClient(cfg.Engine), Policy: on.policy,
		Policies: policyv1.NewPolicyServiceClient(cfg.Policy), Sets: policyv1.NewSetServiceClient(cfg.Policy), Decisions: policyv1.NewDecisionServiceClient(cfg.Policy), Upstreams: policyv1.NewUpstreamServiceClient(cfg.Policy),
		Halts: identityv1.NewHaltServiceClient(cfg.Policy), Namespaces: identityv1.NewNamespaceServiceClient(cfg.Policy), BreakGlass: policyv1.NewBreakGlassServiceClient(cfg.Policy), Approvals: on.approvals,
		People: identityv1.NewPersonServiceClient(cfg.Approval), Login: identityv1.NewLoginServiceClient(cfg.Approval),
		Schemas: on.schemas, States: on.states, Sessions: on.sessions,
		Tasks: statev1.NewTaskServiceClient(cfg.State), Components: on.components, Agents: statev1.NewAgentServiceClient(cfg.State),
		Events: events, Pulse: latestSeen, Identify: identify(cfg), Checks: cfg.Checks, Heard: g.heard.Processes, Definitions: definition.Schemas(),
		Undecided: undecided, Receipts: cfg.Receipts, Version: cfg.Version, Logger: cfg.Logger,
	})
}

func newMCP(cfg Config, on clients, undecided func(error)) (*mcp.Server, error) {
	edge := mcp.Config{
		Workflows: on.workflows, Runs: on.runs, Policy: on.policy, Schemas: on.schemas, States: on.states, Sessions: on.sessions,
		Processes: on.processes, Approvals: on.approvals, PublicURL: cfg.PublicURL,
		Components: on.components,
		Pins:       peerv1.NewUpstreamPeerServiceClient(cfg.Policy), Upstreams: cfg.Upstreams, ToolPrefix: cfg.ToolPrefix, StatePrefix: cfg.StatePrefix, Resume: cfg.Resume, AllowUnbound: cfg.AllowUnbound,
		Stdio: cfg.Stdio, Alone: cfg.Stdio.Bound(), UpstreamStderr: cfg.UpstreamStderr, Version: cfg.Version, Logger: cfg.Logger,
		SessionsEach: cfg.Quotas.MCPSessions, Places: cfg.Places, Undecided: undecided, Tracer: cfg.Tracer,
		Shell: cfg.Shell, Jailer: upstream.Jailer{Mode: cfg.Jails, Machine: thisMachine(cfg.DataFolder), Workspace: cfg.Stdio.Workspace},
	}
	if cfg.Vouched != nil {
		edge.Reports = policyv1.NewPolicyEnforcerServiceClient(cfg.Vouched)
	}
	if cfg.Self != nil {
		edge.Pins, edge.Identify = peerv1.NewUpstreamPeerServiceClient(cfg.Self), identify(cfg)
	}
	return mcp.New(edge)
}

// undecidedAt counts the calls that the gateway denies itself. A fault of the request is the
// caller's.
func undecidedAt(denials *metrics.FailClosed) func(error) {
	return func(err error) {
		if _, answered := status.FromError(err); answered || errors.Is(err, context.DeadlineExceeded) {
			denials.Count(fault.ReasonOf(err))
		}
	}
}

// identify describes whose a token is; nil leaves it to the services.
func identify(cfg Config) func(context.Context, string) (auth.Principal, error) {
	if cfg.Tokens == nil {
		return nil
	}
	return cfg.Tokens.Authenticate
}

// ForBrowsers returns the address by which people open a server: that of this machine by the name localhost, at which browsers
// allow passkeys.
func ForBrowsers(server string) string { return brief.ForBrowsers(server) }

// publicHosts returns the names that this server is called by on loopback addresses, in
// addition to loopback ones: that of a reverse proxy on this machine.
func publicHosts(cfg Config) []string {
	public, err := url.Parse(cfg.PublicURL)
	if err != nil || public.Hostname() == "" {
		return nil // none, or one that the parts of the edge refuse
	}
	return []string{public.Hostname()}
}

// discovery describes where the gRPC services are.
func discovery(grpcAddress string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "{\"grpc\":%q}\n", grpcAddress)
	}
}

// proof responds to challenges, by the address that the connection was made to.
func proof(prove func(auth.Challenge, string) (auth.Proof, bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		const longest = 1 << 10
		var c auth.Challenge
		to, known := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if !known || prove == nil || json.NewDecoder(http.MaxBytesReader(w, r.Body, longest)).Decode(&c) != nil {
			http.NotFound(w, r)
			return
		}
		proof, ok := prove(c, to.String())
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "{\"proof\":%q,\"pepper\":%q}\n", proof.Proof, proof.Pepper)
	}
}

// ServeStdio speaks MCP on a pair of streams until in ends or ctx is done.
func (g *Gateway) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return g.mcp.ServeStdio(ctx, in, out)
}

// Serve serves on the listeners until ctx ends, then lets requests in flight
// finish.
func (g *Gateway) Serve(ctx context.Context, listeners ...net.Listener) error {
	server := rest.Server(g.handler)
	server.ErrorLog = slog.NewLogLogger(g.log.Handler(), slog.LevelDebug)
	server.RegisterOnShutdown(g.mcp.Drain)
	var heard sync.WaitGroup
	defer heard.Wait()
	listening, stop := context.WithCancel(ctx)
	defer stop()
	if g.listen != nil {
		heard.Go(func() {
			if err := g.listen(listening); err != nil {
				g.log.Warn("processes of the deployment are not heard", "error", err)
			}
		})
	}
	failures := make(chan error, len(listeners))
	for _, lis := range listeners {
		go func() { failures <- server.Serve(lis) }()
	}
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-failures:
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		failed = errors.Join(failed, fmt.Errorf("drain: %w", err), server.Close())
	}
	return failed
}

// Close ends the upstream servers and the subscriptions.
func (g *Gateway) Close() error {
	err := g.mcp.Close()
	if g.events != nil {
		g.pulse.Close()
		g.events.close()
	}
	return err
}

// BindingFromEnv returns the binding that INTERLOCK_RUN or INTERLOCK_SESSION name, or
// that to a new session.
func BindingFromEnv(getenv func(string) string) (Binding, error) {
	return caller.BindingFromEnv(getenv)
}

// Forward serves the services' contracts on the gateway's own gRPC server, so
// that callers need one address.
func Forward(r grpc.ServiceRegistrar, engine, policy, state, approval grpc.ClientConnInterface) {
	forward.Register(r, engine, policy, state, approval)
}

// Reachable checks that a connection leads to a service that takes calls. The gateway can do
// without any one of them: it still serves the calls of the others.
func Reachable(name string, conn grpc.ClientConnInterface) health.Check {
	return health.Check{Name: name, Optional: true, Probe: func(ctx context.Context) error {
		resp, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: rpc.Accepting})
		if err != nil {
			return err
		}
		if resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			return fault.New(fault.Unavailable, "%s does not serve yet", name)
		}
		return nil
	}}
}
