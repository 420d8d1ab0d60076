package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// writersKeyword lists who may write a value of a shared state (S18.1), and
// keywordPrefix is that of all our keywords: a misspelt one would protect nothing.
const (
	writersKeyword = "x-interlock-writers"
	keywordPrefix  = "x-interlock"
)

// Bounds of a list of writers.
const (
	maxWriters     = 64
	maxWriterBytes = 256
)

// WriterKind is by what a writer is known.
type WriterKind string

// The kinds.
const (
	// BySession: the name or the id of the acting session matches a pattern, in which "*"
	// stands for any text.
	BySession WriterKind = "session"
	// ByRole: the caller has a role.
	ByRole WriterKind = "role"
	// ByState: the run that the acting session drives is in a state: NAME of any workflow, or
	// WORKFLOW/NAME.
	ByState WriterKind = "state"
	// BySource: the value comes from a person.
	BySource WriterKind = "source"
)

// SourceHuman is the only name of BySource.
const SourceHuman = "human"

// writerRoles are the roles that may change a state at all.
var writerRoles = []string{"agent", "runtime", "operator"}

// WriterRule is one entry of a list of writers.
type WriterRule struct {
	Kind WriterKind
	Name string
}

// String is the entry as it is written.
func (w WriterRule) String() string { return string(w.Kind) + ":" + w.Name }

// Matches reports that the pattern of a session matches one of its names.
func (w WriterRule) Matches(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return name != "" && matchStars(w.Name, name) })
}

// matchStars matches a text with a pattern in which "*" stands for any text.
func matchStars(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	last := len(parts) - 1
	text, begins := strings.CutPrefix(text, parts[0])
	if !begins {
		return false
	}
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, parts[last])
}

// Restriction is a list of writers that applies to a place of a document. One writer of the
// list is enough; of an empty list there is none.
type Restriction struct {
	// Pointer is the place: of a schema, with "*" for any name and index; of a change,
	// exactly where it was first found.
	Pointer string
	Writers []WriterRule
}

// writerList is the list of a node.
type writerList struct{ rules []WriterRule }

// readWriters reads the list of a subschema that stands at path; nil for none.
func readWriters(r *Report, v Value, at *Path) *writerList {
	for name := range v.Members() {
		if name != writersKeyword && strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), keywordPrefix) {
			r.Errorf(at.Key(name), CodeBadSchema, "%s is not known; write %s, or use another prefix", Quote(name), Quote(writersKeyword))
		}
	}
	list, there := v.Get(writersKeyword)
	if !there {
		return nil
	}
	at = at.Key(writersKeyword)
	if list.kind != Array {
		r.Errorf(at, CodeBadSchema, `%s must be a list such as ["session:reviewer-*", "role:operator"], not %s`, Quote(writersKeyword), article(list.kind))
		return nil
	}
	if list.Len() > maxWriters {
		r.Errorf(at, CodeBadSchema, "names %d writers, the limit is %d; use patterns of sessions", list.Len(), maxWriters)
		return nil
	}
	found := &writerList{rules: make([]WriterRule, 0, list.Len())}
	for i, e := range list.Elements() {
		rule, why := readWriter(e)
		if why != "" {
			r.Errorf(at.At(i), CodeBadSchema, "%s", why)
			continue
		}
		found.rules = append(found.rules, rule)
	}
	return found
}

// readWriter reads an entry of a list, or says what is wrong with it.
func readWriter(v Value) (rule WriterRule, why string) {
	const forms = `"session:NAME", "role:ROLE", "state:NAME", "state:WORKFLOW/NAME" or "source:human"`
	if v.kind != String {
		return rule, "a writer is a text: " + forms + "; not " + article(v.kind)
	}
	kind, name, _ := strings.Cut(v.text, ":")
	rule = WriterRule{Kind: WriterKind(kind), Name: name}
	switch {
	case len(v.text) > maxWriterBytes:
		return rule, fmt.Sprintf("is longer than %d bytes", maxWriterBytes)
	case rule.Kind != BySession && rule.Kind != ByRole && rule.Kind != ByState && rule.Kind != BySource:
		return rule, Quote(v.text) + " names no writer; write " + forms
	case name == "" || strings.TrimSpace(name) != name:
		return rule, Quote(v.text) + " lacks a name after the colon, without spaces around it; write " + forms
	case rule.Kind == BySource && name != SourceHuman:
		return rule, Quote(v.text) + ` is not known; the only source is "source:human"`
	case rule.Kind == ByRole && !slices.Contains(writerRoles, name):
		return rule, Quote(v.text) + " cannot change a state; the roles that can are " + strings.Join(writerRoles, ", ")
	case rule.Kind == ByState && strings.Contains(name, "*"):
		return rule, Quote(v.text) + ": a state is named in full; list several states"
	}
	return rule, ""
}

