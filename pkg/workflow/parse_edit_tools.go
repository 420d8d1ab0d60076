package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// editFields are the fields of each kind of edit tool.
var editFields = []struct {
	kind     EditKind
	required []string
	optional []string
}{
	{kind: EditWrite, required: []string{"path", "content"}},
	{kind: EditReplace, required: []string{"path", "old", "new"}},
	{kind: EditMany, required: []string{"edits", "old", "new"}, optional: []string{"path"}},
	{kind: EditPatch, required: []string{"patch"}, optional: []string{"path"}},
	{kind: EditDelete, required: []string{"path"}},
	{kind: EditMove, required: []string{"from", "to"}},
}

func (r metaSection) editTools(meta document.Fields) {
	tools, ok := meta.Object("edit_tools")
	if !ok {
		return
	}
	if n := tools.Value.Len(); n > maxItems {
		r.report.Errorf(tools.At, document.CodeTooMany, "there are %d tools, the limit is %d", n, maxItems)
		return
	}
	r.def.Meta.EditTools = make(map[string]EditTool, tools.Value.Len())
	for name, v := range tools.Value.Members() {
		at := tools.At.Key(name)
		if strings.HasSuffix(name, "*") {
			r.report.Errorf(at, document.CodeName, "%s: tools have different arguments; write each name in full", document.Quote(name))
		} else {
			r.statePart().toolName(name, at, toolname.Grants)
		}
		if f, ok := r.report.Object(v, at, "an edit tool"); ok {
			r.def.Meta.EditTools[name] = r.editTool(f)
		}
	}
}

// readTools reads the tools that the author declares to change no files (S14.1).
func (r metaSection) readTools(meta document.Fields) {
	tools, ok := meta.Strings("read_tools", maxItems)
	if !ok {
		return
	}
	r.def.Meta.ReadTools = document.Texts(tools)
	r.statePart().listed(tools, toolname.Grants)
	for _, item := range tools {
		switch _, edits := r.def.Meta.EditTools[item.Text]; {
		case edits:
			r.report.Errorf(item.At, document.CodeConflict, "%s is in \"edit_tools\" too; a tool that edits does not only read: remove one", document.Quote(item.Text))
		case item.Text == "*" || strings.HasPrefix(item.Text, "@"):
			r.report.Errorf(item.At, document.CodeName, "%s would declare all tools to change no files; name the tools, or a server: mcp__docs__*", document.Quote(item.Text))
		}
	}
}

func (r metaSection) editTool(f document.Fields) EditTool {
	f.Require("kind")
	var kinds, all []string
	for _, known := range editFields {
		kinds = append(kinds, string(known.kind))
		all = append(append(all, known.required...), known.optional...)
	}
	kind, ok := f.Enum("kind", kinds...)
	if !ok {
		f.Known("an edit tool", append(all, "kind")...)
		return EditTool{}
	}
	known := editFields[slices.Index(kinds, kind)]
	f.Known("an edit tool of kind \""+kind+"\"", slices.Concat([]string{"kind"}, known.required, known.optional)...)
	f.Require(known.required...)
	t := EditTool{Kind: known.kind}
	places := map[string]*Argument{
		"path": &t.Path, "content": &t.Content, "old": &t.Old, "new": &t.New,
		"edits": &t.Edits, "patch": &t.Patch, "from": &t.From, "to": &t.To,
	}
	taken := make(map[Argument]string)
	for _, field := range slices.Concat(known.required, known.optional) {
		r.argument(f, field, places[field], taken)
	}
	return t
}

// argument reads where an argument is. Two fields that mean the same argument are
// an error: one of them would not be measured. taken has the fields so far.
func (r metaSection) argument(f document.Fields, field string, to *Argument, taken map[Argument]string) {
	text, ok := f.Text(field)
	if !ok {
		return
	}
	at := f.At.Key(field)
	*to = Argument(text)
	if other, twice := taken[*to]; twice {
		r.report.Errorf(at, document.CodeName, "%q and %q name the same argument %s; name two", other, field, document.Quote(text))
	}
	taken[*to] = field
	if !strings.HasPrefix(text, "/") {
		return
	}
	for segment := range strings.SplitSeq(text[1:], "/") {
		if _, ok := document.UnescapeSegment(segment); !ok {
			r.report.Errorf(at, document.CodeName, "%s is not a JSON Pointer: write ~0 for ~ and ~1 for / in a name", document.Quote(text))
			return
		}
	}
}
