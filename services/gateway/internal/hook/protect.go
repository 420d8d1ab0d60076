package hook

import (
	"context"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
)

// protected describes why a call is denied that would reach Interlock itself, or is empty (S13). Sessions
// without a run are held to it too. Where the files are this machine's, the names in the input count by where
// links lead. level is that of the jail which is sure to hold the line.
func (h *Handler) protected(ev *event, local bool, level jail.Level) string {
	call := toolcall.Call{Tool: ev.Tool, Input: ev.input(), Places: h.Places, Jail: level}
	call.Places.Folder = ev.WorkingDir
	if local {
		call.Places.Real = realpath.Of
	}
	_, why := toolcall.Protected(nil, nil, call)
	if why == "" {
		return ""
	}
	return toolcall.ProtectedMessage(ev.Tool, why)
}

// heldByJail takes the hook's own refusal back where it is for a possible effect of a line, and the jail in which the state
// would run the line holds that (S20.5).
func (h *Handler) heldByJail(ctx context.Context, ev *event, opts Options, stray string, call *policyv1.CheckToolCallRequest) (bool, error) {
	if call.GetDeniedBecause() == "" || opts.Refused != "" || stray != "" || call.GetJailLevel() < int32(jail.Full) ||
		h.protected(ev, opts.Local, jail.Full) != "" {
		return false, nil
	}
	d, err := h.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		SessionId: call.GetSessionId(), Tool: call.GetTool(), Input: call.GetInput(), Folder: call.GetFolder(), RealNames: call.GetRealNames(), JailLevel: call.GetJailLevel(), DryRun: true,
	})
	if err != nil {
		return false, err
	}
	if d.GetDecision() != policyv1.Decision_DECISION_DENY && d.GetJail().GetLevel() < int32(jail.Full) {
		return false, nil
	}
	call.DeniedBecause = "" // where the state denies the line, its reason is the better one
	return true, nil
}