// bindWriters prepares the lists of all nodes. A list that applies to nothing is an error:
// it would protect nothing.
func (s *Schema) bindWriters(r *Report, t *translation, w *schemaWalk) {
	bound := map[string]bool{}
	from := map[*node][]*node{}
	var guarded []*node
	for _, n := range t.order {
		at := segmentsAt(n.source.Location)
		written, _ := Lookup(t.document, Pointer(at...))
		if !w.schemas[Pointer(at...)] { // only a $ref says that there is a schema
			n.writers = readWriters(r, written, w.place(at))
		} else if list, ok := w.lists[Pointer(at...)]; ok {
			n.writers = list
		}
		bound[Pointer(at...)] = true
		if n.writers != nil {
			guarded = append(guarded, n)
		}
		for next := range n.inPlace() {
			from[next] = append(from[next], n)
		}
		n.below(func(_ string, next *node) { from[next] = append(from[next], n) })
		for _, next := range n.dynamic {
			from[next] = append(from[next], n)
		}
	}
	for at := range w.lists {
		if p, _ := readPointer(at); !bound[at] && !spare(p.segments, bound) {
			r.Errorf(w.place(p.segments).Key(writersKeyword), CodeBadSchema,
				"applies to no value here, as this draft of JSON Schema ignores the keyword around it; put it elsewhere")
		}
	}
	s.restricted = len(guarded) > 0
	for len(guarded) > 0 {
		n := guarded[len(guarded)-1]
		if guarded = guarded[:len(guarded)-1]; n.guarded {
			continue
		}
		n.guarded = true
		guarded = append(guarded, from[n]...)
	}
}

// spare reports that what stands at a place that no schema in use leads to is a definition
// that nothing refers to, or within one: it is not meant to apply here.
func spare(at []string, bound map[string]bool) bool {
	for i := len(at) - 1; i >= 0; i-- {
		if bound[Pointer(at[:i]...)] {
			return at[i] == "$defs" || at[i] == "definitions"
		}
	}
	return false
}

// below visits the nodes that n applies to members and elements of a value, with the place
// where: "*" for any.
func (n *node) below(visit func(place string, next *node)) {
	anywhere := func(next *node) {
		if next != nil {
			visit("*", next)
		}
	}
	if o := n.object; o != nil {
		for name, next := range o.properties {
			visit(name, next)
		}
		for _, p := range o.patterns {
			anywhere(p.node)
		}
		anywhere(o.additional)
		anywhere(o.names)
	}
	if a := n.array; a != nil {
		for i, next := range a.prefix {
			visit(strconv.Itoa(i), next)
		}
		anywhere(a.rest)
		anywhere(a.contains)
	}
	anywhere(n.unevaluated)
	anywhere(n.unevaluatedItems)
}

// Restricted reports that the schema says of some value who may write it.
func (s *Schema) Restricted() bool { return s.restricted }

// Restrictions are all lists of writers, by the places that they apply to. A schema that
// holds itself is followed until it comes back.
func (s *Schema) Restrictions() []Restriction {
	var all []Restriction
	seen := map[string]bool{}
	var visit func(n *node, at []string, way map[*node]bool)
	visit = func(n *node, at []string, way map[*node]bool) {
		if !n.guarded || way[n] || len(all) >= maxSubschemas {
			return
		}
		way[n] = true
		defer delete(way, n)
		pointer := Pointer(at...)
		if n.writers != nil {
			if key := pointer + " " + fmt.Sprint(n.writers.rules); !seen[key] {
				seen[key] = true
				all = append(all, Restriction{pointer, slices.Clone(n.writers.rules)})
			}
		}
		for next := range n.inPlace() {
			visit(next, at, way)
		}
		for _, next := range n.dynamic {
			visit(next, at, way)
		}
		n.below(func(place string, next *node) { visit(next, append(slices.Clip(at), place), way) })
	}
	if s.restricted {
		visit(s.root, nil, map[*node]bool{})
	}
	slices.SortStableFunc(all, func(a, b Restriction) int { return strings.Compare(a.Pointer, b.Pointer) })
	return all
}

