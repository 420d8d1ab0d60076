// Package mcp is the MCP edge of Interlock: its own tools for agents, and a proxy
// that puts any number of upstream MCP servers behind the gate, over streamable
// HTTP and stdio, in the stateless protocol of 2026-07-28 and the older ones that
// begin with initialize.
//
// It translates and proxies. It must never call an upstream tool without an
// ALLOW for exactly this call, take a failure for an ALLOW, bind a run by
// Mcp-Session-Id, reinterpret a user's JSON, or show an internal error.
//
// Every upstream tool has two names, as package upstream says. The gate judges the
// name that was called; where the state disallows the tool's other name, it
// judges that one, so neither name is a way round the other. Listing is a
// courtesy: the call is the check.
package mcp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/approvals"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

const instructions = "Interlock decides which tools may be called in the current state of a workflow. " +
	"Call %[1]sget_state to see the state, its tools and its events; %[1]sload_workflow to begin; " +
	"%[1]stransition to fire an event, %[1]sprocess_step to answer the question of a process. The refusal of a call names the allowed alternatives. " +
	"If people must approve first, %[1]swait_approval waits for them. " +
	"Agents that work together share a state, if one was created: %[1]sstate_read shows it, %[1]sstate_patch changes it."

// Server is the MCP edge. It is safe for concurrent use.
type Server struct {
	cfg       Config
	log       *slog.Logger
	own       toolbox
	upstreams *upstream.Set
	sessions  *clients.Set
	gate      *gate.Gate
	desk      *approvals.Desk
	http      *doors
	headers   *clients.Headers
	life      *life
	peer      *upstream.Peer // the client of a process that serves one alone; nil elsewhere
}

// New checks the configuration and starts the upstream servers in the
// background. Close stops them.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, own: ownTools(cfg.ToolPrefix, cfg.StatePrefix), sessions: clients.NewSet(),
		life: newLife(), headers: clients.NewHeaders(cfg.Logger),
	}
	s.desk = approvals.NewDesk(s.life.streams, cfg.Approvals, cfg.PublicURL, cfg.progressEvery)
	if cfg.Shell != nil {
		s.own.shell = cfg.ToolPrefix + gate.ShellName
	}
	s.gate = gate.New(gate.Config{
		Runs: cfg.Runs, Policy: cfg.Policy, Reports: cmp.Or[policyv1.PolicyEnforcerServiceClient](cfg.Reports, cfg.Policy),
		Pins: cfg.Pins, Identify: cfg.Identify, Approvals: s.desk, Clients: s.sessions, Shell: cfg.Shell, Undecided: cfg.Undecided, Reserved: s.own.reserves,
		Places: cfg.Places, Workspace: cfg.Stdio.Workspace, ToolPrefix: cfg.ToolPrefix, AllowUnbound: cfg.AllowUnbound,
		Calls: s.life.calls, CheckTimeout: cfg.CheckTimeout, CallTimeout: cfg.CallTimeout, ReportTimeout: cfg.ReportTimeout,
		Backoff: cfg.backoff, ProgressEvery: cfg.progressEvery, MaxResultBytes: cfg.MaxResultBytes, Logger: cfg.Logger,
	})
	if cfg.Alone {
		s.peer = upstream.NewPeer(s.life.calls, s.cfg.CallTimeout)
	}
	s.http = s.newDoors()
	s.upstreams, err = upstream.New(cfg.Upstreams, upstream.Options{
		ConnectTimeout: cfg.ConnectTimeout, Backoff: cfg.backoff, StopGrace: cfg.stopGrace, MaxResultBytes: cfg.MaxResultBytes,
		Stderr: cfg.UpstreamStderr, Version: cfg.Version, Logger: cfg.Logger, Reserved: s.own.reserves,
		Changed: s.changedLists, Updated: s.sessions.ResourceUpdated, Alone: s.peer, Jailer: cfg.Jailer,
	})
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	return s, nil
}

// changedLists takes over the present offers of servers, and notifies clients.
func (s *Server) changedLists(catalogue *upstream.Catalogue, kinds upstream.Kinds) {
	if kinds.Tools {
		s.headers.Sync(catalogue)
	}
	s.sessions.ListsChanged(kinds)
}

// Drain ends the streams that would never end by themselves and takes no new
// requests; calls under way continue. It suits http.Server.RegisterOnShutdown.
func (s *Server) Drain() { s.life.drain() }

// Close gives calls under way DrainTimeout to finish, then ends every session,
// stops the upstream servers with their process groups, and sends the last
// reports.
func (s *Server) Close() error {
	s.Drain()
	late := time.AfterFunc(s.cfg.DrainTimeout, s.life.endCalls)
	s.sessions.Close()
	late.Stop()
	s.life.endCalls()
	s.gate.Close()
	s.upstreams.Close()
	return nil
}

