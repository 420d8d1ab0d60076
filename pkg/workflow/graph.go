package workflow

import (
	"github.com/interlock-run/interlock/pkg/document"
)

// graph is the states and the ways between them, laid out for walking.
type graph struct {
	next  []int // edges of state s are edges[next[s]:next[s+1]]
	edges []edge
}

// newGraph sorts edges by the state they leave, keeping their order.
func newGraph(states int, edges []edge) graph {
	g := graph{next: make([]int, states+1), edges: make([]edge, len(edges))}
	for _, e := range edges {
		g.next[e.from+1]++
	}
	for s := range states {
		g.next[s+1] += g.next[s]
	}
	free := append([]int(nil), g.next[:states]...)
	for _, e := range edges {
		g.edges[free[e.from]] = e
		free[e.from]++
	}
	return g
}

func (g graph) of(state int) []edge { return g.edges[g.next[state]:g.next[state+1]] }

// set is a set of states that remembers the order in which they came.
type set struct {
	has   []bool
	order []int
}

func newSet(states int) *set { return &set{has: make([]bool, states)} }

func (s *set) add(state int) bool {
	if state < 0 || s.has[state] {
		return false
	}
	s.has[state] = true
	s.order = append(s.order, state)
	return true
}

// clear empties the set for another walk, at the cost of its content.
func (s *set) clear() {
	for _, state := range s.order {
		s.has[state] = false
	}
	s.order = s.order[:0]
}

// walk adds to s all states that can be reached from its own, along edges that follow
// admits (nil: all).
func (g graph) walk(s *set, follow func(edge) bool) {
	for i := 0; i < len(s.order); i++ {
		for _, e := range g.of(s.order[i]) {
			if follow == nil || follow(e) {
				s.add(e.to)
			}
		}
	}
}

// graph checks the rules that concern all states together (S1.3). Parts that were not
// understood are reported, and count as leading anywhere.
func (r graphCheck) graph(statesAt *document.Path) {
	if len(r.facts) == 0 {
		return
	}
	g := r.endsByEvent(newGraph(len(r.facts), r.edges))
	r.finals(statesAt)
	r.checkReturns(g)
	r.checkReach(g)
	r.checkDeadEnds(g)
	r.checkBypasses(g)
	r.checkForks(g)
	r.checkHumanApproval()
	r.checkClaims()
	r.checkDeadline()
}

// checkDeadline refuses a deadline that does not end the run.
func (r graphCheck) checkDeadline() {
	to := r.expires.target
	if r.expires.at != nil && to >= 0 && !r.facts[to].final && !r.facts[to].badType {
		r.report.Errorf(r.expires.at, CodeDeadline, "a deadline ends the run, and %q is not final; name a final state", r.stateOrder[to])
	}
}

func (r graphCheck) finals(statesAt *document.Path) {
	for _, f := range r.facts {
		if f.final || f.badType {
			return
		}
	}
	r.report.Errorf(statesAt, CodeNoFinal, "no state is final, so no run could end; give one \"type\": \"final\"")
}

// addForkStarts adds the states where branches begin of forks whose owner is in s, and
// the states reached from there, until there are no new ones.
func (r graphCheck) addForkStarts(g graph, s *set) {
	for grew := true; grew; {
		grew = false
		for _, f := range r.forks {
			if !s.has[f.owner] {
				continue
			}
			for _, b := range f.branches {
				grew = s.add(b.initial) || grew
			}
		}
		g.walk(s, nil)
	}
}

// checkReturns judges every $return: it is legal in states that interrupts lead to,
// directly or by a handler's own follow-up states, and only those do (S1.3).
func (r graphCheck) checkReturns(g graph) {
	if len(r.returns) == 0 {
		return
	}
	normal, handler := newSet(len(r.facts)), newSet(len(r.facts))
	normal.add(r.initial)
	if r.expires.at != nil {
		normal.add(r.expires.target)
	}
	g.walk(normal, nil)
	r.addForkStarts(g, normal)
	for _, h := range r.handlers {
		handler.add(h.target)
	}
	g.walk(handler, nil)
	r.addForkStarts(g, handler)
	for _, u := range r.returns {
		switch {
		case normal.has[u.from]:
			r.report.Errorf(u.at, CodeReturnOutside,
				"%q can also be reached without an interrupt, so there may be no state to return to; name a state, or let only interrupts lead here", r.stateOrder[u.from])
		case !handler.has[u.from]:
			r.report.Errorf(u.at, CodeReturnOutside, "no interrupt leads to %q, so there is no state to return to; name a state", r.stateOrder[u.from])
		}
	}
}

func (r graphCheck) checkReach(g graph) {
	if r.initial < 0 {
		return
	}
	reached := newSet(len(r.facts))
	reached.add(r.initial)
	for _, h := range r.handlers {
		reached.add(h.target)
	}
	if r.expires.at != nil {
		reached.add(r.expires.target)
	}
	g.walk(reached, nil)
	r.addForkStarts(g, reached)
	if r.leadsAnywhere(g, reached) {
		return
	}
	for i, f := range r.facts {
		if !reached.has[i] {
			r.report.Warnf(f.at, CodeUnreachable, "no transition leads to %q; add a transition to it or remove it", r.stateOrder[i])
		}
	}
}

// leadsAnywhere reports whether part of s was not understood: it may lead to the states
// without other ways in.
func (r graphCheck) leadsAnywhere(g graph, s *set) bool {
	for _, state := range s.order {
		if r.facts[state].opaque {
			return true
		}
		for _, e := range g.of(state) {
			if e.to == unknownState {
				return true
			}
		}
	}
	return false
}

// checkDeadEnds warns of states that a run could never leave, or from which it
// could never end.
func (r graphCheck) checkDeadEnds(g graph) {
	ends := newSet(len(r.facts))
	for i, f := range r.facts {
		if f.final || f.badType || f.endsByEvent {
			ends.add(i)
		}
	}
	if r.expires.at != nil { // every state ends by it
		return
	}
	anyEnd := len(ends.order) > 0
	for _, e := range g.edges {
		if e.to < 0 {
			ends.add(e.from) // $return, or not understood
		}
	}
	newGraph(len(r.facts), reversed(g.edges)).walk(ends, nil)
	for i, f := range r.facts {
		switch {
		case f.final || f.badType || f.endsByEvent:
		case !f.exits:
			r.report.Warnf(f.at, CodeDeadEnd, "%q has no way out; add a transition, or \"type\": \"final\"", r.stateOrder[i])
		case anyEnd && !ends.has[i] && len(g.of(i)) > 0:
			r.report.Warnf(f.at, CodeDeadEnd, "no final state can be reached from %q; add a transition towards one", r.stateOrder[i])
		}
	}
}

// checkHumanApproval warns of a promise that no transition keeps.
func (r graphCheck) checkHumanApproval() {
	if !r.def.Meta.RequiresHumanApproval {
		return
	}
	for _, f := range r.facts {
		if f.approval {
			return
		}
	}
	var root *document.Path
	r.report.Warnf(root.Key("meta").Key("requires_human_approval"), document.CodeNoEffect,
		"no transition has \"requires_approval\", so no human is asked; add it where one must approve")
}
