package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
)

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
	run     func(s *Server, ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult
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

// ownToolTable lists the tools about workflows, in the order in which they are
// listed; those about processes and approvals, and about shared states, follow them.
var ownToolTable = []*ownTool{
	{
		name: "get_state", title: "Current state", readOnly: true, acts: true,
		description: "Returns your present options: the workflow's state, its tools, instructions, limits and what remains of them, the legal events, " +
			"and whether an interrupt, branches of a fork or a child run are active.",
		run: (*Server).getState,
	},
	{
		name: "transition", title: "Move on", destructive: true, acts: true,
		description: "Fires an event of the current state. Guards see the context as it was before this call; data merges into the context afterwards. " +
			"A refusal says which guards failed and which events are legal.",
		params: []arguments.Param{
			{Name: "event", Kind: document.String, Required: true, MaxBytes: 256, Description: "The event, exactly as get_state writes it."},
			{Name: "data", Kind: document.Object, Description: "Values to merge into the context after the transition."},
			{Name: "rationale", Kind: document.String, MaxBytes: 16 << 10, Description: "Why, for the run's history."},
		},
		run: (*Server).transition,
	},
	{
		name: "wait", title: "Wait", readOnly: true, acts: true,
		description: "While the run waits - for a human's approval, or for branches that others work in - waits until something has changed, " +
			"and returns the position of the run. Otherwise it returns at once.",
		params: []arguments.Param{
			{Name: "timeout_seconds", Kind: document.Number, Max: int64(longestWait / time.Second), Description: "How long to wait at most; 30 by default."},
		},
		run: (*Server).wait,
	},
	{
		name: "load_workflow", title: "Load a workflow", acts: true,
		description: "Starts a workflow or a process for this session, or resumes its newest paused run; loading another one pauses the current. " +
			"With branch, takes over a branch of an active fork.",
		params: []arguments.Param{
			{Name: "name", Kind: document.String, Required: true, MaxBytes: 512, Description: "The name of the workflow or process, as list_workflows writes it."},
			{Name: "version", Kind: document.Number, Description: "A version; the latest by default."},
			{Name: "resume", Kind: document.Bool, Description: "Resume the newest paused run of this workflow, if there is one."},
			{Name: "branch", Kind: document.String, MaxBytes: 1024, Description: "The branch to work in: your events and calls are judged in it alone from then on."},
			{Name: "run_id", Kind: document.String, MaxBytes: caller.MaxRunID, Description: "With branch: the run, if several runs have a branch of this name."},
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
		params: []arguments.Param{
			{Name: "definition", Kind: document.Object, Required: true, Description: "The definition: id, initial, states, and optionally context, guards, interrupts, meta."},
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
		params: []arguments.Param{
			{Name: "reason", Kind: document.String, MaxBytes: 1024, Description: "Why, for the run's history."},
		},
		run: (*Server).pause,
	},
	{
		name: "deactivate", title: "Leave the workflow", destructive: true, acts: true,
		description: "Ends the run that this session drives without finishing it. It cannot be resumed.",
		params: []arguments.Param{
			{Name: "reason", Kind: document.String, MaxBytes: 1024, Description: "Why, for the run's history."},
		},
		run: (*Server).deactivate,
	},
	{
		name: "force_state", title: "Jump to a state", destructive: true, acts: true,
		description: "Jumps to any state of a workflow with meta.debug, past guards, counters and approvals. For recovery during development.",
		params: []arguments.Param{
			{Name: "state", Kind: document.String, Required: true, MaxBytes: 256, Description: "The state to jump to."},
			{Name: "context", Kind: document.Object, Description: "Values to merge into the context."},
		},
		run: (*Server).forceState,
	},
}

// longestApprovalWait is how long one call of wait_approval may wait. It waits for
// longestWait when it does not say: clients that wait longer know that they do.
const longestApprovalWait = 600 * time.Second

// Limits of requests to the services, as the contracts have them.
const (
	maxApprovalID = 128
	maxAnswer     = 256
	maxNote       = 8192
)

// humanToolTable lists the tools about the questions of processes (S8) and about
// approvals of people (S9).
var humanToolTable = []*ownTool{
	{
		name: "process_step", title: "Answer the process", destructive: true, acts: true,
		description: "Answers the question of the process that this session is in; the reply is the next question with its answers, or the end. " +
			"Without answer it repeats the question.",
		params: []arguments.Param{
			{Name: "answer", Kind: document.String, MaxBytes: maxAnswer, Description: "One of the answers, exactly as they are written."},
			{Name: "note", Kind: document.String, MaxBytes: maxNote, Description: "Why, for the run's history and for the people who review it."},
		},
		run: (*Server).processStep,
	},
	{
		name: "wait_approval", title: "Wait for an approval", readOnly: true, acts: true, longest: longestApprovalWait,
		description: "Waits until people have decided an approval, and returns their decision; after a granted transition also the new state. " +
			"After the timeout, it says that the approval is still pending.",
		params: []arguments.Param{
			{Name: "approval_id", Kind: document.String, MaxBytes: maxApprovalID, Description: "The approval; by default the one that this session's run waits for."},
			{
				Name: "timeout_seconds", Kind: document.Number, Max: int64(longestApprovalWait / time.Second),
				Description: "How long to wait at most; 55 by default.",
			},
		},
		run: (*Server).waitApproval,
	},
}

// stateToolTable lists the tools for the state that a tree of sessions shares
// (S10). None takes the id of a state or a session: those are the connection's.
var stateToolTable = []*ownTool{
	{
		name: "state_create", title: "Create the shared state", shares: true,
		description: "Creates the workflow state that this session shares with the sessions started below it from then on: " +
			"a JSON document that conforms to a registered schema. Only the root of a tree creates it, once.",
		params: []arguments.Param{
			{Name: "schema_name", Kind: document.String, Required: true, MaxBytes: 256, Description: "The schema that the state always conforms to."},
			{Name: "schema_version", Kind: document.Number, Description: "A version of the schema; the latest by default."},
			{Name: "initial_data", Required: true, Description: "The document: JSON itself, not a string of JSON."},
		},
		run: (*Server).stateCreate,
	},
	{
		name: "state_read", title: "Read the shared state", readOnly: true, shares: true,
		description: "The workflow state that this session shares, with its version, or only the parts that pointers name.",
		params: []arguments.Param{
			{
				Name: "pointers", Kind: document.Array, Each: arguments.Element{Kind: document.String, Max: maxPointers, MaxBytes: maxPointer},
				Description: "JSON Pointers (RFC 6901) of the parts to read, such as /tasks/0/status; the whole state by default.",
			},
			{Name: "version", Kind: document.Number, Description: "The state at this version; the current version by default."},
		},
		run: (*Server).stateRead,
	},
	{
		name: "state_patch", title: "Patch the shared state", destructive: true, shares: true,
		description: "Applies a JSON Patch (RFC 6902) to the current shared workflow state: all operations or none. " +
			"Concurrent changes of other sessions are kept, so prefer it to state_update.",
		params: []arguments.Param{
			{
				Name: "operations", Kind: document.Array, Required: true, Each: arguments.Element{Kind: document.Object, More: operationSchema},
				Description: `The operations, such as {"op": "replace", "path": "/tasks/0/status", "value": "done"}.`,
			},
			expectedVersion,
		},
		run: (*Server).statePatch,
	},
	{
		name: "state_update", title: "Replace the shared state", destructive: true, shares: true,
		description: "Replaces the whole shared workflow state. Without expected_version, it overwrites changes that others have made since it was read.",
		params: []arguments.Param{
			{Name: "data", Required: true, Description: "The new document: JSON itself, not a string of JSON."},
			expectedVersion,
		},
		run: (*Server).stateUpdate,
	},
	{
		name: "state_schema", title: "Schema of the shared state", readOnly: true, shares: true,
		description: "The JSON Schema that the shared workflow state conforms to, and the version that the state is at.",
		run:         (*Server).stateSchema,
	},
}

var expectedVersion = arguments.Param{
	Name: "expected_version", Kind: document.Number,
	Description: "The version that this change is based on: refused if the state is at another version.",
}

// operationSchema describes an operation to clients. The state-store reads operations,
// and names the problems of one.
var operationSchema = map[string]any{
	"properties": map[string]any{
		"op":    map[string]any{"type": "string", "enum": []string{"add", "remove", "replace", "move", "copy", "test"}},
		"path":  map[string]any{"type": "string", "description": "JSON Pointer of the location; /list/- is after the last element."},
		"from":  map[string]any{"type": "string", "description": "JSON Pointer, of move and copy."},
		"value": map[string]any{"description": "JSON value, of add, replace and test."},
	},
	"required": []string{"op", "path"},
}

// Limits of pointers, as the contract has them.
const (
	maxPointers = 256
	maxPointer  = 4096
)

// takes returns the arguments of a tool: its own, and the name of a subagent where the
// tool is about a session.
func (t *ownTool) takes() []arguments.Param {
	if !t.acts && !t.shares {
		return t.params
	}
	return append(t.params[:len(t.params):len(t.params)], agentParam)
}

// toolbox is the own tools under a prefix.
type toolbox struct {
	prefix, statePrefix string
	shell               string // the name of the shell tool; empty without one

	byName map[string]*ownTool
	list   []*sdk.Tool
}

// ownTools lists the tools about workflows under one prefix, and those about shared states
// under another (S15.8).
func ownTools(prefix, statePrefix string) toolbox {
	box := toolbox{prefix: prefix, statePrefix: statePrefix, byName: map[string]*ownTool{}}
	for _, t := range slices.Concat(ownToolTable, humanToolTable, stateToolTable, sessionToolTable) {
		name := prefix + t.name
		if t.shares {
			name = statePrefix + t.name
		}
		box.byName[name] = t
		box.list = append(box.list, t.described(name, false))
	}
	return box
}

// described returns the entry of a tool in lists; open is true where it reaches beyond Interlock.
func (t *ownTool) described(name string, open bool) *sdk.Tool {
	destructive := t.destructive
	return &sdk.Tool{
		Name: name, Title: t.title, Description: t.description, InputSchema: arguments.Schema(t.takes()),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.readOnly, DestructiveHint: &destructive, OpenWorldHint: &open},
	}
}

// reserves reports whether a plain name belongs to Interlock, under any prefix in use.
func (b toolbox) reserves(name string) bool {
	for _, prefix := range []string{b.prefix, b.statePrefix} {
		if bare, ok := strings.CutPrefix(name, prefix); ok && reserved[bare] {
			return true
		}
	}
	return toolcall.Own(name) || name == b.shell && name != ""
}

// callOwn checks the arguments and runs an own tool. Every failure is a result
// that the agent can read.
func (s *Server) callOwn(ctx context.Context, c caller.Caller, tool *ownTool, raw json.RawMessage) *sdk.CallToolResult {
	prefix := s.cfg.ToolPrefix
	if tool.shares {
		prefix = s.cfg.StatePrefix
	}
	args, err := arguments.Parse(raw, prefix+tool.name, tool.takes())
	if err != nil {
		return reply.Refusal{Code: reply.CodeInvalidArgument, Message: err.Error()}.Result()
	}
	ctx, cancel := context.WithTimeout(c.Outgoing(ctx), max(tool.longest, longestWait)+ownMargin)
	defer cancel()
	var refused *reply.Refusal
	switch {
	case tool.acts:
		c, refused = s.actor(ctx, c, args)
	case tool.shares:
		c, refused = s.sharer(ctx, c, args)
	}
	if refused != nil {
		return refused.Result()
	}
	return s.resumed(tool, tool.run(s, ctx, c, args))
}

// metaResume is where results of the tools for shared states have the reason why the
// agent was resumed.
const metaResume = "interlock.run/resume"

// resumed adds that to a result (S15.5): a client of an agent that a runner has resumed
// finds it there as data, even if the agent ignores its prompt.
func (s *Server) resumed(tool *ownTool, result *sdk.CallToolResult) *sdk.CallToolResult {
	if !tool.shares || len(s.cfg.Resume) == 0 {
		return result
	}
	if result.Meta == nil {
		result.Meta = sdk.Meta{}
	}
	result.Meta[metaResume] = s.cfg.Resume
	return result
}

// ownMargin is the time of an own tool in addition to the time that it may wait.
const ownMargin = 30 * time.Second

// newCallID returns an id for one call.
func newCallID() string { return typeid.New(typeid.Call) }
