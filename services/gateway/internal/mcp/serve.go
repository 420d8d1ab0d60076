package mcp

import (
	"cmp"
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

const instructions = "Interlock decides which tools may be called in the current state of a workflow. " +
	"Call %[1]sget_state to see the state, its tools and its events; %[1]sload_workflow to begin; " +
	"%[1]stransition to fire an event, %[1]sprocess_step to answer the question of a process. The refusal of a call names the allowed alternatives. " +
	"If people must approve first, %[1]swait_approval waits for them. " +
	"Agents that work together share a state, if one was created: %[1]sstate_read shows it, %[1]sstate_patch changes it."

const processInstructions = "Interlock leads you through a process, question by question. " +
	"Call %[1]sprocess_step without an answer to read the current question, and with one of its answers to continue."

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
			// The served part depends on the servers behind the gate, see Offers.Declare.
			Capabilities: &sdk.ServerCapabilities{
				Tools: &sdk.ToolCapabilities{ListChanged: true}, Prompts: &sdk.PromptCapabilities{ListChanged: true},
				Resources: &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
			},
			SubscribeHandler: func(ctx context.Context, req *sdk.SubscribeRequest) error {
				if face.process {
					return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "resources are not served here"}
				}
				return s.offers.Watch(ctx, caller.From(ctx), req.Params.URI) // the SDK makes req itself where it listens
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

// serve handles the methods about tools and offers, and leaves the others to the SDK.
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
	c := s.identify(req, face)
	switch r := req.(type) {
	case *sdk.ListToolsRequest:
		if face.process {
			return s.offers.ListProcessTools(ctx, c, r)
		}
		return s.offers.ListTools(ctx, c, r), nil
	case *sdk.CallToolRequest:
		if r.Params == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "tools/call needs params"}
		}
		if face.process {
			if refused := s.offers.OutsideProcess(ctx, c, r.Params.Name); refused != nil {
				return reply.Complete(r, refused.Result()), nil
			}
		}
		return s.callTool(ctx, c, r)
	}
	if res, handled, err := s.offers.Relay(ctx, c, method, req, face.process); handled {
		return res, err
	}
	res, err = next(caller.With(ctx, c), method, req)
	s.offers.Declare(res, c.Peer, face.process)
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
	name := req.Params.Name
	if name == s.shellName() && s.gate.OffersShell(c) {
		return s.gate.CallShell(ctx, c, req), nil
	}
	if result, ok := s.own.Call(ctx, c, name, req.Params.Arguments); ok {
		return reply.Complete(req, result), nil
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
