package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// payTerms is a workflow whose approvals of large amounts take two people, and those of admin roles the security.
var payTerms = strings.Replace(stage.Open, "{", `{"meta": {"approval": {"terms": [
	{"when": {"/amount": {"gte": 10000}}, "required": 2},
	{"when": {"/role": {"exists": true, "contains": "admin"}}, "approvers": {"names": ["sec"]}}]}},`, 1)

const asksPay = `{"role": "agent", "ask": [{"capability": "mcp:pay:refund"}]}`

func refund(input string) check.Request {
	return check.Request{Tool: "mcp__pay__refund", Input: []byte(input)}
}

// TestTermsOfACall: S21.15: a call is asked about under the terms that hold for it, and with its facts.
func TestTermsOfACall(t *testing.T) {
	t.Parallel()
	s := stage.New(t, payTerms)
	s.Put(t, "p", asksPay, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	for i, c := range []struct{ input, want string }{
		{`{"amount": 50}`, "0"},
		{`{"amount": 10000}`, "2 /meta/approval/terms/0"},
		{`{"amount": "50"}`, "2 /meta/approval/terms/0"},
		{`{}`, "2 /meta/approval/terms/0"},
		{`{"amount": 50, "role": "db-admin"}`, "0 /meta/approval/terms/1"},
		{`{"amount": 20000, "role": "db-admin"}`, "2 /meta/approval/terms/0 /meta/approval/terms/1"},
	} {
		stage.Expect(t, stage.Ask(t, a, refund(c.input)), toolcall.Ask, toolcall.CodeApprovalRequired)
		ask := s.Approvals.Asked[i]
		got := fmt.Sprint(ask.Terms.Required)
		for _, also := range ask.Terms.Also {
			got += " " + also.Term
		}
		if got != c.want || !strings.Contains(string(ask.Facts), `"host":{"known":`) {
			t.Errorf("%s: terms %s, want %s; facts %s", c.input, got, c.want, ask.Facts)
		}
	}
}

// TestTermsKnowTheTools: S21.15: terms know the tools that their workflow describes.
func TestTermsKnowTheTools(t *testing.T) {
	t.Parallel()
	described := `{"id": "w", "initial": "a", "meta": {"tools": {"mcp__pay__refund": {"money": {"amount": "/amount", "currency": "=USD", "unit": "minor"}}},
		"approval": {"terms": [{"when": {"money": {"gte": 5000}}, "required": 2}]}}, "states": {"a": {"on": {"X": "b"}}, "b": {"type": "final"}}}`
	s := stage.New(t, described)
	s.Put(t, "p", asksPay, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	for i, c := range []struct {
		input string
		want  int
	}{{`{"amount": 5000}`, 0}, {`{"amount": 500000}`, 2}, {`{"amount": "5000"}`, 2}} {
		stage.Expect(t, stage.Ask(t, a, refund(c.input)), toolcall.Ask, toolcall.CodeApprovalRequired)
		if got := s.Approvals.Asked[i].Terms.Required; got != c.want {
			t.Errorf("%s: %d approvals, want %d", c.input, got, c.want)
		}
	}
}

// refundLease grants one that covers refunds by a condition.
func refundLease(t *testing.T, s *stage.Stage, only, asked string, change func(*consent.Lease)) {
	t.Helper()
	rule, err := toolcall.NewLeaseRule(nil, "mcp__pay__refund", "", []byte(only))
	if err != nil {
		t.Fatal(err)
	}
	lease(t, s, func(l *consent.Lease) {
		l.Pattern, l.Only, l.Rest, l.Capability = "", only, rule.Rest([]byte(asked)), "mcp:pay:refund"
		if change != nil {
			change(l)
		}
	})
}

// TestLeaseOnlyLetsPass: S9.6, S21.16: a lease lets the calls pass for which its condition holds, and other arguments are as in the
// call that was asked about; a call under other terms is asked about.
func TestLeaseOnlyLetsPass(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := stage.NewEngineOn(t, st, payTerms)
		s := stage.Of(e, faulty)
		s.Put(t, "p", asksPay, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		refundLease(t, s, `{"/amount": {"gte": 1, "lte": 20000}}`, `{"amount": 50, "currency": "usd"}`, nil)
		a := s.App()
		for input, want := range map[string]toolcall.Decision{
			`{"amount": 50, "currency": "usd"}`:                     toolcall.Allow,
			`{"currency": "usd", "amount": 9.9e3}`:                  toolcall.Allow,
			`{"amount": 10000, "currency": "usd"}`:                  toolcall.Ask, // two people
			`{"amount": 20001, "currency": "usd"}`:                  toolcall.Ask,
			`{"amount": "50", "currency": "usd"}`:                   toolcall.Ask,
			`{"amount": 50, "currency": "eur"}`:                     toolcall.Ask,
			`{"amount": 50}`:                                        toolcall.Ask,
			`{"amount": 50, "currency": "usd", "to": "eve"}`:        toolcall.Ask,
			`{"amount": 50, "currency": "usd", "role": "db-admin"}`: toolcall.Ask,
			`{"amount": 50, "currency": "usd", "AMOUNT": 9000}`:     toolcall.Ask,
		} {
			d := stage.Ask(t, a, refund(input))
			if d.Verdict.Decision != want || (d.LeaseID != "") != (want == toolcall.Allow) {
				t.Errorf("%s: %s %s by lease %q", input, d.Verdict.Decision, d.Message, d.LeaseID)
			}
		}
	})
}

// TestLeaseUnderItsTerms: S21.16: a lease that was given under other terms than those of the call admits none.
func TestLeaseUnderItsTerms(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := stage.NewEngineOn(t, st, payTerms)
		s := stage.Of(e, faulty)
		s.Put(t, "p", asksPay, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		refundLease(t, s, `{"/amount": {"exists": true}}`, `{"amount": 50}`, func(l *consent.Lease) { l.Terms = "" })
		stage.Expect(t, stage.Ask(t, s.App(), refund(`{"amount": 50}`)), toolcall.Ask, toolcall.CodeApprovalRequired)
	})
}

