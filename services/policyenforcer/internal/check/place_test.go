package check_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// placed is an enforcer that reads sessions from the store.
func placed(s *stage.Stage, st store.Store) *app.App {
	return app.New(st, s.Engine, stage.Announcer{}, s.Clock, slog.New(slog.DiscardHandler), app.Config{Approvals: s.Approvals})
}

// in asks for a call in a session.
func in(t *testing.T, a *app.App, who enforcer.Caller, session string) *check.Decision {
	t.Helper()
	d, err := a.Checks.Check(t.Context(), who, check.Request{Target: enforcer.Target{SessionID: session}, Tool: "Write"})
	if err != nil {
		if fault.ReasonOf(err) != fault.NotFound {
			t.Fatal(err)
		}
		return nil // no run, and no rule that holds without one
	}
	return d
}

const (
	oneCall  = `{"role": "agent", "allow": [{"capability": "tool:Write", "rate_limit": {"max_calls": 1, "window_seconds": 60, "scope": "session"}}]}`
	noWrites = `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`
)

// S7.9: a session's policies cover the names below it, created or not, wherever that was; a name that
// only begins the same is another session's.
func TestPoliciesCoverTheNamesBelow(t *testing.T) {
	t.Parallel()
	token := func(session, parent string) enforcer.Caller {
		return enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "a", Role: auth.Agent, Session: session, Parent: parent, Namespace: "default"}}
	}
	s := stage.New(t, stage.Open)
	s.Engine.Current.ID = "another"
	r := stage.Registry{T: t, Store: s.Store}
	s.Put(t, "p", noWrites, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "alice"}, {Kind: policystore.AttachedToSession, ID: "team"}}})
	r.Session("carol", "", "", "RUNNING")
	a := placed(s, s.Store)
	for _, created := range []bool{false, true} {
		if created {
			r.Session("alice", "", "", "RUNNING")
			r.Session("alice/x", "", "", "RUNNING") // a root of its own
			r.Session("team", "", "", "RUNNING")
			r.Session("bob", "team", "", "RUNNING")
		}
		for session, covered := range map[string]bool{
			"alice": true, "alice/x": true, "alice/x/y": true, "alice/": true, "alice//x": true, "alice/x/": true, "/alice": true,
			"Alice": true, "ALICE/x": true, "\uff21lice/x": true, "alice\uff0fx": true,
			"alicex": false, "alic": false, "alice.x": false, "x/alice": false, "carol": false, "carol/alice": false,
			"bob": created, "bob/z": created, "Bob/z": created,
		} {
			if d := in(t, a, token(session, ""), session); (d != nil) != covered {
				t.Errorf("created %v: %q is covered: %v, want %v", created, session, d != nil, covered)
			} else if covered {
				stage.Expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied)
			}
		}
		for parent, covered := range map[string]bool{"alice": true, "alice/q": true, "carol": false} {
			if d := in(t, a, token("dave", parent), "dave"); (d != nil) != covered {
				t.Errorf("created %v: a token below %q is covered: %v", created, parent, d != nil)
			}
		}
	}
}

// S7.9: names below a session, and those alike, spend its limits.
func TestNamesBelowSpendOneAccount(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Engine.Current.ID = "another"
	s.Put(t, "p", oneCall, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "alice"}}})
	a := placed(s, s.Store)
	stage.Expect(t, in(t, a, stage.Agent, "alice/x"), toolcall.Allow, "")
	for _, session := range []string{"alice", "alice/y", "alice//x", "Alice/x"} {
		stage.Expect(t, in(t, a, stage.Agent, session), toolcall.Deny, toolcall.CodeRateLimited)
	}
	stage.Registry{T: t, Store: s.Store}.Session("alice/z", "", "", "RUNNING")
	stage.Expect(t, in(t, a, stage.Agent, "alice/z"), toolcall.Deny, toolcall.CodeRateLimited)
}

