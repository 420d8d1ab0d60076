package offers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
)

// The endpoint for processes offers only the tools that the process of the session may
// use there: a session without a process has no tools. Its offers are gated like
// everywhere (S7.8). Interlock's own tools that only show where the session stands, and
// wait for people, are always among it: a process may have to wait for them.

const codeNoProcess = "NO_PROCESS"

// alwaysOffered are the own tools that every process has at its endpoint.
var alwaysOffered = []string{"get_state", "wait_approval"}

// offer has the tools that a process may use at its endpoint.
type offer struct {
	process string
	tools   []string // a trailing * stands for any rest of the name
}

// processOffer looks up the process of the caller's session.
func (o *Offers) processOffer(ctx context.Context, c caller.Caller) (offer, *reply.Refusal) {
	if o.cfg.Processes == nil {
		return offer{}, &reply.Refusal{Code: string(fault.Unavailable), Message: "this server is not connected to an engine with processes; the operator can connect one"}
	}
	if !c.Bound() {
		return offer{}, reply.NotBound()
	}
	ctx, cancel := context.WithTimeout(c.Outgoing(ctx), o.cfg.CheckTimeout)
	defer cancel()
	at, err := caller.Locate(ctx, o.cfg.Runs, c)
	switch {
	case err != nil && reply.IsNotFound(err):
		return offer{}, &reply.Refusal{Code: codeNoProcess, Message: "no process runs here; an operator can start one for the session"}
	case err != nil:
		return offer{}, reply.Fault(err, "")
	case !at.Run.GetWorkflowMeta().GetProcess():
		return offer{}, &reply.Refusal{Code: codeNoProcess, Message: fmt.Sprintf(
			"the run %s of %s is not a process, and this endpoint is for processes; connect to %s", at.Run.GetRunId(), at.Run.GetWorkflow(), o.cfg.Path)}
	}
	got, err := o.cfg.Processes.GetProcess(ctx, &enginev1.GetProcessRequest{Name: at.Run.GetWorkflow(), Version: at.Run.GetWorkflowVersion()})
	if err != nil {
		return offer{}, reply.Fault(err, "")
	}
	tools := slices.Clone(got.GetProcess().GetTools())
	for _, name := range alwaysOffered {
		if !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return offer{got.GetProcess().GetName(), tools}, nil
}

// has reports whether a tool is offered: an own one by its name without prefix, and one of a
// server by either of its names, or by the one that its server gives it, which is how
// processes name tools.
func (f offer) has(o *Offers, name string) bool {
	if own, ok := o.cfg.Own.Bare(name); ok {
		return gate.Matches(f.tools, own)
	}
	if gate.Matches(f.tools, name) {
		return true
	}
	target := o.cfg.Upstreams.Catalogue().Tools[name]
	return target != nil && (gate.Matches(f.tools, target.Other(name)) || gate.Matches(f.tools, o.cfg.Gate.NameInProcess(target)))
}

// lists reports whether a tool is listed: one that has two names is, by the one that the
// operator has given it.
func (f offer) lists(o *Offers, name string) bool {
	target := o.cfg.Upstreams.Catalogue().Tools[name]
	return f.has(o, name) && (target == nil || name != target.Qualified || target.Other(name) == "" || !f.has(o, target.Other(name)))
}

// ListProcessTools lists the tools that the session's process may use.
func (o *Offers) ListProcessTools(ctx context.Context, c caller.Caller, req *sdk.ListToolsRequest) (sdk.Result, error) {
	list := o.allowedTools(ctx, c, req)
	offer, refused := o.processOffer(ctx, c)
	switch {
	case refused == nil:
	case refused.Code == codeNoProcess || refused.Code == reply.CodeNotBound:
		// No tool is offered, and calls say why.
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the process of this session cannot be read: " + refused.Message}
	}
	list.Tools = slices.DeleteFunc(list.Tools, func(tool *sdk.Tool) bool { return !offer.lists(o, tool.Name) })
	return o.withServerTexts(list, req.ProtocolVersion()), nil
}

// OutsideProcess refuses a tool that the session's process may not use; nil when it
// may.
func (o *Offers) OutsideProcess(ctx context.Context, c caller.Caller, name string) *reply.Refusal {
	offer, refused := o.processOffer(ctx, c)
	switch {
	case refused != nil:
		refused.Decision, refused.Lead = "DENY", "Denied"
		return refused
	case offer.has(o, name):
		return nil
	}
	return &reply.Refusal{
		Decision: "DENY", Code: "TOOL_NOT_ALLOWED", Lead: "Denied", ToolsRestricted: true, AllowedTools: &offer.tools,
		Message: fmt.Sprintf("the process %s may not use %q here; it may use %s", offer.process, reply.Clip(name, 128), list(offer.tools)),
	}
}

func list(names []string) string {
	if len(names) == 0 {
		return "no tool"
	}
	return strings.Join(names, ", ")
}