// Touched returns the lists of writers that a change of a document touches, each with the
// first place where it does (S18.2). A list is touched where the value at its place, or
// anything within that, is another one afterwards, or is written, taken away or moved by an
// operation of the patch. Without a patch, only what differs counts. ok is false when that
// takes too long to find out.
//
// A place is found by every subschema that could apply to it: alternatives, conditions and
// negations count as if they did.
func (s *Schema) Touched(before, after Value, patch *Patch) (touched []Restriction, ok bool) {
	if !s.restricted {
		return nil, true
	}
	g := guard{left: maxSteps, seen: map[*writerList]bool{}}
	root := g.closed([]*node{s.root})
	if patch == nil {
		g.walk(root, before, after, nil, false)
		return g.found, g.left >= 0
	}
	r := newReplay(before)
	for i := range patch.operations {
		if err := g.operation(root, r, &patch.operations[i]); err != nil || g.left < 0 {
			return nil, false
		}
	}
	return g.found, true
}

// guard finds the lists that a change touches.
type guard struct {
	left  int
	seen  map[*writerList]bool
	found []Restriction
}

// closed adds to nodes those that apply to the same value, and drops those within which
// there is no list.
func (g *guard) closed(nodes []*node) []*node {
	var all []*node
	seen := make(map[*node]bool, len(nodes))
	var add func(n *node)
	add = func(n *node) {
		if n == nil || !n.guarded || seen[n] {
			return
		}
		g.left--
		seen[n] = true
		all = append(all, n)
		for next := range n.inPlace() {
			add(next)
		}
		for _, next := range n.dynamic {
			add(next)
		}
	}
	for _, n := range nodes {
		add(n)
	}
	return all
}

// member are the nodes of a member of an object.
func (g *guard) member(nodes []*node, name string) []*node {
	var all []*node
	for _, n := range nodes {
		all = append(all, n.unevaluated)
		o := n.object
		if o == nil {
			continue
		}
		property, declared := o.properties[name]
		all = append(all, property, o.names)
		for _, p := range o.patterns {
			if g.left -= 8 + (1+len(name))*p.pattern.size/8; g.left < 0 {
				return nil
			}
			if p.pattern.MatchString(name) {
				declared = true
				all = append(all, p.node)
			}
		}
		if !declared {
			all = append(all, o.additional)
		}
	}
	return g.closed(all)
}

// element are the nodes of an element of a list.
func (g *guard) element(nodes []*node, i int) []*node {
	var all []*node
	for _, n := range nodes {
		all = append(all, n.unevaluatedItems)
		if n.array != nil {
			all = append(all, n.array.schemaAt(i), n.array.contains)
		}
	}
	return g.closed(all)
}

// operation notes what one operation of a patch touches, and does it.
func (g *guard) operation(root []*node, r *replay, o *operation) error {
	switch o.op {
	case opTest:
	case opMove:
		return g.move(root, r, o)
	default:
		to, err := slotOf(r.doc, o.path.segments)
		if err != nil {
			return err
		}
		v, by := o.value, 0
		switch o.op {
		case opAdd:
			by = 1
		case opRemove:
			by = -1
		case opCopy:
			v, _ = Lookup(r.doc, o.from.text)
			by = 1
		}
		g.slot(root, r.doc, to, v, by)
	}
	return r.do(o)
}

func (g *guard) move(root []*node, r *replay, o *operation) error {
	from, err := slotOf(r.doc, o.from.segments)
	if err != nil {
		return err
	}
	to, ok := from.sibling(o.path.segments)
	switch {
	case slices.Equal(o.from.segments, o.path.segments): // it stays where it is
	case ok: // what is not between the two stays where it is
		g.way(root, r.doc, from.holder(), nil, func(nodes []*node, list Value, at *Path) { g.reorder(nodes, list, from.index, to, at) })
	default:
		return r.move(o, func(s slot, v Value, put bool) {
			if put {
				g.slot(root, r.doc, s, v, 1)
			} else {
				g.slot(root, r.doc, s, Value{}, -1)
			}
		})
	}
	return r.do(o)
}

// slot notes what it touches to write v into a slot, or to take out what is there, when v
// is Missing. In a list, what comes after it moves by that many.
func (g *guard) slot(root []*node, doc Value, s slot, v Value, by int) {
	if len(s.at) == 0 {
		g.walk(root, doc, v, nil, true)
		return
	}
	g.way(root, doc, s.holder(), nil, func(nodes []*node, holder Value, at *Path) {
		if !s.list {
			name := s.at[len(s.at)-1]
			old, _ := holder.Get(name)
			g.walk(g.member(nodes, name), old, v, at.Key(name), true)
			return
		}
		after := func(i int) (Value, bool) {
			if i == s.index && by >= 0 {
				return v, true
			}
			return holder.Index(i - by), i == s.index
		}
		end := s.index + 1
		if by != 0 {
			end = holder.Len() + max(by, 0)
		}
		g.span(nodes, holder, s.index, end, at, after)
	})
}

