package document

import (
	"unicode/utf8"
)

// checker decides whether a value is valid, without converting it, in a bounded number of
// steps. A schema can ask for exponentially many: an anyOf whose branches all describe
// the same child again. So a checker remembers its result for a subschema and a list or
// object, which makes that the number of such pairs at most, and gives up at its limit.
//
// It also checks a change: of a value made from an old one that is known to be valid, it
// looks only at the parts that differ from the old one (ValidateChange). Checking all of
// a value is checking a change from Missing.
type checker struct {
	left  int // steps that it may still take; below 0: it gave up
	known map[visited]bool

	// Members of the object top that are null and in unset are valid (S12.2).
	top   *tree
	unset map[string]bool

	// The violation: the value, its schema and the keyword, and the way there from the
	// inside out.
	node    *node
	value   Value
	keyword string
	way     []Path
}

type visited struct {
	node *node
	tree *tree
}

// Bounds of checking one value. A step is some ten nanoseconds.
const (
	maxSteps      = 20_000_000
	rememberAfter = 4096    // steps: small documents are faster without
	maxRemembered = 1 << 18 // pairs
)

func newChecker() *checker { return &checker{left: maxSteps} }

func (c *checker) gaveUp() bool { return c.left < 0 }

// spend takes steps, and reports whether any are left.
func (c *checker) spend(steps int) bool {
	c.left -= steps
	return c.left >= 0
}

// fail notes the violation and returns false.
func (c *checker) fail(n *node, v Value, keyword string) bool {
	c.node, c.value, c.keyword, c.way = n, v, keyword, c.way[:0]
	return false
}

// below adds the place of a child that was not valid and returns false.
func (c *checker) below(name string, index int) bool {
	c.way = append(c.way, Path{name: name, index: index})
	return false
}

// failedAt returns the place of the violation, below at.
func (c *checker) failedAt(at *Path) *Path {
	for i := len(c.way) - 1; i >= 0; i-- {
		at = &Path{up: at, name: c.way[i].name, index: c.way[i].index}
	}
	return at
}

// valid reports whether v is valid against n.
func (c *checker) valid(n *node, v Value) bool { return c.change(n, Value{}, v) }

// change reports whether v is valid against n, where old is Missing or is valid
// against n.
func (c *checker) change(n *node, old, v Value) bool {
	if same(old, v) {
		return true
	}
	if !c.spend(1) {
		return false
	}
	if old.kind != v.kind {
		old = Value{}
	}
	if !n.shared || v.tree == nil || maxSteps-c.left < rememberAfter {
		return c.keywords(n, old, v)
	}
	pair := visited{n, v.tree}
	if found, ok := c.known[pair]; ok {
		return found || c.fail(n, v, "$ref")
	}
	found := c.keywords(n, old, v)
	if len(c.known) < maxRemembered {
		if c.known == nil {
			c.known = map[visited]bool{}
		}
		c.known[pair] = found
	}
	return found
}

// same reports that b is a as it was: identical, not merely equal.
func same(a, b Value) bool {
	if a.kind != b.kind || a.kind == Missing {
		return false
	}
	switch a.kind {
	case Bool:
		return a.truth == b.truth
	case Array, Object:
		return a.tree == b.tree
	default:
		return a.text == b.text
	}
}

// keywords applies each keyword of n: first those that look at v alone.
func (c *checker) keywords(n *node, old, v Value) bool {
	switch {
	case n.never:
		return c.fail(n, v, "false")
	case !n.types.admits(v):
		return c.fail(n, v, "type")
	case n.constant != nil && !c.in(n.constant, v):
		return c.fail(n, v, "const")
	case n.values != nil && !c.in(n.values, v):
		return c.fail(n, v, "enum")
	}
	ok := true
	switch v.kind {
	case String:
		ok = n.text == nil || c.text(n, v)
	case Number:
		ok = n.number == nil || c.number(n, v)
	case Array:
		ok = n.array == nil || c.array(n, old, v)
	case Object:
		ok = n.object == nil || c.object(n, old, v)
	}
	if !ok {
		return false
	}
	// These must all hold, so they may rely on the old value too.
	for _, next := range n.all {
		if !c.change(next, old, v) {
			return false
		}
	}
	return c.alternatives(n, v)
}

