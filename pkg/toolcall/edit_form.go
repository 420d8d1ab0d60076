package toolcall

import "strings"

// forms are the ways in which a tool takes an edit.
type forms uint16

const (
	replaces     forms = 1 << iota // a text by another
	manyReplaces                   // several texts
	writes                         // a whole file
	patches
	deletes
	moves
	cells  // of a notebook
	editor // what to do is an argument
)

// formsOf is how a tool edits files, or 0. It goes by the last part of its name,
// in any spelling.
func formsOf(tool string) forms {
	var buf [longestFolded]byte
	switch string(folded(&buf, tool)) {
	case "edit":
		return replaces | manyReplaces
	case "editfile":
		return replaces | manyReplaces | writes
	case "multiedit", "multireplacestringinfile":
		return manyReplaces
	case "replace", "strreplace", "searchreplace", "searchandreplace", "replacestringinfile", "singlefindandreplace":
		return replaces
	case "replaceinfile":
		return replaces | patches
	case "write", "writefile", "writetofile", "createfile", "createnewfile", "editexistingfile",
		"insertcontent", "inserteditintofile":
		return writes
	case "notebookedit", "editnotebook", "editnotebookfile":
		return replaces | writes | cells
	case "applypatch", "applydiff":
		return patches
	case "deletefile":
		return deletes
	case "movefile", "renamefile":
		return moves
	case "strreplaceeditor", "strreplacebasededittool", "texteditor", "fileeditor":
		return editor
	default:
		return 0
	}
}

// expected says which arguments a tool of these forms takes, by their most common
// names.
func (f forms) expected() string {
	var shapes []string
	for _, form := range []struct {
		is    forms
		shape string
	}{
		{replaces, `"file_path", "old_string" and "new_string"`},
		{manyReplaces, `"file_path" and "edits", a list of objects with "old_string" and "new_string"`},
		{writes, `"file_path" and "content"`},
		{patches, `"patch", which is a *** Begin Patch envelope, a unified diff, or SEARCH/REPLACE blocks`},
		{deletes, `"path" alone`},
		{moves, `"source" and "destination"`},
		{editor, `"command" (view, create, str_replace or insert), "path", and what that command takes`},
	} {
		if f&form.is != 0 {
			shapes = append(shapes, form.shape)
		}
	}
	return "its input must have " + strings.Join(shapes, "; or ")
}
