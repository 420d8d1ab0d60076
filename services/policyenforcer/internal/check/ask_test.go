package check_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S7.6: one approval for exactly this call, and one call for the approval.
func TestAskedCalls(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "ask": [{"capability": "mcp:fs:write", "rate_limit": {"max_calls": 2, "window_seconds": 3600}}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a, b := s.App(), s.App()
	write := check.Request{Tool: "mcp__fs__write", Input: []byte(`{"path":"a","n":1}`)}
	d := stage.Ask(t, a, write)
	stage.Expect(t, d, toolcall.Ask, toolcall.CodeApprovalRequired, "apr_1", "mcp__fs__write")
	if d.ApprovalID != "apr_1" || s.Approvals.Asked[0].Asker != (consent.Asker{Principal: "amir", SessionID: "s", RootSession: "s"}) {
		t.Errorf("asked %+v as %s", s.Approvals.Asked, d.ApprovalID)
	}
	same := write
	same.Input = []byte(`{ "n": 1.0, "path": "a" }`) // the same, written otherwise
	stage.Expect(t, stage.Ask(t, b, same), toolcall.Ask, toolcall.CodeApprovalPending, "apr_1")
	other := write
	other.Input = []byte(`{"path":"b"}`)
	stage.Expect(t, stage.Ask(t, b, other), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")

	s.Approvals.Decide("apr_1", consent.Granted)
	var group sync.WaitGroup
	admitted := make([]bool, 8)
	for i := range admitted {
		group.Go(func() {
			req := write
			req.Target = enforcer.Target{RunID: "run_1"}
			d, err := []*app.App{a, b}[i%2].Checks.Check(t.Context(), stage.Agent, req)
			if err != nil {
				t.Errorf("the others ask anew, instead: %v", err)
				return
			}
			admitted[i] = d.Verdict.Decision == toolcall.Allow
		})
	}
	group.Wait()
	n := 0
	for _, ok := range admitted {
		if ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the approval has admitted %d calls", n)
	}
	s.Approvals.Outcome = "REJECTED by \"bob\"."
	s.Approvals.Decide("apr_2", consent.Rejected)
	stage.Expect(t, stage.Ask(t, a, other), toolcall.Deny, toolcall.CodePolicyDenied, "bob")

	// Over a limit, no approval is requested.
	id := stage.Ask(t, a, write).ApprovalID
	s.Approvals.Decide(id, consent.Granted)
	stage.Expect(t, stage.Ask(t, a, write), toolcall.Allow, "")
	before := len(s.Approvals.Asked)
	stage.Expect(t, stage.Ask(t, a, write), toolcall.Deny, toolcall.CodeRateLimited)
	if len(s.Approvals.Asked) != before {
		t.Error("a human was asked about what the limit denies")
	}
}

// An approval is for the run as it stood.
func TestAnotherRunVersionIsAnotherQuestion(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write"}), toolcall.Ask, toolcall.CodeApprovalRequired)
	s.Approvals.Decide("apr_1", consent.Granted)
	s.Engine.Fire(t, "GO")
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write"}), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
	// The cached run was old. The grant stays unused.
	if by := s.Approvals.UsedBy["apr_1"]; by != "" {
		t.Errorf("what admits nothing any more is used by %q", by)
	}
}

// An approval whose call was not admitted, because its commit failed, admits the next call of the same action
// without a new question. The first call cannot be admitted later, also if its commit was only late.
func TestAnApprovalIsNotSpentForNothing(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	whole := s.Store
	broken := &failing{Store: whole}
	s.Store = broken
	failingApp := s.App()
	s.Store = whole
	a := s.App()
	stage.Expect(t, stage.Ask(t, failingApp, check.Request{Tool: "Write", CallID: "one"}), toolcall.Ask, toolcall.CodeApprovalRequired)
	s.Approvals.Decide("apr_1", consent.Granted)

	broken.fails.Store(true)
	stage.Expect(t, stage.Ask(t, failingApp, check.Request{Tool: "Write", CallID: "one"}), toolcall.Deny, toolcall.CodePolicyUnavailable)
	if by := s.Approvals.UsedBy["apr_1"]; by != "one" {
		t.Fatalf("used by %q", by)
	}
	broken.fails.Store(false)

	req := check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Write", CallID: "two"}
	if _, err := a.Checks.Check(t.Context(), stage.Agent, req); fault.ReasonOf(err) != fault.VersionConflict {
		t.Errorf("while the first may be on its way: %v", err)
	}
	s.Advance(check.DecisionGrace)
	d := stage.Ask(t, a, check.Request{Tool: "Write", CallID: "two"})
	stage.Expect(t, d, toolcall.Allow, "")
	if d.ApprovalID != "apr_1" || len(s.Approvals.Asked) != 1 {
		t.Errorf("admitted by %q after %d questions", d.ApprovalID, len(s.Approvals.Asked))
	}
	_, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Write", CallID: "one"})
	if fault.ReasonOf(err) != fault.IdempotencyMismatch || !strings.Contains(err.Error(), "given up") {
		t.Errorf("the call whose approval went to another: %v", err)
	}
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write", CallID: "three"}), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
}

// failing is a store whose commits can be made to fail.
type failing struct {
	store.Store
	fails atomic.Bool
}

func (f *failing) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	if f.fails.Load() {
		return store.Result{}, fault.New(fault.Unavailable, "the disk is full")
	}
	return f.Store.Commit(ctx, b)
}

// A repeat of a call that was admitted by an approval is answered as the first: the
// approval is used, and the call is not asked about again.
func TestARepeatOfAnApprovedCall(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write", CallID: "one"}), toolcall.Ask, toolcall.CodeApprovalRequired)
	s.Approvals.Decide("apr_1", consent.Granted)
	for range 3 {
		d := stage.Ask(t, a, check.Request{Tool: "Write", CallID: "one"})
		stage.Expect(t, d, toolcall.Allow, "")
		if d.ApprovalID != "apr_1" {
			t.Errorf("admitted by %q", d.ApprovalID)
		}
	}
	_, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Write", CallID: "one", Input: []byte(`{"n":1}`)})
	if fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("another call of the same id: %v", err)
	}
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write", CallID: "two"}), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
}
