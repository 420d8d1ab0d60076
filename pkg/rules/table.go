package rules

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/toolname"
)

// outcome combines the rules that match a capability.
type outcome struct {
	// deny, ask and allow are the closest rule without conditions of each list, nil when none matches.
	deny, ask, allow *Source
	// denies, asks and allows are all rules with conditions that match, the closest first.
	denies, asks, allows []*conditional
	// questions are all rules that ask, when more than one does: see applied.
	questions []*Source
	// near is the closest rule that would allow other values of the call: see applied.
	near *Source
	// outside are the rules of deny that apply unless their decision points agree: see applied.
	outside []*Source
	// excepted are the exceptions by which the call passes rules: see applied.
	excepted []string
	// email is true for tools that send email.
	email bool
	// limits of all rules without conditions that match, in an order that does not depend on theirs.
	limits []*limit
}

// restricts reports an outcome that may deny, ask or limit.
func (o *outcome) restricts() bool {
	return o.deny != nil || o.ask != nil || len(o.limits) > 0 || o.conditionals()
}

// pattern is a rule's capability, read, and the effect of the rule.
type pattern struct {
	text string // without the *
	wild bool   // with one
	says outcome
	rule *conditional // nil for a tool of email_config
}

// node is a place where patterns end or part: a tree of their common beginnings.
// All that matches there follows from the way to it, so it is worked out
// beforehand, and one walk along a capability answers it.
type node struct {
	label string // the edge from the node before
	heads string // the first byte of each child's label
	nodes []node
	// whole is the outcome for a capability that ends here or continues with a separator,
	// part of one that continues otherwise.
	whole, part *outcome
}

// newTable compiles patterns. Of several rules of a list that match, the one with
// the longest pattern speaks for them, and of equals the first.
func newTable(patterns []pattern) *node {
	patterns = slices.Clone(patterns)
	slices.SortStableFunc(patterns, func(a, b pattern) int { return strings.Compare(a.text, b.text) })
	root := &node{}
	root.build(patterns, 0, &outcome{})
	return root
}

// build makes the node at which patterns, which begin with the same bytes, have
// the first `at` of them behind them.
func (n *node) build(patterns []pattern, at int, inherited *outcome) {
	own := 0
	for own < len(patterns) && len(patterns[own].text) == at {
		own++
	}
	n.part = inherited.with(patterns[:own], true)
	n.whole = n.part.with(patterns[:own], false)
	for rest := patterns[own:]; len(rest) > 0; {
		head := rest[0].text[at]
		end := slices.IndexFunc(rest, func(p pattern) bool { return p.text[at] != head })
		if end < 0 {
			end = len(rest)
		}
		same := rest[:end]
		rest = rest[end:]
		to := shared(same[0].text, same[end-1].text)
		child := node{label: same[0].text[at:to]}
		child.build(same, to, n.next(head))
		n.heads += string([]byte{head})
		n.nodes = append(n.nodes, child)
	}
}

// shared returns how many bytes two texts begin with alike.
func shared(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

// next returns the outcome for a capability that continues with c.
func (n *node) next(c byte) *outcome {
	if toolname.Separates(c) {
		return n.whole
	}
	return n.part
}

// with adds the effects of patterns with or without a * to the outcome on the way to
// them.
func (o *outcome) with(patterns []pattern, wild bool) *outcome {
	sum := *o
	sum.limits = slices.Clone(o.limits)
	for _, p := range slices.Backward(patterns) { // so that the first has the last word
		if p.wild == wild {
			sum.add(&p.says)
		}
	}
	slices.SortFunc(sum.limits, (*limit).compare)
	return &sum
}

func (o *outcome) add(more *outcome) {
	if more.deny != nil {
		o.deny = more.deny
	}
	if more.ask != nil {
		o.ask = more.ask
	}
	if more.allow != nil {
		o.allow = more.allow
	}
	o.email = o.email || more.email
	o.denies = slices.Concat(more.denies, o.denies)
	o.asks = slices.Concat(more.asks, o.asks)
	o.allows = slices.Concat(more.allows, o.allows)
	o.count(more.limits)
}

// find returns the outcome for a capability.
func (n *node) find(capability []byte) *outcome {
	for {
		if len(capability) == 0 {
			return n.whole
		}
		i := strings.IndexByte(n.heads, capability[0])
		if i < 0 {
			return n.next(capability[0])
		}
		child := &n.nodes[i]
		if len(capability) < len(child.label) || string(capability[:len(child.label)]) != child.label {
			return n.next(capability[0])
		}
		capability = capability[len(child.label):]
		n = child
	}
}
