package owntools

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
)

// workflowTable lists the tools about workflows, in the order in which they are
// listed; those about processes and approvals, and about shared states, follow them.
func (t *runTools) workflowTable() []*ownTool {
	return []*ownTool{
		{
			name: "get_state", title: "Current state", readOnly: true, acts: true,
			description: "Returns your present options: the workflow's state, its tools, instructions, limits and what remains of them, the legal events, " +
				"and whether an interrupt, branches of a fork or a child run are active.",
			run: t.getState,
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
			run: t.transition,
		},
		{
			name: "wait", title: "Wait", readOnly: true, acts: true,
			description: "While the run waits - for a human's approval, or for branches that others work in - waits until something has changed, " +
				"and returns the position of the run. Otherwise it returns at once.",
			params: []arguments.Param{
				{Name: "timeout_seconds", Kind: document.Number, Max: int64(longestWait / time.Second), Description: "How long to wait at most; 30 by default."},
			},
			run: t.wait,
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
			run: t.loadWorkflow,
		},
		{
			name: "list_workflows", title: "List workflows", readOnly: true,
			description: "The registered workflows and processes, with their latest versions.",
			run:         t.listWorkflows,
		},
		{
			name: "create_workflow", title: "Register a workflow",
			description: "Validates and registers a workflow definition under a new name.",
			params: []arguments.Param{
				{Name: "definition", Kind: document.Object, Required: true, Description: "The definition: id, initial, states, and optionally context, guards, interrupts, meta."},
			},
			run: t.createWorkflow,
		},
		{
			name: "get_status", title: "Status of the run", readOnly: true, acts: true,
			description: "The run that this session drives as a whole: its status, workflow and version, state, context, counts, and the run that it waits for.",
			run:         t.getStatus,
		},
		{
			name: "pause", title: "Pause the workflow", acts: true,
			description: "Saves the run that this session drives and stops enforcing it. load_workflow with resume continues it.",
			params: []arguments.Param{
				{Name: "reason", Kind: document.String, MaxBytes: 1024, Description: "Why, for the run's history."},
			},
			run: t.pause,
		},
		{
			name: "deactivate", title: "Leave the workflow", destructive: true, acts: true,
			description: "Ends the run that this session drives without finishing it. It cannot be resumed.",
			params: []arguments.Param{
				{Name: "reason", Kind: document.String, MaxBytes: 1024, Description: "Why, for the run's history."},
			},
			run: t.deactivate,
		},
		{
			name: "force_state", title: "Jump to a state", destructive: true, acts: true,
			description: "Jumps to any state of a workflow with meta.debug, past guards, counters and approvals. For recovery during development.",
			params: []arguments.Param{
				{Name: "state", Kind: document.String, Required: true, MaxBytes: 256, Description: "The state to jump to."},
				{Name: "context", Kind: document.Object, Description: "Values to merge into the context."},
			},
			run: t.forceState,
		},
	}
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

// humanTable lists the tools about the questions of processes (S8) and about
// approvals of people (S9).
func (t *runTools) humanTable() []*ownTool {
	return []*ownTool{
		{
			name: "process_step", title: "Answer the process", destructive: true, acts: true,
			description: "Answers the question of the process that this session is in; the reply is the next question with its answers, or the end. " +
				"Without answer it repeats the question.",
			params: []arguments.Param{
				{Name: "answer", Kind: document.String, MaxBytes: maxAnswer, Description: "One of the answers, exactly as they are written."},
				{Name: "note", Kind: document.String, MaxBytes: maxNote, Description: "Why, for the run's history and for the people who review it."},
			},
			run: t.processStep,
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
			run: t.waitApproval,
		},
	}
}

// stateTable lists the tools for the state that a tree of sessions shares
// (S10). None takes the id of a state or a session: those are the connection's.
func (t *sharedTools) stateTable() []*ownTool {
	return []*ownTool{
		{
			name: "state_create", title: "Create the shared state", shares: true,
			description: "Creates the workflow state that this session shares with the sessions started below it from then on: " +
				"a JSON document that conforms to a registered schema. Only the root of a tree creates it, once.",
			params: []arguments.Param{
				{Name: "schema_name", Kind: document.String, Required: true, MaxBytes: 256, Description: "The schema that the state always conforms to."},
				{Name: "schema_version", Kind: document.Number, Description: "A version of the schema; the latest by default."},
				{Name: "initial_data", Required: true, Description: "The document: JSON itself, not a string of JSON."},
			},
			run: t.stateCreate,
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
			run: t.stateRead,
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
			run: t.statePatch,
		},
		{
			name: "state_update", title: "Replace the shared state", destructive: true, shares: true,
			description: "Replaces the whole shared workflow state. Without expected_version, it overwrites changes that others have made since it was read.",
			params: []arguments.Param{
				{Name: "data", Required: true, Description: "The new document: JSON itself, not a string of JSON."},
				expectedVersion,
			},
			run: t.stateUpdate,
		},
		{
			name: "state_schema", title: "Schema of the shared state", readOnly: true, shares: true,
			description: "The JSON Schema that the shared workflow state conforms to, and the version that the state is at.",
			run:         t.stateSchema,
		},
	}
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
