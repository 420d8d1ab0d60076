package app

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S7.4: no more than the limit is admitted, for any number of callers and of
// replicas, and a denied call takes nothing.
func TestLimitsHoldOnThreeReplicas(t *testing.T) {
	t.Parallel()
	limits := func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [{"capability": "bash", "rate_limit": {"max_calls": 50, "window_seconds": 3600}}, {"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "daily"}}]}`,
			policystore.Indexed{Attachments: toRole(auth.Agent)})
		replicas := []*App{s.app(), s.app(), s.app()}
		for name, c := range map[string]struct {
			req  Check
			want int
			code toolcall.Code
		}{
			"calls": {Check{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, 50, toolcall.CodeRateLimited},
			"money": {Check{Tool: "Pay", EstimatedCost: 30_000}, 33, toolcall.CodeBudgetExceeded},
		} {
			var group sync.WaitGroup
			results := make([]*Decision, 64)
			for i := range results {
				group.Go(func() {
					req := c.req
					req.Target, req.CallID = Target{RunID: "run_1"}, fmt.Sprintf("%s-%d", name, i)
					d, err := replicas[i%3].Check(t.Context(), agent, req)
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
					expect(t, d, toolcall.Deny, c.code)
				}
			}
			if admitted != c.want {
				t.Errorf("%s: %d were admitted, want %d", name, admitted, c.want)
			}
		}
	}
	onStores(t, open, limits)
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		st, err := redisstore.Open(t.Context(), redisstore.Config{URL: redistest.Start(t).URL(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		limits(t, stageOf(newEngineOn(t, st, open)))
	})
}

// S7.5: an estimate is reserved, the report settles it, and nothing is counted
// twice when it comes again.
func TestReportSettlesWhatWasReserved(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [{"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "hourly"}}]}`,
			policystore.Indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		pay := Check{Tool: "Pay", EstimatedCost: 600_000}
		pay.CallID = "one"
		expect(t, ask(t, a, pay), toolcall.Allow, "")
		pay.CallID = "two"
		expect(t, ask(t, a, pay), toolcall.Deny, toolcall.CodeBudgetExceeded, "2026-11-20T11:00")
		for range 2 {
			if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "one", Tool: "Pay", OK: true, CostUSD: "0.1"}); err != nil {
				t.Fatal(err)
			}
		}
		pay.CallID = "three"
		expect(t, ask(t, a, pay), toolcall.Allow, "") // 0.1 + 0.6
		if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "three", Tool: "Pay", OK: false}); err != nil {
			t.Fatal(err)
		}
		pay.CallID, pay.EstimatedCost = "four", 900_000
		expect(t, ask(t, a, pay), toolcall.Allow, "") // a failed call gives back all
		pay.CallID, pay.EstimatedCost = "five", 0
		expect(t, ask(t, a, pay), toolcall.Deny, toolcall.CodeBudgetExceeded) // spent
		s.advance(time.Hour)
		pay.CallID = "six"
		expect(t, ask(t, a, pay), toolcall.Allow, "")
	})
}

// S14.4: what an agent says first of the cost and the bytes of its call takes nothing from what is
// observed of it. The difference counts once.
func TestObservedCostAfterClaim(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [{"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "hourly"}}]}`,
			policystore.Indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		for i, c := range []struct {
			claimed, seen Report
			left          int64 // of the budget, in millionths
		}{
			{Report{OK: true, CostUSD: "0"}, Report{OK: true, CostUSD: "0.7"}, 300_000},
			{Report{NotExecuted: true}, Report{OK: true, CostUSD: "0.7"}, 300_000},
			{Report{OK: false}, Report{OK: true}, 500_000}, // nothing is said of its cost: the estimate stays
			{Report{OK: true}, Report{OK: true, CostUSD: "0.7"}, 300_000},
			{Report{OK: true}, Report{OK: false}, 1_000_000},
			{Report{OK: true, CostUSD: "0.2"}, Report{OK: true, CostUSD: "0.2"}, 800_000},
			{Report{OK: true, CostUSD: "0.2"}, Report{OK: true, CostUSD: "unknown"}, 0},
			{Report{OK: true, CostUSD: "unknown"}, Report{OK: true, CostUSD: "0.7"}, 300_000},
			{Report{OK: true, CostUSD: "0.9"}, Report{OK: true, CostUSD: "0.7"}, 300_000},
		} {
			s.advance(time.Hour)
			id := fmt.Sprint("c", i)
			expect(t, ask(t, a, Check{Tool: "Pay", CallID: id, EstimatedCost: 500_000}), toolcall.Allow, "")
			report := func(caller Caller, r Report) {
				t.Helper()
				r.Target, r.CallID, r.Tool = Target{RunID: "run_1"}, id, "Pay"
				if _, err := a.Report(t.Context(), caller, r); err != nil {
					t.Fatalf("%d: %v", i, err)
				}
			}
			report(agent, c.claimed)
			report(witnessed, c.seen)
			report(witnessed, c.seen)
			if c.left < 1_000_000 {
				over := Check{Tool: "Pay", CallID: id + "over", EstimatedCost: rules.MicroUSD(c.left + 1)}
				expect(t, ask(t, a, over), toolcall.Deny, toolcall.CodeBudgetExceeded)
			}
			if c.left > 0 {
				expect(t, ask(t, a, Check{Tool: "Pay", CallID: id + "rest", EstimatedCost: rules.MicroUSD(c.left)}), toolcall.Allow, "")
			}
		}
	})
}

