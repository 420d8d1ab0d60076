package app

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// registry writes sessions and agents as the state-store does.
type registry struct {
	*testing.T
	store.Store
}

func (r registry) put(key store.Key, format string, args ...any) {
	r.Helper()
	if _, err := r.Commit(r.Context(), store.Batch{Puts: []store.Put{{Key: key, Expect: store.AnyVersion, Data: fmt.Appendf(nil, format, args...)}}}); err != nil {
		r.Fatal(err)
	}
}

// session creates a session, or changes its status.
func (r registry) session(name, parent, agent, status string) {
	r.Helper()
	home := "ses_" + name
	if parent != "" {
		parent = "ses_" + parent
	}
	r.put(ledger.SessionOf("default", home), `{"id": %q, "name": %q, "parent_home": %q, "agent": %q, "status": %q}`, home, name, parent, agent, status)
	r.put(ledger.SessionRef("default", name), `{"home": %[1]q, "id": %[1]q, "name": %[2]q, "parent_home": %[3]q, "agent": %[4]q}`, home, name, parent, agent)
}

// delete removes a session that has ended.
func (r registry) delete(name string) {
	r.Helper()
	r.put(ledger.SessionRef("default", name), `{"home": "ses_%[1]s", "id": "ses_%[1]s", "name": "%[1]s", "deleted": true}`, name)
	if _, err := r.Commit(r.Context(), store.Batch{Deletes: []store.Check{{Key: ledger.SessionOf("default", "ses_"+name), Version: store.AnyVersion}}}); err != nil {
		r.Fatal(err)
	}
}

// placed is an enforcer that reads sessions from the store.
func (s *stage) placed(st store.Store) *App {
	return New(st, s.engine, announcer{}, s.clock, slog.New(slog.DiscardHandler), Config{Approvals: s.approvals})
}

// in asks for a call in a session.
func in(t *testing.T, a *App, who Caller, session string) *Decision {
	t.Helper()
	d, err := a.Check(t.Context(), who, Check{Target: Target{SessionID: session}, Tool: "Write"})
	if err != nil {
		if fault.ReasonOf(err) != fault.NotFound {
			t.Fatal(err)
		}
		return nil // no run, and nothing that holds without one
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
	token := func(session, parent string) Caller {
		return Caller{Namespace: "default", Principal: auth.Principal{Name: "a", Role: auth.Agent, Session: session, Parent: parent, Namespace: "default"}}
	}
	onStores(t, open, func(t *testing.T, s *stage) {
		s.engine.run.ID = "another"
		r := registry{t, s.store}
		s.put(t, "p", noWrites, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "alice"}, {Kind: policystore.AttachedToSession, ID: "team"}}})
		r.session("carol", "", "", "RUNNING")
		a := s.placed(s.store)
		for _, created := range []bool{false, true} {
			if created {
				r.session("alice", "", "", "RUNNING")
				r.session("alice/x", "", "", "RUNNING") // a root of its own
				r.session("team", "", "", "RUNNING")
				r.session("bob", "team", "", "RUNNING")
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
					expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied)
				}
			}
			for parent, covered := range map[string]bool{"alice": true, "alice/q": true, "carol": false} {
				if d := in(t, a, token("dave", parent), "dave"); (d != nil) != covered {
					t.Errorf("created %v: a token below %q is covered: %v", created, parent, d != nil)
				}
			}
		}
	})
}

// S7.9: names below a session, and those alike, spend its limits.
func TestNamesBelowSpendOneAccount(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.engine.run.ID = "another"
		s.put(t, "p", oneCall, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "alice"}}})
		a := s.placed(s.store)
		expect(t, in(t, a, agent, "alice/x"), toolcall.Allow, "")
		for _, session := range []string{"alice", "alice/y", "alice//x", "Alice/x"} {
			expect(t, in(t, a, agent, session), toolcall.Deny, toolcall.CodeRateLimited)
		}
		registry{t, s.store}.session("alice/z", "", "", "RUNNING")
		expect(t, in(t, a, agent, "alice/z"), toolcall.Deny, toolcall.CodeRateLimited)
	})
}

