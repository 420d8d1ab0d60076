package app

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// A session that drives no run is held to the policies of its role and its tree.
func TestASessionWithoutARun(t *testing.T) {
	t.Parallel()
	without := func(a *App, call string) (*Decision, error) {
		return a.Check(t.Context(), agent, Check{Target: Target{SessionID: "lost"}, Tool: "Write", CallID: call, Input: []byte(`{}`)})
	}
	for name, as := range map[string][]policystore.Attachment{"the role": toRole(auth.Agent), "the tree": {{Kind: policystore.AttachedToSession, ID: "root"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStores(t, open, func(t *testing.T, s *stage) {
				s.sessions["lost"] = "root"
				s.engine.run.ID = "another" // the engine knows no run of the session
				a := s.app()
				if _, err := a.Check(t.Context(), agent, Check{Target: Target{SessionID: "lost"}, Tool: "Write"}); fault.ReasonOf(err) != fault.NotFound {
					t.Fatalf("without policies: %v", err)
				}
				s.put(t, "p", `{"role": "agent", "allow": [{"capability": "tool:Write", "rate_limit": {"max_calls": 1, "window_seconds": 60}}]}`, policystore.Indexed{Attachments: as})
				d, err := a.Check(t.Context(), agent, Check{Target: Target{SessionID: "lost"}, Tool: "Write"})
				if err != nil || !d.Unbound {
					t.Fatalf("%+v, %v", d, err)
				}
				expect(t, d, toolcall.Allow, "")
				if d, err = a.Check(t.Context(), agent, Check{Target: Target{SessionID: "lost"}, Tool: "Write"}); err != nil {
					t.Fatal(err)
				}
				expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
				// The same call again is answered the same, and never with NOT_FOUND, which
				// would let it pass.
				for range 2 {
					if d, err = without(a, "again"); err != nil {
						t.Fatal(err)
					}
					expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
				}
				s.engine.mu.Lock()
				s.engine.run.ID = "run_1" // the session begins a run
				s.engine.run.SessionID = "lost"
				s.engine.any = true
				s.engine.mu.Unlock()
				if d, err = without(a, "again"); err != nil { // the run's calls are other calls
					t.Fatal(err)
				}
				expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
			})
		})
	}
	s := newStage(t, open)
	s.engine.run.ID = "another"
	s.put(t, "p", `{"role": "operator", "deny": [{"capability": "*"}]}`, policystore.Indexed{Attachments: toRole(auth.Operator)})
	if _, err := without(s.app(), "x"); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("another role's policy: %v", err)
	}
}

// What is missing of a run that there is denies: it is not taken for the lack of a run,
// by which a hook lets a call pass, and by which only some policies would judge.
func TestAnIncompleteRunDenies(t *testing.T) {
	t.Parallel()
	for name, as := range map[string][]policystore.Attachment{"with policies": toRole(auth.Agent), "without": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, open)
			s.put(t, "p", `{"role": "agent", "allow": [{"capability": "*"}]}`, policystore.Indexed{Attachments: as})
			s.engine.incomplete = true
			d, err := s.app().Check(t.Context(), agent, Check{Target: Target{SessionID: "s"}, Tool: "Write"})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, d, toolcall.Deny, toolcall.CodePolicyUnavailable)
		})
	}
}
