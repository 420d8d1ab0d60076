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

// checker decides properties of one model.
type checker struct {
	model *Model
	o     Options
	units map[string]*unit
	main  *unit
	// shared policies judge the calls of every workflow.
	shared      []*rules.Set
	policyTools []string
	tools       map[[3]string][]string // of a workflow, a state and a prefix
	// unlisted ends names of tools that nothing names.
	unlisted   string
	answers    map[callKey]answer
	lines      map[[2]string][]string // of an entry and a command
	tooLong    map[[2]string]bool
	assemblies map[*unit]assembly
	// reduced: the branches of a fork are explored one after the other.
	reduced bool
	// observing: something asks for evidence.
	observing bool
	// sought is the event of the property, which safe_next can take where no state defines it.
	sought string
	// choose and events stand in for the values that guards of the main workflow tell apart
	// and for the events that are tried in it; nil for its own. everyGrant: each choice of
	// values under which an approval can be carried out counts, not one of them.
	choose     func(n *node, lane *workflow.View, event string) ([][]assigned, bool)
	events     func(n *node, lane *workflow.View) []string
	everyGrant bool

	// What has made the exploration of one property coarse: workflows that were not
	// given, and what else there is.
	stubbed map[string]bool
	blamed  []string
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

func newChecker(m *Model, o Options) *checker {
	c := &checker{
		model: m, o: o, units: map[string]*unit{}, answers: map[callKey]answer{}, lines: map[[2]string][]string{}, tooLong: map[[2]string]bool{}, tools: map[[3]string][]string{},
		assemblies:  map[*unit]assembly{},
		policyTools: toolsOfPolicies(m.Policies), reduced: true, stubbed: map[string]bool{},
	}
	named := map[string]bool{}
	for _, d := range append([]Definition{m.Main}, m.Others...) {
		u := &unit{Definition: d, words: newVocabulary(d.Machine)}
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
		if c.main == nil {
			c.main = u
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

// unit is a workflow by its id. One that was not given can end as it likes.
func (c *checker) unit(name string) *unit {
	if u, ok := c.units[name]; ok {
		return u
	}
	m := workflow.Compile(&workflow.Definition{
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
	u := &unit{Definition: Definition{Machine: m}, words: newVocabulary(m), stub: true}
	c.units[name] = u
	return u
}

// terms are those of the approvals of a workflow.
func (c *checker) terms(of *unit) assembly {
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

func (c *checker) blame(what string) {
	if !slices.Contains(c.blamed, what) {
		c.blamed = append(c.blamed, what)
	}
}

// graph is what was explored.
type graph struct {
	worlds []visited
	seen   map[digest]int32
	// full is true when a bound was reached.
	full bool
}

type digest [16]byte

// visited is a world, and how it was first come to.
type visited struct {
	*world
	from int32
	by   move
}

// look is what is done on the way. Each may be nil; each stops the exploration by
// returning false.
type look struct {
	// world is called for each world once.
	world func(g *graph, at int32) bool
	// step is called for every step, before it is followed; it may change where it leads.
	// follow tells whether to continue from there.
	step func(g *graph, from int32, s *step) (follow, going bool)
	// edge is called for every step that is followed.
	edge func(g *graph, from, to int32, s *step)
	// better tells that a world that is known is to be explored again, in place of what
	// is known.
	better func(known, now *world) bool
}

// begin are the worlds that a run begins in.
func (c *checker) begin() []*world {
	m := c.main.Machine
	starts := []document.Value{document.ObjectValue(nil)}
	if m.Definition().InputsDeclared {
		words := c.main.words
		settable := func(key string) bool { return slices.Contains(m.Definition().Inputs, key) }
		// What the agent leaves alone keeps its source.
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
	var worlds []*world
	for _, context := range starts {
		out := m.Start(workflow.StartParams{
			ID: "run", SessionID: agent, Workspace: workspace, Owner: agent, Context: context, Source: evidence.Agent,
		}, agent, epoch)
		if out.Rejection != nil {
			continue
		}
		run := out.Run
		run.Context = c.main.words.restrict(run.Context)
		worlds = append(worlds, &world{root: &node{of: c.main, run: tidy(&run, c.main.words, false)}})
	}
	return worlds
}

// explore goes breadth first through all that can happen.
func (c *checker) explore(property string, l look, begin func(*world)) *graph {
	g := &graph{seen: map[digest]int32{}}
	var queue []int32
	var buffer []byte
	add := func(w *world, from int32, by move) (at int32, fresh bool) {
		buffer = w.appendKey(buffer[:0])
		sum := sha256.Sum256(buffer)
		key := digest(sum[:16])
		if at, known := g.seen[key]; known {
			if l.better == nil || !l.better(g.worlds[at].world, w) {
				return at, false
			}
		}
		at = int32(len(g.worlds))
		g.seen[key] = at
		g.worlds = append(g.worlds, visited{w, from, by})
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
		if l.world != nil && !l.world(g, at) {
			return g
		}
		if next%256 == 255 && c.o.Progress != nil && !c.o.Progress(property, len(g.worlds)) {
			g.full = true
			return g
		}
		going := true
		c.moves(g.worlds[at].world, func(s *step) bool {
			follow := true
			if l.step != nil {
				if follow, going = l.step(g, at, s); !going {
					return false
				}
			}
			if !follow {
				return true
			}
			if len(g.worlds) >= c.o.MaxStates {
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

// path are the moves that lead to a world, in order, with the worlds that they lead to.
func (g *graph) path(at int32) (moves []move, worlds []*world) {
	for ; at >= 0; at = g.worlds[at].from {
		moves = append(moves, g.worlds[at].by)
		worlds = append(worlds, g.worlds[at].world)
	}
	slices.Reverse(moves)
	slices.Reverse(worlds)
	return moves, worlds
}

// digest is one of all that was explored, in whatever order.
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
