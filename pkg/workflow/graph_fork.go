package workflow

import (
	"github.com/interlock-run/interlock/pkg/document"
)

// forkCheck looks at the branches of all forks (S5.1).
type forkCheck struct {
	r       *reader
	forward graph
	reverse graph
	main    *set // states that a run is in outside of any branch
}

// branchStates are the states of one branch of a fork.
type branchStates struct {
	fork   int
	facts  forkBranchFacts
	core   map[int]bool // on some way from initial to terminal
	own    []int        // core, and states that only the branch leads to
	escape []edge       // ways out of the branch
}

func (r graphCheck) checkForks(g graph) {
	if len(r.forks) == 0 {
		return
	}
	c := forkCheck{r: r.reader, forward: g, reverse: newGraph(len(r.facts), reversed(g.edges))}
	branches := c.cores()
	c.checkEnds(branches)
	c.checkHandlers(branches)
	c.findMain()
	c.findOwn(branches)
	c.checkEndedByEvent()
	c.reportEscapes(branches)
	c.checkCycles(branches)
}

// cores finds the states of every branch that is complete enough, and reports the
// problems of each alone. Final states end the walk.
func (c *forkCheck) cores() []branchStates {
	r := c.r
	var branches []branchStates
	from, to := newSet(len(r.facts)), newSet(len(r.facts))
	for i, f := range r.forks {
		for _, b := range f.branches {
			c.checkBranch(b)
			if b.initial < 0 || b.terminal < 0 {
				continue
			}
			from.clear()
			from.add(b.initial)
			c.forward.walk(from, nil)
			to.clear()
			to.add(b.terminal)
			c.reverse.walk(to, nil)
			core := make(map[int]bool)
			for _, s := range from.order {
				if to.has[s] {
					core[s] = true
				}
			}
			branches = append(branches, branchStates{fork: i, facts: b, core: core})
		}
	}
	return branches
}

// checkBranch reports the problems of a branch's two states alone.
func (c *forkCheck) checkBranch(b forkBranchFacts) {
	r := c.r
	if b.initial >= 0 && r.facts[b.initial].final {
		r.report.Errorf(b.at.Key("initial"), CodeInitialFinal, "the branch would end where it begins; begin in a state that is not final")
	}
	if b.terminal >= 0 && !r.facts[b.terminal].final && !r.facts[b.terminal].badType {
		r.report.Errorf(b.at.Key("terminal"), CodeForkTerminal, "%q is not final; add \"type\": \"final\" to it, or name a final state",
			r.stateOrder[b.terminal])
	}
}

// endsByEvent finds the branches that only BRANCH_DONE completes: no transition of theirs
// leads to the terminal (S15.6). That is a way out of each of their states, and the graph
// gets it from the first one.
func (r graphCheck) endsByEvent(g graph) graph {
	inside, added := newSet(len(r.facts)), false
	for i, f := range r.forks {
		for _, b := range f.branches {
			if b.initial < 0 || b.terminal < 0 || r.facts[b.initial].final || !r.facts[b.terminal].final {
				continue
			}
			inside.clear()
			inside.add(b.initial)
			g.walk(inside, nil)
			if inside.has[b.terminal] || r.leadsAnywhere(g, inside) {
				continue
			}
			ended := endedByEvent{fork: i, facts: b}
			for _, s := range inside.order {
				r.facts[s].endsByEvent = !r.facts[s].final
				if !r.facts[s].final {
					ended.states = append(ended.states, s)
				}
			}
			r.ended = append(r.ended, ended)
			r.transitionPart().edge(b.initial, b.terminal, byEvent, b.at.Key("terminal"))
			added = true
			r.report.Warnf(b.at.Key("terminal"), CodeForkUnreachable,
				"no transitions lead from %q to %q: only the event BRANCH_DONE:%s completes the branch, from any of its states",
				r.stateOrder[b.initial], r.stateOrder[b.terminal], b.name)
		}
	}
	if !added {
		return g
	}
	return newGraph(len(r.facts), r.edges)
}

// endedByEvent is a branch that only BRANCH_DONE completes, and its states.
type endedByEvent struct {
	fork   int
	facts  forkBranchFacts
	states []int
}

// checkEndedByEvent reports branches that only BRANCH_DONE completes and whose states a run is also in
// elsewhere: every one of their states has the event, so it would be legal in lanes that it does not
// complete, or would lead them to another terminal.
func (c *forkCheck) checkEndedByEvent() {
	inside := newSet(len(c.r.facts))
	for _, e := range c.r.ended {
		refuse := func(where string, s int) {
			c.r.report.Errorf(e.facts.at, CodeForkOverlap, "only BRANCH_DONE:%s completes it, and its state %q is %s, too: add a transition to %q, or give the branch its own states",
				e.facts.name, c.r.stateOrder[s], where, c.r.stateOrder[e.facts.terminal])
		}
		if s := common(e.states, c.main); s >= 0 {
			refuse("outside of the fork", s)
			continue
		}
		for i, f := range c.r.forks {
			for _, b := range f.branches {
				same := b.name == e.facts.name && b.terminal == e.facts.terminal && b.initial == e.facts.initial
				if same || b.initial < 0 {
					continue
				}
				inside.clear()
				inside.add(b.initial)
				c.forward.walk(inside, nil)
				if s := common(e.states, inside); s >= 0 {
					where := "in branch " + document.Quote(b.name)
					if i != e.fork {
						where += " of another fork"
					}
					refuse(where, s)
				}
			}
		}
	}
}