// alternatives applies the keywords of which one schema may fail and n still hold. Which
// one held for the old value is unknown: they look at all of v.
func (c *checker) alternatives(n *node, v Value) bool {
	if len(n.anyOf) > 0 && c.matches(n.anyOf, v, 1) == 0 {
		return c.fail(n, v, "anyOf")
	}
	if len(n.oneOf) > 0 && c.matches(n.oneOf, v, 2) != 1 {
		return c.fail(n, v, "oneOf")
	}
	if n.not != nil && c.valid(n.not, v) {
		return c.fail(n, v, "not")
	}
	if n.cond == nil {
		return true
	}
	if c.valid(n.cond, v) {
		return n.then == nil || c.valid(n.then, v)
	}
	return n.otherwise == nil || c.valid(n.otherwise, v)
}

// matches counts the nodes that v is valid against, up to enough.
func (c *checker) matches(nodes []*node, v Value, enough int) int {
	found := 0
	for _, n := range nodes {
		if c.valid(n, v) {
			if found++; found == enough {
				break
			}
		}
	}
	return found
}

func (c *checker) in(set *valueSet, v Value) bool {
	found, work := set.find(v)
	return c.spend(work) && found
}

func (c *checker) text(n *node, v Value) bool {
	t := n.text
	if !c.spend(len(v.text) / 16) {
		return false
	}
	if t.least > 0 || t.most >= 0 {
		length := utf8.RuneCountInString(v.text)
		if length < t.least {
			return c.fail(n, v, "minLength")
		}
		if t.most >= 0 && length > t.most {
			return c.fail(n, v, "maxLength")
		}
	}
	if t.pattern != nil && !c.match(t.pattern, v.text) {
		return c.fail(n, v, "pattern")
	}
	if t.format != nil && t.format(v.text) != nil {
		return c.fail(n, v, "format")
	}
	return true
}

// match pays for the worst that matching may take.
func (c *checker) match(p *pattern, text string) bool {
	return c.spend(8+(1+len(text))*p.size/8) && p.MatchString(text)
}

func (c *checker) number(n *node, v Value) bool {
	if !c.spend(1 + len(v.text)/16) {
		return false
	}
	of, value := n.number, normalise(v.text)
	switch {
	case of.minimum != nil && value.compare(*of.minimum) < 0:
		return c.fail(n, v, "minimum")
	case of.maximum != nil && value.compare(*of.maximum) > 0:
		return c.fail(n, v, "maximum")
	case of.above != nil && value.compare(*of.above) <= 0:
		return c.fail(n, v, "exclusiveMinimum")
	case of.below != nil && value.compare(*of.below) >= 0:
		return c.fail(n, v, "exclusiveMaximum")
	case of.multipleOf != nil && (!c.spend(len(v.text)) || !value.isMultipleOf(*of.multipleOf)):
		return c.fail(n, v, "multipleOf")
	}
	return true
}

// valueSet holds the values of an enum or a const: JSON equality, found without
// comparing one by one.
type valueSet struct {
	texts map[string]bool
	rest  map[string]bool // canonical forms
	kinds typeSet         // of rest
	count int
}

func newValueSet(list Value) *valueSet {
	s := &valueSet{texts: map[string]bool{}, rest: map[string]bool{}, count: list.Len()}
	for _, v := range list.Elements() {
		if v.kind == String {
			s.texts[v.text] = true
			continue
		}
		s.rest[string(Canonical(v))] = true
		s.kinds |= 1 << v.kind
	}
	return s
}

// find reports whether v is in the set, and the steps that it took.
func (s *valueSet) find(v Value) (found bool, work int) {
	if v.kind == String {
		return s.texts[v.text], len(v.text) / 16
	}
	if v.kind == Missing {
		v = NullValue()
	}
	if s.kinds&(1<<v.kind) == 0 {
		return false, 0
	}
	var buffer [64]byte
	canonical := appendCanonical(buffer[:0], v)
	return s.rest[string(canonical)], len(canonical)
}

// ValidateChange returns for v the result of Validate, where old is known to be valid and
// v was made from it. It looks only at the parts that v does not share with old and at
// the keywords around that, so its cost follows the change: identical lists and objects,
// as a patch leaves them, are not looked into.
//
// A keyword that looks at a whole value (anyOf, oneOf, not, if, dependentSchemas,
// contains, uniqueItems) costs all of that value when there is a change in it. A
// schema with `unevaluatedProperties`, `unevaluatedItems` or a dynamic reference
// costs the whole document.
func (s *Schema) ValidateChange(old, v Value) Problems {
	if s.libraryOnly {
		return s.Validate(v)
	}
	c := newChecker()
	if c.change(s.root, old, v) && !c.gaveUp() {
		return nil
	}
	return s.Validate(v)
}
