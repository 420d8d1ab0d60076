package hook

import (
	"cmp"
	"context"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
)

// reasonToDeny returns why the hook denies a call itself: the enforcer does not know the folder of the
// agent, where links lead, the workflow that the hook was set up for, or which client asks. Empty
// when it does not. The enforcer records it (S13.12).
func (h *Handler) reasonToDeny(ev *event, opts Options, stray string) string {
	if toolcall.Own(ev.Tool) {
		return ""
	}
	return cmp.Or(opts.Refused, stray, h.selfProtection(ev, opts.Local, jail.None))
}

// selfProtection returns why a call is denied that would reach Interlock itself, or is empty (S13). Sessions
// without a run are held to it too. Where the files are this machine's, the names in the input count by where
// links lead. level is that of the jail which is sure to hold the line.
func (h *Handler) selfProtection(ev *event, local bool, level jail.Level) string {
	call := toolcall.Call{Tool: ev.Tool, Input: ev.input(), Places: h.Places, Jail: level}
	call.Places.Folder = ev.WorkingDir
	if local {
		call.Places.Real = realpath.Of
	}
	_, why := toolcall.SelfProtected(nil, nil, call)
	if why == "" {
		return ""
	}
	return toolcall.SelfProtectedMessage(ev.Tool, why)
}

// heldByJail reports that the hook denies a line for a possible effect alone, and that the jail in which the state
// would run the line keeps it from that (S20.5).
func (h *Handler) heldByJail(ctx context.Context, ev *event, opts Options, q question) (bool, error) {
	if q.req.GetDeniedBecause() == "" || q.elsewhere || q.req.GetJailLevel() < int32(jail.Full) ||
		h.selfProtection(ev, opts.Local, jail.Full) != "" {
		return false, nil
	}
	d, err := h.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		SessionId: q.req.GetSessionId(), Tool: q.req.GetTool(), Input: q.req.GetInput(), Folder: q.req.GetFolder(), RealNames: q.req.GetRealNames(),
		JailLevel: q.req.GetJailLevel(), DryRun: true,
	})
	if err != nil {
		return false, err
	}
	return d.GetDecision() == policyv1.Decision_DECISION_DENY || d.GetJail().GetLevel() >= int32(jail.Full), nil
}
