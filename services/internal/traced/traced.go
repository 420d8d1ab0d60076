// Package traced reads the records of a run from the services, in the form for package
// verify.
package traced

import (
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/toolcall"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Change returns a change as the engine made it; false for the result of a tool.
func Change(h *jsonview.HistoryEntry) (workflow.HistoryEntry, bool) {
	if h.ToolResult != nil {
		return workflow.HistoryEntry{}, false
	}
	e := workflow.HistoryEntry{
		Time: h.Time, Actor: h.Actor, Type: h.Type, Event: h.Event, From: h.From, To: h.To, Data: valueOf(h.Data),
		Rationale:       h.Rationale,
		WorkflowVersion: h.WorkflowVersion, RunVersion: h.RunVersion, Status: workflow.Status(h.Status), Reason: h.Reason,
		SafeNext: h.SafeNext,
		Branch:   h.Branch, Interrupt: h.Interrupt, Files: h.Files, ChildRunID: h.ChildRunID, SessionID: h.SessionID,
		ApprovalID: h.ApprovalID,
	}
	if c := h.Cause; c != nil {
		e.Cause = &workflow.Cause{Kind: workflow.DueKind(c.Kind), After: time.Duration(c.AfterSeconds) * time.Second, Due: c.Due}
	}
	for _, cause := range h.HoldCauses {
		e.HoldCauses = append(e.HoldCauses, workflow.HoldCause(cause))
	}
	for i := range h.Guards {
		e.Guards = append(e.Guards, workflow.GuardResult{
			Name: h.Guards[i].Name, Field: h.Guards[i].Field,
			Op: h.Guards[i].Op, Passed: h.Guards[i].Passed,
		})
	}
	for i := range h.Joins {
		e.Joins = append(e.Joins, workflow.Join{Event: h.Joins[i].Event, To: h.Joins[i].To, Succeeded: h.Joins[i].Succeeded})
	}
	return e, true
}

func valueOf(text []byte) document.Value {
	if len(text) == 0 {
		return document.Value{}
	}
	v, _ := document.Parse(text, document.Limits{})
	return v
}

// Decision returns a recorded decision as it is decided again.
func Decision(d *jsonview.DecisionRecord) conform.Traced {
	t := conform.Traced{
		Sequence: d.Sequence, RunVersion: d.RunVersion, Time: d.Time, CallID: d.CallID, Branch: d.Branch, State: d.State,
		Tool:      d.Tool,
		Principal: d.Principal, Session: d.SessionID, Input: d.Input, Digest: d.InputDigest,
		Decision: toolcall.Decision(d.Decision), Code: toolcall.Code(d.Code), Approved: (d.ApprovalID != "" || d.LeaseID != "") &&
			d.Decision == "ALLOW",
	}
	if d.Jail != nil {
		t.Jail = jail.Level(d.Jail.Level)
	}
	if d.Policy != "" {
		t.Policy = conform.PolicyVersion{Name: d.Policy, Version: d.PolicyVersion}
	}
	if strings.HasPrefix(d.Capability, "mcp:") {
		t.Capability = d.Capability
	}
	if t.State == process.StateCompleted || t.State == process.StateBlocked {
		t.State = ""
	}
	return t
}
