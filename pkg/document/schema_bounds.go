package document

// Bounds of a compiled schema. Applying one can cost exponentially more than its
// text: an allOf that names the same definition twice, ten times over. The cost
// that multiplies down the value, not the schema, is bounded when it is applied
// (checker).
const (
	maxSchemaCost = 10_000 // subschemas applied to one and the same value
	maxInPlace    = 64     // of them, one leading to the next ($ref, allOf, ...)
)

// oldestDraft is the first that we take (S10.1).
const oldestDraft = 7

// checkBounds reports a schema that refers to itself without going into the
// value, one that applies too many subschemas to a value, and a part in a draft
// that is too old.
func (r *Report) checkBounds(nodes []*node, root *node, place func([]string) *Path) bool {
	b := bounds{known: map[*node]bound{}}
	for _, n := range append([]*node{root}, nodes...) {
		found := b.of(n)
		switch {
		case n.source.DraftVersion < oldestDraft:
			r.Errorf(place(segmentsAt(n.source.Location)), CodeBadSchema,
				"the schema is in draft-%02d; use https://json-schema.org/draft/2020-12/schema", n.source.DraftVersion)
			return false
		case b.cycle != nil:
			r.Errorf(place(segmentsAt(b.cycle.source.Location)), CodeBadSchema,
				"the schema refers to itself without descending into the value; put the reference below \"properties\" or \"items\"")
			return false
		case found.cost > maxSchemaCost:
			r.Errorf(place(nil), CodeBadSchema, "the schema applies more than %d subschemas to one value; make it simpler", maxSchemaCost)
			return false
		case found.length > maxInPlace:
			r.Errorf(place(segmentsAt(n.source.Location)), CodeBadSchema,
				"more than %d subschemas refer to each other in a chain here; shorten the chain of \"$ref\" and \"allOf\"", maxInPlace)
			return false
		}
	}
	return true
}

// bound is the cost of applying a node to a value: subschemas applied to that same value,
// and the longest chain of them.
type bound struct{ cost, length int }

type bounds struct {
	known map[*node]bound
	cycle *node
}

func (b *bounds) of(n *node) bound {
	if known, ok := b.known[n]; ok {
		if known.cost == 0 {
			b.cycle = n
		}
		return known
	}
	b.known[n] = bound{} // under way
	total := bound{cost: 1, length: 1}
	for next := range n.inPlace() {
		below := b.of(next)
		if b.cycle != nil {
			return bound{}
		}
		total.cost = min(total.cost+below.cost, maxSchemaCost+1)
		total.length = max(total.length, 1+below.length)
	}
	b.known[n] = total
	return total
}

// inPlace yields the nodes that n applies to the same value, except dynamic
// ones: where those lead in a circle, the library says so when it gets there.
func (n *node) inPlace() func(func(*node) bool) {
	return func(yield func(*node) bool) {
		for _, group := range [][]*node{n.all, n.anyOf, n.oneOf} {
			for _, next := range group {
				if !yield(next) {
					return
				}
			}
		}
		for _, next := range []*node{n.not, n.cond, n.then, n.otherwise} {
			if next != nil && !yield(next) {
				return
			}
		}
		if n.object == nil {
			return
		}
		for _, d := range n.object.dependents {
			if d.schema != nil && !yield(d.schema) {
				return
			}
		}
	}
}
