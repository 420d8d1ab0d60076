package toolcall

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Edits reports that a tool changes files by their content: only such calls fire
// interrupts (S4.1).
func Edits(m *workflow.Machine, tool string) bool {
	if _, mapped := m.Definition().Meta.EditTools[tool]; mapped {
		return true
	}
	return toolinput.FormsOf(tool) != 0
}

// NamedFiles returns the files that the input of a tool which edits names, clean and
// relative to a folder, each once; those outside of it by their absolute names. Tools of
// meta.edit_tools are not known here.
func NamedFiles(root pathglob.Root, call Call) []string {
	forms := toolinput.FormsOf(call.Tool)
	if forms == 0 {
		return nil
	}
	return forms.Measure(call.Input).CleanPaths(root)
}

// Files are the distinct names of the files that were counted in one entry of a
// state (S3.6): sorted, and never written to. It is a list in JSON; nil is none.
type Files []string

// Add counts the paths of one edit. It returns the files with them, those of them that
// are new, in the order given, and whether that is within most; 0 is no limit. Beyond the
// limit none is counted. Names that differ in a letter are two files, also where a file
// system takes them for one: that only counts more.
func (f Files) Add(paths []string, most int64) (files Files, added []string, ok bool) {
	seen := make(map[string]bool, len(paths))
	for _, path := range paths {
		if _, counted := slices.BinarySearch(f, path); !counted && !seen[path] {
			seen[path] = true
			added = append(added, path)
		}
	}
	if len(added) == 0 {
		return f, nil, true
	}
	if most > 0 && int64(len(f)+len(added)) > most {
		return f, added, false
	}
	files = slices.Concat(f, added)
	slices.Sort(files)
	return files, added, true
}
