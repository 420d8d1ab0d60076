package owntools

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
)

// transition fires an event. The run before is only for describing the effects of the
// event: the engine decides on the present run.
func (t *runTools) transition(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	data, err := transitionData(args)
	if err != nil {
		return reply.Refusal{Code: reply.CodeInvalidArgument, Message: err.Error()}.Result()
	}
	before, none := t.findDriven(ctx, c)
	if none != nil {
		return none
	}
	res, err := t.cfg.Runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{
		RunId: c.RunID, SessionId: c.NamedSession(), Event: args.Text("event"), Data: data, IdempotencyKey: newCallID(),
	})
	if err != nil {
		return reply.Fault(err, "Not done").Result()
	}
	run := res.GetRun()
	if res.GetAccepted() {
		t.cfg.Clients.NotifyMoved(c, before.Target, before.Run.GetRunId(), run.GetRunId())
	} else {
		t.cfg.Clients.NotifyRun(c, clients.ListingOf(run))
	}
	switch {
	case res.GetRejection() != nil || !res.GetAccepted() && res.GetApprovalId() == "":
		return reply.Rejection(res.GetRejection(), run).Result()
	case res.GetApprovalId() != "" && (!res.GetAccepted() || run.GetApproval().GetPending()):
		return reply.Answer(t.parkedText(args.Text("event"), res.GetApprovalId())+"\n"+brief.State(run, t.cfg.ToolPrefix),
			map[string]any{"accepted": res.GetAccepted(), "approval_id": res.GetApprovalId(), "run": viewRun(run)})
	}
	return t.answerAccepted(ctx, c, args.Text("event"), before, res)
}

// answerAccepted returns the answer to an event that was accepted.
func (t *runTools) answerAccepted(ctx context.Context, c caller.Caller, event string, before caller.Position, res *enginev1.TransitionRunResponse) *sdk.CallToolResult {
	run := res.GetRun()
	lines := []string{"Accepted: " + event + "."}
	structured := map[string]any{"accepted": true, "run": viewRun(run)}
	if note := res.GetNote(); note != "" {
		lines = append(lines, "No change: "+note)
		structured["note"] = note
	} else {
		lines = append(lines, brief.Changes(before.Run, run)...)
	}
	if res.GetApprovalId() != "" {
		structured["approval_id"] = res.GetApprovalId()
	}
	lines = append(lines, t.describe(ctx, c, run, before.Target))
	return reply.Answer(strings.Join(lines, "\n"), structured)
}

// transitionData returns the data argument with the rationale in it (S2.8), as JSON.
func transitionData(args arguments.Values) ([]byte, error) {
	data, ok := args.Value("data")
	rationale, given := args.Value("rationale")
	if given {
		if inside, twice := data.Get("rationale"); twice && !document.Equal(inside, rationale) {
			return nil, fmt.Errorf("the arguments %q and %q differ; give the rationale once", "rationale", "data.rationale")
		}
		if !ok {
			data = document.ObjectValue(nil)
		}
		data, ok = document.MergeTop(data, document.ObjectValue([]document.Member{{Name: "rationale", Value: rationale}})), true
	}
	if !ok {
		return nil, nil
	}
	return data.AppendJSON(nil), nil
}

// forceState jumps to a state, where the workflow allows it (S6.3).
func (t *runTools) forceState(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	before, none := t.findDriven(ctx, c)
	if none != nil {
		return none
	}
	res, err := t.cfg.Runs.ForceState(ctx, &enginev1.ForceStateRequest{
		RunId: c.RunID, SessionId: c.NamedSession(), State: args.Text("state"), Context: args.JSON("context"), IdempotencyKey: newCallID(),
	})
	if err != nil {
		return reply.Fault(err, "Not done").Result()
	}
	run := res.GetRun()
	if !res.GetAccepted() {
		return reply.Rejection(res.GetRejection(), run).Result()
	}
	t.cfg.Clients.NotifyMoved(c, before.Target, before.Run.GetRunId(), run.GetRunId())
	return reply.Answer("Forced: the run has jumped from "+before.Run.GetState()+" to "+run.GetState()+".\n"+brief.State(run, t.cfg.ToolPrefix),
		map[string]any{"accepted": true, "run": viewRun(run)})
}

func (t *runTools) pause(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	return t.leave(ctx, c, func(runID string) error {
		_, err := t.cfg.Runs.PauseRun(ctx, &enginev1.PauseRunRequest{RunId: runID, Reason: args.Text("reason"), IdempotencyKey: newCallID()})
		return err
	}, "Paused")
}

func (t *runTools) deactivate(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	return t.leave(ctx, c, func(runID string) error {
		_, err := t.cfg.Runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: runID, Reason: args.Text("reason"), IdempotencyKey: newCallID()})
		return err
	}, "Deactivated")
}

// leave ends or pauses the run that the caller drives, not one that this has
// invoked. The engine refuses it where enforcement is always on (S6.6).
func (t *runTools) leave(ctx context.Context, c caller.Caller, do func(runID string) error, done string) *sdk.CallToolResult {
	at, none := t.findDriven(ctx, c)
	if none != nil {
		return none
	}
	if err := do(at.Target); err != nil {
		return reply.Fault(err, "Not done").Result()
	}
	t.cfg.Clients.NotifyMoved(c, at.Target, at.Run.GetRunId())
	res, err := t.cfg.Runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: at.Target})
	if err != nil {
		return reply.Answer(done+".", map[string]any{"run_id": at.Target})
	}
	return reply.Answer(done+".\n"+brief.State(res.GetRun(), t.cfg.ToolPrefix), viewRun(res.GetRun()))
}
