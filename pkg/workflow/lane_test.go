package workflow_test

import (
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// deep is a run in forks inside of forks: p has x and y, q has y and z, and in
// p/x and in q/z there is a w each.
func deep() workflow.Run {
	branch := func(name string, inner *workflow.ForkProgress) workflow.BranchProgress {
		b := workflow.BranchProgress{Name: name, Status: workflow.BranchActive}
		b.State, b.Fork = "in "+name, inner
		return b
	}
	fork := func(branches ...workflow.BranchProgress) *workflow.ForkProgress {
		return &workflow.ForkProgress{Branches: branches, Current: branches[0].Name}
	}
	return workflow.Run{Status: workflow.Running, Lane: workflow.Lane{State: "m", Fork: fork(
		branch("p", fork(branch("x", fork(branch("w", nil), branch("v", nil))), branch("y", nil))),
		branch("q", fork(branch("y", nil), branch("z", fork(branch("w", nil))), branch("p", nil))),
	)}}
}

// TestAt: a branch is found by its path, or by its name where that means one:
// the outermost of that name, or the only one inside.
func TestAt(t *testing.T) {
	t.Parallel()
	run := deep()
	for name, want := range map[string]string{
		"": "p/x/w", "p": "p/x/w", "q": "q/y", "p/x": "p/x/w", "q/z": "q/z/w", "p/y": "p/y", "q/y": "q/y", "q/p": "q/p",
		"x": "p/x/w", "z": "q/z/w", "v": "p/x/v",
		"y": "", "w": "", "x/w": "", "p/w": "p/x/w", "q/w": "q/z/w", "p/z": "", "p/": "", "/p": "", "p//y": "", "P": "", "m": "", "p/x/w/w": "",
	} {
		at := run.At(name)
		if want == "" {
			if !at.Over || at.State != "" {
				t.Errorf("%q is taken for %q", name, at.Branch)
			}
			continue
		}
		if at.Over || at.Branch != want || at.State != "in "+want[len(want)-1:] || at.Status != workflow.Running {
			t.Errorf("%q is %q, in %q, over %t, want %q", name, at.Branch, at.State, at.Over, want)
		}
	}
	var lanes []string
	for _, at := range run.Lanes() {
		lanes = append(lanes, at.Branch)
	}
	if want := []string{"p/x/w", "p/x/v", "p/y", "q/y", "q/z/w", "q/p"}; !slices.Equal(lanes, want) {
		t.Errorf("lanes %v, want %v", lanes, want)
	}
}

// TestAtAmbiguity: a name that means two branches further in means none, even
// where one of them is alone in its part.
func TestAtAmbiguity(t *testing.T) {
	t.Parallel()
	run := deep()
	twin := run.Fork.Branches[0].Fork.Branches[0] // p/x, with w and v
	twin.Name = "y"
	run.Fork.Branches[0].Fork.Branches[1] = twin
	if at := run.At("p/w"); !at.Over {
		t.Errorf("p/w is taken for %q", at.Branch)
	}
	if at := run.At("w"); !at.Over {
		t.Errorf("w is taken for %q, and there are three", at.Branch)
	}
}

// TestAtWithoutFork: a session that was bound to a branch of a fork that has joined has
// no work left.
func TestAtWithoutFork(t *testing.T) {
	t.Parallel()
	m := machine(t, loop)
	run := started(t, m)
	if at := run.At(""); !isWhole(&run, at) {
		t.Errorf("the run is %+v for its own session", at)
	}
	if at := run.At("lint"); !at.Over || at.State != "" || at.Branch != "lint" {
		t.Errorf("in a branch that there is not: %+v", at)
	}
	if run.Children() != nil || len(run.Lanes()) != 1 {
		t.Errorf("children %v, lanes %v", run.Children(), run.Lanes())
	}
}

// isWhole reports a view of the run's own lane.
func isWhole(run *workflow.Run, at workflow.View) bool {
	return at.Run == run && at.Lane == &run.Lane && at.Status == run.Status && at.Branch == "" && !at.Over
}

// TestLost: S5.3. Callers whose branch is another session's now cannot act there,
// although it is open.
func TestLost(t *testing.T) {
	t.Parallel()
	m := machine(t, varied)
	run := steps(t, m, started(t, m), workflow.Fire{Event: "GO"}, workflow.Fire{Event: "FORK"}, workflow.Bind{Branch: "y", SessionID: "s2"}).Run
	if run.At("y").Over || !run.Lost("y").Over {
		t.Errorf("y is %+v, lost %+v", run.At("y"), run.Lost("y"))
	}
	for _, lost := range []bool{false, true} {
		for _, cmd := range []workflow.Command{
			workflow.Fire{Event: "OK", Branch: "y", Lost: lost},
			workflow.Force{State: "yi", Branch: "y", Lost: lost},
			workflow.Divert{Interrupt: "js", Branch: "y", Lost: lost},
		} {
			out := m.Step(&run, cmd, noon)
			if _, diverts := cmd.(workflow.Divert); out.Changed == lost || lost && !diverts && codeOf(&out) != workflow.RejectUnknownBranch {
				t.Errorf("lost %t: %T: changed %t, %+v", lost, cmd, out.Changed, out.Rejection)
			}
		}
	}
}

// TestAtEnded: S2.9. The end of a run is the same for all, also for the sessions of
// branches that it had. Only in a run that was invoked they find no run: the one that
// waited for it continues.
func TestAtEnded(t *testing.T) {
	t.Parallel()
	m := machine(t, calling)
	fork, ok := workflow.Fire{Event: "FORK"}, workflow.Fire{Event: "OK", Branch: "p"}
	for name, c := range map[string]struct {
		cmds []workflow.Command
		want workflow.Status // or empty: the run continues
	}{
		"forked":    {[]workflow.Command{fork}, ""},
		"moved":     {[]workflow.Command{fork, ok}, ""},
		"completed": {[]workflow.Command{fork, ok, workflow.Fire{Event: "OK", Branch: "q"}}, workflow.Completed},
		"cancelled": {[]workflow.Command{fork, workflow.Cancel{}}, workflow.Cancelled},
	} {
		start := started(t, m)
		run := steps(t, m, start, c.cmds...).Run
		start.Parent = &workflow.Parent{RunID: "run_0", Root: "run_0", Depth: 1}
		invoked := steps(t, m, start, c.cmds...).Run
		views := func(run *workflow.Run) []workflow.View { // of branches that the run does not have, or that were lost
			return []workflow.View{run.At("p/"), run.At("nope"), run.At("p/x"), run.At("/"), run.Lost("p"), run.Lost("q"), run.Lost("nope")}
		}
		for _, at := range views(&run) {
			switch {
			case c.want != "" && (!isWhole(&run, at) || at.Status != c.want):
				t.Errorf("%s: %q is %+v", name, at.Branch, at)
			case c.want == "" && (!at.Over || at.State != ""):
				t.Errorf("%s: %q is not over, in %q", name, at.Branch, at.State)
			}
		}
		for _, at := range views(&invoked) {
			if !at.Over || at.State != "" {
				t.Errorf("%s, invoked: %q is not over, in %q", name, at.Branch, at.State)
			}
		}
		if c.want != "" && run.At("p").Over {
			t.Errorf("%s: p is over", name)
		}
	}
}
