// Package gate takes calls from the request of a client to the report of their outcome. It
// never calls an upstream tool without an ALLOW for exactly this call, and takes no failure
// for an ALLOW.
//
// A call passes four stages. Each takes the value of the stage before, and returns its own:
//
//	identified  Identified  caller, tool and input, and whether self-protection
//	                        (S13) is against it                                  call.go
//	checked     Allowed     the run, and the decision that lets it through       check.go
//	sent        Sent        the result, and whether the tool reports success     send.go, shell.go
//	reported    Reported    the result, with the notices for the agent           report.go
//
// Before the check, a tool of a server is compared with its pin (pins.go).
package gate

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// CallTool calls a tool of a server by one of its names. An error that the server answers is
// passed on as it is.
func (g *Gate) CallTool(ctx context.Context, c caller.Caller, req *sdk.CallToolRequest, name string, target *upstream.Tool) (sdk.Result, error) {
	g.inflight.Add(1)
	defer g.inflight.Done()
	input, err := objectOf(req.Params.Arguments)
	if err != nil {
		return reply.Complete(req, reply.Refusal{Decision: "DENY", Code: reply.CodeInvalidInput, Message: err.Error(), Lead: "Denied"}.ResultFor(target.Tool)), nil
	}
	call := g.identify(c, name, g.NameInProcess(target), target, input)
	if refused := g.refuseChanged(ctx, c, target); refused != nil {
		return reply.Complete(req, refused.ResultFor(target.Tool)), nil
	}
	allowed, answer := g.checkAndAwait(ctx, call)
	if answer != nil {
		return reply.Complete(req, answer), nil
	}
	if ctx.Err() != nil {
		// No caller waits any more: the tool is not run.
		g.report(ctx, notMade(allowed, "the caller cancelled the request before the tool was called"))
		return reply.Complete(req, g.refuseUndecided(ctx.Err()).ResultFor(target.Tool)), nil
	}
	sent, err := g.sendTool(ctx, allowed, req)
	reported := g.report(ctx, sent)
	if err != nil {
		return nil, err
	}
	return reply.Written(&sdk.CallToolResult{}, reported.result(), req.ProtocolVersion()), nil
}

// Request makes a request about an offer of a server that is no tool, such as a prompt, as a
// call of the tool that stands for it. input describes the request to the gate.
func (g *Gate) Request(
	ctx context.Context, c caller.Caller, offer *upstream.Tool, input any, request func(context.Context, *upstream.Environment) (*relay.Result, error),
) (*relay.Result, error) {
	g.inflight.Add(1)
	defer g.inflight.Done()
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	allowed, refused := g.checkAndAwait(ctx, g.identify(c, offer.Qualified, "", offer, raw))
	if refused != nil {
		return nil, offerError(refused)
	}
	res, sent, err := g.sendRequest(ctx, allowed, request)
	g.report(ctx, sent)
	if err != nil {
		return nil, AsProtocol(err)
	}
	return res, nil
}

// DryRun returns an error unless a request about an offer would be allowed now.
func (g *Gate) DryRun(ctx context.Context, c caller.Caller, offer *upstream.Tool, input any) error {
	raw, err := json.Marshal(input)
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	if refused := g.denialNow(ctx, g.identify(c, offer.Qualified, "", offer, raw)); refused != nil {
		return offerError(refused.ResultFor(offer.Tool))
	}
	return nil
}

// CodeRefused is the error of JSON-RPC for refusals of the gate, where no tool's result
// could say it. Its data is that of the refusal.
const CodeRefused = -32000

// offerError returns a refusal as an error, where no tool's result can say it.
func offerError(refused *sdk.CallToolResult) error {
	err := &jsonrpc.Error{Code: CodeRefused, Message: string(reply.Text(refused).Output(reply.MaxOutput))}
	if data, failed := json.Marshal(refused.StructuredContent); failed == nil {
		err.Data = data
	}
	return err
}

// AsProtocol returns a failure as clients see it: the server's error, unchanged.
func AsProtocol(err error) error {
	var protocol *jsonrpc.Error
	if err == nil || errors.As(err, &protocol) {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}
