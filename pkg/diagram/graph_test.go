package diagram_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/diagram"
)

// A graph is the picture of SVG: the same parts, in the same places.
func TestGraphIsTheSamePicture(t *testing.T) {
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
	pairs := map[string]bool{}
	for _, e := range g.Edges {
		pairs[byID[e.From]+">"+byID[e.To]] = true
		if !strings.Contains(picture, `d="`+e.Path+`"`) || e.Head != "" && !strings.Contains(picture, `d="`+e.Head+`"`) {
			t.Errorf("the picture lacks %+v", e)
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
