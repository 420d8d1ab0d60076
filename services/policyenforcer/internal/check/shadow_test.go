package check_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
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

// A policy that waits in the shadow of a set enforces no rule where it is attached, and is missing where a workflow names
// it, as it was before (S26.9).
func TestPendingPolicies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		named   []string
		pending bool
		want    toolcall.Decision
		code    toolcall.Code
		shadows int
	}{
		"attached":           {nil, true, toolcall.Allow, "", 1},
		"named":              {[]string{"p"}, true, toolcall.Deny, toolcall.CodePolicyUnavailable, 1},
		"named, not a set's": {[]string{"p"}, false, toolcall.Allow, "", 1},
	} {
		s := stage.New(t, stage.Open)
		s.Engine.Policies = tt.named
		s.Put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, policystore.Indexed{Shadow: 1, Pending: tt.pending, Attachments: stage.ToRole(auth.Agent)})
		d := stage.Ask(t, s.App(), check.Request{Tool: "Write"})
		stage.Expect(t, d, tt.want, tt.code)
		if len(d.Shadows) != tt.shadows {
			t.Errorf("%s: shadows %+v", name, d.Shadows)
		}
	}
}

// A policy that is to be removed, or that gets other attachments, is judged as it will be then (S26.9).
func TestShadowsOfRemovals(t *testing.T) {
	t.Parallel()
	deny := `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`
	agents := stage.ToRole(auth.Agent)
	everyone := []policystore.Attachment{{Kind: policystore.AttachedToEveryone, ID: policystore.Anyone}}
	for name, tt := range map[string]struct {
		named  []string
		policy string
		as     policystore.Indexed
		want   toolcall.Decision
		code   toolcall.Code
		// shadow is the decision of the shadow, and version that of the policy in it; empty for no difference.
		shadow  toolcall.Decision
		version int64
	}{
		"removed":                  {nil, deny, policystore.Indexed{Live: 1, Attachments: agents, Waits: &policystore.Waiting{}}, toolcall.Deny, toolcall.CodePolicyDenied, toolcall.Allow, 0},
		"removed, and named":       {[]string{"p"}, deny, policystore.Indexed{Live: 1, Waits: &policystore.Waiting{}}, toolcall.Deny, toolcall.CodePolicyDenied, toolcall.Deny, 0},
		"removed, and of others":   {nil, `{"role": "operator", "deny": [{"capability": "tool:Write"}]}`, policystore.Indexed{Live: 1, Attachments: agents, Waits: &policystore.Waiting{}}, toolcall.Allow, "", "", 0},
		"detached":                 {nil, deny, policystore.Indexed{Live: 1, Attachments: agents, Waits: &policystore.Waiting{Version: 1}}, toolcall.Deny, toolcall.CodePolicyDenied, toolcall.Allow, 1},
		"detached, and named":      {[]string{"p"}, deny, policystore.Indexed{Live: 1, Attachments: agents, Waits: &policystore.Waiting{Version: 1}}, toolcall.Deny, toolcall.CodePolicyDenied, "", 0},
		"attached otherwise":       {nil, deny, policystore.Indexed{Live: 1, Attachments: agents, Waits: &policystore.Waiting{Version: 1, Attachments: everyone}}, toolcall.Deny, toolcall.CodePolicyDenied, "", 0},
		"attached":                 {nil, deny, policystore.Indexed{Live: 1, Waits: &policystore.Waiting{Version: 1, Attachments: everyone}}, toolcall.Allow, "", toolcall.Deny, 1},
		"attached as another":      {nil, deny, policystore.Indexed{Live: 1, Shadow: 1, Waits: &policystore.Waiting{Version: 1, Attachments: agents}}, toolcall.Allow, "", toolcall.Deny, 1},
		"attached, and not judged": {nil, `{"role": "agent"}`, policystore.Indexed{Live: 1, Waits: &policystore.Waiting{Version: 1, Attachments: agents}}, toolcall.Allow, "", "", 0},
	} {
		s := stage.New(t, stage.Open)
		s.Engine.Policies = tt.named
		s.Put(t, "p", tt.policy, tt.as)
		d := stage.Ask(t, s.App(), check.Request{Tool: "Write"})
		stage.Expect(t, d, tt.want, tt.code)
		switch {
		case tt.shadow == "" && len(d.Shadows) == 0:
		case tt.shadow == "" || len(d.Shadows) != 1 || d.Shadows[0].Decision != tt.shadow || d.Shadows[0].PolicyVersion != tt.version || d.Shadows[0].Policy != "p":
			t.Errorf("%s: shadows %+v", name, d.Shadows)
		}
	}
}

// A shadow of a workflow judges every call, and leaves the run as it is for the next one.
func TestWorkflowShadowLeavesTheRun(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	a := s.App()
	narrow := `{"id": "w", "initial": "working", "states": {"working": {"allowed_tools": ["Read"], "on": {"GO": "working", "END": "over"}}, "over": {"type": "final"}}}`
	if _, err := a.Policies.ShadowWorkflow(t.Context(), enforcertest.Operator, "w", []byte(narrow)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		d := stage.Ask(t, a, check.Request{Tool: "Write"})
		stage.Expect(t, d, toolcall.Allow, "")
		if len(d.Shadows) != 1 || d.Shadows[0].Decision != toolcall.Deny || d.Shadows[0].Code != toolcall.CodeToolNotAllowed {
			t.Fatalf("shadows %+v", d.Shadows)
		}
	}
}
