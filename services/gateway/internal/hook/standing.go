package hook

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/standing"
)

// standing returns the line for the start of a session: whether Interlock enforces rules on its calls, and why not.
func (h *Handler) standing(ctx context.Context, ev *event, at *binding, opts Options) (string, error) {
	if at == nil {
		return h.standingWithoutRun(ctx, ev, opts)
	}
	stray, err := h.astray(ctx, at, opts.Workflow)
	if err != nil {
		return "", err
	}
	run := at.run
	status := fmt.Sprintf("run %s of workflow %s is %s", run.GetRunId(), document.Quote(run.GetWorkflow()), jsonview.StatusName(run.GetStatus()))
	switch {
	case stray != "":
		return "Interlock: enforcing. The session drives a run of another workflow, so only Interlock's own tools are allowed.", nil
	case brief.ToolStatusOf(run) == brief.Judged:
		return fmt.Sprintf("Interlock: enforcing workflow %s, state %s.", document.Quote(run.GetWorkflow()), document.Quote(run.GetState())), nil
	case brief.ToolStatusOf(run) == brief.Open:
		return "Interlock: NOT enforcing, because " + status + ": no state judges calls. Policies apply.", nil
	default:
		return "Interlock: enforcing. " + status + ", so its state allows no work.", nil
	}
}

// standingWithoutRun returns the line of a session that drives no run: policies may apply to it.
func (h *Handler) standingWithoutRun(ctx context.Context, ev *event, opts Options) (string, error) {
	judged, err := standing.Judged(ctx, h.Policy, ev.SessionID)
	switch {
	case err != nil:
		return "", err
	case opts.Observe && !judged:
		return "Interlock: NOT enforcing, because this workspace only observes: every call is recorded and allowed.", nil
	case opts.Observe:
		return "Interlock: enforcing policies, and no workflow, because this workspace observes: a call that no policy refuses is recorded and allowed.", nil
	case !judged:
		return "Interlock: NOT enforcing, because the workspace is set up for no workflow and no policy applies.", nil
	default:
		return "Interlock: enforcing policies, and no workflow.", nil
	}
}