// S11.6: no call is allowed in a session that has ended or was deleted, with a run and without one.
func TestEndedSessionsMakeNoCalls(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		r := registry{t, s.store}
		a, other := s.placed(s.store), s.placed(s.store) // two replicas
		id := s.engine.run.ID
		s.engine.run.SessionID = "s"
		r.session("s", "", "", "RUNNING")
		withRun := func(a *App, call string) *Decision {
			t.Helper()
			d, err := a.Check(t.Context(), agent, Check{Target: Target{RunID: id}, Tool: "Write", CallID: call})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		denied := func(d *Decision) {
			t.Helper()
			if d == nil {
				t.Fatal("no decision: the hook lets the call pass")
			}
			expect(t, d, toolcall.Deny, toolcall.CodeRunNotActive, "has ended")
		}
		expect(t, withRun(a, "c"), toolcall.Allow, "")
		expect(t, withRun(other, "d"), toolcall.Allow, "")
		r.session("s", "", "", "ENDED")
		denied(withRun(a, ""))
		denied(withRun(other, ""))
		denied(withRun(a, "c")) // a call that was allowed before is not allowed again
		d, err := a.Check(t.Context(), agent, Check{Target: Target{RunID: id}, Tool: "Write", DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		denied(d)
		r.session("s", "", "", "RUNNING") // resumed
		expect(t, withRun(a, ""), toolcall.Allow, "")

		r.session("t", "", "", "RUNNING") // which drives no run
		if d := in(t, a, agent, "t"); d != nil {
			t.Fatalf("a session without a run or policies: %+v", d)
		}
		r.session("t", "", "", "ENDED")
		for _, session := range []string{"t", "ses_t"} {
			denied(in(t, a, agent, session))
			denied(in(t, other, agent, session))
		}
		r.delete("t")
		for _, session := range []string{"t", "ses_t", "ses_never"} {
			denied(in(t, a, agent, session))
		}
	})
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
		s := newStage(t, open)
		s.engine.run.SessionID = "s"
		r := registry{t, s.store}
		r.session("s", "", "", "RUNNING")
		g := &gate{Store: s.store}
		a := s.placed(g)
		check := Check{Target: Target{RunID: s.engine.run.ID}, Tool: "Write", CallID: "c"}
		if repeat {
			if d, err := a.Check(t.Context(), agent, check); err != nil || d.Verdict.Decision != toolcall.Allow {
				t.Fatalf("%+v, %v", d, err)
			}
		}
		g.before = func() { r.session("s", "", "", "ENDED") }
		d, err := a.Check(t.Context(), agent, check)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, d, toolcall.Deny, toolcall.CodeRunNotActive, "has ended")
	}
}

// S7.10: the policy of the agent that a session, or one above it, was started from holds as it is
// now, also once the agent is deleted; one that does not exist denies.
func TestAgentsPolicy(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		r := registry{t, s.store}
		a := s.placed(s.store)
		s.engine.run.SessionID = "s"
		s.put(t, "strict", noWrites, policystore.Indexed{})
		s.put(t, "once", oneCall, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToSession, ID: "s"}}})
		call := func() *Decision {
			t.Helper()
			return ask(t, a, Check{Tool: "Write"})
		}
		r.session("root", "", "sum", "RUNNING")
		r.session("s", "root", "", "RUNNING")
		r.put(ledger.AgentOf("default", "sum"), `{"id": "agent_1", "policy": "strict"}`)
		expect(t, call(), toolcall.Deny, toolcall.CodePolicyDenied)
		r.put(ledger.AgentOf("default", "sum"), `{"id": "agent_1", "policy": "once"}`)
		expect(t, call(), toolcall.Allow, "") // it is attached, too, and counts once
		expect(t, call(), toolcall.Deny, toolcall.CodeRateLimited)
		r.put(ledger.AgentOf("default", "sum"), `{"policy": "strict"}`) // deleted
		expect(t, call(), toolcall.Deny, toolcall.CodePolicyDenied)
		r.put(ledger.AgentOf("default", "sum"), `{"id": "agent_2", "policy": "gone"}`)
		expect(t, call(), toolcall.Deny, toolcall.CodePolicyUnavailable)
		s.engine.run.ID = "another"
		expect(t, in(t, a, agent, "s/below"), toolcall.Deny, toolcall.CodePolicyUnavailable)
	})
}
