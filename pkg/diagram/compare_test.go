package diagram

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func defined(t *testing.T, src string) *workflow.Definition {
	t.Helper()
	def, problems := workflow.Parse([]byte(src))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return def
}

// changesOf are the nodes and the lines of labels of a graph by how they differ.
func changesOf(g *Graph) map[string]Change {
	changes := map[string]Change{}
	names := map[string]string{}
	for _, n := range g.Nodes {
		names[n.ID] = n.Name
		changes[n.Kind+" "+n.Name] = n.Change
	}
	for _, l := range g.Labels {
		for _, line := range l.Lines {
			changes[names[l.From]+" -> "+names[l.To]+": "+line.Text] = line.Change
		}
	}
	return changes
}

func TestTwoVersionsInOnePicture(t *testing.T) {
	t.Parallel()
	before := defined(t, `{"id": "w", "initial": "plan", "guards": {"ok": {"field": "n", "op": "exists"}}, "states": {
		"plan": {"allowed_tools": ["Read"], "on": {"GO": "work", "AGAIN": "plan", "OLD": "done"}},
		"work": {"on": {"DONE": "done", "ASIDE": "aside"}},
		"aside": {"on": {"BACK": "work"}},
		"done": {"type": "final"}}}`)
	after := defined(t, `{"id": "w", "initial": "plan", "guards": {"ok": {"field": "n", "op": "exists"}}, "states": {
		"plan": {"allowed_tools": ["Read", "Grep"], "on": {"GO": {"target": "work", "guard": "ok"}, "AGAIN": "plan", "ONCE_MORE": "plan"}},
		"work": {"on": {"DONE": "check"}},
		"check": {"on": {"PASS": "done"}},
		"done": {"type": "final"}}}`)
	d := CompareWorkflows(before, after)
	g := d.Graph()
	got := changesOf(&g)
	for what, want := range map[string]Change{
		"state plan": Changed, "state work": Same, "state aside": Removed, "state check": Added, "success done": Same,
		"plan -> work: GO [ok]": Changed, "plan -> plan: AGAIN": Same, "plan -> plan: ONCE_MORE": Added, "plan -> done: OLD": Removed,
		"work -> check: DONE": Added, "work -> done: DONE": Removed, "work -> aside: ASIDE": Removed, "aside -> work: BACK": Removed,
		"check -> done: PASS": Added,
	} {
		if got[what] != want {
			t.Errorf("%s is %q, want %q", what, got[what], want)
		}
	}
	loops := map[Change]int{}
	for _, e := range g.Edges {
		if e.From == e.To {
			loops[e.Change]++
		}
	}
	if loops[Changed] != 1 || len(loops) != 1 {
		t.Errorf("the lines from plan to itself are %v", loops)
	}
	if err := checkLayout(d, d.layout()); err != nil {
		t.Error(err)
	}
}

// TestPictureOfEqualVersionsIsTheSame: without changes, all parts keep their places.
func TestPictureOfEqualVersionsIsTheSame(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		def := unique(drawWorkflow(t))
		plain, compared := Workflow(def).Graph(), CompareWorkflows(def, def).Graph()
		for i := range compared.Nodes {
			if compared.Nodes[i].Change != Same {
				t.Fatalf("a node is %+v", compared.Nodes[i])
			}
			compared.Nodes[i].Change = ""
		}
		for i := range compared.Edges {
			if compared.Edges[i].Change != Same {
				t.Fatalf("an edge is %+v", compared.Edges[i])
			}
			compared.Edges[i].Change = ""
		}
		for i := range compared.Labels {
			for k := range compared.Labels[i].Lines {
				compared.Labels[i].Lines[k].Change = ""
			}
		}
		if got, want := fmt.Sprintf("%+v", compared), fmt.Sprintf("%+v", plain); got != want {
			t.Fatalf("compared with itself it is\n%s, not\n%s", got, want)
		}
	})
}

// TestAnyTwoVersionsAreDrawn: all parts of both are in the picture, for any changes.
func TestAnyTwoVersionsAreDrawn(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		before := unique(drawWorkflow(t))
		after := unique(altered(t, before))
		d := CompareWorkflows(before, after)
		if err := checkLayout(d, d.layout()); err != nil {
			t.Fatal(err)
		}
		old, now := Workflow(before), Workflow(after)
		count := map[Change]int{}
		for i := range d.nodes {
			count[d.nodes[i].change]++
		}
		if both := count[Same] + count[Changed]; both+count[Removed] != len(old.nodes) || both+count[Added] != len(now.nodes) {
			t.Fatalf("%d and %d nodes have become %v", len(old.nodes), len(now.nodes), count)
		}
		clear(count)
		for i := range d.edges {
			count[d.edges[i].change]++
		}
		if both := count[Same] + count[Changed]; both+count[Removed] != len(old.edges) || both+count[Added] != len(now.edges) {
			t.Fatalf("%d and %d edges have become %v", len(old.edges), len(now.edges), count)
		}
	})
}

// unique gives events and branches the names that Parse would require.
func unique(def *workflow.Definition) *workflow.Definition {
	for i := range def.States {
		s := &def.States[i]
		events := map[string]bool{}
		s.On = slices.DeleteFunc(slices.Clone(s.On), func(tr workflow.Transition) bool {
			met := events[tr.Event]
			events[tr.Event] = true
			return met
		})
		for k := range s.On {
			if fork := s.On[k].Fork; fork != nil {
				copied := *fork
				copied.Branches = slices.Clone(fork.Branches)
				for b := range copied.Branches {
					copied.Branches[b].Name = strconv.Itoa(b)
				}
				s.On[k].Fork = &copied
			}
		}
	}
	return def
}

// altered is a definition with some of its states gone, new or with other events.
func altered(t *rapid.T, def *workflow.Definition) *workflow.Definition {
	other := drawWorkflow(t)
	after := *def
	after.States = nil
	taken := map[string]bool{}
	add := func(s workflow.State) {
		if !taken[s.Name] {
			taken[s.Name] = true
			after.States = append(after.States, s)
		}
	}
	for _, s := range def.States {
		switch rapid.IntRange(0, 5).Draw(t, "what becomes of it") {
		case 0:
		case 1:
			s.On = other.States[0].On
			add(s)
		case 2:
			s.On = s.On[:len(s.On)/2]
			add(s)
		default:
			add(s)
		}
	}
	for _, s := range other.States[:rapid.IntRange(0, len(other.States)).Draw(t, "new ones")] {
		add(s)
	}
	if len(after.States) == 0 {
		add(other.States[0])
	}
	return &after
}
