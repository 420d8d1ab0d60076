// Package explore visits all states that the runs of a model can reach, step by step with workflow.Machine.Step.
package explore

import (
	"crypto/sha256"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Bounds limit an exploration.
type Bounds struct {
	// MaxStates is the most that are explored for one property; 0 for DefaultStates.
	MaxStates int
	// Progress is called now and then with the progress, and may stop it by returning
	// false; may be nil.
	Progress func(property string, states int) bool
}

// DefaultStates are explored for one property unless the options say otherwise.
const DefaultStates = 1_000_000

// Explorer explores one model.
type Explorer struct {
	*calls.Judge
	Conditions Conditions
	Bounds     Bounds
	// reduced: the branches of a fork are explored one after the other.
	Reduced bool
	// observing: something asks for evidence.
	Observing bool
	// Sought is the event of the property, which safe_next can take where no state defines it.
	Sought string
	// Choose and events stand in for the values that guards of the main workflow
	// distinguish and for the events that are tried in it; nil for its own. everyGrant:
	// each choice of values under which an approval can be carried out counts, not one of
	// them.
	Choose     func(n *model.Node, lane *workflow.View, event string) ([][]model.Assignment, bool)
	Events     func(n *model.Node, lane *workflow.View) []string
	EveryGrant bool

	// Reasons for a coarse exploration of one property: workflows that were not given,
	// and others.
	Stubbed map[string]bool
	Causes  []string
}

// NewExplorer returns an explorer of a model.
func NewExplorer(m *model.Model, b Bounds) *Explorer {
	if b.MaxStates <= 0 {
		b.MaxStates = DefaultStates
	}
	y := model.NewSystem(m)
	x := &Explorer{Judge: calls.NewJudge(y), Conditions: Conditions{y}, Bounds: b, Reduced: true, Stubbed: map[string]bool{}}
	for _, d := range m.Definitions() {
		if len(d.Machine.Evidence()) > 0 {
			x.Reduced, x.Observing = false, true
		}
	}
	return x
}

// AddCause adds a reason for a coarse exploration.
func (x *Explorer) AddCause(what string) {
	if !slices.Contains(x.Causes, what) {
		x.Causes = append(x.Causes, what)
	}
}

// begin returns the global states that a run begins in.
func (x *Explorer) begin() []*model.GlobalState {
	m := x.Main.Machine
	starts := []document.Value{document.ObjectValue(nil)}
	if m.Definition().InputsDeclared {
		words := x.Main.Words
		settable := func(key string) bool { return slices.Contains(m.Definition().Inputs, key) }
		// Keys that the agent leaves alone keep their source.
		for _, keep := range x.subsets(slices.DeleteFunc(slices.Clone(words.Keys), func(key string) bool {
			return !words.Traced[key] || !settable(key)
		})) {
			var free []document.Member
			for _, key := range words.Keys {
				if settable(key) && !slices.Contains(keep, key) {
					free = append(free, document.Member{Name: key, Value: model.FreeByAgent})
				}
			}
			if len(free) > 0 {
				starts = append(starts, document.ObjectValue(free))
			}
		}
	}
	var globals []*model.GlobalState
	for _, context := range starts {
		out := m.Start(workflow.StartParams{
			ID: "run", SessionID: model.Agent, Workspace: model.Workspace, Owner: model.Agent, Context: context, Source: evidence.Agent,
		}, model.Agent, model.Epoch)
		if out.Rejection != nil {
			continue
		}
		run := out.Run
		run.Context = x.Main.Words.Restrict(run.Context)
		globals = append(globals, &model.GlobalState{Root: &model.Node{Unit: x.Main, Run: model.Tidy(&run, x.Main.Words, false)}})
	}
	return globals
}

// Explore goes breadth first through all that can happen.
func (x *Explorer) Explore(property string, l Visitor, begin func(*model.GlobalState)) *Graph {
	g := &Graph{seen: map[Digest]int32{}}
	var queue []int32
	var buffer []byte
	add := func(w *model.GlobalState, from int32, by Move) (at int32, fresh bool) {
		buffer = w.AppendKey(buffer[:0])
		sum := sha256.Sum256(buffer)
		key := Digest(sum[:16])
		if at, known := g.seen[key]; known {
			if l.Better == nil || !l.Better(g.Globals[at].GlobalState, w) {
				return at, false
			}
		}
		at = int32(len(g.Globals))
		g.seen[key] = at
		g.Globals = append(g.Globals, Visited{w, from, by})
		return at, true
	}
	for _, w := range x.begin() {
		if begin != nil {
			begin(w)
		}
		if at, fresh := add(w, -1, Move{Kind: Begins}); fresh {
			queue = append(queue, at)
		}
	}
	for next := 0; next < len(queue); next++ {
		at := queue[next]
		if l.GlobalState != nil && !l.GlobalState(g, at) {
			return g
		}
		if next%256 == 255 && x.Bounds.Progress != nil && !x.Bounds.Progress(property, len(g.Globals)) {
			g.Full = true
			return g
		}
		going := true
		x.Moves(g.Globals[at].GlobalState, func(s *Step) bool {
			follow := true
			if l.Step != nil {
				if follow, going = l.Step(g, at, s); !going {
					return false
				}
			}
			if !follow {
				return true
			}
			if len(g.Globals) >= x.Bounds.MaxStates {
				g.Full, going = true, false
				return false
			}
			to, fresh := add(s.To, at, s.Move)
			if l.edge != nil {
				l.edge(g, at, to, s)
			}
			if fresh {
				queue = append(queue, to)
			}
			return true
		})
		if !going {
			return g
		}
	}
	return g
}
