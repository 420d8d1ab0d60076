package condition

import (
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// Rest returns an input without what the pointers of the condition lead to. Two calls with the same rest differ only in
// what the condition looks at. Of a list whose elements a * goes through, it has each rest of an element once.
func (c *Condition) Rest(input document.Value) document.Value {
	if c == nil {
		return input
	}
	return rest(input, c.root.paths(nil))
}

// paths appends the pointers of all comparisons.
func (n *node) paths(all []pointer) []pointer {
	if n.leaf != nil && n.leaf.path != nil {
		all = append(all, n.leaf.path)
	}
	for i := range n.nodes {
		all = n.nodes[i].paths(all)
	}
	return all
}

// rest returns a value without the ends of pointers, none of which is empty.
func rest(v document.Value, paths []pointer) document.Value {
	if len(paths) == 0 {
		return v
	}
	switch v.Kind() {
	case document.Object:
		var members []document.Member
		for name, member := range v.Members() {
			if next, named := below(paths, name, false); !named {
				members = append(members, document.Member{Name: name, Value: rest(member, next)})
			}
		}
		return document.ObjectValue(members)
	case document.Array:
		if slices.ContainsFunc(paths, func(p pointer) bool { return p[0].star }) {
			return starred(v, paths)
		}
		items := make([]document.Value, v.Len())
		for i, item := range v.Elements() {
			next, named := below(paths, strconv.Itoa(i), false)
			if items[i] = document.NullValue(); !named {
				items[i] = rest(item, next)
			}
		}
		return document.ArrayValue(items)
	default:
		return v
	}
}

// starred returns the rests of the elements of a list, each once, sorted.
func starred(v document.Value, paths []pointer) document.Value {
	next, named := below(paths, "", true)
	if named {
		return document.ArrayValue(nil)
	}
	var items []document.Value
	for _, item := range v.Elements() {
		items = append(items, rest(item, next))
	}
	slices.SortFunc(items, func(a, b document.Value) int { return strings.Compare(document.Digest(a), document.Digest(b)) })
	return document.ArrayValue(slices.CompactFunc(items, document.Equal))
}

// below returns what is left of the pointers that go through a member, or through *; named is true when one ends there.
func below(paths []pointer, name string, star bool) (next []pointer, named bool) {
	for _, p := range paths {
		if p[0].star != star || !star && p[0].name != name {
			continue
		}
		if len(p) == 1 {
			return nil, true
		}
		next = append(next, p[1:])
	}
	return next, false
}
