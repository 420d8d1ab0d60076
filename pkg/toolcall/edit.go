package toolcall

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// change is the effect of a call on files, as far as its input shows (S3.6). Lines that
// it removes without naming them (of a file that is overwritten or deleted) are not
// counted; docs/adr/010 says why.
type change struct {
	// paths as they are written in the input.
	paths []string
	lines int64
	// wrong says why the input is not valid for the tool, or is empty. The paths that
	// could be read are there all the same.
	wrong string
	// unseen says why the lines cannot be counted although the input is right.
	unseen string
}

// edit is a change as the verdict shows it: cleaned paths, each once.
type edit struct {
	paths []string
	lines int64
}

// measure returns the changes of a call, or nil for one of a tool that edits no files.
func measure(m *workflow.Machine, call Call) *change {
	if tools := m.Definition().Meta.EditTools; len(tools) > 0 {
		if tool, ok := tools[call.Tool]; ok {
			return measureMapped(&tool, call.Input)
		}
	}
	if forms := formsOf(call.Tool); forms != 0 {
		return measureKnown(forms, call.Input)
	}
	return nil
}

// checkEdit applies the limit on the lines of an edit. The limit on files is for the
// caller that has counted those of this entry. Where one of the two applies, a change
// that cannot be measured is denied.
func checkEdit(at *workflow.View, state *workflow.StateView, c *change) (e edit, code Code, why string) {
	e.paths = c.cleanPaths(pathglob.RootOf(at.Workspace))
	if c.wrong == "" {
		e.lines = c.lines
	}
	switch {
	case state.MaxEditLines == 0 && state.MaxFilesPerState == 0:
	case c.wrong != "":
		return e, CodeInvalidInput, "the state limits edits, and this one cannot be measured: " + c.wrong
	case state.MaxEditLines == 0:
	case c.unseen != "":
		return e, CodeInvalidInput, "the state limits the lines of an edit, and " + c.unseen
	case c.lines > state.MaxEditLines:
		return e, CodeEditTooLarge, ""
	}
	return e, "", ""
}

// cleanPaths returns the names of the files, each once, in the order of the input.
func (c *change) cleanPaths(root pathglob.Root) []string {
	var names []string
	seen := make(map[string]bool, len(c.paths))
	for _, path := range c.paths {
		name, _ := root.Written(path)
		switch {
		case name == "":
			c.setCause(document.Quote(path) + " is not the name of a file")
		case !seen[name]:
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// setCause keeps the first reason.
func (c *change) setCause(why string) {
	if c.wrong == "" {
		c.wrong = why
	}
}

// longestInput is the most that is read of an edit, in bytes.
const longestInput = 16 << 20

const noObject = "its input must be a JSON object without duplicate keys"

func readInput(input []byte) (document.Value, bool) {
	v, problem := document.Parse(input, document.Limits{Bytes: longestInput})
	return v, problem == nil && v.Kind() == document.Object
}

// measureKnown returns the changes of a call of a tool of these forms.
func measureKnown(f forms, input []byte) *change {
	v, ok := readInput(input)
	if !ok {
		return &change{wrong: noObject}
	}
	a := readArguments(v)
	if f&editor != 0 {
		return a.editor()
	}
	return a.change(f)
}

// change returns the changes that the arguments of a tool of these forms ask for. They
// must be those of exactly one form: it does not measure the changes of another one.
func (a *arguments) change(f forms) *change {
	c := &change{paths: a.names(), wrong: a.wrong}
	if f&patches != 0 && !a.patch.given {
		a.patch, a.command = a.command, text{}
	}
	if a.command.given || a.contents() > 1 {
		c.setCause("it has arguments of more than one kind of edit; " + f.expected())
	}
	switch {
	case a.edits.Kind() == document.Array && f&manyReplaces != 0:
		a.many(c)
	case a.patch.given && f&patches != 0:
		c.patch(a.patch.value)
	case a.old.given && a.new.given && f&replaces != 0:
		c.lines = max(countLines(a.old.value), countLines(a.new.value))
	case a.content.given && f&writes != 0:
		c.lines = countLines(a.content.value)
	case a.contents() == 0 && (f&deletes != 0 || f&cells != 0 && a.mode == "delete"):
	case a.from.given && a.to.given && f&moves != 0:
		return c
	default:
		c.setCause(f.expected())
	}
	if len(c.paths) == 0 {
		c.setCause("it names no file; " + f.expected())
	}
	return c
}

// many adds up a list of replacements.
func (a *arguments) many(c *change) {
	inEach := a.edits.Len() > 0
	for _, v := range a.edits.Elements() {
		one := readArguments(v)
		c.paths = append(c.paths, one.paths...)
		inEach = inEach && len(one.paths) > 0
		if one.wrong != "" {
			c.setCause(one.wrong)
		}
		if !one.old.given || !one.new.given || one.command.given || one.contents() > 1 {
			c.setCause(manyReplaces.expected())
		}
		c.lines += max(countLines(one.old.value), countLines(one.new.value))
	}
	if len(a.paths) == 0 && !inEach {
		c.setCause("it names no file; " + manyReplaces.expected())
	}
}

// patch adds the changes of a patch. It may leave the file to another argument.
func (c *change) patch(text string) {
	p, err := readPatch(text, len(c.paths) > 0)
	c.paths = append(c.paths, p.paths...)
	c.lines += p.lines
	if err != nil {
		c.setCause("its patch cannot be read: " + err.Error())
	}
}

// editor returns the changes of a call of the text editor tool.
func (a *arguments) editor() *change {
	c := &change{paths: a.names(), wrong: a.wrong}
	ok := len(a.paths) > 0 && a.contents() <= 1
	switch a.command.value {
	case "view":
		return nil
	case "create", "write":
		ok = ok && a.content.given
		c.lines = countLines(a.content.value)
	case "str_replace":
		ok = ok && a.old.given // without a new one, it is removed
		c.lines = max(countLines(a.old.value), countLines(a.new.value))
	case "insert":
		ok = ok && a.new.given && !a.old.given
		c.lines = countLines(a.new.value)
	case "undo_edit":
		ok = ok && a.contents() == 0
		c.unseen = "the call does not show how many lines an undo restores; make the edit itself"
	default:
		ok = false
	}
	if !ok {
		c.setCause(editor.expected())
	}
	return c
}

// countLines returns how many lines a text has. A line break at its end begins no further
// line. \n, \r\n and \r break lines.
func countLines(text string) int64 {
	n := breaks(text)
	if text != "" && !strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "\r") {
		n++
	}
	return n
}

func breaks(text string) int64 {
	n := strings.Count(text, "\n")
	if returns := strings.Count(text, "\r"); returns > 0 {
		n += returns - strings.Count(text, "\r\n")
	}
	return int64(n)
}
