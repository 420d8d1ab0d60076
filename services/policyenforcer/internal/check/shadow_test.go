package check_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// A shadow is reported and not enforced.
func TestShadowsAreReportedAndNotEnforced(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "allow": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	s.Put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, policystore.Indexed{Live: 1, Shadow: 2, Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	d := stage.Ask(t, a, check.Request{Tool: "Write"})
	stage.Expect(t, d, toolcall.Allow, "")
	if len(d.Shadows) != 1 || d.Shadows[0].Policy != "p" || d.Shadows[0].PolicyVersion != 2 || d.Shadows[0].Decision != toolcall.Deny {
		t.Errorf("shadows %+v", d.Shadows)
	}
	if d := stage.Ask(t, a, check.Request{Tool: "Read"}); len(d.Shadows) != 0 {
		t.Errorf("shadows that agree: %+v", d.Shadows)
	}
	entries, err := s.Store.History(t.Context(), decisionlog.PartitionKey("default", "run_1"), 0, 10)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d decisions in the log, %v", len(entries), err)
	}
	rec, err := ledger.DecodeDecision("run_1", entries[0])
	if err != nil || len(rec.Shadows) != 1 || rec.Decision != toolcall.Allow || rec.Tool != "Write" || rec.Principal != "amir" {
		t.Errorf("%+v, %v", rec, err)
	}
}
