package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// supersededBy is the run that is driven instead of one that was asked for by its id,
// or "". Tools may be open in a run that is paused or has ended; they are not for a
// session that has gone on to another run, nor for the run that has invoked this one
// and goes on itself.
func (a *App) supersededBy(ctx context.Context, namespace string, run *workflow.Run) (string, error) {
	if run.Status != workflow.Paused && !run.Status.Ended() {
		return "", nil
	}
	root := run
	if run.Root() != run.ID {
		var err error
		if root, err = a.loadRun(ctx, runKey(namespace, run.Root())); err != nil {
			return "", err
		}
	}
	if root.SessionID != "" {
		binding, err := a.binding(ctx, namespace, root.SessionID)
		if err != nil {
			return "", err
		}
		now, _ := boundTo(binding)
		same, err := a.sameFamily(ctx, namespace, binding, root.ID)
		if err != nil {
			return "", err
		}
		if now != "" && !same {
			return now, nil
		}
	}
	if root != run && run.Status.Ended() && !root.Status.Ended() {
		return root.ID, nil
	}
	return "", nil
}
