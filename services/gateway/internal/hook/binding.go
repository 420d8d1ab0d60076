package hook

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/subagent"
)

// binding is the session of an event, and its run.
type binding struct {
	session string
	// subagent is true when the session is the subagent's own.
	subagent bool
	// run is the one whose rules are in force, target the id of the one that the session
	// drives: the same, or one that has invoked it.
	run    *enginev1.Run
	target string
}

// binding finds the session and the run of an event: that of a subagent is in its own session, when it was
// given a branch to work in (S5.3), or else in its agent's. It returns nil when neither
// drives a run and no workflow is named to start one of.
func (h *Handler) binding(ctx context.Context, ev *event, workflow string) (*binding, error) {
	if ev.AgentID != "" {
		if at, err := h.driven(ctx, subagent.Session(ev.SessionID, ev.AgentID)); at != nil || err != nil {
			if at != nil {
				at.subagent = true
			}
			return at, err
		}
	}
	at, err := h.driven(ctx, ev.SessionID)
	if at != nil || err != nil || workflow == "" {
		return at, err
	}
	return h.start(ctx, ev, workflow)
}

// driven returns the run that a session drives; nil if there is none.
func (h *Handler) driven(ctx context.Context, session string) (*binding, error) {
	got, err := h.Runs.GetRun(ctx, &enginev1.GetRunRequest{SessionId: session})
	if status.Code(err) == codes.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &binding{session: session, run: got.GetRun(), target: got.GetAskedRunId()}, nil
}

// start puts a session on a workflow.
func (h *Handler) start(ctx context.Context, ev *event, workflow string) (*binding, error) {
	started, err := h.Runs.StartRun(ctx, &enginev1.StartRunRequest{
		Workflow: workflow, SessionId: ev.SessionID, Workspace: ev.WorkingDir, IdempotencyKey: autostartKey,
	})
	if err != nil {
		return nil, err
	}
	// A repeat answers the run as it was when it was started.
	runID := started.GetRun().GetRunId()
	now, err := h.Runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: runID})
	if err != nil {
		return nil, err
	}
	if now.GetRun().GetStatus() == enginev1.RunStatus_RUN_STATUS_CANCELLED {
		return nil, nil // the session left the workflow, which its definition allows
	}
	return &binding{session: ev.SessionID, run: now.GetRun(), target: runID}, nil
}

// astray returns why calls of a binding are denied although its run may allow them: the
// hook was set up for one workflow, and the session drives a run of another. It is empty
// when the session is where it belongs. The outermost run counts, because the others end
// before it does and were invoked by its definition.
func (h *Handler) astray(ctx context.Context, at *binding, workflow string) (string, error) {
	if workflow == "" {
		return "", nil
	}
	root := at.run
	if id := root.GetRootRunId(); id != "" && id != root.GetRunId() {
		got, err := h.Runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: id})
		if err != nil {
			return "", err
		}
		root = got.GetRun()
	}
	if root.GetWorkflow() == workflow {
		return "", nil
	}
	return fmt.Sprintf("This session is set up for workflow %q, but drives run %s of workflow %q. "+
		"Only Interlock's own tools are allowed until it drives %q again: call load_workflow with name %q, "+
		"or ask the person who set up the hook.",
		workflow, root.GetRunId(), root.GetWorkflow(), workflow, workflow), nil
}
