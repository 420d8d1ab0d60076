package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/typeid"
)

// ownTool is one of Interlock's own tools. They are never gated (S3).
type ownTool struct {
	name        string // without prefix
	title       string
	description string
	params      []param
	readOnly    bool
	destructive bool
	// acts on what the caller's session drives, or that of a subagent of it.
	acts bool
	// shares the state of the caller's session, or of that of a subagent of it.
	shares bool
	// longest is how long it may wait; longestWait when it is 0.
	longest time.Duration
	run     func(s *Server, ctx context.Context, c caller, args arguments) *sdk.CallToolResult
}

// reserved are the names that Interlock's own tools have or will have. No
// upstream tool is ever offered under one of them: gates always allow those.
var reserved = map[string]bool{
	"transition": true, "get_state": true, "list_workflows": true, "load_workflow": true,
	"create_workflow": true, "pause": true, "deactivate": true, "force_state": true,
	"get_status": true, "wait": true, "process_step": true, "state_create": true, "state_read": true,
	"state_update": true, "state_patch": true, "state_schema": true, "wait_approval": true,
}

// ownToolTable lists the tools about workflows, in the order in which they are
// listed; those about processes and approvals, and about shared states, follow them.
var ownToolTable = []*ownTool{
	{
		name: "get_state", title: "Current state", readOnly: true, acts: true,
		description: "What you may do now: the workflow's state, its tools, instructions, limits and what is left of them, the events that move on, " +
			"and whether an interrupt, branches of a fork or a child run are at work.",
		run: (*Server).getState,
	},
	{
		name: "transition", title: "Move on", destructive: true, acts: true,
		description: "Fires an event of the current state. Guards see the context as it was before this call; data merges into the context afterwards. " +
			"A refusal says which guards failed and which events are legal.",
		params: []param{
			{name: "event", kind: document.String, required: true, maxBytes: 256, description: "The event, exactly as get_state writes it."},
			{name: "data", kind: document.Object, description: "Values to merge into the context after the transition."},
			{name: "rationale", kind: document.String, maxBytes: 16 << 10, description: "Why, for the run's history."},
		},
		run: (*Server).transition,
	},
	{
		name: "wait", title: "Wait", readOnly: true, acts: true,
		description: "While the run waits - for a human's approval, or for branches that others work in - waits until something has changed, " +
			"and answers where the run stands. Otherwise it answers at once.",
		params: []param{
			{name: "timeout_seconds", kind: document.Number, max: int64(longestWait / time.Second), description: "How long to wait at most; 30 by default."},
		},
		run: (*Server).wait,
	},
	{
		name: "load_workflow", title: "Load a workflow", acts: true,
		description: "Starts a workflow or a process for this session, or resumes its newest paused run; loading another one pauses the current. " +
			"With branch, takes over a branch of a fork that is under way.",
		params: []param{
			{name: "name", kind: document.String, required: true, maxBytes: 512, description: "The name of the workflow or process, as list_workflows writes it."},
			{name: "version", kind: document.Number, description: "A version; the latest by default."},
			{name: "resume", kind: document.Bool, description: "Resume the newest paused run of this workflow, if there is one."},
			{name: "branch", kind: document.String, maxBytes: 1024, description: "The branch to work in: your events and calls are judged in it alone from then on."},
			{name: "run_id", kind: document.String, maxBytes: maxRunID, description: "With branch: the run in branches, if several have such a one."},
		},
		run: (*Server).loadWorkflow,
	},
	{
		name: "list_workflows", title: "List workflows", readOnly: true,
		description: "The registered workflows and processes, with their latest versions.",
		run:         (*Server).listWorkflows,
	},
	{
		name: "create_workflow", title: "Register a workflow",
		description: "Validates and registers a workflow definition under a new name.",
		params: []param{
			{name: "definition", kind: document.Object, required: true, description: "The definition: id, initial, states, and optionally context, guards, interrupts, meta."},
		},
		run: (*Server).createWorkflow,
	},
	{
		name: "get_status", title: "Status of the run", readOnly: true, acts: true,
		description: "The run that this session drives as a whole: its status, workflow and version, state, context, counts, and the run that it waits for.",
		run:         (*Server).getStatus,
	},
	{
		name: "pause", title: "Pause the workflow", acts: true,
		description: "Saves the run that this session drives and stops enforcing it. load_workflow with resume continues it.",
		params: []param{
			{name: "reason", kind: document.String, maxBytes: 1024, description: "Why, for the run's history."},
		},
		run: (*Server).pause,
	},
	{
		name: "deactivate", title: "Leave the workflow", destructive: true, acts: true,
		description: "Ends the run that this session drives without finishing it. It cannot be resumed.",
		params: []param{
			{name: "reason", kind: document.String, maxBytes: 1024, description: "Why, for the run's history."},
		},
		run: (*Server).deactivate,
	},
	{
		name: "force_state", title: "Jump to a state", destructive: true, acts: true,
		description: "Jumps to any state of a workflow with meta.debug, past guards and counters. For recovery during development.",
		params: []param{
			{name: "state", kind: document.String, required: true, maxBytes: 256, description: "The state to jump to."},
			{name: "context", kind: document.Object, description: "Values to merge into the context."},
		},
		run: (*Server).forceState,
	},
}

// takes are the arguments of a tool: its own, and the name of a subagent where
// the tool is about a session.
func (t *ownTool) takes() []param {
	if !t.acts && !t.shares {
		return t.params
	}
	return append(t.params[:len(t.params):len(t.params)], agentParam)
}

// ownTools makes the own tools callable and listable under a prefix.
func ownTools(prefix string) (map[string]*ownTool, []*sdk.Tool) {
	table := slices.Concat(ownToolTable, humanToolTable, stateToolTable)
	byName := make(map[string]*ownTool, len(table))
	list := make([]*sdk.Tool, 0, len(table))
	no := false
	for _, t := range table {
		byName[prefix+t.name] = t
		destructive := t.destructive
		list = append(list, &sdk.Tool{
			Name: prefix + t.name, Title: t.title, Description: t.description, InputSchema: schemaOf(t.takes()),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.readOnly, DestructiveHint: &destructive, OpenWorldHint: &no},
		})
	}
	return byName, list
}

// callOwn checks the arguments and runs an own tool. Every failure is a result
// that the agent can read.
func (s *Server) callOwn(ctx context.Context, c caller, tool *ownTool, raw json.RawMessage) *sdk.CallToolResult {
	args, err := parseArguments(raw, s.cfg.ToolPrefix+tool.name, tool.takes())
	if err != nil {
		return refusal{Code: codeInvalidArgument, Message: err.Error()}.result()
	}
	ctx, cancel := context.WithTimeout(c.outgoing(ctx), max(tool.longest, longestWait)+ownMargin)
	defer cancel()
	var refused *refusal
	switch {
	case tool.acts:
		c, refused = s.actor(ctx, c, args)
	case tool.shares:
		c, refused = s.sharer(ctx, c, args)
	}
	if refused != nil {
		return refused.result()
	}
	return tool.run(s, ctx, c, args)
}

// ownMargin is what an own tool has beside the time that it may wait.
const ownMargin = 30 * time.Second

// mint makes an id for one call.
func mint() (string, error) { return typeid.New(typeid.Call) }
