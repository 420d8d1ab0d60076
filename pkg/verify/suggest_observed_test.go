package verify_test

import (
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/verify/suggest"
)

// seen is an observed call.
func seen(tool, input string) conform.Traced {
	return conform.Traced{
		Tool: tool, Input: []byte(input), Digest: toolcall.InputDigest(tool, []byte(input)), Decision: toolcall.Allow, Code: toolcall.CodeNotEnforced, Time: noon,
	}
}

// TestFirstWorkflow: S13.14, a workflow of observed calls allows them and no other, and from five sessions on it is narrowed as any. Calls
// that no list can allow are left out, and counted.
func TestFirstWorkflow(t *testing.T) {
	t.Parallel()
	session := func(n int) suggest.Observation {
		return suggest.Observation{Session: fmt.Sprint("s", n), Calls: []conform.Traced{
			seen("Read", `{"file_path":"a.go"}`), seen("Edit", `{"file_path":"a.go","old_string":"a","new_string":"b"}`),
			seen("Bash", `{"command":"git status"}`), seen("Bash", `{"command":"go test ./... && git diff"}`),
			seen("Bash", `{"command":"for"}`),
		}}
	}
	for n, commands := range map[int]string{1: `["git","go"]`, 5: `["git diff","git status","go test"]`} {
		var sessions []suggest.Observation
		for i := range n {
			sessions = append(sessions, session(i))
		}
		first, err := suggest.FromObserved("mine", sessions)
		if err != nil {
			t.Fatal(err)
		}
		if first.Calls != 4*n || first.Left[toolcall.CodeCommandUnparsable] != n || len(first.Left) != 1 {
			t.Errorf("%d sessions: %d calls, left %v", n, first.Calls, first.Left)
		}
		out, err := suggest.Definition(first.Text, 1, first.Traces, suggest.Options{MinRuns: 5})
		if err != nil || out.Runs != n {
			t.Fatalf("%d sessions: %+v, %v", n, out, err)
		}
		states, _ := out.Definition.Get("states")
		working, _ := states.Get("working")
		allowed, _ := working.Get("allowed_commands")
		tools, _ := working.Get("allowed_tools")
		if allowed.String() != commands || tools.String() != `["Bash","Edit","Read"]` {
			t.Errorf("%d sessions: %s", n, out.Definition)
		}
	}
}
