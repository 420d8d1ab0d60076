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
// judges that one, so neither name is a way round the other.
//
// A request passes these packages, from the top:
//
//	mcp       the transports, and the SDK's server: http.go or stdio.go, then serve.go
//	wire      bytes that are no JSON-RPC are refused; the others pass unchanged
//	caller    who sends the request, and the run or session that it is about
//	owntools  Interlock's own tools, or
//	gate      a call of an upstream tool: identified, judged, sent, reported, or
//	offers    lists of tools, and the methods about prompts and resources
//	reply     the result
//
// The package clients has the connected clients, approvals waits for the decisions of
// people, and arguments checks the arguments of own tools.
package mcp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/approvals"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/offers"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/owntools"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Server is the MCP edge. It is safe for concurrent use.
type Server struct {
	cfg       Config
	log       *slog.Logger
	own       *owntools.Box
	upstreams *upstream.Set
	sessions  *clients.Set
	gate      *gate.Gate
	offers    *offers.Offers
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
		cfg: cfg, log: cfg.Logger, sessions: clients.NewSet(),
		life: newLife(), headers: clients.NewHeaders(cfg.Logger),
	}
	s.desk = approvals.NewDesk(s.life.streams, cfg.Approvals, cfg.PublicURL, cfg.progressEvery)
	s.own = owntools.New(owntools.Config{
		Workflows: cfg.Workflows, Runs: cfg.Runs, Processes: cfg.Processes, Approvals: cfg.Approvals,
		Schemas: cfg.Schemas, States: cfg.States, Sessions: cfg.Sessions, Components: cfg.Components,
		Desk: s.desk, Clients: s.sessions, Ends: s.life.streams, ToolPrefix: cfg.ToolPrefix, StatePrefix: cfg.StatePrefix,
		Shell: s.shellName(), Resume: cfg.Resume, SettleWait: cfg.settleWait,
		Jail: func(ctx context.Context, c caller.Caller, run *enginev1.Run, asked string) string {
			return s.gate.JailText(ctx, c, run, asked)
		},
	})
	s.gate = gate.New(gate.Config{
		Runs: cfg.Runs, Policy: cfg.Policy, Reports: cmp.Or[policyv1.PolicyEnforcerServiceClient](cfg.Reports, cfg.Policy),
		Pins: cfg.Pins, Identify: cfg.Identify, Approvals: s.desk, Clients: s.sessions, Shell: cfg.Shell, Undecided: cfg.Undecided, Reserved: s.own.Reserves,
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
		Stderr: cfg.UpstreamStderr, Version: cfg.Version, Logger: cfg.Logger, Reserved: s.own.Reserves,
		Changed: s.changedLists, Updated: s.sessions.NotifyResource, Alone: s.peer, Jailer: cfg.Jailer,
	})
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	s.offers = offers.New(offers.Config{
		Runs: cfg.Runs, Processes: cfg.Processes, Upstreams: s.upstreams, Own: s.own, Gate: s.gate, Clients: s.sessions,
		CheckTimeout: cfg.CheckTimeout, Path: Path,
	})
	return s, nil
}

// shellName returns the name of the tool that runs command lines; empty without one.
func (s *Server) shellName() string {
	if s.cfg.Shell == nil {
		return ""
	}
	return s.cfg.ToolPrefix + gate.ShellName
}

// changedLists takes over the present offers of servers, and notifies clients.
func (s *Server) changedLists(catalogue *upstream.Catalogue, kinds upstream.Kinds) {
	if kinds.Tools {
		s.headers.Sync(catalogue)
	}
	s.sessions.NotifyLists(kinds)
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
