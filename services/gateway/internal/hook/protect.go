package hook

import (
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
)

// protected says why a call is denied that would reach Interlock itself, or is empty
// (S13). Sessions without a run are held to it too. Where the files are this machine's,
// the names in the input count by where links lead.
func (h *Handler) protected(ev *event, local bool) string {
	call := toolcall.Call{Tool: ev.Tool, Input: ev.input(), Places: h.Places}
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
