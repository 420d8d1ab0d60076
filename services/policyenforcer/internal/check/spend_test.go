package check_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S7.4, S21.7: no more than the limit is admitted, for any number of callers and of
// replicas, and a denied call is free.
func TestLimitsHoldOnThreeReplicas(t *testing.T) {
	t.Parallel()
	limits := func(t *testing.T, s *stage.Stage) {
		s.Put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [{"capability": "bash", "rate_limit": {"max_calls": 50, "window_seconds": 3600}}, {"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "daily"}},
			{"capability": "mcp:bank:send", "amount_limit": {"of": "/amount", "max": 10000.5, "window_seconds": 3600, "scope": "principal"}}, {"capability": "mcp:bank:day", "amount_limit": {"of": "/amount", "max": 10000.5, "period": "daily"}}]}`,
			policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		replicas := []*app.App{s.App(), s.App(), s.App()}
		for name, c := range map[string]struct {
			req  check.Request
			want int
			code toolcall.Code
		}{
			"calls": {check.Request{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, 50, toolcall.CodeRateLimited},
			"money": {check.Request{Tool: "Pay", EstimatedCost: 30_000}, 33, toolcall.CodeBudgetExceeded},
			"a sum": {check.Request{Tool: "mcp__bank__send", Input: []byte(`{"amount":250.0125}`)}, 40, toolcall.CodeBudgetExceeded},
			"a day": {check.Request{Tool: "mcp__bank__day", Input: []byte(`{"amount":1000}`)}, 10, toolcall.CodeBudgetExceeded},
		} {
			var group sync.WaitGroup
			results := make([]*check.Decision, 64)
			for i := range results {
				group.Go(func() {
					req := c.req
					req.Target, req.CallID = enforcer.Target{RunID: "run_1"}, fmt.Sprintf("%s-%d", name, i)
					d, err := replicas[i%3].Checks.Check(t.Context(), stage.Agent, req)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					results[i] = d
				})
			}
			group.Wait()
			admitted := 0
			for _, d := range results {
				switch {
				case d == nil:
				case d.Verdict.Decision == toolcall.Allow:
					admitted++
				default:
					stage.Expect(t, d, toolcall.Deny, c.code)
				}
			}
			if admitted != c.want {
				t.Errorf("%s: %d were admitted, want %d", name, admitted, c.want)
			}
		}
	}
	stage.OnAllStores(t, stage.Open, limits)
}

// S7.5: an estimate is reserved, the report settles it, and a repeat counts once.
func TestReportSettlesWhatWasReserved(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [{"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "hourly"}}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	pay := check.Request{Tool: "Pay", EstimatedCost: 600_000}
	pay.CallID = "one"
	stage.Expect(t, stage.Ask(t, a, pay), toolcall.Allow, "")
	pay.CallID = "two"
	stage.Expect(t, stage.Ask(t, a, pay), toolcall.Deny, toolcall.CodeBudgetExceeded, "2026-11-20T11:00")
	for range 2 {
		if _, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "one", Tool: "Pay", OK: true, CostUSD: "0.1"}); err != nil {
			t.Fatal(err)
		}
	}
	pay.CallID = "three"
	stage.Expect(t, stage.Ask(t, a, pay), toolcall.Allow, "") // 0.1 + 0.6
	if _, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "three", Tool: "Pay", OK: false}); err != nil {
		t.Fatal(err)
	}
	pay.CallID, pay.EstimatedCost = "four", 900_000
	stage.Expect(t, stage.Ask(t, a, pay), toolcall.Allow, "") // a failed call gives back all
	pay.CallID, pay.EstimatedCost = "five", 0
	stage.Expect(t, stage.Ask(t, a, pay), toolcall.Deny, toolcall.CodeBudgetExceeded) // spent
	s.Advance(time.Hour)
	pay.CallID = "six"
	stage.Expect(t, stage.Ask(t, a, pay), toolcall.Allow, "")
}

// S14.4: after an agent's claim, the observed cost and bytes of its call still count. The difference counts once.
func TestObservedCostAfterClaim(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [{"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "hourly"}}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	for i, c := range []struct {
		claimed, seen outcome.Report
		left          int64 // of the budget, in millionths
	}{
		{outcome.Report{OK: true, CostUSD: "0"}, outcome.Report{OK: true, CostUSD: "0.7"}, 300_000},
		{outcome.Report{NotExecuted: true}, outcome.Report{OK: true, CostUSD: "0.7"}, 300_000},
		{outcome.Report{OK: false}, outcome.Report{OK: true}, 500_000}, // without a cost, the estimate stays
		{outcome.Report{OK: true}, outcome.Report{OK: true, CostUSD: "0.7"}, 300_000},
		{outcome.Report{OK: true}, outcome.Report{OK: false}, 1_000_000},
		{outcome.Report{OK: true, CostUSD: "0.2"}, outcome.Report{OK: true, CostUSD: "0.2"}, 800_000},
		{outcome.Report{OK: true, CostUSD: "0.2"}, outcome.Report{OK: true, CostUSD: "unknown"}, 0},
		{outcome.Report{OK: true, CostUSD: "unknown"}, outcome.Report{OK: true, CostUSD: "0.7"}, 300_000},
		{outcome.Report{OK: true, CostUSD: "0.9"}, outcome.Report{OK: true, CostUSD: "0.7"}, 300_000},
	} {
		s.Advance(time.Hour)
		id := fmt.Sprint("c", i)
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Pay", CallID: id, EstimatedCost: 500_000}), toolcall.Allow, "")
		report := func(caller enforcer.Caller, r outcome.Report) {
			t.Helper()
			r.Target, r.CallID, r.Tool = enforcer.Target{RunID: "run_1"}, id, "Pay"
			if _, err := a.Outcomes.Report(t.Context(), caller, r); err != nil {
				t.Fatalf("%d: %v", i, err)
			}
		}
		report(stage.Agent, c.claimed)
		report(stage.Witnessed, c.seen)
		report(stage.Witnessed, c.seen)
		if c.left < 1_000_000 {
			over := check.Request{Tool: "Pay", CallID: id + "over", EstimatedCost: rules.MicroUSD(c.left + 1)}
			stage.Expect(t, stage.Ask(t, a, over), toolcall.Deny, toolcall.CodeBudgetExceeded)
		}
		if c.left > 0 {
			stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Pay", CallID: id + "rest", EstimatedCost: rules.MicroUSD(c.left)}), toolcall.Allow, "")
		}
	}
}

// S7.5: a cost counts exactly in each notation, and an unreadable one spends the rest of the budget.
func TestReportedCostsOfAnyForm(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [{"capability": "tool:Pay", "budget_limit": {"max_usd": 0.00003, "period": "hourly"}}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	pays := func(id, cost string, ok bool) {
		t.Helper()
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Pay", CallID: id}), toolcall.Allow, "")
		if _, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: id, Tool: "Pay", OK: ok, CostUSD: cost}); err != nil {
			t.Fatal(err)
		}
	}
	for i, cost := range []string{"1e-05", "0.1E-4", "10e-6"} {
		pays(fmt.Sprint("c", i), cost, true)
	}
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Pay"}), toolcall.Deny, toolcall.CodeBudgetExceeded)
	for _, ok := range []bool{true, false} {
		s.Advance(time.Hour)
		pays(fmt.Sprint("unknown", ok), "unknown", ok)
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Pay"}), toolcall.Deny, toolcall.CodeBudgetExceeded)
	}
}

// A session's budget is its whole tree's.
func TestTreesShareTheirRootsBudget(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Sessions = stage.Tree{"s": "root", "sibling": "root"}
	s.Put(t, "p", `{"role": "agent", "allow": [{"capability": "*", "rate_limit": {"max_calls": 2, "window_seconds": 60, "scope": "session"}}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Read"}), toolcall.Allow, "")
	s.Engine.Mu.Lock()
	s.Engine.Current.SessionID = "sibling"
	s.Engine.Mu.Unlock()
	b := s.App()
	stage.Expect(t, stage.Ask(t, b, check.Request{Tool: "Read"}), toolcall.Allow, "")
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Read"}), toolcall.Deny, toolcall.CodeRateLimited)
}

// The call ID is the idempotency key: a repeat is free.
func TestARepeatSpendsNothing(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "allow": [{"capability": "*", "rate_limit": {"max_calls": 2, "window_seconds": 60}}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	for range 3 {
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Read", CallID: "same"}), toolcall.Allow, "")
	}
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Read", CallID: "other"}), toolcall.Allow, "")
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Read", CallID: "third"}), toolcall.Deny, toolcall.CodeRateLimited)
}

// An email counts with any report, and a call without a reported cost keeps
// its estimate.
func TestReportsGiveNothingBackThatMayBeSpent(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "mail", `{"role": "agent", "email_config": {"max_emails_per_session": 1}, "session_budget_usd": 1}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	mail := check.Request{Tool: "resend-email", Input: []byte(`{"to":"a@example.com"}`), CallID: "one"}
	stage.Expect(t, stage.Ask(t, a, mail), toolcall.Allow, "")
	if _, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "one", Tool: "resend-email"}); err != nil {
		t.Fatal(err)
	}
	mail.CallID = "two"
	stage.Expect(t, stage.Ask(t, a, mail), toolcall.Deny, toolcall.CodeEmailDenied)
	pay := check.Request{Tool: "Pay", EstimatedCost: 900_000, CallID: "three"}
	stage.Expect(t, stage.Ask(t, a, pay), toolcall.Allow, "")
	if _, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "three", Tool: "Pay", OK: true}); err != nil {
		t.Fatal(err)
	}
	pay.CallID = "four"
	stage.Expect(t, stage.Ask(t, a, pay), toolcall.Deny, toolcall.CodeBudgetExceeded)
	if _, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "four", Tool: "Pay", OK: true, CostUSD: "9223372036854.7"}); fault.ReasonOf(err) != fault.InvalidRequest {
		t.Errorf("a cost beyond all measure: %v", err)
	}
}
