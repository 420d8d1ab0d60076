package toolcall

import "github.com/interlock-run/interlock/pkg/workflow"

// What denials of edits say.
const (
	unmeasured    = "this version of Interlock can not measure edits yet, and the state limits them by "
	byEditLines   = unmeasured + "max_edit_lines"
	byFiles       = unmeasured + "max_files_per_state"
	byEditsBudget = unmeasured + "context_budget_bytes"
)

// checkEdit applies the limits on edits (S3.6, S3.7). Edits are not measured in
// this version, so in a state that limits them every edit is denied.
func checkEdit(state *workflow.StateView, call Call) (Code, string) {
	if state.MaxEditLines == 0 && state.MaxFilesPerState == 0 && state.ContextBudgetBytes == 0 {
		return "", ""
	}
	if !edits(call.Tool) {
		return "", ""
	}
	switch {
	case state.MaxEditLines != 0:
		return CodeInvalidInput, byEditLines
	case state.MaxFilesPerState != 0:
		return CodeInvalidInput, byFiles
	default:
		return CodeInvalidInput, byEditsBudget
	}
}

// edits reports that a tool changes files by their content.
func edits(tool string) bool {
	var buf [longestFolded]byte
	switch string(folded(&buf, tool)) {
	case "edit", "write", "multiedit", "notebookedit", "editnotebook",
		"writefile", "editfile", "createfile", "createnewfile", "deletefile", "movefile",
		"writetofile", "replaceinfile", "inserteditintofile",
		"applypatch", "applydiff", "searchreplace", "replace",
		"strreplace", "strreplaceeditor", "strreplacebasededittool":
		return true
	default:
		return false
	}
}
