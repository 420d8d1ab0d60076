package facet

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// touched are the files that a call reads and writes, as far as they are known by now.
type touched struct {
	parts
	names names
	// writes is how often a file was noted as written.
	writes int
}

// fileFacet returns the files that the call reads, changes, or either (S21.11).
func (f *Facts) fileFacet(name condition.Facet) condition.Set {
	if f.files == nil {
		f.files = &touched{parts: parts{}, names: namesOf(&f.of)}
		f.touch(f.files)
	}
	if name != condition.Files {
		return f.files.set(name)
	}
	reads, writes := f.files.of(condition.Reads), f.files.of(condition.Writes)
	both := condition.Set{Known: reads.why == "" && writes.why == "", Why: reads.why, Values: slices.Clone(reads.values)}
	if both.Why == "" {
		both.Why = writes.why
	}
	for i := range writes.values {
		both.Values = included(both.Values, writes.values[i])
	}
	return both
}

// touch notes the files of the call. The author of a workflow cannot take a file away from a tool that is known.
func (f *Facts) touch(t *touched) {
	if strings.HasPrefix(f.of.Tool, "mcp__") || f.of.Qualified != "" { // the folder that a server is in is not known
		t.names.goesAway()
	}
	if f.runsLine() {
		f.touchByLine(t)
	}
	input, ok := f.Input()
	mapped, edits := f.of.Edits[f.of.Tool]
	d, described := f.described()
	switch {
	case described:
		f.touchDescribed(t, &d)
	case f.isShell(), toolname.Own(f.of.Tool):
	case !ok:
		t.unclear(toolinput.NoObject)
	case edits:
		t.edit(toolcall.MeasureMapped(&mapped, f.of.Input), mapped.Kind == workflow.EditWrite || mapped.Kind == workflow.EditDelete, mapped.Kind == workflow.EditMove)
		if toolname.Known(f.of.Tool) {
			t.tool(f.of.Tool, input)
		}
	case !t.tool(f.of.Tool, input):
		t.unclear(notDescribed)
	}
}

// touchDescribed notes the files that the description of the tool points to. A folder stands for everything under it.
func (f *Facts) touchDescribed(t *touched, d *Description) {
	for _, list := range []struct {
		facet    condition.Facet
		pointers []string
		subject  string
	}{{condition.Reads, d.Reads, "which files it reads"}, {condition.Writes, d.Writes, "which files it writes"}} {
		noted := 0
		f.texts(t.parts, list.pointers, []condition.Facet{list.facet}, func(name string) {
			noted++
			if strings.HasPrefix(name, "~") {
				t.doubt(beginsHome, list.facet)
			}
			t.file(list.facet, name, true)
		})
		if len(list.pointers) > 0 && noted == 0 {
			t.doubt("the call names none of the files that its description points to", list.facet)
		}
		if why := f.silent(list.pointers != nil, list.subject); why != "" {
			t.doubt(why, list.facet)
		}
	}
}

// unclear notes why neither the reads nor the writes are known.
func (t *touched) unclear(why string) { t.doubt(why, condition.Reads, condition.Writes) }

// read and write note a file by its name as the call has it.
func (t *touched) read(name string, below bool) { t.file(condition.Reads, name, below) }

func (t *touched) write(name string, below bool) {
	t.writes++
	t.file(condition.Writes, name, below)
}

// change notes a file that is read and written.
func (t *touched) change(name string, below bool) {
	t.read(name, below)
	t.write(name, below)
}

// file notes a name. One that can be read in several ways is in doubt.
func (t *touched) file(name condition.Facet, text string, below bool) {
	readings, why := t.names.readings(text)
	if why != "" {
		t.doubt(why, name)
	}
	if len(readings) == 0 {
		return
	}
	e := condition.Element{Value: document.StringValue(readings[0]), Below: below}
	for i, reading := range readings {
		if i > 0 {
			e.Also = append(e.Also, document.StringValue(reading))
		}
		if full, ok := t.names.full(reading); ok {
			e.Full = append(e.Full, document.StringValue(full))
		}
	}
	part := t.of(name)
	part.values = included(part.values, e)
}

// included adds an element that is not there yet.
func included(all []condition.Element, e condition.Element) []condition.Element {
	same := func(o condition.Element) bool {
		return document.Equal(o.Value, e.Value) && o.Below == e.Below && slices.EqualFunc(o.Also, e.Also, document.Equal)
	}
	if slices.ContainsFunc(all, same) {
		return all
	}
	return append(all, e)
}
