package workflow

import "slices"

// region is a set of states that a lane moves in.
type region map[*StateView]bool

// handler is where an interrupt leads.
type handler struct {
	target *StateView
	// states of the handler: its target, and the states reached only from it. As long as
	// a run is in one of them the interrupt is being handled (S4.1).
	states region
	// inBranch is true when the target is a state of a fork's branch.
	inBranch bool
}

// findBranches finds the states of the branches of a state's forks: those that
// can be reached within the branch.
func (m branchRules) findBranches(s *StateView) {
	for _, w := range s.ways {
		if w.fork == nil {
			continue
		}
		for i := range w.fork.Branches {
			inside := make(region)
			inside.reach(m.states[w.fork.Branches[i].Initial], nil)
			w.branches = append(w.branches, inside)
		}
	}
}

// endByEvent gives the states of a branch that cannot reach its terminal the event
// BRANCH_DONE:<name>, which leads there (S15.6).
func (m branchRules) endByEvent() {
	for i := range m.definition.States {
		for _, t := range m.definition.States[i].On {
			w := m.states[m.definition.States[i].Name].ways[t.Event]
			if w == nil || w.fork == nil || w.fork != t.Fork {
				continue
			}
			for j, inside := range w.branches {
				if b := &w.fork.Branches[j]; !inside[m.states[b.Terminal]] {
					m.addBranchDone(inside, b)
				}
			}
		}
	}
}

func (m branchRules) addBranchDone(inside region, b *ForkBranch) {
	end := m.newArm(&Branch{Target: b.Terminal})
	if end.target == nil || !end.target.Final {
		return // validation rules it out
	}
	event := branchDone + ":" + b.Name
	for s := range inside {
		if s.Final || s.ways[event] != nil {
			continue
		}
		s.ways[event] = &way{event: event, arms: []arm{end}}
		s.legal = append(s.legal, LegalEvent{Event: event, Targets: []string{b.Terminal}})
		s.moves = describeLegal(s.legal, neverFrozen)
	}
}

// findHandlers finds the states of every interrupt's handler.
func (m branchRules) findHandlers() {
	if len(m.definition.Interrupts) == 0 {
		return
	}
	normal := make(region)
	normal.reach(m.states[m.definition.Initial], nil)
	m.reachBranches(normal)
	m.handlers = make(map[string]*handler, len(m.definition.Interrupts))
	for i := range m.definition.Interrupts {
		in := &m.definition.Interrupts[i]
		target, known := m.states[in.Target]
		if _, repeated := m.handlers[in.Name]; repeated || !known {
			continue
		}
		h := &handler{target: target, states: region{target: true}, inBranch: m.inBranch(target)}
		for _, next := range target.leadsTo() {
			h.states.reach(next, normal)
		}
		m.handlers[in.Name] = h
	}
}

// inBranch reports that a state is one of a branch of some fork.
func (m branchRules) inBranch(target *StateView) bool {
	for _, s := range m.states {
		for _, w := range s.ways {
			if slices.ContainsFunc(w.branches, func(inside region) bool { return inside[target] }) {
				return true
			}
		}
	}
	return false
}

// reachBranches adds the branches of every fork in reach, until there are no new ones.
func (m branchRules) reachBranches(r region) {
	for before := -1; before != len(r); {
		before = len(r)
		for _, s := range m.states {
			if !r[s] {
				continue
			}
			for _, w := range s.ways {
				for _, inside := range w.branches {
					for state := range inside {
						r.reach(state, nil)
					}
				}
			}
		}
	}
}

// reach adds a state and all that it leads to, except those in not.
func (r region) reach(s *StateView, not region) {
	if s == nil || r[s] || not[s] {
		return
	}
	r[s] = true
	for _, next := range s.leadsTo() {
		r.reach(next, not)
	}
}

// leadsTo returns the states that follow on a state; nil stands for an unknown one.
func (s *StateView) leadsTo() []*StateView {
	var next []*StateView
	add := func(a *arm) {
		if a == nil {
			return
		}
		next = append(next, a.target)
		if a.rejected != nil {
			next = append(next, a.rejected)
		}
	}
	for _, w := range s.ways {
		for i := range w.arms {
			add(&w.arms[i])
		}
		add(w.done)
		add(w.fail)
	}
	if s.fallback != nil {
		add(&s.fallback.arms[0])
	}
	return next
}
