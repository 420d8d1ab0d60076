package toolinput

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/pathglob"
)

// Change is the effect of a call on files, as far as its input shows (S3.6). Lines that
// it removes without naming them (of a file that is overwritten or deleted) are not
// counted; docs/adr/010 says why.
type Change struct {
	// Paths are as they are written in the input.
	Paths []string
	Lines int64
	// Wrong says why the input is not valid for the tool, or is empty. The paths that
	// could be read are there all the same.
	Wrong string
	// Unseen says why the lines cannot be counted although the input is right.
	Unseen string
}

// CleanPaths returns the names of the files, each once, in the order of the input.
func (c *Change) CleanPaths(root pathglob.Root) []string {
	var names []string
	seen := make(map[string]bool, len(c.Paths))
	for _, path := range c.Paths {
		name, _ := root.Written(path)
		switch {
		case name == "":
			c.SetCause(document.Quote(path) + " is not the name of a file")
		case !seen[name]:
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// SetCause keeps the first reason.
func (c *Change) SetCause(why string) {
	if c.Wrong == "" {
		c.Wrong = why
	}
}

// Longest is the most that is read of an edit, in bytes.
const Longest = 16 << 20

// NoObject says why an input that Read refuses is wrong.
const NoObject = "its input must be a JSON object without duplicate keys"

// Read returns the arguments of a call, or false when they are not one JSON object.
func Read(input []byte) (document.Value, bool) {
	v, problem := document.Parse(input, document.Limits{Bytes: Longest})
	return v, problem == nil && v.Kind() == document.Object
}

// Measure returns the changes of a call of a tool of these forms, or nil when the call only looks.
func (f Forms) Measure(input []byte) *Change {
	v, ok := Read(input)
	if !ok {
		return &Change{Wrong: NoObject}
	}
	return f.MeasureValue(v)
}

// MeasureValue does the work of Measure for arguments that have been read.
func (f Forms) MeasureValue(v document.Value) *Change {
	a := readArguments(v)
	if f&editor != 0 {
		return a.editor()
	}
	return a.Change(f)
}

// change returns the changes that the arguments of a tool of these forms ask for. They
// must be those of exactly one form: it does not measure the changes of another one.
func (a *arguments) Change(f Forms) *Change {
	c := &Change{Paths: a.names(), Wrong: a.wrong}
	if f&patches != 0 && !a.patch.given {
		a.patch, a.command = a.command, text{}
	}
	if a.command.given || a.contents() > 1 {
		c.SetCause("it has arguments of more than one kind of edit; " + f.expected())
	}
	switch {
	case a.edits.Kind() == document.Array && f&manyReplaces != 0:
		a.many(c)
	case a.patch.given && f&patches != 0:
		c.AddPatch(a.patch.value)
	case a.old.given && a.new.given && f&replaces != 0:
		c.Lines = max(CountLines(a.old.value), CountLines(a.new.value))
	case a.content.given && f&writes != 0:
		c.Lines = CountLines(a.content.value)
	case a.contents() == 0 && (f&deletes != 0 || f&cells != 0 && a.mode == "delete"):
	case a.from.given && a.to.given && f&moves != 0:
		return c
	default:
		c.SetCause(f.expected())
	}
	if len(c.Paths) == 0 {
		c.SetCause("it names no file; " + f.expected())
	}
	return c
}

// many adds up a list of replacements.
func (a *arguments) many(c *Change) {
	inEach := a.edits.Len() > 0
	for _, v := range a.edits.Elements() {
		one := readArguments(v)
		c.Paths = append(c.Paths, one.paths...)
		inEach = inEach && len(one.paths) > 0
		if one.wrong != "" {
			c.SetCause(one.wrong)
		}
		if !one.old.given || !one.new.given || one.command.given || one.contents() > 1 {
			c.SetCause(manyReplaces.expected())
		}
		c.Lines += max(CountLines(one.old.value), CountLines(one.new.value))
	}
	if len(a.paths) == 0 && !inEach {
		c.SetCause("it names no file; " + manyReplaces.expected())
	}
}

// AddPatch adds the changes of a patch. It may leave the file to another argument.
func (c *Change) AddPatch(text string) {
	p, err := readPatch(text, len(c.Paths) > 0)
	c.Paths = append(c.Paths, p.paths...)
	c.Lines += p.lines
	if err != nil {
		c.SetCause("its patch cannot be read: " + err.Error())
	}
}

// editor returns the changes of a call of the text editor tool.
func (a *arguments) editor() *Change {
	c := &Change{Paths: a.names(), Wrong: a.wrong}
	ok := len(a.paths) > 0 && a.contents() <= 1
	switch a.command.value {
	case "view":
		return nil
	case "create", "write":
		ok = ok && a.content.given
		c.Lines = CountLines(a.content.value)
	case "str_replace":
		ok = ok && a.old.given // without a new one, it is removed
		c.Lines = max(CountLines(a.old.value), CountLines(a.new.value))
	case "insert":
		ok = ok && a.new.given && !a.old.given
		c.Lines = CountLines(a.new.value)
	case "undo_edit":
		ok = ok && a.contents() == 0
		c.Unseen = "the call does not show how many lines an undo restores; make the edit itself"
	default:
		ok = false
	}
	if !ok {
		c.SetCause(editor.expected())
	}
	return c
}

// CountLines returns how many lines a text has. A line break at its end begins no further
// line. \n, \r\n and \r break lines.
func CountLines(text string) int64 {
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
