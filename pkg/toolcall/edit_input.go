package toolcall

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

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
	editor // the act is an argument
)

// formsOf returns how a tool edits files, or 0. It goes by the last part of its name, in
// any spelling.
func formsOf(tool string) forms {
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

// expected describes which arguments a tool of these forms takes, by their most common
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

// meaning of an argument.
type meaning uint8

const (
	unknown meaning = iota
	note            // said to a person, or makes no change about the size
	modeText
	pathText
	fromText
	toText
	oldText
	newText
	contentText
	patchText
	commandText
	editList
)

// meaningOf goes by an argument's name in any spelling, as agents and servers of
// files write it.
func meaningOf(name string) meaning {
	var buf [toolname.LongestFolded]byte
	switch string(toolname.Folded(&buf, name)) {
	case "path", "filepath", "filename", "file", "targetfile", "notebookpath", "targetnotebook",
		"relativepath", "absolutepath", "relativeworkspacepath", "pathinproject":
		return pathText
	case "oldstring", "oldstr", "oldtext", "search":
		return oldText
	case "newstring", "newstr", "newtext", "replace", "replacement", "inserttext":
		return newText
	case "content", "contents", "filetext", "text", "code", "codeedit", "codecontent", "changes", "newsource", "newcode":
		return contentText
	case "patch", "patchtext", "diff", "input":
		return patchText
	case "command":
		return commandText
	case "edits", "replacements":
		return editList
	case "source", "sourcepath", "oldpath", "from":
		return fromText
	case "destination", "destinationpath", "newpath", "to":
		return toText
	case "editmode", "edittype":
		return modeText
	case "description", "displaydescription", "explanation", "instruction", "instructions", "reason", "thought", "taskprogress",
		"cellid", "celltype", "celllanguage", "language", "mode":
		return note
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
	m := meaningOf(name)
	switch kind := v.Kind(); {
	case m == editList && kind == document.Array && a.edits.IsZero():
		a.edits = v
	case m == pathText && kind == document.String:
		a.paths = append(a.paths, v.Str())
	case m == modeText && kind == document.String:
		a.mode = v.Str()
	case m == note && kind == document.String:
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

func (a *arguments) text(m meaning) *text {
	switch m {
	case fromText:
		return &a.from
	case toText:
		return &a.to
	case oldText:
		return &a.old
	case newText:
		return &a.new
	case contentText:
		return &a.content
	case patchText:
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

// mapped reads the arguments of a tool that the workflow describes.
type mapped struct {
	change
	input document.Value
}

// measureMapped returns the changes of a call of a tool of meta.edit_tools. The workflow
// vouches for arguments that it does not name.
func measureMapped(t *workflow.EditTool, input []byte) *change {
	v, ok := readInput(input)
	if !ok {
		return &change{wrong: noObject}
	}
	c := mapped{input: v}
	switch t.Kind {
	case workflow.EditWrite:
		c.path(t.Path)
		c.lines = countLines(c.text(t.Content))
	case workflow.EditReplace:
		c.path(t.Path)
		c.lines = max(countLines(c.text(t.Old)), countLines(c.text(t.New)))
	case workflow.EditMany:
		c.many(t)
	case workflow.EditPatch:
		if _, ok := t.Path.In(v); ok {
			c.path(t.Path)
		}
		c.patch(c.text(t.Patch))
	case workflow.EditDelete:
		c.path(t.Path)
	case workflow.EditMove:
		c.path(t.From)
		c.path(t.To)
	default:
		c.setCause("the workflow does not say how it edits")
	}
	if len(c.paths) == 0 {
		c.setCause("it names no file")
	}
	return &c.change
}

func (c *mapped) path(at workflow.Argument) {
	if name := c.text(at); name != "" {
		c.paths = append(c.paths, name)
	} else {
		c.setCause("it names no file in " + document.Quote(string(at)))
	}
}

func (c *mapped) text(at workflow.Argument) string {
	v, _ := at.In(c.input)
	if v.Kind() != document.String {
		c.setCause("it must have a string in " + document.Quote(string(at)))
	}
	return v.Str()
}

func (c *mapped) many(t *workflow.EditTool) {
	edits, _ := t.Edits.In(c.input)
	if edits.Kind() != document.Array {
		c.setCause("it must have a list in " + document.Quote(string(t.Edits)))
	}
	_, together := t.Path.In(c.input)
	if together {
		c.path(t.Path)
	}
	whole := c.input
	for _, one := range edits.Elements() {
		c.input = one
		if !together {
			c.path(t.Path)
		}
		c.lines += max(countLines(c.text(t.Old)), countLines(c.text(t.New)))
	}
	c.input = whole
}
