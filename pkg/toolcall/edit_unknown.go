package toolcall

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// measureUnknown measures the change by a call of an unknown tool where the state limits
// edits, or nil when its input does not look like an edit: it names a file, or the tool does, and
// carries text. It counts all that could be text of the file (S3.6).
func measureUnknown(m *workflow.Machine, state *workflow.StateView, call Call) *toolinput.Change {
	if state.MaxEditLines == 0 && state.MaxFilesPerState == 0 ||
		toolname.Known(call.Tool) || isShell(state, call.Tool) || readsOnly(m, nil, call, "") {
		return nil
	}
	v, ok := toolinput.Read(call.Input)
	if !ok {
		return nil // it is denied as invalid, or is empty
	}
	c := &carried{ofFiles: strings.Contains(toolWord(call.Tool), "file")}
	c.object(v)
	ofFiles := len(c.Paths) > 0 || c.ofFiles
	if !ofFiles || !c.long && (!c.text || reads(call.Tool)) {
		return nil
	}
	if len(c.Paths) == 0 {
		c.SetCause("it names no file by a name that is known, such as \"path\"; the author of the workflow can describe the tool in meta.edit_tools, or list it in meta.read_tools")
	}
	return &c.Change
}

// carried is the text and the files of an input.
type carried struct {
	toolinput.Change
	// ofFiles is true of tools whose name says so: from and to are files then.
	ofFiles bool

	text bool // by a name of a file's text
	long bool // of several lines
}

func (c *carried) object(v document.Value) {
	var before, after int64
	for name, value := range v.Members() {
		switch means := toolinput.MeaningOf(name); {
		case value.Kind() == document.Array && (means == toolinput.ContentText || means == toolinput.NewText || toolWord(name) == "lines"):
			c.list(value)
		case value.Kind() == document.Array && means == toolinput.PathText:
			c.files(value)
		case value.Kind() != document.String:
			c.inside(value)
		case (means == toolinput.PathText || c.ofFiles && (means == toolinput.FromText || means == toolinput.ToText)) && !strings.ContainsAny(value.Str(), "\r\n"):
			c.Paths = append(c.Paths, value.Str())
		case means == toolinput.OldText:
			before += toolinput.CountLines(value.Str())
			c.text = true
		case means == toolinput.NewText:
			after += toolinput.CountLines(value.Str())
			c.text = true
		case means == toolinput.ContentText || means == toolinput.PatchText:
			c.Lines += toolinput.CountLines(value.Str())
			c.text = true
		default:
			c.other(value.Str())
		}
	}
	c.Lines += max(before, after)
	c.long = c.long || max(before, after) > 1 || c.Lines > 1
}

// list counts a list of lines, each of which is at least one, however it is written.
func (c *carried) list(v document.Value) {
	for _, element := range v.Elements() {
		switch element.Kind() {
		case document.String:
			c.Lines += max(1, toolinput.CountLines(element.Str()))
		case document.Array:
			c.list(element)
		default:
			before := c.Lines
			c.inside(element)
			c.Lines = max(c.Lines, before+1)
		}
		c.text = true
	}
}

// files takes the names of a list of files.
func (c *carried) files(v document.Value) {
	for _, element := range v.Elements() {
		switch {
		case element.Kind() == document.Array:
			c.files(element)
		case element.Kind() == document.String && !strings.ContainsAny(element.Str(), "\r\n"):
			c.Paths = append(c.Paths, element.Str())
		default:
			c.inside(element)
		}
	}
}

func (c *carried) inside(v document.Value) {
	switch v.Kind() {
	case document.String:
		c.other(v.Str())
	case document.Array:
		for _, element := range v.Elements() {
			c.inside(element)
		}
	case document.Object:
		c.object(v)
	default:
	}
}

// other counts a text by a name without a meaning, if it has several lines.
func (c *carried) other(text string) {
	if n := toolinput.CountLines(text); n > 1 {
		c.Lines += n
		c.long = true
	}
}
