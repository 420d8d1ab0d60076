package workflow

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// EditTool says where a tool that edits files has its arguments, so that its changes can
// be measured (meta.edit_tools, S3.6). Which fields it has follows from the kind; the
// others are empty.
type EditTool struct {
	Kind EditKind
	// Path is where the name of the file is. Of EditMany, it may be in each of the
	// edits instead; of EditPatch, it is for patches that name no file.
	Path Argument
	// Content is the later content of the file.
	Content Argument
	// Old and New are the text that is replaced, and its replacement. Of EditMany,
	// they are arguments of each of the Edits.
	Old, New Argument
	// Edits is a list of objects.
	Edits Argument
	// Patch is a patch in one of the forms that apply_patch takes.
	Patch Argument
	// From and To are the two names of a file that is moved.
	From, To Argument
}

// EditKind is how a tool edits.
type EditKind string

// The kinds.
const (
	EditWrite   EditKind = "write"
	EditReplace EditKind = "edit"
	EditMany    EditKind = "multi_edit"
	EditPatch   EditKind = "patch"
	EditDelete  EditKind = "delete"
	EditMove    EditKind = "move"
)

// Argument is where a value is in the input of a tool: the name of an argument,
// or a JSON Pointer when it begins with a slash. The empty Argument is nowhere.
type Argument string

// In returns the value, if it is there.
func (a Argument) In(input document.Value) (document.Value, bool) {
	switch {
	case a == "":
		return document.Value{}, false
	case strings.HasPrefix(string(a), "/"):
		return document.Lookup(input, string(a))
	default:
		return input.Get(string(a))
	}
}
