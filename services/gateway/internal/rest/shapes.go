package rest

import (
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// The shapes of the answers, which the command line and MCP share.
type (
	// Run is one instance of a workflow.
	Run = jsonview.Run
	// LegalEvent is one event that the current state defines.
	LegalEvent = jsonview.LegalEvent
	// GuardResult is the outcome of one guard.
	GuardResult = jsonview.GuardResult
	// Rejection says why a transition was refused.
	Rejection = jsonview.Rejection
	// HistoryEntry is one change of a run.
	HistoryEntry = jsonview.HistoryEntry
	// Workflow is one version of a workflow.
	Workflow = jsonview.Workflow
	// CheckResponse is the decision on a tool call.
	CheckResponse = jsonview.Decision

	// Interrupted tells of an interrupt that has fired.
	Interrupted = jsonview.Interrupted

	// Process is one version of a process.
	Process = jsonview.Process
	// Turn is where a session of a process stands.
	Turn = jsonview.Turn
	// Approval is one question to humans.
	Approval = jsonview.Approval
	// Policy is one version of a policy.
	Policy = jsonview.Policy
	// Usage is what one limit of a policy has counted.
	Usage = jsonview.Usage
	// DecisionRecord is one decision as the log keeps it.
	DecisionRecord = jsonview.DecisionRecord
	// SimulatedChange is a recorded call that would be decided otherwise.
	SimulatedChange = jsonview.SimulatedChange
	// ChainReport is what the verification of one hash chain has found.
	ChainReport = jsonview.ChainReport

	// Schema is one version of a JSON Schema.
	Schema = jsonview.Schema
	// State is a document that a tree of sessions shares.
	State = jsonview.State
	// Session is one agent's conversation.
	Session = jsonview.Session
	// Task is one piece of work for a runner.
	Task = jsonview.Task
	// Component is the definition of a state component.
	Component = jsonview.Component
	// Execution is one use of a component's values.
	Execution = jsonview.Execution
)

// each is the JSON of every element.
func each[From, To any](list []From, view func(From) To) []To {
	out := make([]To, len(list))
	for i, element := range list {
		out[i] = view(element)
	}
	return out
}
