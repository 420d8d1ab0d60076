// Package owntools has Interlock's own tools: for runs (workflows, processes, approvals), and
// for the state, the sessions and the components that sessions share. They are never gated (S3).
package owntools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/approvals"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
)

// Config has the parts and settings of the own tools. Workflows, Runs, Desk, Clients and Jail
// are required; tools without their service refuse.
type Config struct {
	Workflows  enginev1.WorkflowServiceClient
	Runs       enginev1.RunServiceClient
	Processes  enginev1.ProcessServiceClient
	Approvals  approvalv1.ApprovalServiceClient
	Schemas    statev1.SchemaServiceClient
	States     statev1.StateServiceClient
	Sessions   statev1.SessionServiceClient
	Components statev1.ComponentServiceClient

	// Desk waits for approvals, and Clients are notified of changes.
	Desk    *approvals.Desk
	Clients *clients.Set
	// Jail describes the jail of a caller's command lines in a run; empty where it has none.
	Jail func(ctx context.Context, c caller.Caller, run *enginev1.Run, asked string) string
	// Ends ends waits when the server drains.
	Ends context.Context
	// ToolPrefix begins the names of the tools for runs, and StatePrefix those of the tools
	// for what sessions share (S15.8).
	ToolPrefix, StatePrefix string
	// Shell is the whole name of the tool that runs command lines; empty without one.
	Shell string
	// Resume is the reason why the agent on stdio was resumed; empty for none.
	Resume map[string]any
	// SettleWait is how long a run may take to carry out an approval.
	SettleWait time.Duration
}

// ownTool is one of Interlock's own tools. They are never gated (S3).
type ownTool struct {
	name        string // without prefix
	title       string
	description string
	params      []arguments.Param
	readOnly    bool
	destructive bool
	// acts on the run of the caller's session, or of a subagent's of it.
	acts bool
	// shares the state of the caller's session, or of that of a subagent of it.
	shares bool
	// longest is how long it may wait; longestWait when it is 0.
	longest time.Duration
	run     func(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult
}

// reserved are the names that Interlock's own tools have or will have. No
// upstream tool is ever offered under one of them: gates always allow those.
var reserved = map[string]bool{
	"transition": true, "get_state": true, "list_workflows": true, "load_workflow": true,
	"create_workflow": true, "pause": true, "deactivate": true, "force_state": true,
	"get_status": true, "wait": true, "process_step": true, "state_create": true, "state_read": true,
	"state_update": true, "state_patch": true, "state_schema": true, "wait_approval": true,
	"session_result": true, "start_agent_session": true, "component_read": true, "component_update": true,
}

// Box has the own tools by name.
type Box struct {
	cfg    Config
	runs   *runTools
	shared *sharedTools
	byName map[string]*ownTool
	list   []*sdk.Tool
}

// runTools are the tools about the run of a session.
type runTools struct{ cfg Config }

// sharedTools are the tools about the state, the sessions and the components of a tree of sessions.
type sharedTools struct{ cfg Config }

// New returns the own tools under their prefixes.
func New(cfg Config) *Box {
	b := &Box{cfg: cfg, runs: &runTools{cfg}, shared: &sharedTools{cfg}, byName: map[string]*ownTool{}}
	for _, t := range slices.Concat(b.runs.workflowTable(), b.runs.humanTable(), b.shared.stateTable(), b.shared.sessionTable()) {
		name := b.prefixOf(t) + t.name
		b.byName[name] = t
		b.list = append(b.list, t.entry(name))
	}
	return b
}

// prefixOf returns the prefix of a tool's name.
func (b *Box) prefixOf(t *ownTool) string {
	if t.shares {
		return b.cfg.StatePrefix
	}
	return b.cfg.ToolPrefix
}

// entry returns the entry of a tool in lists.
func (t *ownTool) entry(name string) *sdk.Tool {
	destructive, open := t.destructive, false
	return &sdk.Tool{
		Name: name, Title: t.title, Description: t.description, InputSchema: arguments.Schema(t.arguments()),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.readOnly, DestructiveHint: &destructive, OpenWorldHint: &open},
	}
}

// arguments returns the arguments of a tool: its own, and the name of a subagent where the
// tool is about a session.
func (t *ownTool) arguments() []arguments.Param {
	if !t.acts && !t.shares {
		return t.params
	}
	return append(t.params[:len(t.params):len(t.params)], agentParam)
}

// List returns the entries of all own tools, in their order.
func (b *Box) List() []*sdk.Tool { return slices.Clone(b.list) }

// Bare returns the name of an own tool without its prefix; false for other tools.
func (b *Box) Bare(name string) (string, bool) {
	if t := b.byName[name]; t != nil {
		return t.name, true
	}
	return "", false
}

// Reserves reports whether a plain name belongs to Interlock, under any prefix in use.
func (b *Box) Reserves(name string) bool {
	for _, prefix := range []string{b.cfg.ToolPrefix, b.cfg.StatePrefix} {
		if bare, ok := strings.CutPrefix(name, prefix); ok && reserved[bare] {
			return true
		}
	}
	return toolcall.Own(name) || name == b.cfg.Shell && name != ""
}

// Call checks the arguments of an own tool and runs it; false for other tools. Every failure
// is a result that the agent can read.
func (b *Box) Call(ctx context.Context, c caller.Caller, name string, raw json.RawMessage) (*sdk.CallToolResult, bool) {
	t := b.byName[name]
	if t == nil {
		return nil, false
	}
	args, err := arguments.Parse(raw, name, t.arguments())
	if err != nil {
		return reply.Refusal{Code: reply.CodeInvalidArgument, Message: err.Error()}.Result(), true
	}
	ctx, cancel := context.WithTimeout(c.Outgoing(ctx), max(t.longest, longestWait)+ownMargin)
	defer cancel()
	actor, refused := b.actor(ctx, c, t, args)
	if refused != nil {
		return refused.Result(), true
	}
	return b.addResume(t, t.run(ctx, actor, args)), true
}

// actor returns the caller that acts by a call of a tool: the subagent that the call names, or
// the caller itself.
func (b *Box) actor(ctx context.Context, c caller.Caller, t *ownTool, args arguments.Values) (caller.Caller, *reply.Refusal) {
	switch {
	case t.acts:
		return b.runs.actor(ctx, c, args)
	case t.shares:
		return b.shared.actor(ctx, c, args)
	}
	return c, nil
}

// metaResume is where results of the tools for shared states have the reason why the
// agent was resumed.
const metaResume = "interlock.run/resume"

// addResume adds that reason to a result (S15.5): a client of an agent that a runner has resumed
// finds it there as data, even if the agent ignores its prompt.
func (b *Box) addResume(t *ownTool, result *sdk.CallToolResult) *sdk.CallToolResult {
	if !t.shares || len(b.cfg.Resume) == 0 {
		return result
	}
	if result.Meta == nil {
		result.Meta = sdk.Meta{}
	}
	result.Meta[metaResume] = b.cfg.Resume
	return result
}

// ownMargin is the time of an own tool in addition to the time that it may wait.
const ownMargin = 30 * time.Second

// newCallID returns an id for one call.
func newCallID() string { return typeid.New(typeid.Call) }
