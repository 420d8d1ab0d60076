package workflow

import (
	"github.com/interlock-run/interlock/pkg/document"
)

// forkFacts has the facts that the graph needs of a fork.
type forkFacts struct {
	owner    int
	at       *document.Path
	branches []forkBranchFacts
	ends     []edge // on_complete and on_fail
}

type forkBranchFacts struct {
	name              string
	at                *document.Path
	initial, terminal int
}

func (r transitionSection) fork(from int, outer document.Fields, t *Transition) {
	t.Fork = &Fork{Join: "all"}
	f, ok := outer.Object("fork")
	if !ok {
		r.facts[from].opaque = true
		return
	}
	f.Known("a fork", "branches", "join", "on_complete", "on_fail", "after")
	f.Require("branches")
	if join, ok := f.Enum("join", "all", "any"); ok {
		t.Fork.Join = join
	}
	t.Fork.After = r.timePart().delayField(f, "after")
	first := len(r.edges)
	t.Fork.OnComplete, t.Fork.OnFail = r.ends(from, f, byForkEnd)
	facts := forkFacts{owner: from, at: f.At, ends: append([]edge(nil), r.edges[first:]...)}
	if branches, ok := f.Object("branches"); ok {
		r.readForkBranches(branches, t.Fork, &facts)
	} else {
		r.facts[from].opaque = true
	}
	if r.forkBranches += len(facts.branches); r.forkBranches > maxForks {
		r.report.Errorf(f.At, document.CodeTooMany, "all forks together have more than %d branches; split the workflow", maxForks)
		return
	}
	for _, b := range facts.branches {
		if b.initial == unknownState {
			r.facts[from].opaque = true
		}
	}
	r.forks = append(r.forks, facts)
}

func (r transitionSection) readForkBranches(branches document.Fields, fork *Fork, facts *forkFacts) {
	switch n := branches.Value.Len(); {
	case n == 0:
		r.report.Errorf(branches.At, document.CodeEmpty, "there is no branch; add at least one, or use a plain target")
	case n > maxForkBranches:
		r.report.Errorf(branches.At, document.CodeTooMany, "there are %d branches, the limit is %d", n, maxForkBranches)
		return
	}
	branches.SameNames("branch")
	for name, v := range branches.Value.Members() {
		at := branches.At.Key(name)
		r.report.CheckName(name, at, forkRule)
		b := ForkBranch{Name: name}
		found := forkBranchFacts{name: name, at: at, initial: unknownState, terminal: unknownState}
		if f, ok := r.report.Object(v, at, "a branch"); ok {
			f.Known("a fork's branch", "initial", "terminal")
			f.Require("initial", "terminal")
			if initial, ok := f.Str("initial"); ok {
				b.Initial, found.initial = initial, r.lookup(initial, at.Key("initial"))
			}
			if terminal, ok := f.Str("terminal"); ok {
				b.Terminal, found.terminal = terminal, r.lookup(terminal, at.Key("terminal"))
			}
		}
		fork.Branches = append(fork.Branches, b)
		facts.branches = append(facts.branches, found)
	}
}
