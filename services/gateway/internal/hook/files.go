package hook

import (
	"path/filepath"
	"strings"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
)

// maxFiles is how many files one report may name.
const maxFiles = 10_000

// place adds the folder that the agent works in to a check, and where links of this machine lead from the files of the
// call: a rule about files counts both (S21.11).
func (ev *event) place(call *policyv1.CheckToolCallRequest, workspace string, local bool) {
	call.Folder = ev.WorkingDir
	if local {
		call.RealNames = realpath.Names(call.GetTool(), call.GetInput(), workspace, call.GetFolder())
	}
}

// filesChanged names the files that a successful call has changed by facts that the
// enforcer, which has the input, cannot know: the folder that the agent worked in and, on
// this machine, where links lead and how names are really written. Tools of
// meta.edit_tools only the enforcer knows.
func (ev *event) filesChanged(workspace string, local bool) []string {
	if ev.WorkingDir == "" {
		return nil
	}
	root := pathglob.RootOf(ev.WorkingDir)
	named := toolcall.NamedFiles(root, toolcall.Call{Tool: ev.Tool, Input: ev.input()})
	var files []string
	for _, file := range named[:min(len(named), maxFiles/2)] {
		if !root.Outside(file) {
			file = strings.TrimRight(ev.WorkingDir, `/\`) + "/" + file
		}
		files = append(files, file)
		if !local {
			continue
		}
		other := realpath.Within(workspace, realpath.Of(file))
		if !filepath.IsAbs(other) {
			other = strings.TrimRight(workspace, `/\`) + "/" + other
		}
		if other != file {
			files = append(files, other)
		}
	}
	return files
}
