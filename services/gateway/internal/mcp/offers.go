package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Offers of servers in addition to tools are relayed: prompts under names with their server,
// resources under their own URIs. To get a prompt, and to read or watch a resource, is a call
// that the gate judges, by the names mcp__SERVER__prompt:NAME and mcp__SERVER__resource:URI.

// relayed serves the methods about prompts, resources and completion; handled is false for
// any other.
func (s *Server) relayed(ctx context.Context, c caller.Caller, req sdk.Request) (res sdk.Result, handled bool, err error) {
	switch r := req.(type) {
	case *sdk.ListPromptsRequest:
		return s.listPrompts(ctx, c, r), true, nil
	case *sdk.GetPromptRequest:
		res, err := s.getPrompt(ctx, c, r)
		return res, true, err
	case *sdk.ListResourcesRequest:
		return s.listResources(ctx, c, r), true, nil
	case *sdk.ListResourceTemplatesRequest:
		return s.listTemplates(ctx, c, r), true, nil
	case *sdk.ReadResourceRequest:
		res, err := s.readResource(ctx, c, r)
		return res, true, err
	case *sdk.ServerRequest[*sdk.SetLoggingLevelParams]:
		telling, cancel := context.WithTimeout(ctx, s.cfg.CheckTimeout)
		defer cancel()
		c.Peer.SetLevel(telling, r.Params.Level)
		return nil, false, nil // the SDK sorts messages out by it
	case *sdk.CompleteRequest:
		res, err := s.complete(ctx, c, r)
		return res, true, err
	}
	return nil, false, nil
}

// behind returns the offers of servers in addition to tools, for a face of the edge: none for a
// process, which has only the tools that it names.
func (s *Server) behind(face face) *upstream.Catalogue {
	if face.process {
		return &upstream.Catalogue{}
	}
	return s.upstreams.Catalogue()
}

// declares reports whether the answer to a method lists the served features.
func declares(method string) bool { return method == "initialize" || method == "server/discover" }

// relays reports whether a method is for servers behind the gate.
func relays(method string) bool {
	kind, _, _ := strings.Cut(method, "/")
	return kind == "prompts" || kind == "resources" || kind == "completion" || kind == "logging"
}

// serves reports whether one of them does.
func serves(behind *upstream.Catalogue, peer *upstream.Peer, method string) bool {
	switch kind, _, _ := strings.Cut(method, "/"); kind {
	case "prompts":
		return behind.Capabilities.Prompts != nil
	case "resources":
		return behind.Capabilities.Resources != nil
	case "completion":
		return behind.Capabilities.Completions != nil
	default: // messages are for one client alone
		return behind.Capabilities.Logging != nil && peer != nil
	}
}

// declare sets the served features: tools always, and the kinds that servers offer.
func declare(behind *upstream.Catalogue, peer *upstream.Peer, caps *sdk.ServerCapabilities, instructions string) (*sdk.ServerCapabilities, string) {
	served := *caps
	served.Prompts, served.Resources, served.Completions = behind.Capabilities.Prompts, behind.Capabilities.Resources, behind.Capabilities.Completions
	if peer != nil {
		served.Logging = behind.Capabilities.Logging
	}
	for _, from := range behind.Instructions {
		instructions += fmt.Sprintf("\n\nThe server %s says:\n%s", from.Server, from.Text)
	}
	return &served, instructions
}

// stateOf reports whether something of a server is worth listing where a caller is.
func (s *Server) stateOf(ctx context.Context, c caller.Caller, protocol string) func(server, name string) bool {
	if protocol >= wire.ProtocolStateless { // whose lists must not vary
		return func(string, string) bool { return true }
	}
	run, position := s.listedFor(ctx, c)
	return func(server, name string) bool {
		return position == brief.Open || position == brief.Judged && stateOffers(run, name)
	}
}

// stateOffers does the work of stateAllows for offers that are not tools: where the state names
// none of its kind, it goes with the tools of its server (S3.1).
func stateOffers(run *enginev1.Run, name string) bool {
	return stateAllows(run, name, "") ||
		!gate.Matches(run.GetRules().GetDisallowedTools(), name) && workflow.OfferedBy(run.GetRules().GetAllowedTools()).Has(name)
}

func (s *Server) listPrompts(ctx context.Context, c caller.Caller, req *sdk.ListPromptsRequest) sdk.Result {
	s.upstreams.Await(ctx)
	catalogue, offered := s.upstreams.Catalogue(), s.stateOf(ctx, c, req.ProtocolVersion())
	var entries []json.RawMessage
	for _, p := range catalogue.PromptList {
		if of := catalogue.Prompts[p.Name].Offer; offered(of.Server(), of.Qualified) {
			entries = append(entries, catalogue.PromptText(p.Name))
		}
	}
	return reply.WrittenList(&sdk.ListPromptsResult{Cacheable: reply.PerCaller}, "prompts", entries, req.ProtocolVersion())
}

