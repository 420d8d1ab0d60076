package toolcall

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
)

// arguments are what a tool that edits files is given, by what they mean.
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
	note            // said to a person, or changes nothing about the size
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
	var buf [longestFolded]byte
	switch string(folded(&buf, name)) {
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

// readArguments reads the arguments of a call. What it does not know must be too
// small to carry a change: a number, a truth, or nothing.
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
		a.blame("it has " + document.Quote(name) + ", and its effect is not known; remove it")
	case kind != document.String || m == editList:
		a.blame(document.Quote(name) + " has an invalid value")
	default:
		if t := a.text(m); !t.given {
			*t = text{v.Str(), true}
		} else {
			a.blame(document.Quote(name) + " is given twice, under two names")
		}
	}
}

func (a *arguments) blame(why string) {
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

// names are the files that the arguments themselves name.
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
