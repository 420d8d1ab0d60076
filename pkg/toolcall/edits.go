package toolcall

import (
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Edits reports that a tool changes files by their content: only such calls fire
// interrupts (S4.1).
func Edits(m *workflow.Machine, tool string) bool {
	if _, mapped := m.Definition().Meta.EditTools[tool]; mapped {
		return true
	}
	return formsOf(tool) != 0
}

// NamedFiles are the files that the input of a tool which edits names, clean and
// relative to a folder, each once; those outside of it by their absolute names.
// Tools of meta.edit_tools are not known here.
func NamedFiles(root pathglob.Root, call Call) []string {
	forms := formsOf(call.Tool)
	if forms == 0 {
		return nil
	}
	return measureKnown(forms, call.Input).cleanPaths(root)
}
