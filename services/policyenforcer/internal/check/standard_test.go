package check_test

import (
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S7.2: a call that cannot be judged is denied.
func TestWhatPoliciesCanNotJudgeIsDenied(t *testing.T) {
	t.Parallel()
	asks := `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`
	for name, prepare := range map[string]func(*testing.T, *stage.Stage){
		"a policy that is named and not there": func(_ *testing.T, s *stage.Stage) { s.Engine.Policies = []string{"missing"} },
		"a policy that cannot be read": func(t *testing.T, s *stage.Stage) {
			s.Put(t, "p", `{"role": "agent", "ask": 7}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		},
		"no approval service": func(t *testing.T, s *stage.Stage) {
			s.Put(t, "p", asks, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
			s.Approvals.Down = true
		},
		"no state-store": func(t *testing.T, s *stage.Stage) {
			s.Put(t, "p", asks, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "x"}}})
			s.Engine.Current.SessionID = "unreachable"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Open)
			prepare(t, s)
			stage.Expect(t, stage.Ask(t, s.App(), check.Request{Tool: "Write"}), toolcall.Deny, toolcall.CodePolicyUnavailable)
		})
	}
}

// A change of policies holds from then on, on every replica.
func TestPoliciesChangeAtOnce(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	a, b := s.App(), s.App()
	for _, r := range []*app.App{a, b} {
		stage.Expect(t, stage.Ask(t, r, check.Request{Tool: "Write"}), toolcall.Allow, "")
	}
	s.Put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	for _, r := range []*app.App{a, b} {
		d := stage.Ask(t, r, check.Request{Tool: "Write"})
		stage.Expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied, `"p"`)
		if d.By == nil || d.By.Pointer() != "/deny/0" {
			t.Errorf("decided by %v", d.By)
		}
	}
	s.Index.Policies["p"] = policystore.Indexed{Live: 1}
	s.WriteIndex(t)
	stage.Expect(t, stage.Ask(t, b, check.Request{Tool: "Write"}), toolcall.Allow, "")
}

// The stricter of state and policy wins; policies apply also after the end of the run.
func TestWhatAPolicyIsAttachedTo(t *testing.T) {
	t.Parallel()
	deny := `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`
	for name, c := range map[string]struct {
		as      []policystore.Attachment
		named   bool
		after   toolcall.Decision // the run's end
		matches bool
	}{
		"the workflow":          {as: []policystore.Attachment{{Kind: policystore.AttachedToWorkflow, ID: "w"}}, after: toolcall.Deny, matches: true},
		"another workflow":      {as: []policystore.Attachment{{Kind: policystore.AttachedToWorkflow, ID: "v"}}, after: toolcall.Allow},
		"a process of its name": {as: []policystore.Attachment{{Kind: policystore.AttachedToProcess, ID: "w"}}, after: toolcall.Allow},
		"meta.policy":           {named: true, after: toolcall.Deny, matches: true},
		"the role":              {as: stage.ToRole(auth.Agent), after: toolcall.Deny, matches: true},
		"another role":          {as: stage.ToRole(auth.Operator), after: toolcall.Allow},
		"the session":           {as: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "s"}}, after: toolcall.Deny, matches: true},
		"a session above":       {as: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "root"}}, after: toolcall.Deny, matches: true},
		"everyone":              {as: []policystore.Attachment{{Kind: policystore.AttachedToEveryone, ID: policystore.Anyone}}, after: toolcall.Deny, matches: true},
		"the principal":         {as: []policystore.Attachment{{Kind: policystore.AttachedToPrincipal, ID: stage.Agent.Principal.Name}}, after: toolcall.Deny, matches: true},
		"another principal":     {as: []policystore.Attachment{{Kind: policystore.AttachedToPrincipal, ID: "other"}}, after: toolcall.Allow},
		"a human, in doubt":     {as: []policystore.Attachment{{Kind: policystore.AttachedToHuman, ID: "ann"}}, after: toolcall.Deny, matches: true},
		"an agent":              {as: []policystore.Attachment{{Kind: policystore.AttachedToAgent, ID: "sum"}}, after: toolcall.Allow},
		"a session below":       {as: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "child"}}, after: toolcall.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Open)
			s.Sessions = stage.Tree{"s": "middle", "middle": "root", "child": "s"}
			if c.named {
				s.Engine.Policies = []string{"p"}
			}
			s.Put(t, "p", deny, policystore.Indexed{Attachments: c.as})
			a := s.App()
			want := map[bool]toolcall.Decision{true: toolcall.Deny, false: toolcall.Allow}[c.matches]
			if d := stage.Ask(t, a, check.Request{Tool: "Write"}); d.Verdict.Decision != want {
				t.Errorf("%s: %s", d.Verdict.Decision, d.Message)
			}
			s.Engine.Fire(t, "END")
			if d := stage.Ask(t, a, check.Request{Tool: "Write"}); d.Verdict.Decision != c.after {
				t.Errorf("after the end %s: %s", d.Verdict.Decision, d.Message)
			}
			stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "get_state"}), toolcall.Allow, "")
		})
	}
}

// A run that its session has left judges no calls: naming it lifts no rule.
func TestALeftRunJudgesNothing(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	a := s.App()
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write"}), toolcall.Allow, "")
	s.Engine.Fire(t, "END")
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write"}), toolcall.Allow, toolcall.CodeNotEnforced)
	s.Engine.Mu.Lock()
	s.Engine.Superseded = "run_2"
	s.Engine.Mu.Unlock()
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write"}), toolcall.Deny, toolcall.CodeRunNotActive, "run_2")
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "get_state"}), toolcall.Allow, "")
}

// The policies of an invoking run apply to the invoked run.
func TestPoliciesHoldInInvokedRuns(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Engine.ParentPolicies = []string{"p"}
	var parent string
	for i, shard := 0, ledger.Run("default", "run_1").Shard(s.Store.Shards()); ; i++ {
		// Runs that invoke each other share a shard.
		if parent = fmt.Sprintf("parent_%d", i); ledger.Run("default", parent).Shard(s.Store.Shards()) == shard {
			break
		}
	}
	s.Engine.Current.Parent = &workflow.Parent{RunID: parent, Root: parent}
	s.Put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, policystore.Indexed{})
	stage.Expect(t, stage.Ask(t, s.App(), check.Request{Tool: "Write"}), toolcall.Deny, toolcall.CodePolicyDenied)
}

// A tool of an MCP server is judged by its full name, also when it is called by its
// plain one (S7.1); another tool's name has no effect.
func TestPlainNamesAreNoWayRound(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "deny": [{"capability": "mcp:fs:write_file"}, {"capability": "bash"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	d := stage.Ask(t, a, check.Request{Tool: "write_file", Qualified: "mcp__fs__write_file"})
	stage.Expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied, "mcp:fs:write_file")
	if d.Capability != "mcp:fs:write_file" {
		t.Errorf("it is %s", d.Capability)
	}
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "read_file", Qualified: "mcp__fs__read_file"}), toolcall.Allow, "")
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "bash", Qualified: "mcp__box__bash"}), toolcall.Deny, toolcall.CodePolicyDenied)
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Bash", Qualified: "mcp__fs__read_file"}), toolcall.Deny, toolcall.CodePolicyDenied)
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "mcp__fs__write_file", Qualified: "mcp__x__write_file"}), toolcall.Deny, toolcall.CodePolicyDenied)
}
