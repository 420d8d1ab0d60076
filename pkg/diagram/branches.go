package diagram

import "github.com/interlock-run/interlock/pkg/workflow"

// forkBranch is one branch of a fork and the states that it alone leads to: they
// are drawn inside of it (S5.1).
type forkBranch struct {
	owner, transition, place int // which state's, which transition's, which branch of it
	// up is the branch that holds the owner, as a place in the list, or root.
	up     int
	states []int // none when it shares its first or last state with others
}

// territory finds out which branch holds which states.
type territory struct {
	def    *workflow.Definition
	places map[string]int
	next   [][]int // of each state, not into branches
	free   []bool  // of each state: no branch holds it yet
	found  []forkBranch
}

// forkBranches lists the branches of all forks, those of a fork together, and the parent
// of a branch before it.
func forkBranches(def *workflow.Definition) []forkBranch {
	t := territory{def: def, places: make(map[string]int), next: make([][]int, len(def.States)), free: make([]bool, len(def.States))}
	for i := range def.States {
		t.places[def.States[i].Name] = i
	}
	for i := range def.States {
		t.next[i] = t.exits(&def.States[i])
		t.free[i] = true
	}
	starts := t.known(def.Initial)
	for i := range def.Interrupts {
		starts = append(starts, t.known(def.Interrupts[i].Target)...)
	}
	// States that the main flow reaches belong to no branch.
	main := t.walk(starts)
	for _, s := range main {
		t.free[s] = false
	}
	t.forksOf(main, root)
	return t.found
}

func (t *territory) known(name string) []int {
	if i, ok := t.places[name]; ok {
		return []int{i}
	}
	return nil
}

// exits returns the states that follow, those that branches begin with left out.
func (t *territory) exits(s *workflow.State) []int {
	exits := t.known(s.SafeNext)
	for i := range s.On {
		tr := &s.On[i]
		for j := range tr.Branches {
			exits = append(exits, t.known(tr.Branches[j].Target)...)
		}
		if tr.Invoke != nil {
			exits = append(append(exits, t.known(tr.Invoke.OnComplete)...), t.known(tr.Invoke.OnFail)...)
		}
		if tr.Fork != nil {
			exits = append(append(exits, t.known(tr.Fork.OnComplete)...), t.known(tr.Fork.OnFail)...)
		}
	}
	return exits
}

// walk lists the free states that can be reached from starts, these included.
func (t *territory) walk(starts []int) []int {
	seen := make(map[int]bool)
	var order []int
	visit := func(states []int) {
		for _, s := range states {
			if t.free[s] && !seen[s] {
				seen[s] = true
				order = append(order, s)
			}
		}
	}
	visit(starts)
	for i := 0; i < len(order); i++ {
		visit(t.next[order[i]])
	}
	return order
}

// forksOf gives the branches of the forks in states their states, and then looks for
// forks inside of them.
func (t *territory) forksOf(states []int, up int) {
	for _, s := range states {
		for i := range t.def.States[s].On {
			if f := t.def.States[s].On[i].Fork; f != nil {
				t.fork(f, s, i, up)
			}
		}
	}
}

func (t *territory) fork(f *workflow.Fork, owner, transition, up int) {
	first := len(t.found)
	reached := make([][]int, len(f.Branches))
	claims := make(map[int]int) // how many branches come to a state
	for i, b := range f.Branches {
		reached[i] = t.walk(t.known(b.Initial))
		for _, s := range reached[i] {
			claims[s]++
		}
	}
	for i, b := range f.Branches {
		found := forkBranch{owner: owner, transition: transition, place: i, up: up}
		ends := 0
		for _, s := range reached[i] {
			if claims[s] > 1 {
				continue // an end that several branches share stays outside
			}
			if name := t.def.States[s].Name; name == b.Initial || name == b.Terminal {
				ends++
			}
			found.states = append(found.states, s)
		}
		if ends < 2 {
			found.states = nil
		}
		for _, s := range found.states {
			t.free[s] = false
		}
		t.found = append(t.found, found)
	}
	for i := range f.Branches {
		t.forksOf(t.found[first+i].states, first+i)
	}
}
