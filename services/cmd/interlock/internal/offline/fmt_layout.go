package offline

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// fmtElement is a JSON value with its text as written.
type fmtElement struct {
	raw      jsontext.Value // of a scalar
	open     byte           // '{' or '['; 0 for a scalar
	names    []fmtName      // of an object's children
	children []*fmtElement
}

type fmtName struct {
	raw  jsontext.Value
	text string
}

func readElement(d *jsontext.Decoder) (*fmtElement, error) {
	kind := d.PeekKind()
	if kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray {
		raw, err := d.ReadValue()
		return &fmtElement{raw: raw.Clone()}, err
	}
	e := &fmtElement{open: byte(kind)}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != kind+2 { // '{' and '}', '[' and ']'
		if kind == jsontext.KindBeginObject {
			raw, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			text, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return nil, err
			}
			e.names = append(e.names, fmtName{raw.Clone(), string(text)})
		}
		child, err := readElement(d)
		if err != nil {
			return nil, err
		}
		e.children = append(e.children, child)
	}
	_, err := d.ReadToken()
	return e, err
}

// flat elements hold scalars alone, or lists of them.
func (e *fmtElement) flat(depth int) bool {
	if len(e.children) == 0 {
		return true
	}
	return depth > 0 && !slices.ContainsFunc(e.children, func(c *fmtElement) bool {
		return c.open == '{' && len(c.children) > 0 || !c.flat(depth-1)
	})
}

// arrange puts known names into their order. Others follow the known one that
// they followed.
func (e *fmtElement) arrange(order []string) {
	type member struct {
		fmtName
		child *fmtElement
		rank  int
	}
	members := make([]member, len(e.names))
	rank := -1
	for i, n := range e.names {
		if at := slices.Index(order, n.text); at >= 0 {
			rank = at
		}
		members[i] = member{n, e.children[i], rank}
	}
	slices.SortStableFunc(members, func(a, b member) int { return a.rank - b.rank })
	for i, m := range members {
		e.names[i], e.children[i] = m.fmtName, m.child
	}
}

// fmtShape is how elements of one kind are laid out. A nil shape is that of unknown
// elements.
type fmtShape struct {
	order []string // of members
	// most is how many members stand on one line when they are flat and fit.
	most     int
	known    map[string]*fmtShape // of members
	others   *fmtShape            // of the other members
	elements *fmtShape            // of a list
}

// anyNumber of members.
const anyNumber = 1 << 30

var (
	fmtRecord  = &fmtShape{most: anyNumber}
	fmtUnknown = &fmtShape{most: 1}

	guardForm = &fmtShape{
		order: []string{"field", "op", "value", "source", "evidence", "all", "any", "not"}, most: anyNumber,
	}
	evidenceForm = &fmtShape{
		order: []string{
			"tool", "command", "exact", "when", "outcome", "output", "state", "op", "value", "writer", "approval", "after", "within", "max_age", "count",
		},
		most: anyNumber, known: map[string]*fmtShape{"output": {order: []string{"pointer", "op", "value"}, most: anyNumber}},
	}
	branchForm = &fmtShape{order: []string{"initial", "terminal"}, most: anyNumber}
	forkForm   = &fmtShape{
		order: []string{"branches", "join", "on_complete", "on_fail"}, most: anyNumber,
		known: map[string]*fmtShape{"branches": {most: 1, others: branchForm}},
	}
	transitionFields = []string{
		"target", "guard", "guards", "requires_approval", "approval_message", "fork", "invoke", "input",
		"on_complete", "on_fail",
	}
	transitionForm = &fmtShape{
		order: transitionFields, most: anyNumber, known: map[string]*fmtShape{"fork": forkForm},
		elements: &fmtShape{order: transitionFields, most: anyNumber},
	}
	jailForm = &fmtShape{
		order: []string{"level", "writes", "read", "write", "caches", "hosts", "lend", "background", "limits"}, most: anyNumber,
		known: map[string]*fmtShape{
			"limits": {order: []string{"processes", "memory_mb", "cpu_seconds", "wall_seconds", "output_bytes", "scratch_mb", "kept_mb"}, most: anyNumber},
		},
	}
	callForm  = &fmtShape{order: []string{"tool", "capability", "only"}, most: anyNumber}
	stateForm = &fmtShape{
		order: []string{
			"type", "outcome", "instructions", "allowed_tools", "disallowed_tools", "allowed_commands_tool", "allowed_commands", "opaque_commands",
			"blocked_env", "deny_env", "env_overrides", "env", "jail", "calls", "max_iterations", "max_edit_lines", "max_files_per_state",
			"context_budget_bytes", "safe_next", "on",
		},
		most: 2, known: map[string]*fmtShape{"on": {most: 1, others: transitionForm}, "jail": jailForm, "calls": {elements: callForm}},
	}
	interruptForm = &fmtShape{
		order: []string{"trigger", "target"}, most: anyNumber, known: map[string]*fmtShape{"trigger": fmtRecord},
	}
	workflowForm = &fmtShape{
		order: []string{"$schema", "id", "initial", "context", "meta", "states", "guards", "evidence", "interrupts", "properties"},
		known: map[string]*fmtShape{
			"meta": {most: 1, known: map[string]*fmtShape{"jail": jailForm}}, "states": {others: stateForm}, "guards": {others: guardForm}, "evidence": {others: evidenceForm}, "interrupts": {others: interruptForm},
		},
	}
)

