package owntools

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/await"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/approvals"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// approvalView is an approval as the agent that waits for it sees it.
type approvalView struct {
	ApprovalID string `json:"approval_id,omitzero"`
	Pending    bool   `json:"pending"`
	Status     string `json:"status,omitzero"`
	Outcome    string `json:"outcome,omitzero"`
	// Link is where people decide it.
	Link string `json:"link,omitzero"`
	// Run is the run of the caller, when it drives one.
	Run *runView `json:"run,omitzero"`
}

// waitApproval waits for decisions of people (S9.5).
func (t *runTools) waitApproval(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	id := args.Text("approval_id")
	own := id == "" // it is that of the run
	if own {
		at, none := t.findLoaded(ctx, c)
		if none != nil {
			return none
		}
		if !at.Run.GetApproval().GetPending() {
			run := viewRun(at.Run)
			return reply.Answer("No transition of this run waits for an approval. To wait for that of a tool call, name it by approval_id, which the answer to that call has.\n"+
				brief.State(at.Run, t.cfg.ToolPrefix), approvalView{Run: &run})
		}
		id = at.Run.GetApproval().GetApprovalId()
	}
	if t.cfg.Approvals == nil {
		return reply.Refusal{Code: string(fault.Unavailable), Message: "this server is not connected to an approval service; " +
			t.cfg.ToolPrefix + "wait returns when a waiting run has changed"}.Result()
	}
	got, err := t.cfg.Approvals.GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: id})
	switch {
	case err == nil, fault.ReasonOf(err) == fault.Unavailable: // it is asked again below
	case own && reply.IsNotFound(err):
		// People have not been asked yet, because the approval service was away. The
		// engine asks later, and the run shows the outcome.
		return t.wait(ctx, c, args)
	default:
		return reply.Fault(err, "Not waited").Result()
	}
	approval := got.GetApproval()
	if !await.Decided(approval) {
		if invitation := t.cfg.Desk.Invite(c, id); invitation != nil {
			return invitation
		}
		limit := cmp.Or(time.Duration(args.Integer("timeout_seconds"))*time.Second, longestWait)
		if approval, err = t.cfg.Desk.Await(ctx, c, id, limit); err != nil {
			return reply.Fault(err, "Not waited").Result()
		}
	}
	return t.answerDecided(ctx, c, approval)
}

// answerDecided returns the answer to a caller that waited: the decision, if there is one, and
// the position of its run.
func (t *runTools) answerDecided(ctx context.Context, c caller.Caller, a *approvalv1.Approval) *sdk.CallToolResult {
	view := approvalView{
		ApprovalID: a.GetApprovalId(), Pending: !await.Decided(a), Outcome: a.GetOutcome(), Link: t.cfg.Desk.Link(a.GetApprovalId()),
		Status: jsonview.ApprovalStatus(a.GetStatus()),
	}
	lines := []string{approvals.Outcome(a)}
	if view.Pending {
		lines = append(lines, brief.Deciders(view.Link), "Call "+t.cfg.ToolPrefix+"wait_approval again to continue waiting.")
		return reply.Answer(strings.Join(lines, "\n"), view)
	}
	if edited := a.GetEditedData(); len(edited) > 0 {
		lines = append(lines, "An approver has changed the data to: "+reply.Clip(string(edited), 4096))
	}
	lines = append(lines, t.advice(a)...)
	run, moved, err := t.awaitSettled(ctx, c, a)
	switch {
	case err != nil:
		lines = append(lines, "The state of the run could not be read ("+fault.From(err).Message+"): look with "+t.cfg.ToolPrefix+"get_state.")
	case run != nil:
		if !moved {
			lines = append(lines, "The run has not continued yet: look with "+t.cfg.ToolPrefix+"get_state in a moment.")
		}
		if own := run.GetApproval(); own.GetApprovalId() == a.GetApprovalId() && own.GetOutcome() != enginev1.ApprovalOutcome_APPROVAL_OUTCOME_UNSPECIFIED {
			view.Status = protomap.Word(own.GetOutcome(), "APPROVAL_OUTCOME_") // the run knows first which acts could not be done any more
		}
		lines = append(lines, brief.State(run, t.cfg.ToolPrefix))
		shown := viewRun(run)
		view.Run = &shown
	}
	return reply.Answer(strings.Join(lines, "\n"), view)
}

// advice describes the use of a decision on a tool call. That on a transition shows in
// the run.
func (t *runTools) advice(a *approvalv1.Approval) []string {
	if a.GetKind() != approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL {
		return nil
	}
	switch a.GetStatus() {
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED:
		return []string{"Make exactly the same call again now: it is allowed once."}
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED:
		return []string{"The call stays denied. Do something else."}
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_USED:
		return []string{"You can make the call again: people are then asked again."}
	default:
		return []string{"The call was not accepted. To ask again, make it again."}
	}
}

// awaitSettled returns the run of the caller after a decision. It waits for the run to carry
// out the decision, which it does a moment later; moved is false when it has not in time.
// run is nil for callers that drive none.
func (t *runTools) awaitSettled(ctx context.Context, c caller.Caller, a *approvalv1.Approval) (run *enginev1.Run, moved bool, err error) {
	if !c.Bound() {
		return nil, true, nil
	}
	patience, cancel := context.WithTimeout(ctx, t.cfg.SettleWait)
	defer cancel()
	for {
		at, err := caller.Locate(ctx, t.cfg.Runs, c)
		switch {
		case err != nil && reply.IsNotFound(err):
			return nil, true, nil
		case err != nil:
			return nil, false, err
		case at.Run == nil:
			return nil, false, errors.New("the engine returned no run")
		}
		if !waitsOn(at.Run, a) {
			t.cfg.Clients.NotifyMoved(c, at.Target, a.GetRunId(), at.Run.GetRunId())
			return at.Run, true, nil
		}
		unchanged := run.GetVersion() == at.Run.GetVersion() // time is up, or there is no feed of changes
		if run = at.Run; unchanged || patience.Err() != nil {
			return run, false, nil
		}
		if err := t.awaitChange(patience, run, t.cfg.SettleWait); err != nil {
			return run, false, nil
		}
	}
}

// waitsOn reports whether a run still waits for an approval.
func waitsOn(run *enginev1.Run, a *approvalv1.Approval) bool {
	return run.GetApproval().GetPending() && run.GetApproval().GetApprovalId() == a.GetApprovalId()
}
