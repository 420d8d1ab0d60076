package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// transition fires an event. The run before is only for describing the effects of the
// event: the engine decides on the present run.
func (s *Server) transition(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	data, err := transitionData(args)
	if err != nil {
		return refusal{Code: codeInvalidArgument, Message: err.Error()}.result()
	}
	before, none := s.driven(ctx, c)
	if none != nil {
		return none
	}
	res, err := s.cfg.Runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{
		RunId: c.RunID, SessionId: sessionOf(c), Event: args.str("event"), Data: data, IdempotencyKey: newCallID(),
	})
	if err != nil {
		return refuseFault(err, "Not done").result()
	}
	run := res.GetRun()
	if res.GetAccepted() {
		s.sessions.moved(c, before.asked, before.run.GetRunId(), run.GetRunId())
	} else {
		s.sessions.saw(c, listedIn(run))
	}
	switch {
	case res.GetRejection() != nil || !res.GetAccepted() && res.GetApprovalId() == "":
		return refuseRejection(res.GetRejection(), run).result()
	case res.GetApprovalId() != "" && (!res.GetAccepted() || run.GetApproval().GetPending()):
		return answer(s.parked(args.str("event"), res.GetApprovalId())+"\n"+brief.State(run, s.cfg.ToolPrefix),
			map[string]any{"accepted": res.GetAccepted(), "approval_id": res.GetApprovalId(), "run": viewRun(run)})
	}
	return s.accepted(ctx, c, args.str("event"), before, res)
}

// accepted returns the answer to an event that was accepted.
func (s *Server) accepted(ctx context.Context, c caller, event string, before position, res *enginev1.TransitionRunResponse) *sdk.CallToolResult {
	run := res.GetRun()
	lines := []string{"Accepted: " + event + "."}
	structured := map[string]any{"accepted": true, "run": viewRun(run)}
	if note := res.GetNote(); note != "" {
		lines = append(lines, "No change: "+note)
		structured["note"] = note
	} else {
		lines = append(lines, brief.Changes(before.run, run)...)
	}
	if res.GetApprovalId() != "" {
		structured["approval_id"] = res.GetApprovalId()
	}
	lines = append(lines, s.described(ctx, c, run, before.asked))
	return answer(strings.Join(lines, "\n"), structured)
}

// transitionData returns the data argument with the rationale in it (S2.8), as JSON.
func transitionData(args arguments) ([]byte, error) {
	data, ok := args.value("data")
	rationale, given := args.value("rationale")
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
func (s *Server) forceState(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	before, none := s.driven(ctx, c)
	if none != nil {
		return none
	}
	res, err := s.cfg.Runs.ForceState(ctx, &enginev1.ForceStateRequest{
		RunId: c.RunID, SessionId: sessionOf(c), State: args.str("state"), Context: args.json("context"), IdempotencyKey: newCallID(),
	})
	if err != nil {
		return refuseFault(err, "Not done").result()
	}
	run := res.GetRun()
	if !res.GetAccepted() {
		return refuseRejection(res.GetRejection(), run).result()
	}
	s.sessions.moved(c, before.asked, before.run.GetRunId(), run.GetRunId())
	return answer("Forced: the run has jumped from "+before.run.GetState()+" to "+run.GetState()+".\n"+brief.State(run, s.cfg.ToolPrefix),
		map[string]any{"accepted": true, "run": viewRun(run)})
}

func (s *Server) pause(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	return s.leave(ctx, c, func(runID string) error {
		_, err := s.cfg.Runs.PauseRun(ctx, &enginev1.PauseRunRequest{RunId: runID, Reason: args.str("reason"), IdempotencyKey: newCallID()})
		return err
	}, "Paused")
}

func (s *Server) deactivate(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	return s.leave(ctx, c, func(runID string) error {
		_, err := s.cfg.Runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: runID, Reason: args.str("reason"), IdempotencyKey: newCallID()})
		return err
	}, "Deactivated")
}

// leave ends or pauses the run that the caller drives, not one that this has
// invoked. The engine refuses it where enforcement is always on (S6.6).
func (s *Server) leave(ctx context.Context, c caller, do func(runID string) error, done string) *sdk.CallToolResult {
	at, none := s.driven(ctx, c)
	if none != nil {
		return none
	}
	if err := do(at.asked); err != nil {
		return refuseFault(err, "Not done").result()
	}
	s.sessions.moved(c, at.asked, at.run.GetRunId())
	res, err := s.cfg.Runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: at.asked})
	if err != nil {
		return answer(done+".", map[string]any{"run_id": at.asked})
	}
	return answer(done+".\n"+brief.State(res.GetRun(), s.cfg.ToolPrefix), viewRun(res.GetRun()))
}