// TestRepeatAcrossAWindow: S6.5, S21.16: a decision that allowed a call is not repeated when a window of a policy has begun or ended and
// the policy decides otherwise now.
func TestRepeatAcrossAWindow(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	const windows = `"windows": {"night": {"zone": "UTC", "from": "22:00", "to": "06:00"}, "noon": {"zone": "UTC", "from": "12:00", "to": "13:00"}}`
	s.Put(t, "p", `{"role": "agent", `+windows+`, "deny": [{"capability": "tool:Write", "when": {"time": "night"}}],
		"ask": [{"capability": "tool:Write", "when": {"time": "noon"}}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	call := func(id, tool string) (*check.Decision, error) {
		return a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: tool, CallID: id})
	}
	allowed := func(id, tool string) {
		t.Helper()
		d, err := call(id, tool)
		if err != nil || d.Verdict.Decision != toolcall.Allow {
			t.Fatalf("%s: %+v, %v", id, d, err)
		}
	}
	refused := func(id string) {
		t.Helper()
		if d, err := call(id, "Write"); fault.ReasonOf(err) != fault.IdempotencyMismatch || !strings.Contains(err.Error(), "use a new call_id") {
			t.Errorf("%s: %+v, %v", id, d, err)
		}
	}
	for _, id := range []string{"c1", "c2"} { // at 10:30
		allowed(id, "Write")
	}
	allowed("r1", "Read")
	allowed("c1", "Write") // again
	s.Advance(2 * time.Hour)
	refused("c1") // it is asked about now
	allowed("r1", "Read")
	s.Advance(2 * time.Hour)
	allowed("c1", "Write") // at 14:30, as before
	s.Advance(8 * time.Hour)
	refused("c2")
	if d, err := call("c3", "Write"); err != nil || d.Verdict.Decision != toolcall.Deny {
		t.Errorf("%+v, %v", d, err)
	}
	s.Advance(8 * time.Hour)
	if d, err := call("c3", "Write"); err != nil || d.Verdict.Decision != toolcall.Deny {
		t.Errorf("a denial is repeated: %+v, %v", d, err)
	}
}

// TestGrantAcrossAWindow: S21.16: a grant admits no call that a policy denies by the time.
func TestGrantAcrossAWindow(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "windows": {"night": {"zone": "UTC", "from": "22:00", "to": "06:00"}},
		"deny": [{"capability": "tool:Write", "when": {"time": "night"}}], "ask": [{"capability": "tool:Write"}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a, write := s.App(), check.Request{Tool: "Write"}
	stage.Expect(t, stage.Ask(t, a, write), toolcall.Ask, toolcall.CodeApprovalRequired)
	s.Approvals.Decide("apr_1", consent.Granted)
	s.Advance(12 * time.Hour)
	stage.Expect(t, stage.Ask(t, a, write), toolcall.Deny, toolcall.CodePolicyDenied)
	s.Advance(8 * time.Hour)
	stage.Expect(t, stage.Ask(t, a, write), toolcall.Allow, "")
}
