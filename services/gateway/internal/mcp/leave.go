package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

func (s *Server) pause(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	return s.leave(ctx, c, func(runID, key string) error {
		_, err := s.cfg.Runs.PauseRun(ctx, &enginev1.PauseRunRequest{RunId: runID, Reason: args.str("reason"), IdempotencyKey: key})
		return err
	}, "Paused")
}

func (s *Server) deactivate(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	return s.leave(ctx, c, func(runID, key string) error {
		_, err := s.cfg.Runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: runID, Reason: args.str("reason"), IdempotencyKey: key})
		return err
	}, "Deactivated")
}

// leave ends or pauses the run that the caller drives, not one that this has
// invoked. The engine refuses it where enforcement is always on (S6.6).
func (s *Server) leave(ctx context.Context, c caller, do func(runID, key string) error, done string) *sdk.CallToolResult {
	at, none := s.driven(ctx, c)
	if none != nil {
		return none
	}
	key, err := mint()
	if err != nil {
		return refuseFault(err, "").result()
	}
	if err := do(at.asked, key); err != nil {
		return refuseFault(err, "Not done").result()
	}
	s.sessions.moved(c, at.asked, at.run.GetRunId())
	res, err := s.cfg.Runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: at.asked})
	if err != nil {
		return answer(done+".", map[string]any{"run_id": at.asked})
	}
	return answer(done+".\n"+brief.State(res.GetRun(), s.cfg.ToolPrefix), viewRun(res.GetRun()))
}
