package hook

import (
	"context"
	"fmt"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/subagent"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// stop lets an agent stop, but for two reasons: a subagent's branch that could
// continue, because its fork would never join, and a shared state that has not been
// updated (S11.2). The services are asked for others too, so that an unreachable
// Interlock is noticed.
//
// Neither keeps an agent going forever. The branch is a reason the first time only, and
// the state-store counts how often it asks. An undecidable event blocks the first time
// only, too: see stoppedBefore.
func (h *Handler) stop(ctx context.Context, ev *event) (outcome, error) {
	at, err := h.binding(ctx, ev, "")
	switch {
	case err != nil:
		return outcome{}, err
	case at != nil && at.subagent && !ev.stoppedBefore() && canMove(at.run):
		return outcome{goOn: openBranch(at.run)}, nil
	}
	prompt, err := h.report(ctx, ev)
	if err != nil || prompt == "" {
		return outcome{}, err
	}
	return outcome{goOn: prompt}, nil
}

func canMove(run *enginev1.Run) bool {
	return run.GetStatus() == enginev1.RunStatus_RUN_STATUS_RUNNING && !run.GetBranchOver()
}

func openBranch(run *enginev1.Run) string {
	branch := "Your branch"
	if name := run.GetBranch(); name != "" {
		branch += fmt.Sprintf(" %q", name)
	}
	return branch + " has not ended. Complete it, or stop again to leave it open.\n" + brief.Injected(run)
}

// report informs the state-store that an agent stops, and returns the work that the agent
// must do first; empty when it may stop, or shares no state.
func (h *Handler) report(ctx context.Context, ev *event) (string, error) {
	child, err := h.child(ctx, ev)
	if err != nil || child == nil {
		return "", err
	}
	stopped, err := h.Sessions.StopSession(ctx, &statev1.StopSessionRequest{SessionId: child.GetSessionId(), InPlace: true})
	if err != nil {
		return "", err
	}
	return abridged(stopped.GetPrompt(), brief.MaxBytes), nil
}

// child returns the session that an agent's stop is the end of; nil for none. The root of
// a tree has no parent to report to, and the end of its turn is not its end: its user
// continues with it.
func (h *Handler) child(ctx context.Context, ev *event) (*statev1.Session, error) {
	switch {
	case h.Sessions == nil:
		return nil, nil
	case ev.AgentID != "":
		return subagent.Join(ctx, h.Sessions, ev.SessionID, ev.AgentID)
	case ev.kind == hookevent.SubagentStop:
		return nil, nil // an agent that does not say which subagent
	}
	got, err := h.Sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: ev.SessionID})
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case got.GetSession().GetParentSessionId() == "":
		return nil, nil
	}
	return got.GetSession(), nil
}

// working informs the state-store of an agent that begins to work, perhaps anew: its user
// has prompted it, or an agent has started it as its subagent. A runner's prompt is such
// a one too, of which the state-store knows.
func (h *Handler) working(ctx context.Context, ev *event) error {
	if h.Sessions == nil {
		return nil
	}
	name := ev.SessionID
	switch {
	case ev.kind == hookevent.SubagentStart && ev.AgentID != "":
		child, err := subagent.Join(ctx, h.Sessions, ev.SessionID, ev.AgentID)
		if err != nil || child == nil || child.GetStatus() == statev1.SessionStatus_SESSION_STATUS_RUNNING {
			return err
		}
		name = child.GetSessionId()
	case ev.kind != hookevent.Prompt:
		return nil
	}
	_, err := h.Sessions.ResumeSession(ctx, &statev1.ResumeSessionRequest{SessionId: name})
	switch fault.ReasonOf(err) {
	case fault.NotFound, fault.SessionBusy:
		return nil
	default:
		return err
	}
}
