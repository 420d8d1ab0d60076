// Package gate takes calls from the request of a client to the report of their outcome. It
// never calls an upstream tool without an ALLOW for exactly this call, and takes no failure
// for an ALLOW.
//
// A call passes four stages. Each takes the value of the stage before, and returns its own:
//
//	identified  Call      caller, tool and input, and whether S13 is against it  call.go
//	judged      Allowed   the run, and the decision that lets it through         judge.go
//	sent        Sent      the result, and whether the tool reports success       send.go, shell.go
//	reported    Reported  the result, with the notices for the agent             report.go
//
// Tools of servers are checked against their pins (pins.go) before they are judged.
package gate

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/approvals"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Config has the parts and settings of a gate. All but Pins, Identify, Shell and Undecided are
// required.
type Config struct {
	Runs    enginev1.RunServiceClient
	Policy  policyv1.PolicyEnforcerServiceClient
	Reports policyv1.PolicyEnforcerServiceClient
	// Pins remembers the tools of servers; without it their tools may change.
	Pins peerv1.UpstreamPeerServiceClient
	// Identify reports whose a token is. It is set where Pins calls as the gateway itself.
	Identify  func(ctx context.Context, token string) (auth.Principal, error)
	Approvals *approvals.Desk
	Clients   *clients.Set
	// Shell runs command lines of the client on stdio; nil where no jail can be had.
	Shell *Shell
	// Undecided is notified of each call that was denied because it could not be decided.
	Undecided func(error)
	// Reserved reports whether a plain name belongs to Interlock's own tools.
	Reserved func(name string) bool

	// Places are where Interlock is on the machine, and Workspace is the folder of the client
	// on stdio; empty without one.
	Places    toolcall.Places
	Workspace string
	// ToolPrefix is that of the own tools which refusals name.
	ToolPrefix string
	// AllowUnbound lets calls through unchecked while no workflow is loaded.
	AllowUnbound bool

	// Calls ends when calls under way must end.
	Calls context.Context
	// CheckTimeout bounds a decision, CallTimeout a call, and ReportTimeout a report while the
	// agent waits for it.
	CheckTimeout, CallTimeout, ReportTimeout time.Duration
	// Backoff is the first wait before a report is sent again.
	Backoff time.Duration
	// ProgressEvery is how often a client hears that a command runs on.
	ProgressEvery time.Duration
	// MaxResultBytes bounds a result.
	MaxResultBytes int
	Logger         *slog.Logger
}

// Gate puts calls before the policy service and, when they are allowed, makes them and reports
// their outcome. It is safe for concurrent use.
type Gate struct {
	cfg      Config
	log      *slog.Logger
	pins     *pins
	reports  *reports
	inflight sync.WaitGroup
}

// New returns a gate. Close must follow.
func New(cfg Config) *Gate {
	return &Gate{
		cfg: cfg, log: cfg.Logger, reports: newReports(cfg.Reports, cfg.ReportTimeout, cfg.Backoff, cfg.Logger),
		pins: &pins{service: cfg.Pins, identify: cfg.Identify},
	}
}

// Close waits for the calls under way, and sends the last reports.
func (g *Gate) Close() {
	g.inflight.Wait()
	g.reports.close()
}

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
	if refused := g.changed(ctx, c, target); refused != nil {
		return reply.Complete(req, refused.ResultFor(target.Tool)), nil
	}
	allowed, answer := g.judge(ctx, call)
	if answer != nil {
		return reply.Complete(req, answer), nil
	}
	if ctx.Err() != nil {
		// No caller waits any more: the tool is not run.
		g.report(ctx, unsent(allowed, "the caller cancelled the request before the tool was called"))
		return reply.Complete(req, g.undecided(ctx.Err()).ResultFor(target.Tool)), nil
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
	allowed, refused := g.judge(ctx, g.identify(c, offer.Qualified, "", offer, raw))
	if refused != nil {
		return nil, refusedOffer(refused)
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
		return refusedOffer(refused.ResultFor(offer.Tool))
	}
	return nil
}

// CodeRefused is the error of JSON-RPC for refusals of the gate, where no tool's result
// could say it. Its data is that of the refusal.
const CodeRefused = -32000

// refusedOffer returns a refusal where no tool's result can say it.
func refusedOffer(refused *sdk.CallToolResult) error {
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
