package check_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
)

// S6.9: the log keeps what a refused call tried, masked, unless it is set to keep all inputs or only captured ones.
func TestInputsOfRefusedCallsAreKept(t *testing.T) {
	t.Parallel()
	const refused, allowed = `{"command":"curl --password hunter2 https://example.com"}`, `{"command":"ls -l"}`
	const masked = `{"command":"curl --password [masked] https://example.com"}`
	for inputs, want := range map[check.Inputs][]string{
		"":                   {masked, ""},
		check.InputsRefused:  {masked, ""},
		check.InputsAll:      {masked, allowed},
		check.InputsCaptured: {"", ""},
	} {
		t.Run(string(inputs), func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, `{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["Bash"], "allowed_commands": ["ls"], "on": {"GO": "z"}}, "z": {"type": "final"}}}`)
			a := s.AppOf(app.Config{Inputs: inputs})
			stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Bash", Input: []byte(refused)}), toolcall.Deny, toolcall.CodeCommandNotAllowed)
			stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Bash", Input: []byte(allowed)}), toolcall.Allow, "")
			entries, err := s.Store.History(t.Context(), decisionlog.PartitionKey("default", "run_1"), 0, 10)
			if err != nil || len(entries) != len(want) {
				t.Fatalf("%d entries, %v", len(entries), err)
			}
			for i, e := range entries {
				d, err := ledger.DecodeDecision("run_1", e)
				if err != nil || string(d.Input) != want[i] {
					t.Errorf("%d has the input %q, %v, want %q", i, d.Input, err, want[i])
				}
			}
		})
	}
}
