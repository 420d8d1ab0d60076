package realpath

import (
	"path"
	"path/filepath"
	"strings"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
)

// mostNames is how many real names one request has.
const mostNames = 256

// Names returns the real names of the files of a call that are not as its input says, on this machine (S21.11). The
// files of a tool that only a workflow or a policy describes are not known here.
func Names(tool string, input []byte, workspace, folder string) []*policyv1.RealName {
	facts := facet.Of(facet.Subject{Tool: tool, Input: input, Workspace: workspace, Folder: folder, SessionDepth: -1})
	seen := map[string]bool{}
	var names []*policyv1.RealName
	for _, e := range facts.Facet(condition.Files).Values {
		for _, reading := range append([]string{e.Value.Str()}, texts(e)...) {
			if seen[reading] || len(names) == mostNames {
				continue
			}
			seen[reading] = true
			if real := realName(reading, workspace, folder); real != reading {
				names = append(names, &policyv1.RealName{Name: reading, Real: real})
			}
		}
	}
	return names
}

func texts(e condition.Element) []string {
	all := make([]string, 0, len(e.Also))
	for _, other := range e.Also {
		all = append(all, other.Str())
	}
	return all
}

// realName returns the real name of a file by its clean one, as it is written relative to the workspace.
func realName(name, workspace, folder string) string {
	full := filepath.FromSlash(name)
	if !filepath.IsAbs(full) {
		base := workspace
		if base == "" {
			base = folder
		}
		if base == "" || name == ".." || strings.HasPrefix(name, "../") {
			return name
		}
		full = strings.TrimRight(base, `/\`) + "/" + name
	}
	real := Within(workspace, Of(full))
	if workspace == "" && real == path.Clean(filepath.ToSlash(full)) {
		return name
	}
	return real
}
