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
	return workflow.Run{State: "m", Status: workflow.Running, Fork: fork(
		branch("p", fork(branch("x", fork(branch("w", nil), branch("v", nil))), branch("y", nil))),
		branch("q", fork(branch("y", nil), branch("z", fork(branch("w", nil))), branch("p", nil))),
	)}
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

// TestAtWithoutFork: whoever was bound to a branch of a fork that has joined has
// nothing left to do.
func TestAtWithoutFork(t *testing.T) {
	t.Parallel()
	m := machine(t, loop)
	run := started(t, m)
	if at := run.At(""); fingerprint(at) != fingerprint(run) {
		t.Errorf("the run is %+v for its own session", at)
	}
	if at := run.At("lint"); !at.Over || at.State != "" || at.Branch != "lint" {
		t.Errorf("in a branch that there is not: %+v", at)
	}
	if run.Children() != nil || len(run.Lanes()) != 1 {
		t.Errorf("children %v, lanes %v", run.Children(), run.Lanes())
	}
}

// TestAtEnded: S2.9. The end of a run is the same for everybody, also for the
// sessions of branches that it had. Only in a run that was invoked they find
// nothing: the run that waited for it goes on.
func TestAtEnded(t *testing.T) {
	t.Parallel()
	m := machine(t, calling)
	fork, ok := workflow.Fire{Event: "FORK"}, workflow.Fire{Event: "OK", Branch: "p"}
	for name, c := range map[string]struct {
		cmds []workflow.Command
		want workflow.Status // or empty: the run goes on
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
		// A trailing / marks a branch that a session has lost.
		for _, branch := range []string{"p/", "q/", "nope", "p/x", "/"} {
			at := run.At(branch)
			switch {
			case c.want != "" && (at.Over || fingerprint(at) != fingerprint(run) || at.Status != c.want):
				t.Errorf("%s: %q is %+v", name, branch, at)
			case c.want == "" && (!at.Over || at.State != ""):
				t.Errorf("%s: %q is not over, in %q", name, branch, at.State)
			}
			if at := invoked.At(branch); !at.Over || at.State != "" {
				t.Errorf("%s, invoked: %q is not over, in %q", name, branch, at.State)
			}
		}
		if c.want != "" && run.At("p").Over {
			t.Errorf("%s: p is over", name)
		}
	}
}
