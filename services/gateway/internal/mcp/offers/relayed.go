package offers

import (
	"context"
	"encoding/json"
	"fmt"

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

// filter returns a function that reports whether an offer of a server is worth listing to a
// caller.
func (o *Offers) filter(ctx context.Context, c caller.Caller, protocol string) func(server, name string) bool {
	if protocol >= wire.ProtocolStateless { // whose lists must not vary
		return func(string, string) bool { return true }
	}
	run, position := o.filterRun(ctx, c)
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

func (o *Offers) listPrompts(ctx context.Context, c caller.Caller, req *sdk.ListPromptsRequest) sdk.Result {
	o.cfg.Upstreams.Await(ctx)
	catalogue, offered := o.cfg.Upstreams.Catalogue(), o.filter(ctx, c, req.ProtocolVersion())
	var entries []json.RawMessage
	for _, p := range catalogue.PromptList {
		if of := catalogue.Prompts[p.Name].Offer; offered(of.Server(), of.Qualified) {
			entries = append(entries, catalogue.PromptText(p.Name))
		}
	}
	return reply.WrittenList(&sdk.ListPromptsResult{Cacheable: reply.PerCaller}, "prompts", entries, req.ProtocolVersion())
}

func (o *Offers) listResources(ctx context.Context, c caller.Caller, req *sdk.ListResourcesRequest) sdk.Result {
	o.cfg.Upstreams.Await(ctx)
	offered := o.filter(ctx, c, req.ProtocolVersion())
	var entries []json.RawMessage
	for _, r := range o.cfg.Upstreams.Catalogue().Resources {
		if offered(r.Server(), upstream.Prefix+r.Server()+"__resource:"+r.URI) {
			entries = append(entries, r.Text())
		}
	}
	return reply.WrittenList(&sdk.ListResourcesResult{Cacheable: reply.PerCaller}, "resources", entries, req.ProtocolVersion())
}

func (o *Offers) listTemplates(ctx context.Context, c caller.Caller, req *sdk.ListResourceTemplatesRequest) sdk.Result {
	o.cfg.Upstreams.Await(ctx)
	offered := o.filter(ctx, c, req.ProtocolVersion())
	var entries []json.RawMessage
	for _, t := range o.cfg.Upstreams.Catalogue().Templates {
		if offered(t.Server(), upstream.Prefix+t.Server()+"__resource:"+t.URITemplate) {
			entries = append(entries, t.Text())
		}
	}
	return reply.WrittenList(&sdk.ListResourceTemplatesResult{Cacheable: reply.PerCaller}, "resourceTemplates", entries, req.ProtocolVersion())
}

func (o *Offers) getPrompt(ctx context.Context, c caller.Caller, req *sdk.GetPromptRequest) (sdk.Result, error) {
	o.cfg.Upstreams.Await(ctx)
	prompt := o.cfg.Upstreams.Catalogue().Prompts[req.Params.Name]
	if prompt == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: o.cfg.Upstreams.UnknownPrompt(req.Params.Name)}
	}
	input := map[string]any{"name": prompt.Name, "arguments": orEmpty(req.Params.Arguments)}
	res, err := o.cfg.Gate.Request(ctx, c, prompt.Offer, input, func(ctx context.Context, env *upstream.Environment) (*relay.Result, error) {
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
func (o *Offers) reader(ctx context.Context, uri string) (*upstream.Tool, error) {
	o.cfg.Upstreams.Await(ctx)
	offer, why := o.cfg.Upstreams.Catalogue().Reader(uri)
	if offer == nil {
		data, _ := json.Marshal(map[string]string{"uri": uri}) //nolint:errchkjson // text
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("resource %.256q not found: %s", uri, why), Data: data}
	}
	return offer, nil
}

func (o *Offers) readResource(ctx context.Context, c caller.Caller, req *sdk.ReadResourceRequest) (sdk.Result, error) {
	offer, err := o.reader(ctx, req.Params.URI)
	if err != nil {
		return nil, err
	}
	input := map[string]any{"uri": req.Params.URI}
	res, err := o.cfg.Gate.Request(ctx, c, offer, input, func(ctx context.Context, env *upstream.Environment) (*relay.Result, error) {
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

// Watch subscribes to a resource: it is judged as reading it.
func (o *Offers) Watch(ctx context.Context, c caller.Caller, uri string) error {
	offer, err := o.reader(ctx, uri)
	if err != nil {
		return err
	}
	_, err = o.cfg.Gate.Request(ctx, c, offer, map[string]any{"uri": uri, "subscribe": true}, func(ctx context.Context, _ *upstream.Environment) (*relay.Result, error) {
		return &relay.Result{}, offer.Subscribe(ctx, uri)
	})
	return err
}

// complete completes arguments of prompts and resources that the caller may use. The server sees the typed text, so
// it is relayed where a call would be allowed, and is neither counted nor logged.
func (o *Offers) complete(ctx context.Context, c caller.Caller, req *sdk.CompleteRequest) (sdk.Result, error) {
	o.cfg.Upstreams.Await(ctx)
	offer, ref := o.cfg.Upstreams.Catalogue().Completer(req.Params.Ref)
	if offer == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown reference: name a prompt of prompts/list, or a template of resources/templates/list"}
	}
	input := map[string]any{"argument": req.Params.Argument.Name, "value": req.Params.Argument.Value}
	if err := o.cfg.Gate.DryRun(ctx, c, offer, input); err != nil {
		return nil, err
	}
	params := *req.Params
	params.Ref, params.Meta = ref, upstream.ForwardedMeta(req.Params.Meta)
	ctx, cancel := context.WithTimeout(ctx, o.cfg.CheckTimeout)
	defer cancel()
	res, err := offer.Complete(ctx, c.Peer, &params)
	if err != nil {
		return nil, gate.AsProtocol(err)
	}
	gate.Disown(res)
	return reply.Written(&sdk.CompleteResult{}, res, req.ProtocolVersion()), nil
}
