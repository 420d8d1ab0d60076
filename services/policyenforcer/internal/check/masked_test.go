package check_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
)

// Messages quote inputs; the log has them without secrets.
func TestMessagesAreMasked(t *testing.T) {
	t.Parallel()
	s := stage.New(t, `{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["Bash"], "allowed_commands": ["ls"], "on": {"GO": "z"}}, "z": {"type": "final"}}}`)
	d := stage.Ask(t, s.App(), check.Request{Tool: "Bash", Input: []byte(`{"command":"curl --password hunter2 https://example.com"}`)})
	stage.Expect(t, d, toolcall.Deny, toolcall.CodeCommandNotAllowed)
	entries, err := s.Store.History(t.Context(), decisionlog.PartitionKey("default", "run_1"), 0, 10)
	if err != nil || len(entries) != 1 || strings.Contains(string(entries[0].Data), "hunter2") {
		t.Errorf("the log has %+v, %v", entries, err)
	}
}
