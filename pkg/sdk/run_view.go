package sdk

import (
	"encoding/json"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Run is one instance of a workflow, as far as its agent must know it.
type Run struct {
	ID              string
	Workflow        string
	WorkflowVersion int64
	Status          RunStatus
	State           string
	// Context is a JSON object.
	Context json.RawMessage
	// Version is bumped by every change.
	Version         int64
	TransitionCount int64
	SessionID       string
	Workspace       string
	// WorkspaceClaimed is true if the agent itself has named the workspace.
	WorkspaceClaimed bool

	// Instructions of the state.
	Instructions string
	// Model and ThinkingLevel are advice of the state to the agent's runtime; empty if
	// there is none. To follow them is the runtime's part.
	Model, ThinkingLevel string
	LegalEvents          []LegalEvent
	// ToolsRestricted is false when the state lets all tools pass.
	ToolsRestricted bool
	AllowedTools    []string
	DisallowedTools []string
	// Iterations counts the allowed tool calls in this entry of the state, of
	// MaxIterations; 0 for no limit.
	Iterations, MaxIterations int64
	// EnvOverrides and BlockedEnv are for the environment of tools: variables to set, and
	// variables to remove (S3.4).
	EnvOverrides map[string]string
	BlockedEnv   []string

	// Branch is the one that the state is of; empty outside of forks. Branches are
	// those of the fork that the run is in.
	Branch   string
	Branches []Branch
	// Interrupt is the one whose handler is at work; empty for none. ReturnTo is
	// the state that $return leads to (S4.2).
	Interrupt, ReturnTo string
	// Evidence has the observations that the workflow requires of Interlock (S14), and
	// OutputTools the tools whose results it reads.
	Evidence    []Evidence
	OutputTools []string
	// ParentID is the run that invoked this one; empty for none.
	ParentID string

	// Resumed says that Load has continued a paused run.
	Resumed bool
	// Note says why an accepted event has made no change; empty otherwise.
	Note string

	CreatedAt, UpdatedAt time.Time
}

// Evidence is an observation of Interlock, which agents cannot claim (S14).
type Evidence struct {
	Name string
	// Held is true when it counts now, Since when it was observed.
	Held  bool
	Since time.Time
	// VoidedBy names the act that voided it, Missing the missing part and how to get it,
	// and Needs the requirement.
	VoidedBy, Missing, Needs string
	// Tree is the digest of the files that it was witnessed on; empty when it is not bound to them.
	Tree string
}

// Branch of a fork (S5.1).
type Branch struct {
	Name   string
	Status BranchStatus
	State  string
	// SessionID is the session that it was given to; empty for none.
	SessionID string
}

// LegalEvent is one event that a state defines.
type LegalEvent struct {
	Event string
	// Targets are all states that it may lead to, in definition order.
	Targets []string
	// Guards are all that it may evaluate, in order.
	Guards           []string
	RequiresApproval bool
}

// Ended reports whether the run continues no more.
func (r *Run) Ended() bool { return r.Status.Ended() }

func runOf(r *enginev1.Run) *Run {
	rules := r.GetRules()
	run := &Run{
		ID: r.GetRunId(), Workflow: r.GetWorkflow(), WorkflowVersion: r.GetWorkflowVersion(),
		Status: RunStatus(word(r.GetStatus(), "RUN_STATUS_")), State: r.GetState(), Context: r.GetContext(),
		Version: r.GetVersion(), TransitionCount: r.GetTransitionCount(), SessionID: r.GetSessionId(), Workspace: r.GetWorkspace(), WorkspaceClaimed: r.GetWorkspaceClaimed(),
		Instructions: rules.GetInstructions(), Model: rules.GetModel(), ThinkingLevel: rules.GetThinkingLevel(), LegalEvents: legalEvents(rules.GetLegalEvents()),
		ToolsRestricted: rules.GetToolsRestricted(), AllowedTools: rules.GetAllowedTools(), DisallowedTools: rules.GetDisallowedTools(),
		Iterations: r.GetUsage().GetIterations(), MaxIterations: rules.GetMaxIterations(), BlockedEnv: rules.GetBlockedEnv(),
		Branch: r.GetBranch(), Interrupt: r.GetInterrupt().GetName(), ReturnTo: r.GetInterrupt().GetReturnTo(),
		ParentID: r.GetParentRunId(), CreatedAt: timeOf(r.GetCreatedAt()), UpdatedAt: timeOf(r.GetUpdatedAt()),
	}
	for _, v := range rules.GetEnvOverrides() {
		if run.EnvOverrides == nil {
			run.EnvOverrides = map[string]string{}
		}
		run.EnvOverrides[v.GetName()] = v.GetValue()
	}
	run.OutputTools = r.GetWorkflowMeta().GetOutputTools()
	for _, e := range r.GetEvidence() {
		run.Evidence = append(run.Evidence, Evidence{
			Name: e.GetName(), Held: e.GetHeld(), Since: timeOf(e.GetSince()), VoidedBy: e.GetVoidedBy(), Missing: e.GetMissing(), Needs: e.GetNeeds(), Tree: e.GetTree(),
		})
	}
	for _, b := range r.GetFork().GetBranches() {
		run.Branches = append(run.Branches, Branch{
			Name: b.GetName(), Status: BranchStatus(word(b.GetStatus(), "BRANCH_STATUS_")), State: b.GetState(), SessionID: b.GetSessionId(),
		})
	}
	return run
}

func legalEvents(events []*enginev1.LegalEvent) []LegalEvent {
	out := make([]LegalEvent, len(events))
	for i, e := range events {
		out[i] = LegalEvent{Event: e.GetEvent(), Targets: e.GetTargets(), Guards: e.GetGuards(), RequiresApproval: e.GetRequiresApproval()}
	}
	return out
}