// reorder notes what it touches to move an element within a list.
func (g *guard) reorder(nodes []*node, list Value, from, to int, at *Path) {
	by := 1
	if to < from {
		by = -1
	}
	g.span(nodes, list, min(from, to), max(from, to)+1, at, func(i int) (Value, bool) {
		if i == to {
			return list.Index(from), true
		}
		return list.Index(i + by), i == from
	})
}

// span compares a stretch of a list with what stands there afterwards. Where the elements
// have no list of writers, that costs nothing: what holds them is touched anyhow.
func (g *guard) span(nodes []*node, list Value, from, end int, at *Path, then func(int) (after Value, written bool)) {
	most := 0 // places that have schemas of their own
	for _, n := range nodes {
		if n.array != nil {
			most = max(most, len(n.array.prefix))
		}
	}
	rest := g.element(nodes, most)
	for i := from; i < end && g.left >= 0; i++ {
		of := rest
		if i < most {
			of = g.element(nodes, i)
		} else if len(rest) == 0 {
			return
		}
		after, written := then(i)
		g.walk(of, list.Index(i), after, at.At(i), written)
	}
}

// way follows the way to what holds a place that is written. All on it is touched.
func (g *guard) way(nodes []*node, v Value, segments []string, at *Path, end func([]*node, Value, *Path)) {
	if g.left--; len(nodes) == 0 || g.left < 0 {
		return
	}
	switch {
	case len(segments) == 0:
		end(nodes, v, at)
	case v.kind == Array:
		i, _ := arrayIndex(segments[0])
		g.way(g.element(nodes, i), v.Index(i), segments[1:], at.At(i), end)
	default:
		next, _ := v.Get(segments[0])
		g.way(g.member(nodes, segments[0]), next, segments[1:], at.Key(segments[0]), end)
	}
	g.note(nodes, at)
}

// walk compares two values at a place, notes the lists of the nodes that apply to it when
// it is touched, and reports whether it is. All of what is written is touched.
func (g *guard) walk(nodes []*node, before, after Value, at *Path, written bool) bool {
	if g.left--; g.left < 0 {
		return true
	}
	if !written && same(before, after) {
		return false
	}
	touched := written || before.kind != after.kind
	if len(nodes) == 0 {
		return touched || !g.equal(before, after)
	}
	var inner bool
	switch {
	case before.kind == Object || after.kind == Object:
		inner = g.members(nodes, before, after, at, written)
	case before.kind == Array || after.kind == Array:
	case !touched:
		touched = !g.equal(before, after)
	}
	if before.kind == Array || after.kind == Array {
		inner = g.elements(nodes, before, after, at, written) || inner
	}
	if touched = touched || inner; touched {
		g.note(nodes, at)
	}
	return touched
}

func (g *guard) equal(a, b Value) bool {
	if same(a, b) {
		return true
	}
	g.left -= (len(a.text) + len(b.text)) / 16
	return Equal(a, b)
}

func (g *guard) members(nodes []*node, before, after Value, at *Path, written bool) bool {
	touched := false
	if before.kind != Object {
		before = Value{}
	}
	if after.kind != Object {
		after = Value{}
	}
	visit := func(name string, a, b Value) {
		if !written && same(a, b) || g.left < 0 {
			return
		}
		touched = g.walk(g.member(nodes, name), a, b, at.Key(name), written) || touched
	}
	for name, a := range before.Members() {
		b, _ := after.Get(name)
		visit(name, a, b)
	}
	for name, b := range after.Members() {
		if before.find(name) < 0 {
			visit(name, Value{}, b)
		}
	}
	g.left -= (before.Len() + after.Len()) / 16
	return touched
}

func (g *guard) elements(nodes []*node, before, after Value, at *Path, written bool) bool {
	touched := false
	if before.kind != Array {
		before = Value{}
	}
	if after.kind != Array {
		after = Value{}
	}
	for i := range max(before.Len(), after.Len()) {
		var a, b Value
		if i < before.Len() {
			a = before.Index(i)
		}
		if i < after.Len() {
			b = after.Index(i)
		}
		if !written && same(a, b) {
			continue
		}
		if g.left < 0 {
			return true
		}
		touched = g.walk(g.element(nodes, i), a, b, at.At(i), written) || touched
	}
	g.left -= (before.Len() + after.Len()) / 16
	return touched
}

// note keeps the lists of nodes, each with the first place where it is touched.
func (g *guard) note(nodes []*node, at *Path) {
	for _, n := range nodes {
		if n.writers != nil && !g.seen[n.writers] {
			g.seen[n.writers] = true
			g.found = append(g.found, Restriction{at.String(), n.writers.rules})
		}
	}
}
