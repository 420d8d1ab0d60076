package mcp

import (
	"encoding/json"

	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
)

// realNames are the real names of the files that a call has changed, where they
// are other than those in its input, which the enforcer has read. They can be had
// where the workspace is on this machine, as that of `interlock mcp` is.
func realNames(workspace, tool string, input json.RawMessage) []string {
	if workspace == "" {
		return nil
	}
	root := pathglob.RootOf(workspace)
	var found []string
	for _, name := range toolcall.NamedFiles(root, toolcall.Call{Tool: tool, Input: input}) {
		file := name
		if !root.Outside(name) {
			file = workspace + "/" + name
		}
		if real := realpath.Within(workspace, realpath.Of(file)); real != name {
			found = append(found, real)
		}
	}
	return found
}