// S7.5: a cost is counted exactly, however it is written, and one that cannot be read spends what is left.
func TestReportedCostsOfAnyForm(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [{"capability": "tool:Pay", "budget_limit": {"max_usd": 0.00003, "period": "hourly"}}]}`,
			policystore.Indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		pays := func(id, cost string, ok bool) {
			t.Helper()
			expect(t, ask(t, a, Check{Tool: "Pay", CallID: id}), toolcall.Allow, "")
			if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: id, Tool: "Pay", OK: ok, CostUSD: cost}); err != nil {
				t.Fatal(err)
			}
		}
		for i, cost := range []string{"1e-05", "0.1E-4", "10e-6"} {
			pays(fmt.Sprint("c", i), cost, true)
		}
		expect(t, ask(t, a, Check{Tool: "Pay"}), toolcall.Deny, toolcall.CodeBudgetExceeded)
		for _, ok := range []bool{true, false} {
			s.advance(time.Hour)
			pays(fmt.Sprint("unknown", ok), "unknown", ok)
			expect(t, ask(t, a, Check{Tool: "Pay"}), toolcall.Deny, toolcall.CodeBudgetExceeded)
		}
	})
}

// A session's budget is its whole tree's.
func TestTreesShareTheirRootsBudget(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	s.sessions = tree{"s": "root", "sibling": "root"}
	s.put(t, "p", `{"role": "agent", "allow": [{"capability": "*", "rate_limit": {"max_calls": 2, "window_seconds": 60, "scope": "session"}}]}`,
		policystore.Indexed{Attachments: toRole(auth.Agent)})
	a := s.app()
	expect(t, ask(t, a, Check{Tool: "Read"}), toolcall.Allow, "")
	s.engine.mu.Lock()
	s.engine.run.SessionID = "sibling"
	s.engine.mu.Unlock()
	b := s.app()
	expect(t, ask(t, b, Check{Tool: "Read"}), toolcall.Allow, "")
	expect(t, ask(t, a, Check{Tool: "Read"}), toolcall.Deny, toolcall.CodeRateLimited)
}

// The call id is the idempotency key: a repeat spends nothing.
func TestARepeatSpendsNothing(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "allow": [{"capability": "*", "rate_limit": {"max_calls": 2, "window_seconds": 60}}]}`,
			policystore.Indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		for range 3 {
			expect(t, ask(t, a, Check{Tool: "Read", CallID: "same"}), toolcall.Allow, "")
		}
		expect(t, ask(t, a, Check{Tool: "Read", CallID: "other"}), toolcall.Allow, "")
		expect(t, ask(t, a, Check{Tool: "Read", CallID: "third"}), toolcall.Deny, toolcall.CodeRateLimited)
	})
}

// An email counts whatever is reported of it, and a call whose cost is not told keeps
// its estimate.
func TestReportsGiveNothingBackThatMayBeSpent(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "mail", `{"role": "agent", "email_config": {"max_emails_per_session": 1}, "session_budget_usd": 1}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		mail := Check{Tool: "resend-email", Input: []byte(`{"to":"a@example.com"}`), CallID: "one"}
		expect(t, ask(t, a, mail), toolcall.Allow, "")
		if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "one", Tool: "resend-email"}); err != nil {
			t.Fatal(err)
		}
		mail.CallID = "two"
		expect(t, ask(t, a, mail), toolcall.Deny, toolcall.CodeEmailDenied)
		pay := Check{Tool: "Pay", EstimatedCost: 900_000, CallID: "three"}
		expect(t, ask(t, a, pay), toolcall.Allow, "")
		if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "three", Tool: "Pay", OK: true}); err != nil {
			t.Fatal(err)
		}
		pay.CallID = "four"
		expect(t, ask(t, a, pay), toolcall.Deny, toolcall.CodeBudgetExceeded)
		if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "four", Tool: "Pay", OK: true, CostUSD: "9223372036854.7"}); fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("a cost beyond all measure: %v", err)
		}
	})
}
