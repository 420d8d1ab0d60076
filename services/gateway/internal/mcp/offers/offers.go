// Package offers lists the tools that a caller may use, and relays the methods of MCP that are about
// offers of servers in addition to tools. Listing is a courtesy: the call is the check.
//
// Prompts are relayed under names with their server, resources under their own URIs. To get a
// prompt, and to read or watch a resource, is a call that the gate judges, by the names
// mcp__SERVER__prompt:NAME and mcp__SERVER__resource:URI.
package offers

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Relay serves a method about prompts, resources, completion and logging; handled is false for
// any other. process is true at the endpoint for processes.
func (o *Offers) Relay(ctx context.Context, c caller.Caller, method string, req sdk.Request, process bool) (res sdk.Result, handled bool, err error) {
	if declares(method) || relays(method) {
		o.cfg.Upstreams.Await(ctx) // offers of servers are declared once
	}
	if relays(method) && !serves(o.behind(process), c.Peer, method) {
		return nil, true, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%q is not served here: no server behind the gate offers it", method)}
	}
	return o.dispatch(ctx, c, req)
}

// Declare sets the served features in the answer to a method that lists them.
func (o *Offers) Declare(res sdk.Result, peer *upstream.Peer, process bool) {
	switch about := res.(type) {
	case *sdk.InitializeResult:
		about.Capabilities, about.Instructions = capabilities(o.behind(process), peer, about.Capabilities, about.Instructions)
	case *sdk.DiscoverResult:
		about.Capabilities, about.Instructions = capabilities(o.behind(process), nil, about.Capabilities, about.Instructions)
	}
}

// dispatch serves the methods about prompts, resources and completion; handled is false for
// any other.
func (o *Offers) dispatch(ctx context.Context, c caller.Caller, req sdk.Request) (res sdk.Result, handled bool, err error) {
	switch r := req.(type) {
	case *sdk.ListPromptsRequest:
		return o.listPrompts(ctx, c, r), true, nil
	case *sdk.GetPromptRequest:
		res, err := o.getPrompt(ctx, c, r)
		return res, true, err
	case *sdk.ListResourcesRequest:
		return o.listResources(ctx, c, r), true, nil
	case *sdk.ListResourceTemplatesRequest:
		return o.listTemplates(ctx, c, r), true, nil
	case *sdk.ReadResourceRequest:
		res, err := o.readResource(ctx, c, r)
		return res, true, err
	case *sdk.ServerRequest[*sdk.SetLoggingLevelParams]:
		telling, cancel := context.WithTimeout(ctx, o.cfg.CheckTimeout)
		defer cancel()
		c.Peer.SetLevel(telling, r.Params.Level)
		return nil, false, nil // the SDK sorts messages out by it
	case *sdk.CompleteRequest:
		res, err := o.complete(ctx, c, r)
		return res, true, err
	}
	return nil, false, nil
}

// behind returns the offers of servers in addition to tools: none at the endpoint for
// processes, which have only the tools that they name.
func (o *Offers) behind(process bool) *upstream.Catalogue {
	if process {
		return &upstream.Catalogue{}
	}
	return o.cfg.Upstreams.Catalogue()
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

// capabilities returns the served features: tools always, and the kinds that servers offer.
func capabilities(behind *upstream.Catalogue, peer *upstream.Peer, caps *sdk.ServerCapabilities, instructions string) (*sdk.ServerCapabilities, string) {
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