func (s *Server) listResources(ctx context.Context, c caller.Caller, req *sdk.ListResourcesRequest) sdk.Result {
	s.upstreams.Await(ctx)
	offered := s.stateOf(ctx, c, req.ProtocolVersion())
	var entries []json.RawMessage
	for _, r := range s.upstreams.Catalogue().Resources {
		if offered(r.Server(), upstream.Prefix+r.Server()+"__resource:"+r.URI) {
			entries = append(entries, r.Text())
		}
	}
	return reply.WrittenList(&sdk.ListResourcesResult{Cacheable: reply.PerCaller}, "resources", entries, req.ProtocolVersion())
}

func (s *Server) listTemplates(ctx context.Context, c caller.Caller, req *sdk.ListResourceTemplatesRequest) sdk.Result {
	s.upstreams.Await(ctx)
	offered := s.stateOf(ctx, c, req.ProtocolVersion())
	var entries []json.RawMessage
	for _, t := range s.upstreams.Catalogue().Templates {
		if offered(t.Server(), upstream.Prefix+t.Server()+"__resource:"+t.URITemplate) {
			entries = append(entries, t.Text())
		}
	}
	return reply.WrittenList(&sdk.ListResourceTemplatesResult{Cacheable: reply.PerCaller}, "resourceTemplates", entries, req.ProtocolVersion())
}

func (s *Server) getPrompt(ctx context.Context, c caller.Caller, req *sdk.GetPromptRequest) (sdk.Result, error) {
	s.upstreams.Await(ctx)
	prompt := s.upstreams.Catalogue().Prompts[req.Params.Name]
	if prompt == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.upstreams.UnknownPrompt(req.Params.Name)}
	}
	input := map[string]any{"name": prompt.Name, "arguments": orEmpty(req.Params.Arguments)}
	res, err := s.gate.Request(ctx, c, prompt.Offer, input, func(ctx context.Context, env *upstream.Environment) (*relay.Result, error) {
		params := *req.Params
		params.Meta = upstream.ForwardedMeta(req.Params.Meta)
		return prompt.Get(ctx, env, c.Peer, &params)
	})
	if err != nil {
		return nil, err
	}
	return reply.Written(&sdk.GetPromptResult{}, res, req.ProtocolVersion()), nil
}

func orEmpty(arguments map[string]string) map[string]string {
	if arguments == nil {
		return map[string]string{}
	}
	return arguments
}

// reader returns the tool that stands for a resource at the gate.
func (s *Server) reader(ctx context.Context, uri string) (*upstream.Tool, error) {
	s.upstreams.Await(ctx)
	offer, why := s.upstreams.Catalogue().Reader(uri)
	if offer == nil {
		data, _ := json.Marshal(map[string]string{"uri": uri}) //nolint:errchkjson // text
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("resource %.256q not found: %s", uri, why), Data: data}
	}
	return offer, nil
}

func (s *Server) readResource(ctx context.Context, c caller.Caller, req *sdk.ReadResourceRequest) (sdk.Result, error) {
	offer, err := s.reader(ctx, req.Params.URI)
	if err != nil {
		return nil, err
	}
	input := map[string]any{"uri": req.Params.URI}
	res, err := s.gate.Request(ctx, c, offer, input, func(ctx context.Context, env *upstream.Environment) (*relay.Result, error) {
		params := *req.Params
		params.Meta = upstream.ForwardedMeta(req.Params.Meta)
		return offer.Read(ctx, env, c.Peer, &params)
	})
	if err != nil {
		return nil, err
	}
	if req.ProtocolVersion() >= wire.ProtocolStateless { // who may read it depends on the caller
		res.Set("ttlMs", json.RawMessage(`0`))
		res.Set("cacheScope", relay.Quote(reply.PerCaller.CacheScope))
	}
	return reply.Written(&sdk.ReadResourceResult{}, res, req.ProtocolVersion()), nil
}

// watch returns a subscription to a resource: it is judged as reading it.
func (s *Server) watch(ctx context.Context, c caller.Caller, uri string) error {
	offer, err := s.reader(ctx, uri)
	if err != nil {
		return err
	}
	_, err = s.gate.Request(ctx, c, offer, map[string]any{"uri": uri, "subscribe": true}, func(ctx context.Context, _ *upstream.Environment) (*relay.Result, error) {
		return &relay.Result{}, offer.Subscribe(ctx, uri)
	})
	return err
}

// complete completes arguments of prompts and resources that the caller may use. The server sees the typed text, so
// it is relayed where a call would be allowed, and is neither counted nor logged.
func (s *Server) complete(ctx context.Context, c caller.Caller, req *sdk.CompleteRequest) (sdk.Result, error) {
	s.upstreams.Await(ctx)
	offer, ref := s.upstreams.Catalogue().Completer(req.Params.Ref)
	if offer == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown reference: name a prompt of prompts/list, or a template of resources/templates/list"}
	}
	input := map[string]any{"argument": req.Params.Argument.Name, "value": req.Params.Argument.Value}
	if err := s.gate.DryRun(ctx, c, offer, input); err != nil {
		return nil, err
	}
	params := *req.Params
	params.Ref, params.Meta = ref, upstream.ForwardedMeta(req.Params.Meta)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CheckTimeout)
	defer cancel()
	res, err := offer.Complete(ctx, c.Peer, &params)
	if err != nil {
		return nil, gate.AsProtocol(err)
	}
	gate.Disown(res)
	return reply.Written(&sdk.CompleteResult{}, res, req.ProtocolVersion()), nil
}
