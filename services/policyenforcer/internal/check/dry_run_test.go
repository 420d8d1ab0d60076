package check_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// witness counts the commits of a store.
type witness struct {
	store.Store
	commits atomic.Int64
}

func (w *witness) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	result, err := w.Store.Commit(ctx, b)
	if err == nil {
		w.commits.Add(1)
	}
	return result, err
}

const bounded = `{"id": "w", "initial": "working", "states": {
	"working": {"max_iterations": 12, "max_files_per_state": 2, "allowed_tools": ["Bash", "Write", "Pay", "Mail", "Read"], "on": {"GO": "working", "END": "over"}},
	"over": {"type": "final"}}}`

// A dry run decides as a call would be decided at the same moment, limits of states and of
// policies included, and has no effects.
func TestDryRun(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, s *stage.Stage) {
		seen := &witness{Store: s.Store}
		s.Store = seen
		s.Put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay", "Mail"]}, "ask": [{"capability": "tool:Mail"}],
			"allow": [{"capability": "bash", "rate_limit": {"max_calls": 3, "window_seconds": 3600}},
			{"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "daily"}}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		a := s.App()
		codes := map[toolcall.Code]bool{}
		for i, call := range []check.Request{
			{Tool: "Bash", Input: []byte(`{"command":"ls"}`)},
			{Tool: "Bash", Input: []byte(`{"command":"ls"}`)},
			{Tool: "Bash", Input: []byte(`{"command":"ls"}`)},
			{Tool: "Bash", Input: []byte(`{"command":"ls"}`)},
			{Tool: "Pay", EstimatedCost: 600_000},
			{Tool: "Pay", EstimatedCost: 600_000},
			{Tool: "Write", Input: stage.Write("a")},
			{Tool: "Write", Input: stage.Write("b")},
			{Tool: "Write", Input: stage.Write("c")},
			{Tool: "Edit"},
			{Tool: "Mail"},
			{Tool: "Read"},
			{Tool: "Read"},
			{Tool: "Read"},
			{Tool: "Read"},
			{Tool: "Read"},
			{Tool: "Read"},
			{Tool: "Read"},
			{Tool: "Read"},
			{Tool: "Read"},
		} {
			before := seen.commits.Load()
			dry := call
			dry.DryRun, dry.CallID = true, "call 0" // which is not looked up
			first, second := stage.Ask(t, a, dry), stage.Ask(t, a, dry)
			if n := seen.commits.Load() - before; n != 0 || first.CallID != "" || first.ApprovalID != "" || len(s.Approvals.Asked) > 0 && i < 10 {
				t.Errorf("call %d: a dry run commits %d times, has the id %q and asks %v", i, n, first.CallID, s.Approvals.Asked)
			}
			call.CallID = fmt.Sprint("call ", i)
			real := stage.Ask(t, a, call)
			for _, d := range []*check.Decision{first, second} {
				if d.Verdict.Decision != real.Verdict.Decision || d.Verdict.Code != real.Verdict.Code {
					t.Errorf("call %d of %s: %s %s, and then %s %s", i, call.Tool, d.Verdict.Decision, d.Verdict.Code, real.Verdict.Decision, real.Verdict.Code)
				}
			}
			codes[real.Verdict.Code] = true
		}
		for _, code := range []toolcall.Code{
			"", toolcall.CodeRateLimited, toolcall.CodeBudgetExceeded, toolcall.CodeTooManyFiles, toolcall.CodeToolNotAllowed,
			toolcall.CodeApprovalRequired, toolcall.CodeMaxIterations,
		} {
			if !codes[code] {
				t.Errorf("no call is decided with %q: %v", code, codes)
			}
		}
		if len(s.Approvals.Asked) != 1 {
			t.Errorf("humans are asked %d times", len(s.Approvals.Asked))
		}
	}
	stage.OnAllStores(t, bounded, test)
}
