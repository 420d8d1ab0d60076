package condition

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// Bounds of a condition.
const (
	mostLeaves = 64
	mostLevels = 8
	mostStars  = 2 // of a pointer
	mostListed = 256
)

// Read reads a condition that is part of a document and reports its problems there. It returns nil
// when it reports an error.
func Read(r *document.Report, v document.Value, at *document.Path, use Use) *Condition {
	read := reader{report: r, context: use.Context, windows: use.Windows}
	root := read.condition(v, at, use.Stance, 1)
	if read.leaves > mostLeaves {
		read.errorf(at, document.CodeTooMany, "the condition has %d comparisons, the limit is %d; write fewer, or another rule", read.leaves, mostLeaves)
	}
	if read.failed {
		return nil
	}
	slices.Sort(read.looks)
	return &Condition{text: v, root: root, looks: slices.Compact(read.looks)}
}

// reader reads one condition.
type reader struct {
	report  *document.Report
	windows []string
	context bool // pointers are all that it may look at
	looks   []string
	leaves  int
	failed  bool
}

func (r *reader) errorf(at *document.Path, code document.Code, format string, args ...any) {
	r.failed = true
	r.report.Errorf(at, code, format, args...)
}

// condition reads an object whose keys must all hold.
func (r *reader) condition(v document.Value, at *document.Path, stance Stance, level int) node {
	switch {
	case v.Kind() != document.Object:
		r.errorf(at, document.CodeType, "a condition must be an object, such as {\"/amount\": {\"lte\": 100}}, not %s", aKind(v.Kind()))
		return node{}
	case v.Len() == 0:
		r.errorf(at, document.CodeEmpty, "the condition is empty; name a pointer or a facet, such as \"/amount\" or \"writes\"")
		return node{}
	case level > mostLevels:
		r.errorf(at, document.CodeTooDeep, "conditions are more than %d levels deep; write them flatter", mostLevels)
		return node{}
	}
	var nodes []node
	for key, matcher := range v.Members() {
		if r.leaves > mostLeaves {
			break // reported at the end
		}
		nodes = append(nodes, r.key(key, matcher, at.Key(key), stance, level))
	}
	if len(nodes) == 1 {
		return nodes[0]
	}
	return node{join: joinAll, nodes: nodes}
}

func (r *reader) key(key string, v document.Value, at *document.Path, stance Stance, level int) node {
	switch key {
	case "all":
		return node{join: joinAll, nodes: r.list(key, v, at, stance, level)}
	case "any":
		return node{join: joinAny, nodes: r.list(key, v, at, stance, level)}
	case "not":
		return node{join: joinNot, nodes: []node{r.condition(v, at, stance.Opposite(), level+1)}}
	}
	r.leaves++
	l := &leaf{key: key, text: v}
	if !r.looksAt(l, at, stance) {
		return node{leaf: l}
	}
	r.looks = append(r.looks, key)
	m := matcher{reader: r, leaf: l}
	m.read(v, at)
	return node{leaf: l}
}

func (r *reader) list(key string, v document.Value, at *document.Path, stance Stance, level int) []node {
	if v.Kind() != document.Array || v.Len() == 0 {
		r.errorf(at, document.CodeType, "%q must be a list of at least one condition", key)
		return nil
	}
	var nodes []node
	for i, child := range v.Elements() {
		if r.leaves > mostLeaves {
			break
		}
		nodes = append(nodes, r.condition(child, at.At(i), stance, level+1))
	}
	return nodes
}

// looksAt reads the key of a comparison.
func (r *reader) looksAt(l *leaf, at *document.Path, stance Stance) bool {
	switch {
	case strings.HasPrefix(l.key, "/"):
		return r.pointer(l, at)
	case r.context:
		r.errorf(at, document.CodeUnknownField, "a guard looks at the context of the run, by pointers such as %q, and not at calls; use \"all\", \"any\" and \"not\" to join them", asPointer(l.key))
		return false
	case l.key == anywhere && stance.allows():
		r.errorf(at, document.CodeNoEffect,
			"\"anywhere\" cannot allow: a harmless text would do for another; name the argument by its pointer, such as \"/path\"")
		return false
	case l.key == anywhere:
		return true
	case l.key == string(CommandShown) && stance.allows():
		r.errorf(at, document.CodeNoEffect,
			"\"command.shown\" cannot allow: it leaves out what the line hides; write \"command\"")
		return false
	}
	l.facet = Facet(l.key)
	if l.of = l.facet.Type(); l.of == NoType {
		r.unknownKey(l.key, at)
		return false
	}
	if l.facet.member() {
		l.each = eachSome // unless the matcher says otherwise
	}
	if l.of == WindowType && len(r.windows) == 0 {
		r.errorf(at, document.CodePathMissing, "\"time\" is compared with windows, and there are none; name some in \"windows\"")
		return false
	}
	return true
}

func (r *reader) pointer(l *leaf, at *document.Path) bool {
	path, fault := readPointer(l.key)
	if fault != "" {
		r.errorf(at, document.CodePointer, "%s %s", document.Quote(l.key), fault)
		return false
	}
	l.path = path
	return true
}

func (r *reader) unknownKey(key string, at *document.Path) {
	names := make([]string, 0, len(facets)+4)
	for _, f := range Facets() {
		names = append(names, string(f))
	}
	names = append(names, "all", "any", "not", anywhere)
	near, found := document.NearField(key, names)
	switch parts := partsOf(key, names); {
	case found:
		r.errorf(at, document.CodeUnknownField, "a condition has no key %s; did you mean %q?", document.Quote(key), near)
	case len(parts) > 0:
		r.errorf(at, document.CodeUnknownField, "a condition has no key %s; its parts are: %s", document.Quote(key), strings.Join(parts, ", "))
	case operators[key] != noOperator:
		r.errorf(at, document.CodeUnknownField, "%q is an operator; write it below a pointer or a facet: {\"/amount\": {%q: ...}}", key, key)
	default:
		r.errorf(at, document.CodeUnknownField, "a condition has no key %s; did you mean %q?", document.Quote(key), asPointer(key))
	}
}

// partsOf returns the facets of a program or language: "git" has "git.refs" and others.
func partsOf(key string, names []string) []string {
	var parts []string
	for _, name := range names {
		if key != "" && strings.Contains(name, ".") && parent(name) == parent(key) {
			parts = append(parts, `"`+name+`"`)
		}
	}
	return parts
}

// asPointer writes the key of an argument as a pointer: $.amount and input.amount are /amount.
func asPointer(key string) string {
	for _, start := range []string{"$.", "#/", "input.", "args.", "arguments.", "."} {
		if rest, ok := strings.CutPrefix(key, start); ok && rest != "" {
			key = rest
			break
		}
	}
	names := strings.Split(strings.NewReplacer("[*]", ".*", "[", ".", "]", "").Replace(key), ".")
	return document.Pointer(names...)
}

// aKind names a kind with its article.
func aKind(k document.Kind) string {
	switch k {
	case document.Null, document.Missing:
		return k.String()
	case document.Object:
		return "an object"
	default:
		return "a " + k.String()
	}
}
