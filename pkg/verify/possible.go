package verify

import (
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// way is a step between two global states, as far as it matters to whether a run can end.
type way struct {
	from, to int32
	path     string // of the run and lane
	event    string
	chosen   []assigned
	guards   []string
	words    *vocabulary
	unsure   bool
	doubtful bool
	spends   bool
}

// survey is the exploration without a condition, with every way.
type survey struct {
	*graph
	ways []way
	out  [][]int32 // by global state, places in ways
	// passed are the guards that have passed, by workflow and name.
	passed map[[2]string]bool
	// sure: a call that a run may have used up does not lead on from where it stands. It can
	// once the run has come there anew.
	sure bool
}

// survey explores everything once.
func (c *Checker) survey() *survey {
	s := &survey{passed: map[[2]string]bool{}}
	s.graph = c.explore("", look{
		edge: func(g *graph, from, to int32, st *step) {
			for _, t := range st.runEvents {
				for i := range t.events {
					for _, name := range t.events[i].Guards {
						s.passed[[2]string{t.of.Machine.Name(), name}] = true
					}
				}
			}
			if st.kind == cancels || st.kind == loses { // these are not taken to let a run end
				return
			}
			s.ways = append(s.ways, way{
				from, to, fmt.Sprint(st.path, st.branch), st.event, st.chosen, st.guards, st.from.at(st.path).of.words, st.unsure,
				st.doubtful, st.spends,
			})
		},
	}, nil)
	s.index()
	return s
}

func (s *survey) index() {
	s.out = make([][]int32, len(s.globals))
	for i := range s.ways {
		s.out[s.ways[i].from] = append(s.out[s.ways[i].from], int32(i))
	}
}

// certain returns the survey without the steps that are not certainly possible.
func (s *survey) certain() *survey {
	sure := &survey{graph: s.graph, passed: s.passed, sure: true}
	for _, w := range s.ways {
		if !w.doubtful {
			sure.ways = append(sure.ways, w)
		}
	}
	sure.index()
	return sure
}

// canReach returns the global states from which one of those that are wanted can be reached.
func (s *survey) canReach(wanted func(*globalState) bool) []bool {
	into := make([][]int32, len(s.globals))
	for i := range s.ways {
		if !s.ways[i].unsure {
			into[s.ways[i].to] = append(into[s.ways[i].to], s.ways[i].from)
		}
	}
	can := make([]bool, len(s.globals))
	var queue []int32
	for i := range s.globals {
		if wanted(s.globals[i].globalState) {
			can[i] = true
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, from := range into[at] {
			if !can[from] {
				can[from] = true
				queue = append(queue, from)
			}
		}
	}
	return can
}

// stuck finds a global state from which no wanted state can be reached any more, with the values
// of the context that cause it.
func (c *Checker) stuck(s *survey, can []bool, done func(*globalState) bool) (at int32, values map[string][]assigned,
	found bool,
) {
	for i := range s.globals {
		w := s.globals[i].globalState
		if done(w) {
			continue
		}
		values, stuck := c.stuckIn(s, int32(i), can)
		if stuck {
			return int32(i), values, true
		}
	}
	return 0, nil, false
}

// stuckIn chooses, for every lane, values under which none of its ways leads on.
func (c *Checker) stuckIn(s *survey, at int32, can []bool) (values map[string][]assigned, stuck bool) {
	byLane := map[string][]*way{}
	var lanes []string
	for _, i := range s.out[at] {
		w := &s.ways[i]
		if !can[w.to] || w.spends && s.sure {
			continue
		}
		if len(w.chosen) == 0 {
			return nil, false
		}
		if byLane[w.path] == nil {
			lanes = append(lanes, w.path)
		}
		byLane[w.path] = append(byLane[w.path], w)
	}
	values = map[string][]assigned{}
	for _, lane := range lanes {
		blocking, complete := c.blocking(byLane[lane])
		if !complete {
			c.addCause("the guards of a state distinguish too many combinations of values")
		}
		if blocking == nil {
			return nil, false
		}
		values[lane] = blocking
	}
	return values, true
}

// blocking returns values of the keys that ways depend on, under which none of them is
// open; nil when there are none.
func (c *Checker) blocking(ways []*way) (values []assigned, complete bool) {
	var guards []string
	var members []document.Member
	for _, way := range ways {
		for _, guard := range way.guards {
			if !slices.Contains(guards, guard) {
				guards = append(guards, guard)
			}
		}
		for _, a := range way.chosen {
			members = append(members, document.Member{Name: a.key, Value: freeByAgent})
		}
	}
	slices.Sort(guards)
	choices, complete := ways[0].words.assignments(document.ObjectValue(members), guards)
	for _, choice := range choices {
		open := slices.ContainsFunc(ways, func(way *way) bool {
			return !slices.ContainsFunc(way.chosen, func(a assigned) bool {
				i := slices.IndexFunc(choice, func(b assigned) bool { return a.key == b.key })
				return i < 0 || !a.agrees(choice[i].value)
			})
		})
		if !open {
			return choice, complete
		}
	}
	return nil, complete
}

// final reports that the main run has ended in a final state.
func final(w *globalState) bool { return w.root.run.Status.Ended() }

// alwaysPossible decides that a final state, or a certain one, can be reached from
// everywhere.
func (c *Checker) alwaysPossible(p *workflow.Property) Result {
	s := c.survey()
	wanted, done := final, final
	if p.Target != "" {
		wanted = func(w *globalState) bool { return w.root.run.State == p.Target && w.root.run.Fork == nil }
		done = func(w *globalState) bool { return final(w) && wanted(w) }
	}
	arrived := func(w *globalState) bool { return done(w) || p.Target != "" && wanted(w) }
	at, values, stuck := c.stuck(s, s.canReach(wanted), arrived)
	r := c.proved(s.graph, false)
	if s.full {
		return r // unexplored parts may lead on
	}
	if !stuck {
		sure := s.certain()
		if at, _, stuck := c.stuck(sure, sure.canReach(wanted), arrived); stuck && r.Verdict == Proved {
			r.Verdict = Undecided
			r.Reason = "it takes evidence of a call, or an edit that fires an interrupt, and no such call was found, or max_iterations may have no room for it"
			c.tellUndecided(s.graph, at, &r)
		}
		return r
	}
	return c.refuteStuck(p, s, at, values, r)
}

// canBeDecided decides that humans can grant everything that they can be asked for.
func (c *Checker) canBeDecided(p *workflow.Property) Result {
	type question struct {
		of    *Unit
		kind  consent.Kind
		state string
		event string
	}
	var wrong *question
	var at int32
	g := c.explore(p.Name, look{
		globalState: func(g *graph, i int32) bool {
			w := g.globals[i].globalState
			w.root.each(nil, func(path []int, n *node) {
				for _, lane := range n.run.Lanes() {
					if wrong != nil || n.run.Status.Ended() {
						return
					}
					if lane.Approval.Pending() && !c.decidable(n.of, consent.Transition, p.People) {
						wrong, at = &question{n.of, consent.Transition, lane.State, lane.Approval.Event}, i
						return
					}
					if tool := c.asked(w, path, n, &lane); tool != "" && !c.decidable(n.of, consent.ToolCall, p.People) {
						wrong, at = &question{n.of, consent.ToolCall, lane.State, tool}, i
					}
				}
			})
			return wrong == nil
		},
	}, nil)
	r := c.proved(g, false)
	if wrong == nil {
		return r
	}
	what := "event " + document.Quote(wrong.event)
	if wrong.kind == consent.ToolCall {
		what = "a call of " + document.Quote(wrong.event)
	}
	r.Verdict = Refuted
	r.Reason = fmt.Sprintf("in state %s of %s, %s is asked of humans, and no approver can grant it: %s",
		document.Quote(wrong.state), document.Quote(wrong.of.Machine.Name()), what, c.whyNot(wrong.of, wrong.kind, p.People))
	c.tellUndecided(g, at, &r)
	return r
}

// asked returns a tool of which a policy asks humans in a lane, or empty.
func (c *Checker) asked(w *globalState, path []int, n *node, lane *workflow.View) string {
	for _, tool := range c.toolsOf(n.of, lane.State, "*") {
		if a := c.calls(w, path, n, lane, workflow.Subject{Tool: tool}); a.asks || a.mayAsk {
			return tool
		}
	}
	return ""
}

func (c *Checker) decidable(of *Unit, kind consent.Kind, holders map[string][]string) bool {
	if of.Process != nil && kind == consent.Transition {
		kind = consent.ProcessStep
	}
	return assemble(of.Machine.Meta().Approval, kind, holders).grantable()
}

func (c *Checker) whyNot(of *Unit, kind consent.Kind, holders map[string][]string) string {
	terms := of.Machine.Meta().Approval
	if err := terms.Check(consent.Asker{Principal: agent, SessionID: agent, RootID: agent}); err != nil {
		return err.Error()
	}
	votes, _ := assemble(terms, kind, holders).grant(func(consent.Approver) bool { return true })
	return fmt.Sprintf("it takes %d approvals, and %d people who may decide it are known", max(terms.Required, 1),
		len(votes))
}
