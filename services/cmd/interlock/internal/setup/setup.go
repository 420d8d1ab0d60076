// Package setup starts the workflow of a session's agent (S15.10). To do that again makes no change.
package setup

import (
	"context"
	"fmt"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Session starts the workflow of an agent in a session that has driven no run.
func Session(ctx context.Context, runs enginev1.RunServiceClient, session string, agent *statev1.AgentSpec) error {
	if agent.GetWorkflow() == "" {
		return nil
	}
	_, err := runs.GetRun(ctx, &enginev1.GetRunRequest{SessionId: session})
	if fault.ReasonOf(err) != fault.NotFound {
		return err // it drives a run, or has driven one
	}
	_, err = runs.StartRun(ctx, &enginev1.StartRunRequest{
		Workflow: agent.GetWorkflow(), SessionId: session, IdempotencyKey: "agent/" + agent.GetName(),
	})
	if err != nil {
		return fmt.Errorf("start workflow %s of agent %s: %w", agent.GetWorkflow(), agent.GetName(), err)
	}
	return nil
}
