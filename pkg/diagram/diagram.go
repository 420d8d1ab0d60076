// Package diagram draws workflows and processes: as Mermaid, as Graphviz DOT,
// and as SVG with a layout of its own. It is pure: the same definition always
// gives the same bytes, and it must never read a file, a clock or a font.
//
// Names and texts of a definition are data: they are escaped in each format and
// can never become markup, a directive or an identifier.
package diagram

import (
	"strconv"
	"strings"
)

// Diagram is a state graph that is ready to be drawn.
type Diagram struct {
	title string
	nodes []node
	edges []edge
	count map[byte]int // of each initial, for ids
	// notes leaves a line of room in each state.
	notes bool
}

// kind is the meaning of a node.
type kind uint8

const (
	start    kind = iota // where a run, or a branch of a fork, begins
	state                // a state that is left again
	success              // a final state by its outcome
	failure              // the other one
	choice               // a list of branches, tried in order
	fork                 // where the branches of a fork part
	join                 // where they meet
	invoke               // a child workflow
	anyState             // where interrupts come from
	goBack               // $return
	branch               // one branch of a fork; holds its states
)

// initials begin the ids of the kinds, in their order.
const initials = "ossscfjiarb"

type node struct {
	kind kind
	id   string // a letter and a number, regardless of the name
	name string
	// detail is secondary text in the node, a line each.
	detail []string
	// tip has the texts that do not fit, a line each.
	tip []string
	// parent is the branch that holds the node, or root.
	parent int
	// entry and exit of a branch are its start and its terminal.
	entry, exit int
	// key names the node in every version of a definition.
	key string
	// change of a node that two versions are merged in; else empty.
	change Change
}

// How much of secondary text is shown, in lines and in columns.
const (
	mostDetails  = 2
	widestDetail = 40
	mostTips     = 24
	widestTip    = 300
)

// root is the parent of nodes outside of branches.
const root = -1

type edge struct {
	from, to int // places in nodes
	label    string
	tip      []string
	dashed   bool // not taken by an event that the state defines
	approval bool
	// event is the start of the label, by which versions are compared.
	event  string
	change Change
}

// add appends a node and returns its place.
func (d *Diagram) add(n node) int {
	initial := initials[n.kind]
	n.id = string(initial) + strconv.Itoa(d.count[initial])
	if d.count == nil {
		d.count = make(map[byte]int)
	}
	d.count[initial]++
	d.nodes = append(d.nodes, n)
	return len(d.nodes) - 1
}

func (d *Diagram) connect(e edge) { d.edges = append(d.edges, e) }

// children returns the nodes that a branch, or the root, holds itself.
func (d *Diagram) children(parent int) []int {
	var held []int
	for i := range d.nodes {
		if d.nodes[i].parent == parent {
			held = append(held, i)
		}
	}
	return held
}

// lifted returns the edges between nodes of one parent each: an edge that crosses the
// border of a branch ends at the branch, and its label names the state inside.
func (d *Diagram) lifted() []edge {
	edges := make([]edge, 0, len(d.edges))
	for _, e := range d.edges {
		from, to := d.siblings(e.from, e.to)
		if from != e.from {
			e.label = strings.TrimSuffix(d.nodes[e.from].name+": "+e.label, ": ")
		}
		if to != e.to {
			e.label = strings.TrimPrefix(e.label+" → "+d.nodes[e.to].name, " ")
		}
		if from != to {
			e.from, e.to = from, to
		}
		edges = append(edges, e)
	}
	return edges
}

// siblings returns a and b, or their ancestors, where both have the same parent.
func (d *Diagram) siblings(a, b int) (int, int) {
	if d.nodes[a].parent == d.nodes[b].parent {
		return a, b
	}
	above := make(map[int]int) // parent to its child, on the way up from a
	for n := a; n != root; n = d.nodes[n].parent {
		above[d.nodes[n].parent] = n
	}
	for n := b; n != root; n = d.nodes[n].parent {
		if sibling, ok := above[d.nodes[n].parent]; ok {
			return sibling, n
		}
	}
	return a, b
}
