package outcome_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

func cost(t *testing.T, a *app.App, session, source string, costs ...outcome.Cost) *outcome.Costed {
	t.Helper()
	costed, err := a.Outcomes.ReportCost(t.Context(), stage.Agent, outcome.Costs{Session: session, Source: source, Costs: costs})
	if err != nil {
		t.Fatal(err)
	}
	return costed
}

// S15.1: the cost of an agent's messages spends the budget of its session, once per message.
func TestCostsSpendTheBudgetOfTheSession(t *testing.T) {
	t.Parallel()
	stage.OnAllStores(t, stage.Open, func(t *testing.T, s *stage.Stage) {
		s.Put(t, "p", `{"role": "agent", "session_budget_usd": 1}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		s.Sessions["child"] = "s"
		a := s.App()
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Allow, "")
		for i, want := range []int{2, 0} { // a replay is not counted
			costed := cost(t, a, "s", "transcript", outcome.Cost{ID: "m1", CostUSD: "0.4"}, outcome.Cost{ID: "m2", CostUSD: "0.2"})
			if costed.Counted != want || costed.Total != 600_000 {
				t.Fatalf("report %d: %+v", i, costed)
			}
		}
		if costed := cost(t, a, "child", "transcript", outcome.Cost{ID: "m1", CostUSD: "0.3999990001"}); costed.Total != 400_000 {
			t.Fatalf("the child: %+v", costed) // another session's message, of the same tree
		}
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Deny, toolcall.CodeBudgetExceeded)
	})
}

// S15.1: of several sources the largest counts, never the sum.
func TestTheLargestSourceCounts(t *testing.T) {
	t.Parallel()
	stage.OnAllStores(t, stage.Open, func(t *testing.T, s *stage.Stage) {
		s.Put(t, "p", `{"role": "agent", "session_budget_usd": 1}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		a := s.App()
		spent := func(want string) {
			t.Helper()
			usages, err := a.Policies.Usage(t.Context(), stage.Agent, "p", policystore.Spender{Session: "s"})
			if err != nil || len(usages) != 1 || fmt.Sprint(usages[0].Used) != want {
				t.Fatalf("%+v, %v; want %s", usages, err, want)
			}
		}
		cost(t, a, "s", "transcript", outcome.Cost{ID: "m1", CostUSD: "0.5"})
		cost(t, a, "s", "otlp", outcome.Cost{ID: "series", CostUSD: "0.3", Total: true})
		spent("500000")
		for range 2 {
			if costed := cost(t, a, "s", "otlp", outcome.Cost{ID: "series", CostUSD: "0.7", Total: true}); costed.Total != 700_000 {
				t.Fatalf("%+v", costed)
			}
		}
		spent("700000")
		cost(t, a, "s", "otlp", outcome.Cost{ID: "series", CostUSD: "0.1", Total: true}) // it never falls
		cost(t, a, "s", "otlp", outcome.Cost{ID: "another", CostUSD: "0.05", Total: true}, outcome.Cost{ID: "point", CostUSD: "0.05"})
		spent("800000")
		cost(t, a, "s", "transcript", outcome.Cost{ID: "m2", CostUSD: "0.2"})
		spent("800000")
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Allow, "")
		cost(t, a, "s", "transcript", outcome.Cost{ID: "m3", CostUSD: "0.3"})
		spent("1000000")
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Deny, toolcall.CodeBudgetExceeded)
	})
}

// S15.1: budgets of capabilities count the messages that asked for their calls.
func TestCostsSpendTheBudgetsOfCalls(t *testing.T) {
	t.Parallel()
	stage.OnAllStores(t, stage.Open, func(t *testing.T, s *stage.Stage) {
		s.Put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [
			{"capability": "bash", "budget_limit": {"max_usd": 0.5, "period": "hourly"}},
			{"capability": "tool:Pay", "budget_limit": {"max_usd": 0.5, "period": "daily"}}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		a := s.App()
		both := []outcome.ToolUse{{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}, {Tool: "Pay"}, {Tool: "mcp__interlock__get_state"}}
		for range 2 {
			cost(t, a, "s", "transcript", outcome.Cost{ID: "m1", CostUSD: "0.900001", Tools: both})
		}
		cost(t, a, "s", "transcript", outcome.Cost{ID: "m2", CostUSD: "0.3", Tools: both[:1]})
		usages, err := a.Policies.Usage(t.Context(), stage.Agent, "p", policystore.Spender{Session: "s"})
		if err != nil || len(usages) != 2 || usages[0].Used != 300_001+300_000 || usages[1].Used != 300_000 {
			t.Fatalf("%+v, %v", usages, err)
		}
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Deny, toolcall.CodeBudgetExceeded)
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Pay"}), toolcall.Allow, "")
	})
}

// S15.1: reports that come at the same time, on several replicas, all count, and once.
func TestConcurrentCostsAllCountOnce(t *testing.T) {
	t.Parallel()
	stage.OnAllStores(t, stage.Open, func(t *testing.T, s *stage.Stage) {
		s.Put(t, "p", `{"role": "agent", "session_budget_usd": 9}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		replicas := []*app.App{s.App(), s.App()}
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				_, err := replicas[i%2].Outcomes.ReportCost(t.Context(), stage.Agent, outcome.Costs{Session: "s", Source: "transcript", Costs: []outcome.Cost{{ID: fmt.Sprint("m", i/2), CostUSD: "0.01"}}})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		usages, err := s.App().Policies.Usage(t.Context(), stage.Agent, "p", policystore.Spender{Session: "s"})
		if err != nil || usages[0].Used != 60_000 {
			t.Errorf("%+v, %v", usages, err)
		}
	})
}

// Costs are amounts, of sessions that are the caller's.
func TestCostsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	a := s.App()
	bound := stage.Agent
	bound.Principal.Session = "mine"
	for name, tt := range map[string]struct {
		caller enforcer.Caller
		costs  outcome.Costs
		reason fault.Reason
	}{
		"no number":   {stage.Agent, outcome.Costs{Session: "s", Costs: []outcome.Cost{{ID: "m", CostUSD: "cheap"}}}, fault.InvalidRequest},
		"negative":    {stage.Agent, outcome.Costs{Session: "s", Costs: []outcome.Cost{{ID: "m", CostUSD: "-1"}}}, fault.InvalidRequest},
		"too much":    {stage.Agent, outcome.Costs{Session: "s", Costs: []outcome.Cost{{ID: "m", CostUSD: "1000001"}}}, fault.InvalidRequest},
		"not its own": {bound, outcome.Costs{Session: "s", Costs: []outcome.Cost{{ID: "m", CostUSD: "1"}}}, fault.PermissionDenied},
		"no lineage":  {stage.Agent, outcome.Costs{Session: "unreachable", Costs: []outcome.Cost{{ID: "m", CostUSD: "1"}}}, fault.Unavailable},
	} {
		if _, err := a.Outcomes.ReportCost(t.Context(), tt.caller, tt.costs); fault.ReasonOf(err) != tt.reason {
			t.Errorf("%s: %v, want %s", name, err, tt.reason)
		}
	}
	if _, err := a.Outcomes.ReportCost(t.Context(), bound, outcome.Costs{Session: "mine", Source: "otlp", Costs: []outcome.Cost{{ID: "m", CostUSD: "1"}}}); err != nil {
		t.Error(err)
	}
}
