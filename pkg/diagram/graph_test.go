package diagram_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/diagram"
)

// A graph has the parts of the picture of SVG.
func TestGraphHasThePartsOfThePicture(t *testing.T) {
	t.Parallel()
	d := parse(t, `{"id": "w", "initial": "plan", "guards": {"ok": {"field": "n", "op": "gt", "value": 1}}, "states": {
		"plan": {"allowed_tools": ["Read"], "on": {"GO": {"target": "work", "guard": "ok"}, "AGAIN": "plan"}},
		"work": {"on": {"DONE": {"target": "done", "requires_approval": true}, "BACK": "plan"}},
		"done": {"type": "final"}}}`)
	g, picture := d.Graph(), d.SVG()
	names, byID := map[string]diagram.GraphNode{}, map[string]string{}
	for _, n := range g.Nodes {
		names[n.Name], byID[n.ID] = n, n.Name
	}
	if len(names) != 4 || names["done"].Kind != "success" || names["plan"].Width == 0 || g.Width == 0 || g.Height == 0 {
		t.Errorf("nodes %+v", g.Nodes)
	}
	if lines := strings.Count(picture, `class="line`); lines != len(g.Edges) {
		t.Errorf("%d edges, and %d lines in the picture", len(g.Edges), lines)
	}
	pairs := map[string]bool{}
	for _, e := range g.Edges {
		pairs[byID[e.From]+">"+byID[e.To]] = true
		if e.Path == "" {
			t.Errorf("no path: %+v", e)
		}
	}
	for _, pair := range []string{">plan", "plan>plan", "plan>work", "work>done", "work>plan"} {
		if !pairs[pair] {
			t.Errorf("no edge %s in %v", pair, pairs)
		}
	}
	approvals := 0
	for _, l := range g.Labels {
		for _, line := range l.Lines {
			if line.Approval {
				approvals++
			}
			if !strings.Contains(picture, ">"+line.Text+"<") {
				t.Errorf("the picture lacks %q", line.Text)
			}
		}
	}
	if approvals != 1 {
		t.Errorf("%d labels need approval", approvals)
	}
}

// A state of a graph has a line of room for a note, which no edge crosses: texts take the rest of the box.
func TestGraphLeavesRoomForNotes(t *testing.T) {
	t.Parallel()
	const padding, nameLine, line, noteWidth = 12, 18, 14, 61
	d := parse(t, `{"id": "w", "initial": "a", "states": {
		"a": {"on": {"GO": "b", "FORK": {"fork": {"join": "all", "on_complete": "b", "on_fail": "failed", "branches": {
			"left": {"initial": "l", "terminal": "m"}, "right": {"initial": "r", "terminal": "s"}}}}}},
		"l": {"on": {"NEXT": "m"}}, "m": {"type": "final"}, "r": {"on": {"NEXT": "s"}}, "s": {"type": "final"},
		"b": {"on": {"DONE": "done"}}, "done": {"type": "final"}, "failed": {"type": "final", "outcome": "failure"}}}`)
	states := 0
	for _, n := range d.Graph().Nodes {
		texts := len(n.Details)
		switch n.Kind {
		case "success", "failure":
			texts++
		case "state":
		default:
			continue
		}
		states++
		if want := padding + nameLine + (texts+1)*line; n.Height < want || n.Width < noteWidth+2*padding {
			t.Errorf("state %s of %d x %d has no room for a note; it needs a height of %d", n.Name, n.Width, n.Height, want)
		}
	}
	if states != 8 {
		t.Errorf("%d states", states)
	}
}
