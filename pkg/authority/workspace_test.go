package authority_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestWorkspace: S14.7: the workspace of a started run, by the starter and by the last run of its session
// has driven last.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	const agent, operator = authority.Agent, authority.Operator
	for _, tt := range []struct {
		name          string
		role          authority.Role
		vouched       bool
		before        *workflow.Run
		asked, want   string
		claimed, fine bool
	}{
		{"a first run", agent, false, nil, "/w", "/w", true, true},
		{"a first run without one", agent, false, nil, "", "", false, true},
		{"a first run, vouched for", agent, true, nil, "/w", "/w", false, true},
		{"a first run of an operator", operator, false, nil, "/w", "/w", false, true},
		{"the next run", agent, false, &workflow.Run{Workspace: "/w"}, "", "/w", false, true},
		{"the next run, spelled out", agent, false, &workflow.Run{Workspace: "/w"}, "/x/../w/", "/w", false, true},
		{"the next run elsewhere", agent, false, &workflow.Run{Workspace: "/w"}, "/x", "", false, false},
		{"the next run above", agent, false, &workflow.Run{Workspace: "/w/x"}, "/w", "", false, false},
		{"the next run elsewhere, vouched for", agent, true, &workflow.Run{Workspace: "/w"}, "/x", "/x", false, true},
		{"an operator's next run elsewhere", operator, false, &workflow.Run{Workspace: "/w"}, "/x", "/x", false, true},
		{"an operator's next run", operator, false, &workflow.Run{Workspace: "/w", Claimed: true}, "", "/w", true, true},
		{"after a claim", agent, false, &workflow.Run{Workspace: "/w", Claimed: true}, "", "/w", true, true},
		{"after a claim, elsewhere", agent, false, &workflow.Run{Workspace: "/w", Claimed: true}, "/x", "", false, false},
		{"after a claim, vouched for", agent, true, &workflow.Run{Workspace: "/w", Claimed: true}, "/w", "/w", false, true},
		{"after a run without one", agent, false, &workflow.Run{}, "/w", "/w", true, true},
	} {
		for _, bound := range []bool{false, true} {
			s := &authority.Scene{
				Who: authority.Who{Role: tt.role}, Target: authority.Target{Session: "s"}, Bindings: []authority.Binding{{Session: "s"}},
				Offer: &authority.Offer{Workflow: "w", Version: 1, Newest: 1, Workspace: tt.asked, Vouched: tt.vouched},
			}
			if bound {
				s.Who.Session, s.Target.Session = "s", ""
			}
			if tt.before != nil {
				run := *tt.before
				run.ID, run.Workflow, run.SessionID, run.Status = "R", "w", "s", workflow.Failed
				s.Bindings[0].RunID = run.ID
				s.Runs = []authority.Node{{Run: &run, Enforcement: workflow.UntilSuccess}}
				s.Offer.Enforcement = workflow.UntilSuccess
			}
			got, claimed, refusal := s.Workspace()
			if got != tt.want || claimed != tt.claimed || (refusal == nil) != tt.fine {
				t.Errorf("%s, bound %t: %q, claimed %t, %v", tt.name, bound, got, claimed, refusal)
			}
			if permitted := s.Permit(authority.Start, authority.Aim{}); (permitted == nil) != tt.fine {
				t.Errorf("%s, bound %t: %v", tt.name, bound, permitted)
			}
		}
	}
}

// TestSameContentAgain: S2.9: after a failure, an agent starts the failed definition, or one that another principal answers for.
func TestSameContentAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		digest  string
		byAgent bool
		status  workflow.Status
		fine    bool
	}{
		"the same":                      {"d", true, workflow.Failed, true},
		"another of an agent":           {"e", true, workflow.Failed, false},
		"another of somebody else":      {"e", false, workflow.Failed, true},
		"another of an agent, success":  {"e", true, workflow.Completed, true},
		"no content is known of either": {"", true, workflow.Failed, false},
	} {
		run := &workflow.Run{ID: "R", Workflow: "w", SessionID: "s", Status: tt.status}
		s := &authority.Scene{
			Who: authority.Who{Role: authority.Agent}, Target: authority.Target{Session: "s"}, Bindings: []authority.Binding{{Session: "s", RunID: "R"}},
			Runs:  []authority.Node{{Run: run, Enforcement: workflow.UntilSuccess, Digest: "d"}},
			Offer: &authority.Offer{Workflow: "w", Version: 2, Newest: 2, Enforcement: workflow.UntilSuccess, Digest: tt.digest, ByAgent: tt.byAgent},
		}
		if refusal := s.Permit(authority.Start, authority.Aim{}); (refusal == nil) != tt.fine {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}
