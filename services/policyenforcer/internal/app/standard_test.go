package app

import (
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S7.2: what cannot be judged is denied.
func TestWhatPoliciesCanNotJudgeIsDenied(t *testing.T) {
	t.Parallel()
	asks := `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`
	for name, prepare := range map[string]func(*testing.T, *stage){
		"a policy that is named and not there": func(_ *testing.T, s *stage) { s.engine.policies = []string{"missing"} },
		"a policy that cannot be read": func(t *testing.T, s *stage) {
			s.put(t, "p", `{"role": "agent", "ask": 7}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
		},
		"no approval service": func(t *testing.T, s *stage) {
			s.put(t, "p", asks, policystore.Indexed{Attachments: toRole(auth.Agent)})
			s.approvals.down = true
		},
		"no state-store": func(t *testing.T, s *stage) {
			s.put(t, "p", asks, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "x"}}})
			s.engine.run.SessionID = "unreachable"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, open)
			prepare(t, s)
			expect(t, ask(t, s.app(), Check{Tool: "Write"}), toolcall.Deny, toolcall.CodePolicyUnavailable)
		})
	}
}

// A change of policies holds from then on, on every replica.
func TestPoliciesChangeAtOnce(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		a, b := s.app(), s.app()
		for _, app := range []*App{a, b} {
			expect(t, ask(t, app, Check{Tool: "Write"}), toolcall.Allow, "")
		}
		s.put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
		for _, app := range []*App{a, b} {
			d := ask(t, app, Check{Tool: "Write"})
			expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied, `"p"`)
			if d.By == nil || d.By.Pointer() != "/deny/0" {
				t.Errorf("decided by %v", d.By)
			}
		}
		s.index.Policies["p"] = policystore.Indexed{Live: 1}
		s.write(t)
		expect(t, ask(t, b, Check{Tool: "Write"}), toolcall.Allow, "")
	})
}

// The stricter of state and policy wins; what a policy says does not end with the run.
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
		"the role":              {as: toRole(auth.Agent), after: toolcall.Deny, matches: true},
		"another role":          {as: toRole(auth.Operator), after: toolcall.Allow},
		"the session":           {as: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "s"}}, after: toolcall.Deny, matches: true},
		"a session above":       {as: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "root"}}, after: toolcall.Deny, matches: true},
		"a session below":       {as: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "child"}}, after: toolcall.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, open)
			s.sessions = tree{"s": "middle", "middle": "root", "child": "s"}
			if c.named {
				s.engine.policies = []string{"p"}
			}
			s.put(t, "p", deny, policystore.Indexed{Attachments: c.as})
			a := s.app()
			want := map[bool]toolcall.Decision{true: toolcall.Deny, false: toolcall.Allow}[c.matches]
			if d := ask(t, a, Check{Tool: "Write"}); d.Verdict.Decision != want {
				t.Errorf("%s: %s", d.Verdict.Decision, d.Message)
			}
			s.engine.fire(t, "END")
			if d := ask(t, a, Check{Tool: "Write"}); d.Verdict.Decision != c.after {
				t.Errorf("after the end %s: %s", d.Verdict.Decision, d.Message)
			}
			expect(t, ask(t, a, Check{Tool: "get_state"}), toolcall.Allow, "")
		})
	}
}

// A run that its session has left judges nothing any more: naming it lifts nothing.
func TestALeftRunJudgesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	a := s.app()
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Allow, "")
	s.engine.fire(t, "END")
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Allow, toolcall.CodeNotEnforced)
	s.engine.mu.Lock()
	s.engine.superseded = "run_2"
	s.engine.mu.Unlock()
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Deny, toolcall.CodeRunNotActive, "run_2")
	expect(t, ask(t, a, Check{Tool: "get_state"}), toolcall.Allow, "")
}

// What invokes a run holds it to its policies.
func TestPoliciesHoldInInvokedRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	s.engine.parentPolicies = []string{"p"}
	var parent string
	for i, shard := 0, ledger.Run("default", "run_1").Shard(s.store.Shards()); ; i++ {
		// Runs that invoke each other share a shard.
		if parent = fmt.Sprintf("parent_%d", i); ledger.Run("default", parent).Shard(s.store.Shards()) == shard {
			break
		}
	}
	s.engine.run.Parent = &workflow.Parent{RunID: parent, Root: parent}
	s.put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, policystore.Indexed{})
	expect(t, ask(t, s.app(), Check{Tool: "Write"}), toolcall.Deny, toolcall.CodePolicyDenied)
}

// A tool of an MCP server is judged by its full name, also when it is called by its
// plain one (S7.1); a name that is another tool's changes nothing.
func TestPlainNamesAreNoWayRound(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	s.put(t, "p", `{"role": "agent", "deny": [{"capability": "mcp:fs:write_file"}, {"capability": "bash"}]}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
	a := s.app()
	d := ask(t, a, Check{Tool: "write_file", Qualified: "mcp__fs__write_file"})
	expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied, "mcp:fs:write_file")
	if d.Capability != "mcp:fs:write_file" {
		t.Errorf("it is %s", d.Capability)
	}
	expect(t, ask(t, a, Check{Tool: "read_file", Qualified: "mcp__fs__read_file"}), toolcall.Allow, "")
	expect(t, ask(t, a, Check{Tool: "bash", Qualified: "mcp__box__bash"}), toolcall.Deny, toolcall.CodePolicyDenied)
	expect(t, ask(t, a, Check{Tool: "Bash", Qualified: "mcp__fs__read_file"}), toolcall.Deny, toolcall.CodePolicyDenied)
	expect(t, ask(t, a, Check{Tool: "mcp__fs__write_file", Qualified: "mcp__x__write_file"}), toolcall.Deny, toolcall.CodePolicyDenied)
}