// S21.5: a rule about the depth in the tree of sessions judges sub-agents, and is in doubt of a session that was
// never created, and of one that is below others by its name or its token alone.
func TestDepthOfSessions(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	r := stage.Registry{T: t, Store: s.Store}
	r.Session("lead", "", "", "RUNNING")
	r.Session("helper", "lead", "", "RUNNING")
	r.Session("below", "helper", "", "RUNNING")
	r.Session("lead/named", "", "", "RUNNING")
	s.Put(t, "p", `{"role": "agent", "deny": [{"id": "deep", "capability": "tool:Write", "when": {"session.depth": {"gte": 2}}}]}`,
		policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToRole, ID: "agent"}}})
	for session, want := range map[string]toolcall.Code{
		"lead": "", "helper": "", "below": toolcall.CodePolicyDenied, "never": toolcall.CodeCallUnclear, "lead/named": toolcall.CodeCallUnclear,
	} {
		s.Engine.Current.SessionID = session
		d, err := placed(s, s.Store).Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: s.Engine.Current.ID}, Tool: "Write"})
		if err != nil {
			t.Fatal(err)
		}
		if d.Verdict.Code != want {
			t.Errorf("%s: %s, want %s: %s", session, d.Verdict.Code, want, d.Message)
		}
	}
	s.Engine.Current.SessionID = "lead" // and a token of a session that is deeper
	who := enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "a", Role: auth.Agent, Session: "below", Namespace: "default"}}
	d, err := placed(s, s.Store).Checks.Check(t.Context(), who, check.Request{Target: enforcer.Target{RunID: s.Engine.Current.ID}, Tool: "Write"})
	if err == nil && d.Verdict.Code != toolcall.CodePolicyDenied {
		t.Errorf("a deeper caller: %s, %v", d.Verdict.Code, err)
	}
}

// S11.6: no call is allowed in a session that has ended or was deleted, with a run and without one.
func TestEndedSessionsMakeNoCalls(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	r := stage.Registry{T: t, Store: s.Store}
	a, other := placed(s, s.Store), placed(s, s.Store) // two replicas
	id := s.Engine.Current.ID
	s.Engine.Current.SessionID = "s"
	r.Session("s", "", "", "RUNNING")
	withRun := func(a *app.App, call string) *check.Decision {
		t.Helper()
		d, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: id}, Tool: "Write", CallID: call})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	denied := func(d *check.Decision) {
		t.Helper()
		if d == nil {
			t.Fatal("no decision: the hook lets the call pass")
		}
		stage.Expect(t, d, toolcall.Deny, toolcall.CodeRunNotActive, "has ended")
	}
	stage.Expect(t, withRun(a, "c"), toolcall.Allow, "")
	stage.Expect(t, withRun(other, "d"), toolcall.Allow, "")
	r.Session("s", "", "", "ENDED")
	denied(withRun(a, ""))
	denied(withRun(other, ""))
	denied(withRun(a, "c")) // a call that was allowed before is not allowed again
	d, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: id}, Tool: "Write", DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	denied(d)
	r.Session("s", "", "", "RUNNING") // resumed
	stage.Expect(t, withRun(a, ""), toolcall.Allow, "")

	r.Session("t", "", "", "RUNNING") // which drives no run
	if d := in(t, a, stage.Agent, "t"); d != nil {
		t.Fatalf("a session without a run or policies: %+v", d)
	}
	r.Session("t", "", "", "ENDED")
	for _, session := range []string{"t", "ses_t"} {
		denied(in(t, a, stage.Agent, session))
		denied(in(t, other, stage.Agent, session))
	}
	r.Delete("t")
	for _, session := range []string{"t", "ses_t", "ses_never"} {
		denied(in(t, a, stage.Agent, session))
	}
}

// gate holds the commit of a decision until a session has ended.
type gate struct {
	store.Store
	before func()
}

func (g *gate) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	if before := g.before; before != nil && len(batch.Appends) > 0 {
		g.before = nil
		before()
	}
	return g.Store.Commit(ctx, batch)
}

