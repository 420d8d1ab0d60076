package mcp

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

// listTools handles tools/list. Clients of the stateless protocol get all tools: its list
// must not vary as a side effect of calls. Older clients get the tools that the current
// state allows, and are notified when that changes.
func (s *Server) listTools(ctx context.Context, c caller.Caller, req *sdk.ListToolsRequest) *sdk.ListToolsResult {
	s.upstreams.Await(ctx)
	s.sessions.Rebind(req.Session, c)
	list := slices.Clone(s.own.list)
	catalogue := s.upstreams.Catalogue()
	offered := s.gate.Unchanged(ctx, c, catalogue)
	shell := s.gate.OffersShell(c)
	stateless := req.ProtocolVersion() >= wire.ProtocolStateless
	if stateless && shell {
		list = append(list, s.gate.ShellTool())
	}
	if stateless || len(offered) == 0 && !shell {
		return &sdk.ListToolsResult{Cacheable: reply.PerCaller, Tools: append(list, offered...)}
	}
	offered = slices.DeleteFunc(offered, func(tool *sdk.Tool) bool { return catalogue.Tools[tool.Name].Newer })
	run, position := s.listedFor(ctx, c)
	made := clients.Listing{Status: position}
	if run != nil {
		made = clients.ListingOf(run)
	}
	s.sessions.Listed(req.Session, made)
	if shell && position == brief.Judged && stateAllows(run, gate.JudgedAs, "") {
		list = append(list, s.gate.ShellTool())
	}
	for _, tool := range offered {
		if position == brief.Open || position == brief.Judged && s.stateLists(run, tool.Name, catalogue.Tools[tool.Name]) {
			list = append(list, tool)
		}
	}
	return &sdk.ListToolsResult{Cacheable: reply.PerCaller, Tools: list}
}

// writtenTools returns a list in which the tools of servers are as their servers describe
// them.
func (s *Server) writtenTools(list *sdk.ListToolsResult, protocol string) sdk.Result {
	catalogue := s.upstreams.Catalogue()
	entries := make([]json.RawMessage, 0, len(list.Tools))
	for _, tool := range list.Tools {
		if text := catalogue.ToolText(tool.Name); s.own.byName[tool.Name] == nil && text != nil {
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

// listedFor returns the run whose state filters the list, and the tools that it leaves
// open. With no workflow loaded these are all; where the state could not be had, none.
func (s *Server) listedFor(ctx context.Context, c caller.Caller) (*enginev1.Run, brief.ToolStatus) {
	if !c.Bound() {
		return nil, brief.Open
	}
	ctx, cancel := context.WithTimeout(c.Outgoing(ctx), s.cfg.CheckTimeout)
	defer cancel()
	at, err := caller.Locate(ctx, s.cfg.Runs, c)
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
func (s *Server) stateLists(run *enginev1.Run, name string, target *upstream.Tool) bool {
	other := target.Other(name)
	if stateAllows(run, name, other) {
		return true
	}
	inProcess := s.gate.NameInProcess(target)
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
