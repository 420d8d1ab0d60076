package toolcall

import (
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// edit is a change as the verdict shows it: cleaned paths, each once.
type edit struct {
	paths []string
	lines int64
}

// measure returns the changes of a call, or nil for one of a tool that edits no files.
func measure(m *workflow.Machine, call Call) *toolinput.Change {
	if tools := m.Definition().Meta.EditTools; len(tools) > 0 {
		if tool, ok := tools[call.Tool]; ok {
			return MeasureMapped(&tool, call.Input)
		}
	}
	if forms := toolinput.FormsOf(call.Tool); forms != 0 {
		return forms.Measure(call.Input)
	}
	return nil
}

// checkEdit applies the limit on the lines of an edit. The limit on files is for the
// caller that has counted those of this entry. Where one of the two applies, a change
// that cannot be measured is denied.
func checkEdit(at *workflow.View, state *workflow.StateView, c *toolinput.Change) (e edit, code Code, why string) {
	e.paths = c.CleanPaths(pathglob.RootOf(at.Workspace))
	if c.Wrong == "" {
		e.lines = c.Lines
	}
	switch {
	case state.MaxEditLines == 0 && state.MaxFilesPerState == 0:
	case c.Wrong != "":
		return e, CodeInvalidInput, "the state limits edits, and this one cannot be measured: " + c.Wrong
	case state.MaxEditLines == 0:
	case c.Unseen != "":
		return e, CodeInvalidInput, "the state limits the lines of an edit, and " + c.Unseen
	case c.Lines > state.MaxEditLines:
		return e, CodeEditTooLarge, ""
	}
	return e, "", ""
}