func (s *fmtShape) member(name string) *fmtShape {
	if known, ok := s.known[name]; ok {
		return known
	}
	if s.others != nil {
		return s.others
	}
	return fmtUnknown
}

func (s *fmtShape) element() *fmtShape {
	if s.elements != nil {
		return s.elements
	}
	return fmtRecord
}

const (
	formatIndent = "  "
	formatWidth  = 100 // columns of the longest line that is put together
)

type fmtLayout struct{ bytes.Buffer }

// element writes an element at a depth, behind that many columns of its line.
func (l *fmtLayout) element(e *fmtElement, s *fmtShape, depth, used int) {
	if e.open == '{' {
		e.arrange(s.order)
	}
	if len(e.children) == 0 || s.oneLine(e) {
		line := e.inline()
		if len(e.children) == 0 || used+utf8.RuneCount(line)+len(",") <= formatWidth {
			l.Write(line)
			return
		}
	}
	l.WriteByte(e.open)
	indent := "\n" + strings.Repeat(formatIndent, depth+1)
	for i, child := range e.children {
		if i > 0 {
			l.WriteByte(',')
		}
		l.WriteString(indent)
		form, before := s.element(), len(indent)-1
		if e.open == '{' {
			l.Write(e.names[i].raw)
			l.WriteString(": ")
			form, before = s.member(e.names[i].text), before+utf8.RuneCount(e.names[i].raw)+len(": ")
		}
		l.element(child, form, depth+1, before)
	}
	l.WriteString(indent[:len(indent)-len(formatIndent)])
	l.WriteByte(e.open + 2)
}

// oneLine reports the elements that may stand on one line: lists of scalars, and objects
// that are flat and small.
func (s *fmtShape) oneLine(e *fmtElement) bool {
	if e.open == '[' {
		return e.flat(1)
	}
	return len(e.children) <= s.most && e.flat(2)
}

// inline writes a flat element on one line.
func (e *fmtElement) inline() []byte {
	if e.open == 0 {
		return e.raw
	}
	var b bytes.Buffer
	b.WriteByte(e.open)
	for i, child := range e.children {
		if i > 0 {
			b.WriteString(", ")
		}
		if e.open == '{' {
			if i == 0 {
				b.WriteByte(' ')
			}
			b.Write(e.names[i].raw)
			b.WriteString(": ")
		}
		b.Write(child.inline())
	}
	if e.open == '{' && len(e.children) > 0 {
		b.WriteByte(' ')
	}
	b.WriteByte(e.open + 2)
	return b.Bytes()
}
