package hook

import (
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
)

// protected says why a call is denied that would reach Interlock itself, or is empty
// (S13). Sessions without a run are held to it too. Where the files are this machine's,
// the names in the input count by where links lead.
func (h *Handler) protected(ev *event, local bool) string {
	call := toolcall.Call{Tool: ev.Tool, Input: ev.input(), Places: h.Places}
	call.Places.Folder = ev.WorkingDir
	_, why := toolcall.Protected(nil, nil, call)
	if why == "" && local && !toolcall.Shell(nil, ev.Tool) {
		_, why = toolcall.Protected(nil, nil, ev.followed(call))
	}
	if why == "" {
		return ""
	}
	return toolcall.ProtectedMessage(ev.Tool, why)
}

// followed is a call with the names in its input as they are without links.
func (ev *event) followed(call toolcall.Call) toolcall.Call {
	var input map[string]any
	if json.Unmarshal(call.Input, &input) != nil || ev.WorkingDir == "" {
		return call // it has been judged as it is
	}
	for _, key := range []string{"file_path", "notebook_path", "path", "directory", "folder", "source", "destination"} {
		name, ok := input[key].(string)
		if !ok || name == "" {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(ev.WorkingDir, name)
		}
		input[key] = realpath.Of(name)
	}
	if data, err := json.Marshal(input); err == nil {
		call.Input = data
	}
	return call
}
