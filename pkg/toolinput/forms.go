package toolinput

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Forms are the ways in which a tool takes an edit.
type Forms uint16

const (
	replaces     Forms = 1 << iota // a text by another
	manyReplaces                   // several texts
	writes                         // a whole file
	patches
	deletes
	moves
	cells  // of a notebook
	editor // the act is an argument
)

// FormsOf returns how a tool edits files, or 0. It goes by the last part of its name, in
// any spelling.
func FormsOf(tool string) Forms {
	var buf [toolname.LongestFolded]byte
	switch string(toolname.Folded(&buf, tool)) {
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

// MayLook reports a tool whose argument says whether it edits or only looks.
func (f Forms) MayLook() bool { return f&editor != 0 }

// Moves reports a tool that gives a file another name.
func (f Forms) Moves() bool { return f&moves != 0 }

// Looks reports a tool that uses what is in a file that it edits, and does not only replace or delete the whole.
func (f Forms) Looks() bool { return f&(replaces|manyReplaces|patches|cells|editor|moves) != 0 }

// expected describes which arguments a tool of these forms takes, by their most common
// names.
func (f Forms) expected() string {
	var shapes []string
	for _, form := range []struct {
		is    Forms
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

// arguments are the arguments of a tool that edits files, by their meaning.
type arguments struct {
	paths    []string
	from, to text
	old, new text
	content  text
	patch    text
	command  text
	edits    document.Value // an Array, or Missing
	mode     string
	wrong    string
}

// text is an argument that may not be there.
type text struct {
	value string
	given bool
}

// Meaning is that of an argument.
type Meaning uint8

// The meanings. Those that are not exported matter to this package alone.
const (
	unknown Meaning = iota
	// Note is said to a person, or makes no change about the size.
	Note
	modeText
	PathText
	FromText
	ToText
	OldText
	NewText
	ContentText
	PatchText
	commandText
	editList
)

// MeaningOf goes by an argument's name in any spelling, as agents and servers of
// files write it.
func MeaningOf(name string) Meaning {
	var buf [toolname.LongestFolded]byte
	switch string(toolname.Folded(&buf, name)) {
	case "path", "filepath", "filename", "file", "targetfile", "notebookpath", "targetnotebook",
		"relativepath", "absolutepath", "relativeworkspacepath", "pathinproject":
		return PathText
	case "oldstring", "oldstr", "oldtext", "search":
		return OldText
	case "newstring", "newstr", "newtext", "replace", "replacement", "inserttext":
		return NewText
	case "content", "contents", "filetext", "text", "code", "codeedit", "codecontent", "changes", "newsource", "newcode":
		return ContentText
	case "patch", "patchtext", "diff", "input":
		return PatchText
	case "command":
		return commandText
	case "edits", "replacements":
		return editList
	case "source", "sourcepath", "oldpath", "from":
		return FromText
	case "destination", "destinationpath", "newpath", "to":
		return ToText
	case "editmode", "edittype":
		return modeText
	case "description", "displaydescription", "explanation", "instruction", "instructions", "reason", "thought", "taskprogress",
		"cellid", "celltype", "celllanguage", "language", "mode":
		return Note
	default:
		return unknown
	}
}

// readArguments reads the arguments of a call. Unknown arguments must be too small to
// carry a change: a number, a truth, or empty.
func readArguments(input document.Value) *arguments {
	a := new(arguments)
	if input.Kind() != document.Object {
		a.wrong = "an edit in it is not an object"
		return a
	}
	for name, v := range input.Members() {
		if v.Kind() != document.Null {
			a.read(name, v)
		}
	}
	return a
}

func (a *arguments) read(name string, v document.Value) {
	m := MeaningOf(name)
	switch kind := v.Kind(); {
	case m == editList && kind == document.Array && a.edits.IsZero():
		a.edits = v
	case m == PathText && kind == document.String:
		a.paths = append(a.paths, v.Str())
	case m == modeText && kind == document.String:
		a.mode = v.Str()
	case m == Note && kind == document.String:
	case m <= modeText && (kind == document.Bool || kind == document.Number):
	case m <= modeText && (kind == document.String && v.Str() == "" || kind == document.Array && v.Len() == 0):
	case m <= modeText:
		a.setCause("it has " + document.Quote(name) + ", and its effect is not known; remove it")
	case kind != document.String || m == editList:
		a.setCause(document.Quote(name) + " has an invalid value")
	default:
		if t := a.text(m); !t.given {
			*t = text{v.Str(), true}
		} else {
			a.setCause(document.Quote(name) + " is given twice, under two names")
		}
	}
}

func (a *arguments) setCause(why string) {
	if a.wrong == "" {
		a.wrong = why
	}
}

func (a *arguments) text(m Meaning) *text {
	switch m {
	case FromText:
		return &a.from
	case ToText:
		return &a.to
	case OldText:
		return &a.old
	case NewText:
		return &a.new
	case ContentText:
		return &a.content
	case PatchText:
		return &a.patch
	default:
		return &a.command
	}
}

// names returns the files that the arguments themselves name.
func (a *arguments) names() []string {
	names := slices.Clip(a.paths)
	for _, t := range []text{a.from, a.to} {
		if t.given {
			names = append(names, t.value)
		}
	}
	return names
}

// contents counts the kinds of edit that the arguments speak of.
func (a *arguments) contents() int {
	n := 0
	for _, given := range []bool{
		a.old.given || a.new.given, a.content.given, a.patch.given, !a.edits.IsZero(), a.from.given || a.to.given,
	} {
		if given {
			n++
		}
	}
	return n
}
