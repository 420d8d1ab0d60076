package diagram

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// Change is how a part of a picture differs between two versions.
type Change string

// The changes.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
	Same    Change = "same"
)

// keyOf joins the parts that name a node in every version of a definition.
func keyOf(parts ...string) string { return strings.Join(parts, "\x00") }

// CompareWorkflows makes one picture of two versions of a definition: all that either has,
// with how it differs. Common parts stand as in the later one.
func CompareWorkflows(before, after *workflow.Definition) *Diagram {
	old, now := Workflow(before), Workflow(after)
	m := &merger{Diagram: &Diagram{title: now.title}, places: make(map[string]int)}
	m.keep(old, now)
	m.nodesOf(old, now)
	m.edgesOf(old, now)
	return m.Diagram
}

// merger puts two diagrams into one.
type merger struct {
	*Diagram
	places map[string]int // by key
}

// keep adds the nodes of the later diagram, with how each differs.
func (m *merger) keep(old, now *Diagram) {
	was := make(map[string]*node, len(old.nodes))
	for i := range old.nodes {
		was[old.nodes[i].key] = &old.nodes[i]
	}
	for i := range now.nodes {
		n := now.nodes[i]
		switch before := was[n.key]; {
		case before == nil:
			n.change = Added
		case before.looks(&n):
			n.change = Same
		default:
			n.change = Changed
		}
		m.places[n.key] = m.add(n) // at the same place, so that its references stays
	}
}

// looks reports that two nodes are drawn alike.
func (n *node) looks(other *node) bool {
	return n.kind == other.kind && n.name == other.name && slices.Equal(n.detail, other.detail) && slices.Equal(n.tip, other.tip)
}

// nodesOf adds the nodes that only the earlier diagram has.
func (m *merger) nodesOf(old, now *Diagram) {
	for i := range old.nodes {
		n := old.nodes[i]
		if _, stays := m.places[n.key]; stays {
			continue
		}
		n.change = Removed
		m.places[n.key] = m.add(n)
	}
	for i := len(now.nodes); i < len(m.nodes); i++ {
		n := &m.nodes[i]
		if n.parent != root {
			n.parent = m.places[old.nodes[n.parent].key]
		}
		if n.kind == branch {
			n.entry, n.exit = m.places[old.nodes[n.entry].key], m.places[old.nodes[n.exit].key]
		}
	}
}

// track identifies an edge in another version: its ends, its event, and how many such
// edges come before it.
type track struct {
	from, to string
	event    string
	dashed   bool
	nth      int
}

func tracksOf(d *Diagram) []track {
	tracks := make([]track, len(d.edges))
	met := make(map[track]int)
	for i := range d.edges {
		e := &d.edges[i]
		t := track{from: d.nodes[e.from].key, to: d.nodes[e.to].key, event: e.event, dashed: e.dashed}
		tracks[i] = t
		tracks[i].nth = met[t]
		met[t]++
	}
	return tracks
}

// edgesOf adds the edges of both.
func (m *merger) edgesOf(old, now *Diagram) {
	oldTracks, nowTracks := tracksOf(old), tracksOf(now)
	was := make(map[track]*edge, len(old.edges))
	for i, t := range oldTracks {
		was[t] = &old.edges[i]
	}
	for i, t := range nowTracks {
		e := now.edges[i]
		switch before := was[t]; {
		case before == nil:
			e.change = Added
		case before.label == e.label && before.approval == e.approval && slices.Equal(before.tip, e.tip):
			e.change = Same
		default:
			e.change = Changed
		}
		delete(was, t)
		m.connect(e)
	}
	for i, t := range oldTracks {
		if was[t] == nil {
			continue
		}
		e := old.edges[i]
		e.from, e.to, e.change = m.places[t.from], m.places[t.to], Removed
		m.connect(e)
	}
}