// S11.6: a decision that was made before the end is not committed after it, in a store that checks
// the session's record in the commit.
func TestAnEndOvertakesADecision(t *testing.T) {
	t.Parallel()
	for _, repeat := range []bool{false, true} {
		s := stage.New(t, stage.Open)
		s.Engine.Current.SessionID = "s"
		r := stage.Registry{T: t, Store: s.Store}
		r.Session("s", "", "", "RUNNING")
		g := &gate{Store: s.Store}
		a := placed(s, g)
		check := check.Request{Target: enforcer.Target{RunID: s.Engine.Current.ID}, Tool: "Write", CallID: "c"}
		if repeat {
			if d, err := a.Checks.Check(t.Context(), stage.Agent, check); err != nil || d.Verdict.Decision != toolcall.Allow {
				t.Fatalf("%+v, %v", d, err)
			}
		}
		g.before = func() { r.Session("s", "", "", "ENDED") }
		d, err := a.Checks.Check(t.Context(), stage.Agent, check)
		if err != nil {
			t.Fatal(err)
		}
		stage.Expect(t, d, toolcall.Deny, toolcall.CodeRunNotActive, "has ended")
	}
}

// S7.10: the policy of the agent that a session, or one above it, was started from holds as it is
// now, also once the agent is deleted; one that does not exist denies.
func TestAgentsPolicy(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	r := stage.Registry{T: t, Store: s.Store}
	a := placed(s, s.Store)
	s.Engine.Current.SessionID = "s"
	s.Put(t, "strict", noWrites, policystore.Indexed{})
	s.Put(t, "once", oneCall, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "s"}}})
	call := func() *check.Decision {
		t.Helper()
		return stage.Ask(t, a, check.Request{Tool: "Write"})
	}
	r.Session("root", "", "sum", "RUNNING")
	r.Session("s", "root", "", "RUNNING")
	r.Put(ledger.AgentOf("default", "sum"), `{"id": "agent_1", "policy": "strict"}`)
	stage.Expect(t, call(), toolcall.Deny, toolcall.CodePolicyDenied)
	r.Put(ledger.AgentOf("default", "sum"), `{"id": "agent_1", "policy": "once"}`)
	stage.Expect(t, call(), toolcall.Allow, "") // it is attached, too, and counts once
	stage.Expect(t, call(), toolcall.Deny, toolcall.CodeRateLimited)
	r.Put(ledger.AgentOf("default", "sum"), `{"policy": "strict"}`) // deleted
	stage.Expect(t, call(), toolcall.Deny, toolcall.CodePolicyDenied)
	r.Put(ledger.AgentOf("default", "sum"), `{"id": "agent_2", "policy": "gone"}`)
	stage.Expect(t, call(), toolcall.Deny, toolcall.CodePolicyUnavailable)
	s.Engine.Current.ID = "another"
	stage.Expect(t, in(t, a, stage.Agent, "s/below"), toolcall.Deny, toolcall.CodePolicyUnavailable)
}

// S22.10: a policy that is attached to an agent judges the sessions that were started from it, and all below them, with
// or without a run, beside the agent's own policy.
func TestPolicyAttachedToAnAgent(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	r := stage.Registry{T: t, Store: s.Store}
	s.Engine.Current.SessionID = "s"
	s.Put(t, "strict", noWrites, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToAgent, ID: "Sum"}}})
	a := placed(s, s.Store)
	r.Session("root", "", "sum", "RUNNING")
	r.Session("s", "root", "", "RUNNING")
	r.Session("t", "", "add", "RUNNING")
	r.Put(ledger.AgentOf("default", "sum"), `{"id": "agent_1"}`)
	r.Put(ledger.AgentOf("default", "add"), `{"id": "agent_2"}`)
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write"}), toolcall.Deny, toolcall.CodePolicyDenied)
	s.Engine.Current.ID = "another"
	stage.Expect(t, in(t, a, stage.Agent, "s/below"), toolcall.Deny, toolcall.CodePolicyDenied)
	if d := in(t, a, stage.Agent, "t"); d != nil {
		t.Errorf("another agent's session is judged: %+v", d)
	}
}
