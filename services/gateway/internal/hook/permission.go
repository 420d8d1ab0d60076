package hook

import (
	"cmp"
	"context"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// vetoPermission denies a call that the agent would ask its user about, where an earlier
// decision stands against it. It was counted then, and is not again: this check is a dry run.
func (h *Handler) vetoPermission(ctx context.Context, ev *event, opts Options) (outcome, error) {
	if toolcall.Own(ev.Tool) {
		return outcome{}, nil
	}
	jailed, err := ev.unwrap(opts)
	if err != nil {
		return outcome{}, err
	}
	session, workspace := ev.SessionID, ""
	at, err := h.binding(ctx, ev, "")
	switch {
	case err != nil:
		return outcome{}, err
	case at != nil:
		session, workspace = at.session, at.run.GetWorkspace()
	}
	call := &policyv1.CheckToolCallRequest{SessionId: session, Tool: ev.Tool, Input: ev.input(), DryRun: true}
	ev.place(call, workspace, opts.Local)
	if jailed {
		call.JailLevel = int32(opts.Jail.Level) //nolint:gosec // 0 to 3
	}
	d, err := h.Policy.CheckToolCall(ctx, call)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return outcome{}, nil
	case err != nil:
		return outcome{}, err
	case d.GetDecision() == policyv1.Decision_DECISION_DENY && !usedUp(d.GetCode()):
		return outcome{verdict: deny, reason: cmp.Or(d.GetMessage(), unexplained)}, nil
	}
	return outcome{}, nil
}

// usedUp reports a denial for a limit that calls use up: this one may have had the last
// of it.
func usedUp(code policyv1.DecisionCode) bool {
	switch code {
	case policyv1.DecisionCode_DECISION_CODE_MAX_ITERATIONS, policyv1.DecisionCode_DECISION_CODE_TOO_MANY_FILES,
		policyv1.DecisionCode_DECISION_CODE_RATE_LIMITED, policyv1.DecisionCode_DECISION_CODE_BUDGET_EXCEEDED,
		policyv1.DecisionCode_DECISION_CODE_CONTEXT_BUDGET:
		return true
	default:
		return false
	}
}
