package app

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
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S7.6: one approval for exactly this call, and one call for the approval.
func TestAskedCalls(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "ask": [{"capability": "mcp:fs:write", "rate_limit": {"max_calls": 2, "window_seconds": 3600}}]}`,
			policystore.Indexed{Attachments: toRole(auth.Agent)})
		a, b := s.app(), s.app()
		write := Check{Tool: "mcp__fs__write", Input: []byte(`{"path":"a","n":1}`)}
		d := ask(t, a, write)
		expect(t, d, toolcall.Ask, toolcall.CodeApprovalRequired, "apr_1", "mcp__fs__write")
		if d.ApprovalID != "apr_1" || s.approvals.asked[0].Asker != (consent.Asker{Principal: "amir", SessionID: "s", RootID: "s"}) {
			t.Errorf("asked %+v as %s", s.approvals.asked, d.ApprovalID)
		}
		same := write
		same.Input = []byte(`{ "n": 1.0, "path": "a" }`) // the same, written otherwise
		expect(t, ask(t, b, same), toolcall.Ask, toolcall.CodeApprovalPending, "apr_1")
		other := write
		other.Input = []byte(`{"path":"b"}`)
		expect(t, ask(t, b, other), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")

		s.approvals.decide("apr_1", consent.Granted)
		var group sync.WaitGroup
		admitted := make([]bool, 8)
		for i := range admitted {
			group.Go(func() {
				req := write
				req.Target = Target{RunID: "run_1"}
				d, err := []*App{a, b}[i%2].Check(t.Context(), agent, req)
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
		s.approvals.outcome = "REJECTED by \"bob\"."
		s.approvals.decide("apr_2", consent.Rejected)
		expect(t, ask(t, a, other), toolcall.Deny, toolcall.CodePolicyDenied, "bob")

		// Over a limit, no approval is requested.
		id := ask(t, a, write).ApprovalID
		s.approvals.decide(id, consent.Granted)
		expect(t, ask(t, a, write), toolcall.Allow, "")
		before := len(s.approvals.asked)
		expect(t, ask(t, a, write), toolcall.Deny, toolcall.CodeRateLimited)
		if len(s.approvals.asked) != before {
			t.Error("a human was asked about what the limit denies")
		}
	})
}

// An approval is for the run as it stood.
func TestAnotherRunVersionIsAnotherQuestion(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	s.put(t, "p", `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
	a := s.app()
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Ask, toolcall.CodeApprovalRequired)
	s.approvals.decide("apr_1", consent.Granted)
	s.engine.fire(t, "GO")
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
	// The run was remembered as it stood before. What was agreed to is not said to be used.
	if by := s.approvals.usedBy["apr_1"]; by != "" {
		t.Errorf("what admits nothing any more is used by %q", by)
	}
}

// An approval whose call was not admitted, for its commit failed, admits the next call of the
// same action: nobody is asked again. The first call cannot be admitted any more, also when
// its commit was only late.
func TestAnApprovalIsNotSpentForNothing(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
		whole := s.store
		broken := &failing{Store: whole}
		s.store = broken
		failingApp := s.app()
		s.store = whole
		a := s.app()
		expect(t, ask(t, failingApp, Check{Tool: "Write", CallID: "one"}), toolcall.Ask, toolcall.CodeApprovalRequired)
		s.approvals.decide("apr_1", consent.Granted)

		broken.fails.Store(true)
		expect(t, ask(t, failingApp, Check{Tool: "Write", CallID: "one"}), toolcall.Deny, toolcall.CodePolicyUnavailable)
		if by := s.approvals.usedBy["apr_1"]; by != "one" {
			t.Fatalf("used by %q", by)
		}
		broken.fails.Store(false)

		req := Check{Target: Target{RunID: "run_1"}, Tool: "Write", CallID: "two"}
		if _, err := a.Check(t.Context(), agent, req); fault.ReasonOf(err) != fault.VersionConflict {
			t.Errorf("while the first may be on its way: %v", err)
		}
		s.advance(inFlight)
		d := ask(t, a, Check{Tool: "Write", CallID: "two"})
		expect(t, d, toolcall.Allow, "")
		if d.ApprovalID != "apr_1" || len(s.approvals.asked) != 1 {
			t.Errorf("admitted by %q after %d questions", d.ApprovalID, len(s.approvals.asked))
		}
		_, err := a.Check(t.Context(), agent, Check{Target: Target{RunID: "run_1"}, Tool: "Write", CallID: "one"})
		if fault.ReasonOf(err) != fault.IdempotencyMismatch || !strings.Contains(err.Error(), "given up") {
			t.Errorf("the call whose approval went to another: %v", err)
		}
		expect(t, ask(t, a, Check{Tool: "Write", CallID: "three"}), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
	})
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
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`, policystore.Indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		expect(t, ask(t, a, Check{Tool: "Write", CallID: "one"}), toolcall.Ask, toolcall.CodeApprovalRequired)
		s.approvals.decide("apr_1", consent.Granted)
		for range 3 {
			d := ask(t, a, Check{Tool: "Write", CallID: "one"})
			expect(t, d, toolcall.Allow, "")
			if d.ApprovalID != "apr_1" {
				t.Errorf("admitted by %q", d.ApprovalID)
			}
		}
		_, err := a.Check(t.Context(), agent, Check{Target: Target{RunID: "run_1"}, Tool: "Write", CallID: "one", Input: []byte(`{"n":1}`)})
		if fault.ReasonOf(err) != fault.IdempotencyMismatch {
			t.Errorf("another call of the same id: %v", err)
		}
		expect(t, ask(t, a, Check{Tool: "Write", CallID: "two"}), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
	})
}
