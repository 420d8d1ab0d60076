package app

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// onAllStores runs a test on each kind of store, and as if one did not span shards.
func onAllStores(t *testing.T, test func(*testing.T, *stage)) {
	t.Helper()
	onStores(t, open, test)
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		st, err := redisstore.Open(t.Context(), redisstore.Config{URL: redistest.Start(t).URL(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		test(t, stageOf(newEngineOn(t, st, open)))
	})
}

func cost(t *testing.T, a *App, session, source string, costs ...Cost) *Costed {
	t.Helper()
	costed, err := a.ReportCost(t.Context(), agent, Costs{Session: session, Source: source, Costs: costs})
	if err != nil {
		t.Fatal(err)
	}
	return costed
}

// S15.1: what an agent's messages cost spends the budget of its session, once per message.
func TestCostsSpendTheBudgetOfTheSession(t *testing.T) {
	t.Parallel()
	onAllStores(t, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "session_budget_usd": 1}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
		s.sessions["child"] = "s"
		a := s.app()
		expect(t, ask(t, a, Check{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Allow, "")
		for i, want := range []int{2, 0} { // a replay counts nothing
			costed := cost(t, a, "s", "transcript", Cost{ID: "m1", CostUSD: "0.4"}, Cost{ID: "m2", CostUSD: "0.2"})
			if costed.Counted != want || costed.Total != 600_000 {
				t.Fatalf("report %d: %+v", i, costed)
			}
		}
		if costed := cost(t, a, "child", "transcript", Cost{ID: "m1", CostUSD: "0.3999990001"}); costed.Total != 400_000 {
			t.Fatalf("the child: %+v", costed) // another session's message, of the same tree
		}
		expect(t, ask(t, a, Check{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Deny, toolcall.CodeBudgetExceeded)
	})
}

// S15.1: of several sources the largest counts, never the sum.
func TestTheLargestSourceCounts(t *testing.T) {
	t.Parallel()
	onAllStores(t, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "session_budget_usd": 1}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		spent := func(want string) {
			t.Helper()
			usages, err := a.Policies().Usage(t.Context(), agent, "p", "", "s")
			if err != nil || len(usages) != 1 || fmt.Sprint(usages[0].Used) != want {
				t.Fatalf("%+v, %v; want %s", usages, err, want)
			}
		}
		cost(t, a, "s", "transcript", Cost{ID: "m1", CostUSD: "0.5"})
		cost(t, a, "s", "otlp", Cost{ID: "series", CostUSD: "0.3", Total: true})
		spent("500000")
		for range 2 {
			if costed := cost(t, a, "s", "otlp", Cost{ID: "series", CostUSD: "0.7", Total: true}); costed.Total != 700_000 {
				t.Fatalf("%+v", costed)
			}
		}
		spent("700000")
		cost(t, a, "s", "otlp", Cost{ID: "series", CostUSD: "0.1", Total: true}) // it never falls
		cost(t, a, "s", "otlp", Cost{ID: "another", CostUSD: "0.05", Total: true}, Cost{ID: "point", CostUSD: "0.05"})
		spent("800000")
		cost(t, a, "s", "transcript", Cost{ID: "m2", CostUSD: "0.2"})
		spent("800000")
		expect(t, ask(t, a, Check{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Allow, "")
		cost(t, a, "s", "transcript", Cost{ID: "m3", CostUSD: "0.3"})
		spent("1000000")
		expect(t, ask(t, a, Check{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Deny, toolcall.CodeBudgetExceeded)
	})
}

// S15.1: budgets of capabilities count the messages that asked for their calls.
func TestCostsSpendTheBudgetsOfCalls(t *testing.T) {
	t.Parallel()
	onAllStores(t, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [
			{"capability": "bash", "budget_limit": {"max_usd": 0.5, "period": "hourly"}},
			{"capability": "tool:Pay", "budget_limit": {"max_usd": 0.5, "period": "daily"}}]}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		both := []ToolUse{{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}, {Tool: "Pay"}, {Tool: "mcp__interlock__get_state"}}
		for range 2 {
			cost(t, a, "s", "transcript", Cost{ID: "m1", CostUSD: "0.900001", Tools: both})
		}
		cost(t, a, "s", "transcript", Cost{ID: "m2", CostUSD: "0.3", Tools: both[:1]})
		usages, err := a.Policies().Usage(t.Context(), agent, "p", "", "s")
		if err != nil || len(usages) != 2 || usages[0].Used != 300_001+300_000 || usages[1].Used != 300_000 {
			t.Fatalf("%+v, %v", usages, err)
		}
		expect(t, ask(t, a, Check{Tool: "Bash", Input: []byte(`{"command": "ls"}`)}), toolcall.Deny, toolcall.CodeBudgetExceeded)
		expect(t, ask(t, a, Check{Tool: "Pay"}), toolcall.Allow, "")
	})
}

// S15.1: reports that come at the same time, on several replicas, all count, and once.
func TestConcurrentCostsAllCountOnce(t *testing.T) {
	t.Parallel()
	onAllStores(t, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "session_budget_usd": 9}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
		replicas := []*App{s.app(), s.app()}
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				_, err := replicas[i%2].ReportCost(t.Context(), agent, Costs{Session: "s", Source: "transcript", Costs: []Cost{{ID: fmt.Sprint("m", i/2), CostUSD: "0.01"}}})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		usages, err := s.app().Policies().Usage(t.Context(), agent, "p", "", "s")
		if err != nil || usages[0].Used != 60_000 {
			t.Errorf("%+v, %v", usages, err)
		}
	})
}

// Costs are amounts, of sessions that are the caller's.
func TestCostsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	a := s.app()
	bound := agent
	bound.Principal.Session = "mine"
	for name, tt := range map[string]struct {
		caller Caller
		costs  Costs
		reason fault.Reason
	}{
		"no number":   {agent, Costs{Session: "s", Costs: []Cost{{ID: "m", CostUSD: "cheap"}}}, fault.InvalidRequest},
		"negative":    {agent, Costs{Session: "s", Costs: []Cost{{ID: "m", CostUSD: "-1"}}}, fault.InvalidRequest},
		"too much":    {agent, Costs{Session: "s", Costs: []Cost{{ID: "m", CostUSD: "1000001"}}}, fault.InvalidRequest},
		"not its own": {bound, Costs{Session: "s", Costs: []Cost{{ID: "m", CostUSD: "1"}}}, fault.PermissionDenied},
		"no lineage":  {agent, Costs{Session: "unreachable", Costs: []Cost{{ID: "m", CostUSD: "1"}}}, fault.Unavailable},
	} {
		if _, err := a.ReportCost(t.Context(), tt.caller, tt.costs); fault.ReasonOf(err) != tt.reason {
			t.Errorf("%s: %v, want %s", name, err, tt.reason)
		}
	}
	if _, err := a.ReportCost(t.Context(), bound, Costs{Session: "mine", Source: "otlp", Costs: []Cost{{ID: "m", CostUSD: "1"}}}); err != nil {
		t.Error(err)
	}
}
