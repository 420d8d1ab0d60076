package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Checker decides properties of one model.
type Checker struct {
	model *Model
	o     Options
	units map[string]*Unit
	Main  *Unit
	// shared policies judge the calls of every workflow.
	shared      []*rules.Set
	policyTools []string
	tools       map[[3]string][]string // of a workflow, a state and a prefix
	// unlisted ends names of unlisted tools.
	unlisted   string
	answers    map[callKey]answer
	lines      map[[2]string][]string // of an entry and a command
	tooLong    map[[2]string]bool
	assemblies map[*Unit]assembly
	// reduced: the branches of a fork are explored one after the other.
	reduced bool
	// observing: something asks for evidence.
	observing bool
	// sought is the event of the property, which safe_next can take where no state defines it.
	sought string
	// choose and events stand in for the values that guards of the main workflow
	// distinguish and for the events that are tried in it; nil for its own. everyGrant:
	// each choice of values under which an approval can be carried out counts, not one of
	// them.
	choose     func(n *node, lane *workflow.View, event string) ([][]assigned, bool)
	events     func(n *node, lane *workflow.View) []string
	everyGrant bool

	// Reasons for a coarse exploration of one property: workflows that were not given,
	// and others.
	stubbed map[string]bool
	causes  []string
	// missing are policies that workflows name and that were not given.
	missing []string
}

// hold adds a policy to those that judge calls, where it is for agents (S15.9).
func hold(sets []*rules.Set, policy *rules.Policy) []*rules.Set {
	if set := rules.Compile(policy, 1); set.For(agent) {
		return append(sets, set)
	}
	return sets
}

// NewChecker returns a checker of a model.
func NewChecker(m *Model, o Options) *Checker {
	c := &Checker{
		model: m, o: o, units: map[string]*Unit{}, answers: map[callKey]answer{}, lines: map[[2]string][]string{}, tooLong: map[[2]string]bool{}, tools: map[[3]string][]string{},
		assemblies:  map[*Unit]assembly{},
		policyTools: toolsOfPolicies(m.Policies), reduced: true, stubbed: map[string]bool{},
	}
	named := map[string]bool{}
	for _, d := range append([]Definition{m.Main}, m.Others...) {
		u := &Unit{Definition: d, words: newVocabulary(d.Machine)}
		if d.Process != nil {
			for _, p := range d.Process.Policies() {
				u.policies = hold(u.policies, p)
				c.policyTools = append(c.policyTools, toolsOfPolicies([]Policy{{Policy: p}})...)
			}
		}
		for _, name := range d.Machine.Meta().Policies {
			named[name] = true
			i := slices.IndexFunc(m.Policies, func(p Policy) bool { return p.Policy.Name == name })
			if i < 0 {
				c.missing = append(c.missing, name)
				continue
			}
			u.policies = hold(u.policies, m.Policies[i].Policy)
		}
		if len(d.Machine.Evidence()) > 0 {
			c.reduced, c.observing = false, true
		}
		c.units[d.Machine.Name()] = u
		if c.Main == nil {
			c.Main = u
		}
	}
	c.unlisted = unlistedAmong(c.lists())
	for i := range m.Policies {
		if !named[m.Policies[i].Policy.Name] {
			c.shared = hold(c.shared, m.Policies[i].Policy)
		}
	}
	return c
}

// Unit returns a workflow by its id. One that was not given can end as it likes.
func (c *Checker) Unit(name string) *Unit {
	if u, ok := c.units[name]; ok {
		return u
	}
	m := UnknownWorkflow(name)
	u := &Unit{Definition: Definition{Machine: m}, words: newVocabulary(m), stub: true}
	c.units[name] = u
	return u
}

// UnknownWorkflow returns a workflow that can end in each way, in place of one that was not given.
func UnknownWorkflow(name string) *workflow.Machine {
	return workflow.Compile(&workflow.Definition{
		ID: name, Initial: "working", Context: document.ObjectValue(nil),
		States: []workflow.State{
			{Name: "working", On: []workflow.Transition{
				{Event: "SUCCEED", Branches: []workflow.Branch{{Target: "succeeded"}}}, {
					Event:    "FAIL",
					Branches: []workflow.Branch{{Target: "failed"}},
				},
			}},
			{Name: "succeeded", Final: true, Outcome: workflow.Success},
			{Name: "failed", Final: true, Outcome: workflow.Failure},
		},
	}, 1)
}

// terms returns those of the approvals of a workflow.
func (c *Checker) terms(of *Unit) assembly {
	if a, ok := c.assemblies[of]; ok {
		return a
	}
	kind := consent.Transition
	if of.Process != nil {
		kind = consent.ProcessStep
	}
	a := assemble(of.Machine.Meta().Approval, kind, nil)
	c.assemblies[of] = a
	return a
}

