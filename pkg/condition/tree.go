package condition

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
)

// Condition is a compiled condition on a call (S21). It is immutable and safe for
// concurrent use. A nil Condition holds for every call.
type Condition struct {
	text  document.Value
	root  node
	looks []string
}

// Use says where a condition stands, to read it.
type Use struct {
	// Stance is that of the place.
	Stance Stance
	// Windows are the names that time may be compared with.
	Windows []string
	// Context is true of a guard's condition, which looks at the context of the run by pointers alone.
	Context bool
}

// node is a part of a condition: a comparison, or a join of others.
type node struct {
	join  join
	nodes []node
	leaf  *leaf // of a comparison
}

// join says how a node joins others.
type join uint8

const (
	comparison join = iota
	joinAll
	joinAny
	joinNot // of one node
)

// Judge returns whether the condition holds for a call.
func (c *Condition) Judge(call Facts, stance Stance) Truth {
	if c == nil {
		return True
	}
	r := run{call: call}
	return c.root.judge(&r, stance)
}

func (n *node) judge(r *run, stance Stance) Truth {
	switch n.join {
	case comparison:
		return n.leaf.judge(r, stance)
	case joinNot:
		return n.nodes[0].judge(r, stance.Opposite()).Not()
	case joinAny:
		t := False
		for i := 0; i < len(n.nodes) && t != True; i++ {
			t = t.Or(n.nodes[i].judge(r, stance))
		}
		return t
	default:
		t := True
		for i := 0; i < len(n.nodes) && t != False; i++ {
			t = t.And(n.nodes[i].judge(r, stance))
		}
		return t
	}
}

// Explain returns every comparison of the condition with its result, in the order written; none of a Chosen call.
func (c *Condition) Explain(call Facts, stance Stance) []Leaf {
	if _, chosen := call.(Chosen); chosen || c == nil {
		return nil
	}
	r := run{call: call}
	return c.root.explain(&r, stance, false, nil)
}

func (n *node) explain(r *run, stance Stance, negated bool, leaves []Leaf) []Leaf {
	if n.join == comparison {
		return append(leaves, n.leaf.explain(r, stance, negated))
	}
	if n.join == joinNot {
		stance, negated = stance.Opposite(), !negated
	}
	for i := range n.nodes {
		leaves = n.nodes[i].explain(r, stance, negated, leaves)
	}
	return leaves
}

// Looks returns the pointers and facets that the condition names, each once, sorted.
func (c *Condition) Looks() []string {
	if c == nil {
		return nil
	}
	return slices.Clone(c.looks)
}

// Value returns the condition as it was written.
func (c *Condition) Value() document.Value {
	if c == nil {
		return document.Value{}
	}
	return c.text
}

// Leaf is one comparison with its result.
type Leaf struct {
	// Looks is the pointer or facet, as written.
	Looks string
	// Expected and Actual are for people, shortened.
	Expected, Actual string
	// Result is True when the comparison holds; not and unless around it are not applied.
	Result Truth
	// Why explains a doubt and says how to send the value; empty otherwise.
	Why string
	// Negated is true under an odd number of not and unless.
	Negated bool
}

// Clause is when and unless of a rule: it applies if When holds and Unless does not.
type Clause struct{ When, Unless *Condition }

// ReadClause reads "when" and "unless" of a rule.
func ReadClause(f document.Fields, use Use) Clause {
	var c Clause
	if v, ok := f.Value.Get("when"); ok {
		c.When = Read(f.Report, v, f.At.Key("when"), use)
	}
	if v, ok := f.Value.Get("unless"); ok {
		use.Stance = use.Stance.Opposite()
		c.Unless = Read(f.Report, v, f.At.Key("unless"), use)
	}
	return c
}

// IsZero reports a clause without conditions: it applies to every call.
func (c Clause) IsZero() bool { return c.When == nil && c.Unless == nil }

// Applies returns whether a rule with the clause is about a call.
func (c Clause) Applies(call Facts, stance Stance) Truth {
	t := c.When.Judge(call, stance)
	if c.Unless == nil || t == False {
		return t
	}
	return t.And(c.Unless.Judge(call, stance.Opposite()).Not())
}

// Explain returns the leaves of both, those of Unless negated.
func (c Clause) Explain(call Facts, stance Stance) []Leaf {
	leaves := c.When.Explain(call, stance)
	if c.Unless == nil {
		return leaves
	}
	for _, leaf := range c.Unless.Explain(call, stance.Opposite()) {
		leaf.Negated = !leaf.Negated
		leaves = append(leaves, leaf)
	}
	return leaves
}
