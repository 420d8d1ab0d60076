package verify_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// forked writes a workflow with two forks, whose branches are anywhere.
func forked(r *rand.Rand) string {
	any := func(prefix string, n int) string { return fmt.Sprint(prefix, r.IntN(n)) }
	branches := func() string {
		var list []string
		for _, name := range []string{"a", "b"}[:1+r.IntN(2)] {
			list = append(list, fmt.Sprintf(`%q: {"initial": %q, "terminal": %q}`, name, any("w", 5), any("z", 4)))
		}
		return strings.Join(list, ", ")
	}
	states := []string{
		fmt.Sprintf(`"m0": {"on": {"FORK": {"fork": {"branches": {%s}, "on_complete": "m1"}}}}`, branches()),
		fmt.Sprintf(`"m1": {"on": {"FORK": {"fork": {"branches": {%s}, "on_complete": "end"}}}}`, branches()),
		`"end": {"type": "final"}`,
	}
	for i := range 5 {
		var on []string
		for e := range r.IntN(3) {
			to := any("w", 5)
			if r.IntN(3) == 0 {
				to = any("z", 4)
			}
			on = append(on, fmt.Sprintf(`"E%d": %q`, e, to))
		}
		states = append(states, fmt.Sprintf(`"w%d": {"on": {%s}}`, i, strings.Join(on, ", ")))
	}
	for i := range 4 {
		states = append(states, fmt.Sprintf(`"z%d": {"type": "final"}`, i))
	}
	return `{"id": "forked", "initial": "m0", "states": {` + strings.Join(states, ", ") + `}}`
}

// TestBranchDoneIsWhatItSays: S15.6: in workflows that are valid, each event that is legal in a lane is one of
// that lane, BRANCH_DONE completes the lane's branch, and verify explores where it leads.
func TestBranchDoneIsWhatItSays(t *testing.T) {
	t.Parallel()
	r := randtest.New(t, 4)
	valid, completed := 0, 0
	for range 4000 {
		src := forked(r)
		_, problems := workflow.Parse([]byte(src))
		if problems.HasErrors() {
			continue
		}
		valid++
		checked := model(t, src)
		m := checked.Main.Machine
		all := verify.Explore(checked)
		run := m.Start(workflow.StartParams{ID: "run", SessionID: "s", Owner: "agent"}, "agent", noon).Run
		for range 12 {
			lanes := run.Lanes()
			at := lanes[r.IntN(len(lanes))]
			legal := m.LegalEvents(at.State)
			if at.Over || len(legal) == 0 || run.Status.Ended() {
				continue
			}
			event := legal[r.IntN(len(legal))].Event
			out := m.Step(&run, workflow.Fire{Event: event, Branch: at.Branch, Actor: "agent"}, noon)
			if out.Rejection != nil {
				t.Fatalf("in lane %q, state %s, the legal event %s is refused: %s\n%s", at.Branch, at.State, event, out.Rejection.Message, src)
			}
			if strings.HasPrefix(event, "BRANCH_DONE") {
				completed++
				if !succeeded(&out.Run, at.Branch) {
					t.Fatalf("in lane %q, state %s, %s does not complete the branch: %+v\n%s", at.Branch, at.State, event, out.Run, src)
				}
			}
			run = out.Run
			if why := all.Uncovered(&run); why != "" {
				t.Fatalf("verify does not explore it: %s\n%s", why, src)
			}
		}
	}
	if valid < 100 || completed < 100 {
		t.Errorf("%d workflows of 4000 are valid, and BRANCH_DONE was fired %d times", valid, completed)
	}
}

// succeeded reports that a branch has succeeded: in a fork that is open, or that has joined.
func succeeded(run *workflow.Run, branch string) bool {
	if run.Fork == nil {
		return run.State == "m1" || run.State == "end"
	}
	for _, b := range run.Fork.Branches {
		if b.Name == branch {
			return b.Status == workflow.BranchSucceeded
		}
	}
	return false
}
