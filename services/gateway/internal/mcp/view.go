package mcp

import (
	"encoding/json"
	"strconv"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// runView is a run as clients see it, with the field names of the REST edge.
type runView struct {
	RunID           string          `json:"run_id"`
	Workflow        string          `json:"workflow"`
	WorkflowVersion int64           `json:"workflow_version"`
	Status          string          `json:"status"`
	State           string          `json:"state"`
	Context         json.RawMessage `json:"context"`
	Iterations      int64           `json:"iterations"`
	MaxIterations   *int64          `json:"max_iterations,omitempty"`
	IterationsLeft  *int64          `json:"iterations_left,omitempty"`
	TransitionCount int64           `json:"transition_count"`
	Version         int64           `json:"version"`
	SessionID       string          `json:"session_id,omitempty"`
	// AllowedTools is null where the state does not restrict tools.
	AllowedTools    []string         `json:"allowed_tools"`
	DisallowedTools []string         `json:"disallowed_tools,omitempty"`
	Instructions    string           `json:"instructions,omitempty"`
	LegalEvents     []legalEventView `json:"legal_events"`
	Held            bool             `json:"held,omitempty"`
	CreatedAt       string           `json:"created_at,omitempty"`
	UpdatedAt       string           `json:"updated_at,omitempty"`
}

type legalEventView struct {
	Event            string   `json:"event"`
	Targets          []string `json:"targets"`
	Guards           []string `json:"guards"`
	RequiresApproval bool     `json:"requires_approval"`
}

type guardView struct {
	Name     string          `json:"name"`
	Field    string          `json:"field"`
	Op       string          `json:"op"`
	Expected json.RawMessage `json:"expected,omitempty"`
	Actual   json.RawMessage `json:"actual,omitempty"`
}

func viewRun(run *enginev1.Run) runView {
	v := runView{
		RunID: run.GetRunId(), Workflow: run.GetWorkflow(), WorkflowVersion: run.GetWorkflowVersion(),
		Status: brief.Status(run.GetStatus()), State: run.GetState(), Context: validJSON(run.GetContext()),
		Iterations: run.GetIterations(), TransitionCount: run.GetTransitionCount(), Version: run.GetVersion(),
		SessionID: run.GetSessionId(), DisallowedTools: run.GetDisallowedTools(), Instructions: run.GetInstructions(),
		LegalEvents: viewEvents(run.GetLegalEvents()), Held: run.GetHeld(),
	}
	if run.GetToolsRestricted() {
		v.AllowedTools = append([]string{}, run.GetAllowedTools()...)
	}
	if limit := run.GetMaxIterations(); limit > 0 {
		left := max(limit-run.GetIterations(), 0)
		v.MaxIterations, v.IterationsLeft = &limit, &left
	}
	if t := run.GetCreatedAt(); t != nil {
		v.CreatedAt = t.AsTime().UTC().Format(time.RFC3339Nano)
	}
	if t := run.GetUpdatedAt(); t != nil {
		v.UpdatedAt = t.AsTime().UTC().Format(time.RFC3339Nano)
	}
	return v
}

func viewEvents(events []*enginev1.LegalEvent) []legalEventView {
	views := make([]legalEventView, len(events))
	for i, e := range events {
		views[i] = legalEventView{
			Event:            e.GetEvent(),
			Targets:          append([]string{}, e.GetTargets()...),
			Guards:           append([]string{}, e.GetGuards()...),
			RequiresApproval: e.GetRequiresApproval(),
		}
	}
	return views
}

func viewGuards(results []*enginev1.GuardResult) []guardView {
	var views []guardView
	for _, g := range results {
		if g.GetPassed() {
			continue
		}
		views = append(views, guardView{
			Name: g.GetName(), Field: g.GetField(), Op: g.GetOp(),
			Expected: optionalJSON(g.GetExpected()), Actual: optionalJSON(g.GetActual()),
		})
	}
	return views
}

// validJSON is raw, or an empty object for nothing; what is not JSON, which no
// service sends, is null rather than a broken answer.
func validJSON(raw []byte) json.RawMessage {
	switch {
	case len(raw) == 0:
		return json.RawMessage("{}")
	case !json.Valid(raw):
		return json.RawMessage("null")
	}
	return raw
}

func optionalJSON(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return validJSON(raw)
}

// guardText is one failed guard as a sentence.
func guardText(g guardView) string {
	text := "Guard " + g.Name + " failed: " + g.Field + " " + g.Op
	if g.Expected != nil {
		text += " " + clip(string(g.Expected), 256)
	}
	if g.Actual == nil {
		return text + ", but it is missing."
	}
	return text + ", but it is " + clip(string(g.Actual), 256) + "."
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
