package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// writersKeyword lists who may write a value of a shared state (S18.1), and keywordPrefix
// is that of all our keywords: a misspelt one would have no effect.
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

// String returns the entry as it is written.
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

// readWriter reads an entry of a list, or describes the problem with it.
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

// bindWriters prepares the lists of all nodes. A list without values is an error: it would
// have no effect.
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

// spare reports that the keyword at a place outside of all schemas in use is in an unused
// definition: it is not meant to apply here.
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

// Restrictions returns all lists of writers, by the places that they apply to. A schema
// that holds itself is followed until it comes back.
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
