package offers

import (
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// ListTools handles tools/list.
func (o *Offers) ListTools(ctx context.Context, c caller.Caller, req *sdk.ListToolsRequest) sdk.Result {
	return o.withServerTexts(o.allowedTools(ctx, c, req), req.ProtocolVersion())
}

// allowedTools returns the list of tools. Clients of the stateless protocol get all tools: its list
// must not vary as a side effect of calls. Older clients get the tools that the current
// state allows, and are notified when that changes.
func (o *Offers) allowedTools(ctx context.Context, c caller.Caller, req *sdk.ListToolsRequest) *sdk.ListToolsResult {
	o.cfg.Upstreams.Await(ctx)
	o.cfg.Clients.Rebind(req.Session, c)
	list := o.cfg.Own.List()
	catalogue := o.cfg.Upstreams.Catalogue()
	offered := o.cfg.Gate.PinnedTools(ctx, c, catalogue)
	shell := o.cfg.Gate.OffersShell(c)
	stateless := req.ProtocolVersion() >= wire.ProtocolStateless
	if stateless && shell {
		list = append(list, o.cfg.Gate.ShellTool())
	}
	if stateless || len(offered) == 0 && !shell {
		return &sdk.ListToolsResult{Cacheable: reply.PerCaller, Tools: append(list, offered...)}
	}
	offered = slices.DeleteFunc(offered, func(tool *sdk.Tool) bool { return catalogue.Tools[tool.Name].Newer })
	run, position := o.filterRun(ctx, c)
	made := clients.Listing{Status: position}
	if run != nil {
		made = clients.ListingOf(run)
	}
	o.cfg.Clients.SetListing(req.Session, made)
	if shell && position == brief.Judged && stateAllows(run, gate.CheckedAs, "") {
		list = append(list, o.cfg.Gate.ShellTool())
	}
	for _, tool := range offered {
		if position == brief.Open || position == brief.Judged && o.stateLists(run, tool.Name, catalogue.Tools[tool.Name]) {
			list = append(list, tool)
		}
	}
	return &sdk.ListToolsResult{Cacheable: reply.PerCaller, Tools: list}
}

// withServerTexts returns a list in which the tools of servers are as their servers describe
// them.
func (o *Offers) withServerTexts(list *sdk.ListToolsResult, protocol string) sdk.Result {
	catalogue := o.cfg.Upstreams.Catalogue()
	entries := make([]json.RawMessage, 0, len(list.Tools))
	for _, tool := range list.Tools {
		_, own := o.cfg.Own.Bare(tool.Name)
		if text := catalogue.ToolText(tool.Name); text != nil && !own {
			entries = append(entries, text)
			continue
		}
		if text, err := json.Marshal(tool); err == nil {
			entries = append(entries, text)
		}
	}
	whole := *list
	whole.Tools = []*sdk.Tool{}
	return reply.WrittenList(&whole, "tools", entries, protocol)
}

// filterRun returns the run whose state filters the list, and the tools that it leaves
// open. With no workflow loaded these are all; where the state could not be had, none.
func (o *Offers) filterRun(ctx context.Context, c caller.Caller) (*enginev1.Run, brief.ToolStatus) {
	if !c.Bound() {
		return nil, brief.Open
	}
	ctx, cancel := context.WithTimeout(c.Outgoing(ctx), o.cfg.CheckTimeout)
	defer cancel()
	at, err := caller.Locate(ctx, o.cfg.Runs, c)
	switch {
	case err != nil && reply.IsNotFound(err):
		return nil, brief.Open
	case err != nil || at.Run == nil:
		return nil, brief.Closed
	}
	return at.Run, brief.ToolStatusOf(at.Run)
}

// stateLists reports whether a tool of a server is worth listing in a run's state. A process
// names it as its server does (S7.8).
func (o *Offers) stateLists(run *enginev1.Run, name string, target *upstream.Tool) bool {
	other := target.Other(name)
	if stateAllows(run, name, other) {
		return true
	}
	inProcess := o.cfg.Gate.NameInProcess(target)
	return run.GetWorkflowMeta().GetProcess() && inProcess != "" && gate.Matches(run.GetRules().GetAllowedTools(), inProcess) &&
		stateAllows(run, inProcess, name) && stateAllows(run, inProcess, other)
}

// stateAllows reports whether a tool is worth listing in a run's state (S3.1).
func stateAllows(run *enginev1.Run, name, other string) bool {
	if gate.Matches(run.GetRules().GetDisallowedTools(), name) || other != "" && gate.Matches(run.GetRules().GetDisallowedTools(), other) {
		return false
	}
	return !run.GetRules().GetToolsRestricted() || gate.Matches(run.GetRules().GetAllowedTools(), name)
}
