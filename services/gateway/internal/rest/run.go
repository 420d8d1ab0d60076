package rest

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Run is one instance of a workflow (S6).
type Run struct {
	RunID           string         `json:"run_id"`
	Workflow        string         `json:"workflow"`
	WorkflowVersion int64          `json:"workflow_version"`
	Status          string         `json:"status" enum:"RUNNING,WAITING,AWAITING_APPROVAL,PAUSED,COMPLETED,FAILED,BLOCKED,CANCELLED"`
	State           string         `json:"state"`
	Context         jsontext.Value `json:"context" doc:"A JSON object, as the callers wrote it."`
	Iterations      int64          `json:"iterations" doc:"Allowed tool calls in this entry of the state."`
	TransitionCount int64          `json:"transition_count"`
	Version         int64          `json:"version" doc:"Bumped by every change; also the ETag."`
	SessionID       string         `json:"session_id"`
	// AllowedTools is nil when the state does not restrict tools.
	AllowedTools *[]string    `json:"allowed_tools" doc:"null when the state does not restrict tools."`
	Instructions string       `json:"instructions"`
	LegalEvents  []LegalEvent `json:"legal_events"`
	CreatedAt    time.Time    `json:"created_at"`
	UpdatedAt    time.Time    `json:"updated_at"`
}

// LegalEvent is one event that the current state defines.
type LegalEvent struct {
	Event            string   `json:"event"`
	Targets          []string `json:"targets" doc:"Every state that it may lead to, in definition order."`
	Guards           []string `json:"guards" doc:"Every guard that it may evaluate, in order."`
	RequiresApproval bool     `json:"requires_approval"`
}

// GuardResult is the outcome of one guard (S2.3).
type GuardResult struct {
	Name     string         `json:"name"`
	Field    string         `json:"field"`
	Op       string         `json:"op"`
	Expected jsontext.Value `json:"expected" doc:"The guard's value; null when the operator takes none."`
	Actual   jsontext.Value `json:"actual" doc:"The field's value; null when the field is missing."`
	Passed   bool           `json:"passed"`
}

// Rejection says why a transition was refused and what would be legal (S2.7).
type Rejection struct {
	Code        string        `json:"code"`
	Message     string        `json:"message" doc:"One sentence that an agent can act on."`
	Guards      []GuardResult `json:"guards" doc:"Every failing guard."`
	LegalEvents []LegalEvent  `json:"legal_events"`
}

// HistoryEntry is one change of a run (S6.4).
type HistoryEntry struct {
	RunVersion      int64          `json:"run_version" doc:"Version of the run after this change."`
	Time            time.Time      `json:"time"`
	Actor           string         `json:"actor"`
	Type            string         `json:"type"`
	Event           string         `json:"event,omitzero"`
	From            string         `json:"from,omitzero"`
	To              string         `json:"to,omitzero"`
	Data            jsontext.Value `json:"data,omitzero" doc:"A JSON object, as the caller wrote it."`
	Rationale       string         `json:"rationale,omitzero"`
	Guards          []GuardResult  `json:"guards,omitzero"`
	WorkflowVersion int64          `json:"workflow_version"`
	Status          string         `json:"status" doc:"Of the run after this change."`
	Reason          string         `json:"reason,omitzero"`
	SafeNext        bool           `json:"safe_next,omitzero" doc:"True when the state's safe_next was taken."`
}

// runOf is the JSON of a run.
func runOf(r *enginev1.Run) Run {
	run := Run{
		RunID: r.GetRunId(), Workflow: r.GetWorkflow(), WorkflowVersion: r.GetWorkflowVersion(),
		Status: runStatus(r.GetStatus()), State: r.GetState(), Context: jsontext.Value(r.GetContext()),
		Iterations: r.GetIterations(), TransitionCount: r.GetTransitionCount(), Version: r.GetVersion(),
		SessionID: r.GetSessionId(), AllowedTools: toolsOf(r.GetToolsRestricted(), r.GetAllowedTools()),
		Instructions: r.GetInstructions(), LegalEvents: legalEvents(r.GetLegalEvents()),
		CreatedAt: timeOf(r.GetCreatedAt()), UpdatedAt: timeOf(r.GetUpdatedAt()),
	}
	if len(run.Context) == 0 {
		run.Context = jsontext.Value("{}")
	}
	return run
}

// toolsOf is nil, hence null, when tools are not restricted.
func toolsOf(restricted bool, tools []string) *[]string {
	if !restricted {
		return nil
	}
	return &tools
}

func legalEvents(events []*enginev1.LegalEvent) []LegalEvent {
	out := make([]LegalEvent, len(events))
	for i, ev := range events {
		out[i] = LegalEvent{
			Event: ev.GetEvent(), Targets: ev.GetTargets(), Guards: ev.GetGuards(),
			RequiresApproval: ev.GetRequiresApproval(),
		}
	}
	return out
}

func guardResults(results []*enginev1.GuardResult) []GuardResult {
	if len(results) == 0 {
		return nil
	}
	out := make([]GuardResult, len(results))
	for i, g := range results {
		out[i] = GuardResult{
			Name: g.GetName(), Field: g.GetField(), Op: g.GetOp(),
			Expected: jsontext.Value(g.GetExpected()), Actual: jsontext.Value(g.GetActual()), Passed: g.GetPassed(),
		}
	}
	return out
}

func rejectionOf(r *enginev1.Rejection) *Rejection {
	if r == nil {
		return nil
	}
	return &Rejection{
		Code: strings.TrimPrefix(r.GetCode().String(), "REJECTION_CODE_"), Message: r.GetMessage(),
		Guards: guardResults(r.GetGuards()), LegalEvents: legalEvents(r.GetLegalEvents()),
	}
}

func historyOf(entries []*enginev1.HistoryEntry) []HistoryEntry {
	out := make([]HistoryEntry, len(entries))
	for i, h := range entries {
		out[i] = HistoryEntry{
			RunVersion: h.GetRunVersion(), Time: timeOf(h.GetTime()), Actor: h.GetActor(), Type: h.GetType(),
			Event: h.GetEvent(), From: h.GetFrom(), To: h.GetTo(), Rationale: h.GetRationale(),
			Guards: guardResults(h.GetGuards()), WorkflowVersion: h.GetWorkflowVersion(),
			Status: runStatus(h.GetStatus()), Reason: h.GetReason(), SafeNext: h.GetSafeNext(),
		}
		if len(h.GetData()) > 0 {
			out[i].Data = jsontext.Value(h.GetData())
		}
	}
	return out
}

const runStatusPrefix = "RUN_STATUS_"

func runStatus(s enginev1.RunStatus) string {
	return strings.TrimPrefix(s.String(), runStatusPrefix)
}

// runStatuses are the names of all statuses, in the contract's order.
func runStatuses() []string {
	var names []string
	for n := int32(1); ; n++ {
		name, ok := enginev1.RunStatus_name[n]
		if !ok {
			return names
		}
		names = append(names, strings.TrimPrefix(name, runStatusPrefix))
	}
}

// timeOf is a time in UTC, which JSON shows as RFC 3339.
func timeOf(ts *timestamppb.Timestamp) time.Time {
	if ts == nil {
		return time.Time{}
	}
	return ts.AsTime()
}
