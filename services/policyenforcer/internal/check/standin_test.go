package check_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// A session that drives no run is held to the policies of its role and its tree.
func TestASessionWithoutARun(t *testing.T) {
	t.Parallel()
	without := func(a *app.App, call string) (*check.Decision, error) {
		return a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{SessionID: "lost"}, Tool: "Write", CallID: call, Input: []byte(`{}`)})
	}
	for name, as := range map[string][]policystore.Attachment{
		"the role": stage.ToRole(auth.Agent), "the tree": {{Kind: policystore.AttachedToSession, ID: "root"}},
		"everyone": {{Kind: policystore.AttachedToEveryone}}, "the caller": {{Kind: policystore.AttachedToPrincipal, ID: stage.Agent.Principal.Name}},
		"a group, in doubt": {{Kind: policystore.AttachedToGroup, ID: "support"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Open)
			s.Sessions["lost"] = "root"
			s.Engine.Current.ID = "another" // the engine knows no run of the session
			a := s.App()
			if _, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{SessionID: "lost"}, Tool: "Write"}); fault.ReasonOf(err) != fault.NotFound {
				t.Fatalf("without policies: %v", err)
			}
			s.Put(t, "p", `{"role": "agent", "allow": [{"capability": "tool:Write", "rate_limit": {"max_calls": 1, "window_seconds": 60}}]}`, policystore.Indexed{Attachments: as})
			d, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{SessionID: "lost"}, Tool: "Write"})
			if err != nil || !d.Unbound {
				t.Fatalf("%+v, %v", d, err)
			}
			stage.Expect(t, d, toolcall.Allow, "")
			if d, err = a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{SessionID: "lost"}, Tool: "Write"}); err != nil {
				t.Fatal(err)
			}
			stage.Expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
			// The same call again is answered the same, and never with NOT_FOUND, which
			// would let it pass.
			for range 2 {
				if d, err = without(a, "again"); err != nil {
					t.Fatal(err)
				}
				stage.Expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
			}
			s.Engine.Mu.Lock()
			s.Engine.Current.ID = "run_1" // the session begins a run
			s.Engine.Current.SessionID = "lost"
			s.Engine.AnySession = true
			s.Engine.Mu.Unlock()
			if d, err = without(a, "again"); err != nil { // the run's calls are other calls
				t.Fatal(err)
			}
			stage.Expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
		})
	}
	s := stage.New(t, stage.Open)
	s.Engine.Current.ID = "another"
	s.Put(t, "p", `{"role": "operator", "deny": [{"capability": "*"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Operator)})
	if _, err := without(s.App(), "x"); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("another role's policy: %v", err)
	}
}

// A run with missing parts denies. It is not a missing run, with which a hook lets a call pass and only some
// policies apply.
func TestAnIncompleteRunDenies(t *testing.T) {
	t.Parallel()
	for name, as := range map[string][]policystore.Attachment{"with policies": stage.ToRole(auth.Agent), "without": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Open)
			s.Put(t, "p", `{"role": "agent", "allow": [{"capability": "*"}]}`, policystore.Indexed{Attachments: as})
			s.Engine.Incomplete = true
			d, err := s.App().Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{SessionID: "s"}, Tool: "Write"})
			if err != nil {
				t.Fatal(err)
			}
			stage.Expect(t, d, toolcall.Deny, toolcall.CodePolicyUnavailable)
		})
	}
}

// TestObservedCalls: S13.14, a call that nothing judges is recorded with its input if the caller observes; policies and runs judge it
// as without that, and a dry run records nothing.
func TestObservedCalls(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Engine.Current.ID = "another" // the engine knows no run of the session
	a := s.App()
	ask := func(tool, call string, dry bool) (*check.Decision, error) {
		return a.Checks.Check(t.Context(), stage.Agent, check.Request{
			Target: enforcer.Target{SessionID: "lost"}, Tool: tool, CallID: call, Input: []byte(`{"command": "ls"}`), Observe: true, DryRun: dry,
		})
	}
	if _, err := ask("Bash", "", true); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("a dry run: %v", err)
	}
	d, err := ask("Bash", "seen", false)
	if err != nil || d.Message != toolcall.Observed {
		t.Fatalf("%+v, %v", d, err)
	}
	stage.Expect(t, d, toolcall.Allow, toolcall.CodeNotEnforced)
	all, _, err := a.Log.List(t.Context(), "default", decisionlog.Query{SessionID: "lost", Limit: 10})
	if err != nil || len(all) != 1 || string(all[0].Input) != `{"command":"ls"}` || all[0].RunID != "" || all[0].Message != toolcall.Observed {
		t.Errorf("the log: %+v, %v", all, err)
	}
	s.Put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	if d, err = ask("Write", "denied", false); err != nil {
		t.Fatal(err)
	}
	stage.Expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied)
	s = stage.New(t, stage.Open)
	d = stage.Ask(t, s.App(), check.Request{Tool: "Read", Observe: true})
	if stage.Expect(t, d, toolcall.Allow, ""); d.Unbound {
		t.Errorf("with a run: %+v", d)
	}
}
