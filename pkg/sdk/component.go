package sdk

import (
	"context"
	"fmt"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// keepValues ends an execution with the values that it has now, where those are others
// than at its beginning (S12.3).
func (c *Client) keepValues(ctx context.Context, task Task) error {
	e := task.Execution
	if e == nil || string(e.Values) == e.begun {
		return nil
	}
	// Finished work is kept, also when the runner is to end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	defer cancel()
	_, err := retry(ctx, c.components.CommitExecution, &statev1.CommitExecutionRequest{
		ExecutionId: e.ID, Session: task.SessionID, Change: &statev1.CommitExecutionRequest_Values{Values: e.Values},
	})
	if err != nil {
		return fmt.Errorf("keep the values of component %s: %w", e.Slug, fault.From(err))
	}
	return nil
}
