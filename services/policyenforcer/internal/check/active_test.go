package check_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
)

// A run that has ended is not said to run again, and one that waits is.
func TestActiveAgain(t *testing.T) {
	t.Parallel()
	for status, want := range map[workflow.Status]string{
		workflow.Completed: "has ended as COMPLETED: start another one",
		workflow.Running:   "its session had ended",
		workflow.Held:      "is HELD: calls are judged again once it is running",
	} {
		if got := check.ActiveAgain(&workflow.View{Run: &workflow.Run{ID: "run_1"}, Status: status}); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
}
