package condition

import "github.com/interlock-run/interlock/pkg/document"

// Comparison is one key of a condition with its matcher.
type Comparison struct{ leaf *leaf }

// Looks returns the pointer or facet, as written.
func (c Comparison) Looks() string { return c.leaf.key }

// Text returns the matcher, as written.
func (c Comparison) Text() document.Value { return c.leaf.text }

// Pointer reports a comparison with arguments by a pointer, other than with facets or any text.
func (c Comparison) Pointer() bool { return c.leaf.path != nil }

// Judge returns whether the comparison holds for a call.
func (c Comparison) Judge(call Facts, stance Stance) Truth {
	r := run{call: call}
	return c.leaf.judge(&r, stance)
}

// Chosen is a call of which only the results of comparisons are known: it returns the result of each. Proofs
// choose them (S21.20).
type Chosen func(Comparison, Stance) Truth

// Input implements Call: there are no arguments.
func (Chosen) Input() (document.Value, bool) { return document.Value{}, false }

// Facet implements Call: no facet is known.
func (Chosen) Facet(Facet) Set { return Unknown("the results of comparisons are chosen") }