func (c *Checker) addCause(what string) {
	if !slices.Contains(c.causes, what) {
		c.causes = append(c.causes, what)
	}
}

// graph is the explored state graph.
type graph struct {
	globals []visited
	seen    map[digest]int32
	// full is true when a bound was reached.
	full bool
}

type digest [16]byte

// visited is a global state, and how it was first come to.
type visited struct {
	*globalState
	from int32
	by   move
}

// look has the callbacks of an exploration. Each may be nil; each stops the exploration
// by returning false.
type look struct {
	// global state is called for each global state once.
	globalState func(g *graph, at int32) bool
	// step is called for every step, before it is followed; it may change where it leads.
	// follow reports whether to continue from there.
	step func(g *graph, from int32, s *step) (follow, going bool)
	// edge is called for every step that is followed.
	edge func(g *graph, from, to int32, s *step)
	// better reports that a known global state is to be explored again, in place of the known
	// one.
	better func(known, now *globalState) bool
}

// begin returns the global states that a run begins in.
func (c *Checker) begin() []*globalState {
	m := c.Main.Machine
	starts := []document.Value{document.ObjectValue(nil)}
	if m.Definition().InputsDeclared {
		words := c.Main.words
		settable := func(key string) bool { return slices.Contains(m.Definition().Inputs, key) }
		// Keys that the agent leaves alone keep their source.
		for _, keep := range c.subsets(slices.DeleteFunc(slices.Clone(words.keys), func(key string) bool {
			return !words.traced[key] || !settable(key)
		})) {
			var free []document.Member
			for _, key := range words.keys {
				if settable(key) && !slices.Contains(keep, key) {
					free = append(free, document.Member{Name: key, Value: freeByAgent})
				}
			}
			if len(free) > 0 {
				starts = append(starts, document.ObjectValue(free))
			}
		}
	}
	var globals []*globalState
	for _, context := range starts {
		out := m.Start(workflow.StartParams{
			ID: "run", SessionID: agent, Workspace: workspace, Owner: agent, Context: context, Source: evidence.Agent,
		}, agent, epoch)
		if out.Rejection != nil {
			continue
		}
		run := out.Run
		run.Context = c.Main.words.restrict(run.Context)
		globals = append(globals, &globalState{root: &node{of: c.Main, run: tidy(&run, c.Main.words, false)}})
	}
	return globals
}

// explore goes breadth first through all that can happen.
func (c *Checker) explore(property string, l look, begin func(*globalState)) *graph {
	g := &graph{seen: map[digest]int32{}}
	var queue []int32
	var buffer []byte
	add := func(w *globalState, from int32, by move) (at int32, fresh bool) {
		buffer = w.appendKey(buffer[:0])
		sum := sha256.Sum256(buffer)
		key := digest(sum[:16])
		if at, known := g.seen[key]; known {
			if l.better == nil || !l.better(g.globals[at].globalState, w) {
				return at, false
			}
		}
		at = int32(len(g.globals))
		g.seen[key] = at
		g.globals = append(g.globals, visited{w, from, by})
		return at, true
	}
	for _, w := range c.begin() {
		if begin != nil {
			begin(w)
		}
		if at, fresh := add(w, -1, move{kind: begins}); fresh {
			queue = append(queue, at)
		}
	}
	for next := 0; next < len(queue); next++ {
		at := queue[next]
		if l.globalState != nil && !l.globalState(g, at) {
			return g
		}
		if next%256 == 255 && c.o.Progress != nil && !c.o.Progress(property, len(g.globals)) {
			g.full = true
			return g
		}
		going := true
		c.moves(g.globals[at].globalState, func(s *step) bool {
			follow := true
			if l.step != nil {
				if follow, going = l.step(g, at, s); !going {
					return false
				}
			}
			if !follow {
				return true
			}
			if len(g.globals) >= c.o.MaxStates {
				g.full, going = true, false
				return false
			}
			to, fresh := add(s.to, at, s.move)
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

// path returns the moves that lead to a global state, in order, with the global states that they lead
// to.
func (g *graph) path(at int32) (moves []move, globals []*globalState) {
	for ; at >= 0; at = g.globals[at].from {
		moves = append(moves, g.globals[at].by)
		globals = append(globals, g.globals[at].globalState)
	}
	slices.Reverse(moves)
	slices.Reverse(globals)
	return moves, globals
}

// digest returns one of the explored graph, independent of order.
func (g *graph) digest() string {
	all := make([]digest, 0, len(g.seen))
	for d := range g.seen {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b digest) int { return slices.Compare(a[:], b[:]) })
	h := sha256.New()
	for i := range all {
		h.Write(all[i][:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