// life has the parts that end with the server, in this order.
type life struct {
	streams  context.Context // of requests that only listen or wait; ends with Drain
	drain    context.CancelFunc
	calls    context.Context // of upstream tools; ends when they have had their time
	endCalls context.CancelFunc
}

func newLife() *life {
	l := &life{}
	l.streams, l.drain = context.WithCancel(context.Background())
	l.calls, l.endCalls = context.WithCancel(context.Background())
	return l
}

// face is one way to the edge.
type face struct {
	// fixed is the caller on transports without headers; nil elsewhere.
	fixed *caller.Caller
	// process is whether only the tools of the session's process are offered.
	process bool
}

// newSDKServer makes a server whose tools are ours to list and call. The SDK
// notifies per server, so every session of an older client gets its own.
func (s *Server) newSDKServer(face face) *sdk.Server {
	say := instructions
	if face.process {
		say = processInstructions
	}
	srv := sdk.NewServer(
		&sdk.Implementation{Name: "interlock", Title: "Interlock", Version: cmp.Or(s.cfg.Version, "dev")},
		&sdk.ServerOptions{
			Instructions: fmt.Sprintf(say, s.cfg.ToolPrefix),
			// The served part depends on the servers behind the gate, see declare.
			Capabilities: &sdk.ServerCapabilities{
				Tools: &sdk.ToolCapabilities{ListChanged: true}, Prompts: &sdk.PromptCapabilities{ListChanged: true},
				Resources: &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
			},
			SubscribeHandler: func(ctx context.Context, req *sdk.SubscribeRequest) error {
				if face.process {
					return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "resources are not served here"}
				}
				return s.watch(ctx, caller.From(ctx), req.Params.URI) // the SDK makes req itself where it listens
			},
			UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		})
	srv.AddSendingMiddleware(upstream.Writing)
	srv.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			return s.serve(ctx, method, req, face, srv, next)
		}
	})
	return srv
}

// serve handles the methods about tools and leaves the protocol to the SDK.
func (s *Server) serve(
	ctx context.Context, method string, req sdk.Request, face face, srv *sdk.Server, next sdk.MethodHandler,
) (res sdk.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "mcp: a handler panicked", "method", method, "panic", p)
			res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error; the call was not allowed"}
		}
	}()
	ctx, end := s.inTrace(ctx, method, req)
	defer end()
	c := caller.Of(req, face.fixed)
	c.Peer = s.meet(face, req, c)
	switch r := req.(type) {
	case *sdk.ListToolsRequest:
		if face.process {
			return s.listProcessTools(ctx, c, r)
		}
		return s.writtenTools(s.listTools(ctx, c, r), r.ProtocolVersion()), nil
	case *sdk.CallToolRequest:
		if r.Params == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "tools/call needs params"}
		}
		if face.process {
			if refused := s.outsideProcess(ctx, c, r.Params.Name); refused != nil {
				return reply.Complete(r, refused.Result()), nil
			}
		}
		return s.callTool(ctx, c, r)
	}
	if declares(method) || relays(method) {
		s.upstreams.Await(ctx) // offers of servers are declared once
	}
	behind := s.behind(face)
	if relays(method) && !serves(behind, c.Peer, method) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%q is not served here: no server behind the gate offers it", method)}
	}
	if res, handled, err := s.relayed(ctx, c, req); handled {
		return res, err
	}
	res, err = next(caller.With(ctx, c), method, req)
	switch about := res.(type) {
	case *sdk.InitializeResult:
		about.Capabilities, about.Instructions = declare(behind, c.Peer, about.Capabilities, about.Instructions)
	case *sdk.DiscoverResult:
		about.Capabilities, about.Instructions = declare(behind, nil, about.Capabilities, about.Instructions)
	}
	if method == "initialize" && err == nil {
		if ss, ok := req.GetSession().(*sdk.ServerSession); ok {
			s.sessions.Add(ss, srv, c)
			s.sessions.SetPeer(ss, c.Peer)
		}
	}
	return res, err
}

// callTool runs an own tool or an upstream one.
func (s *Server) callTool(ctx context.Context, c caller.Caller, req *sdk.CallToolRequest) (sdk.Result, error) {
	s.sessions.Rebind(req.Session, c)
	c.Call = req
	name := req.Params.Name
	if name == s.own.shell && s.gate.OffersShell(c) {
		return s.gate.CallShell(ctx, c, req), nil
	}
	if tool, ok := s.own.byName[name]; ok {
		return reply.Complete(req, s.callOwn(ctx, c, tool, req.Params.Arguments)), nil
	}
	target := s.upstreams.Catalogue().Tools[name]
	if target == nil {
		s.upstreams.Await(ctx)
		target = s.upstreams.Catalogue().Tools[name]
	}
	if target == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.upstreams.Unknown(name)}
	}
	return s.gate.CallTool(ctx, c, req, name, target)
}