// common returns the first of the states that a set has, or -1.
func common(states []int, in *set) int {
	for _, s := range states {
		if in.has[s] {
			return s
		}
	}
	return -1
}

// checkEnds reports joins that lead back into a branch of their own fork. Such
// an end is no way of the main flow.
func (c *forkCheck) checkEnds(branches []branchStates) {
	for i, f := range c.r.forks {
		for j, e := range f.ends {
			for _, b := range branches {
				if b.fork == i && b.core[e.to] {
					c.r.report.Errorf(e.at, CodeForkEscape, "%q is a state of the fork's own branch %q; join outside the branches",
						c.r.stateOrder[e.to], b.facts.name)
					c.r.forks[i].ends[j].to = unknownState
					break
				}
			}
		}
	}
}

// checkHandlers reports interrupts that lead into a branch: from elsewhere the
// branch's terminal would end the run, past the join. Such a target is no way of
// the main flow.
func (c *forkCheck) checkHandlers(branches []branchStates) {
	for i, h := range c.r.handlers {
		if h.target < 0 || c.r.facts[h.target].final {
			continue
		}
		for _, b := range branches {
			if b.core[h.target] {
				c.r.report.Errorf(h.at, CodeForkEscape, "%q is a state of the branch %q of a fork, and an interrupt may fire outside it; use a separate state as its handler",
					c.r.stateOrder[h.target], b.facts.name)
				c.r.handlers[i].target = unknownState
				break
			}
		}
	}
}

// findMain walks from the start and from interrupts' handlers, not into
// branches.
func (c *forkCheck) findMain() {
	inside := make(map[*document.Path]bool)
	for _, f := range c.r.forks {
		for _, e := range f.ends {
			if e.to == unknownState {
				inside[e.at] = true
			}
		}
	}
	c.main = newSet(len(c.r.facts))
	c.main.add(c.r.initial)
	for _, h := range c.r.handlers {
		c.main.add(h.target)
	}
	c.forward.walk(c.main, func(e edge) bool { return e.kind != byForkEnd || !inside[e.at] })
}

// findOwn walks every branch to where it leaves its own states.
func (c *forkCheck) findOwn(branches []branchStates) {
	owner := make(map[int]int) // state to the branch whose core it is in
	for i, b := range branches {
		for s := range b.core {
			if _, taken := owner[s]; !taken {
				owner[s] = i
			}
		}
	}
	seen := newSet(len(c.r.facts))
	for i := range branches {
		b := &branches[i]
		seen.clear()
		seen.add(b.facts.initial)
		c.forward.walk(seen, func(e edge) bool {
			if e.to < 0 || e.to == e.from || b.core[e.to] {
				return e.to >= 0
			}
			other, owned := owner[e.to]
			foreign := owned && branches[other].fork == b.fork && other != i
			switch {
			case e.from == c.r.forks[b.fork].owner:
				return false // a branch that comes to its own fork: a cycle, reported once
			case foreign, c.main.has[e.to] && !c.r.facts[e.to].final:
				b.escape = append(b.escape, e)
				return false
			}
			return !c.r.facts[e.to].final
		})
		b.own = append([]int(nil), seen.order...)
	}
}

func (c *forkCheck) reportEscapes(branches []branchStates) {
	reported := make(map[*document.Path]bool)
	for _, b := range branches {
		for _, e := range b.escape {
			if reported[e.at] {
				continue
			}
			reported[e.at] = true
			c.r.report.Errorf(e.at, CodeForkEscape, "it leads out of the branch %q to %q; a branch uses only its own states, or ends in a final state",
				b.facts.name, c.r.stateOrder[e.to])
		}
	}
}

// checkCycles reports forks whose branches come to the same fork again, by
// themselves or through forks inside of forks.
func (c *forkCheck) checkCycles(branches []branchStates) {
	r := c.r
	forksOf := make(map[int][]int) // owner to its forks
	for i, f := range r.forks {
		forksOf[f.owner] = append(forksOf[f.owner], i)
	}
	var steps []edge // from fork to fork
	by := make(map[[2]int]forkBranchFacts)
	for _, b := range branches {
		for _, s := range b.own {
			for _, inner := range forksOf[s] {
				if _, known := by[[2]int{b.fork, inner}]; !known {
					by[[2]int{b.fork, inner}] = b.facts
					steps = append(steps, edge{from: b.fork, to: inner})
				}
			}
		}
	}
	if len(steps) == 0 {
		return
	}
	g, back := newGraph(len(r.forks), steps), newGraph(len(r.forks), reversed(steps))
	comesTo := newSet(len(r.forks))
	for i, f := range r.forks {
		comesTo.clear()
		comesTo.add(i)
		back.walk(comesTo, nil)
		for _, e := range g.of(i) {
			if comesTo.has[e.to] {
				r.report.Errorf(f.at, CodeForkCycle, "its branches lead to this fork again, endlessly; fork elsewhere")
				r.report.Errorf(by[[2]int{i, e.to}].at.Key("initial"), CodeForkCycle, "from here the run reaches the same fork again, endlessly; begin elsewhere")
				break
			}
		}
	}
}

func reversed(edges []edge) []edge {
	back := make([]edge, 0, len(edges))
	for _, e := range edges {
		if e.to >= 0 {
			back = append(back, edge{from: e.to, to: e.from})
		}
	}
	return back
}
