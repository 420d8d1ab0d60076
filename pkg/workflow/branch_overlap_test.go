package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestBranchDoneOfOneBranch: S15.6: a state has the event BRANCH_DONE:x only where every lane that can be in it
// is branch x: definitions that would give it to other lanes are refused, with their fix.
func TestBranchDoneOfOneBranch(t *testing.T) {
	t.Parallel()
	const (
		own    = `"w1": {"on": {"STAY": "w1"}}`
		shared = `"w0": {"on": {"STAY": "w0"}}`
	)
	for name, tt := range map[string]struct {
		first, second, states string
		refused               string
	}{
		"each has its own":                  {`"a": {"initial": "w0", "terminal": "z"}`, `"b": {"initial": "w1", "terminal": "y"}`, own, ""},
		"two forks, other names":            {`"a": {"initial": "w0", "terminal": "z"}`, `"b": {"initial": "w0", "terminal": "y"}`, own, `branch "a" of another fork`},
		"two forks, the same name":          {`"a": {"initial": "w0", "terminal": "z"}`, `"a": {"initial": "w0", "terminal": "y"}`, own, `branch "a" of another fork`},
		"two forks, the same branch":        {`"a": {"initial": "w0", "terminal": "z"}`, `"a": {"initial": "w0", "terminal": "z"}`, own, ""},
		"one of two leads to its terminal":  {`"a": {"initial": "w0", "terminal": "z"}`, `"b": {"initial": "w1", "terminal": "y"}`, `"w1": {"on": {"BACK": "w0", "OK": "y"}}`, `branch "b" of another fork`},
		"both lead to theirs":               {`"a": {"initial": "w1", "terminal": "z"}`, `"b": {"initial": "w1", "terminal": "y"}`, `"w1": {"on": {"GOOD": "z", "OK": "y"}}`, ""},
		"a state of the main flow":          {`"a": {"initial": "m2", "terminal": "z"}`, `"b": {"initial": "w1", "terminal": "y"}`, own, `outside of the fork`},
		"the fork's own state":              {`"a": {"initial": "m0", "terminal": "z"}`, `"b": {"initial": "w1", "terminal": "y"}`, own, `outside of the fork`},
		"in one fork":                       {`"a": {"initial": "w0", "terminal": "z"}, "c": {"initial": "w0", "terminal": "x"}`, `"b": {"initial": "w1", "terminal": "y"}`, own, `in branch "c", too`},
		"in one fork, with one terminal":    {`"a": {"initial": "w0", "terminal": "z"}, "c": {"initial": "w2", "terminal": "z"}`, `"b": {"initial": "w1", "terminal": "y"}`, own, `in branch "c", too`},
		"in one fork, with one way to both": {`"a": {"initial": "w2", "terminal": "z"}, "c": {"initial": "w3", "terminal": "x"}`, `"b": {"initial": "w1", "terminal": "y"}`, own, `in branch "c", too`},
		"shared, and both lead to theirs":   {`"a": {"initial": "w1", "terminal": "z"}, "c": {"initial": "w1", "terminal": "z"}`, `"b": {"initial": "w4", "terminal": "y"}`, `"w1": {"on": {"OK": "z"}}, "w4": {"on": {"OK": "y"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := fmt.Sprintf(`{"id": "o", "initial": "m0", "states": {
				"m0": {"on": {"FORK": {"fork": {"branches": {%s}, "on_complete": "m1"}}, "SKIP": "m2"}}, "m2": {"on": {"STAY": "m2"}},
				"m1": {"on": {"FORK": {"fork": {"branches": {%s}, "on_complete": "end"}}}},
				%s, %s, "w2": {"on": {"TO": "w0"}}, "w3": {"on": {"TO": "w0"}},
				"x": {"type": "final"}, "y": {"type": "final"}, "z": {"type": "final"}, "end": {"type": "final"}}}`,
				tt.first, tt.second, shared, tt.states)
			_, problems := workflow.Parse([]byte(src))
			var overlaps []string
			for _, p := range problems {
				if p.Code == workflow.CodeForkOverlap {
					overlaps = append(overlaps, p.Message)
				}
			}
			if got := strings.Join(overlaps, "; "); (got == "") != (tt.refused == "") || !strings.Contains(got, tt.refused) {
				t.Errorf("it says %q, want %q; all: %v", got, tt.refused, problems)
			}
		})
	}
}
