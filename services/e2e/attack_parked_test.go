package e2e

import (
	"fmt"
	"testing"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// TestApprovalsOutliveAnEnd: for any outcome of an approval while its session has ended,
// the run continues when the session is resumed, a granted transition fires exactly once,
// and an operator's hold in between stays (S6.2, S9.1, S11.1).
func TestApprovalsOutliveAnEnd(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	for i, decided := range []approvalv1.ApprovalStatus{
		approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED, approvalv1.ApprovalStatus_APPROVAL_STATUS_EXPIRED,
		approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED,
	} {
		for j, operatorHolds := range []bool{false, true} {
			w := &world{shape: &u.shape, namespace: fmt.Sprint("parked-", i, "-", j)}
			t.Run(fmt.Sprintf("%s, held by an operator: %t", decided, operatorHolds), func(t *testing.T) {
				t.Parallel()
				outlive(t, w, u.mint(t, w, "s"), faces[j], decided, operatorHolds)
			})
		}
	}
}

// outlive walks one case; the session is ended and resumed over a face.
func outlive(t *testing.T, w *world, bound string, f face, decided approvalv1.ApprovalStatus, operatorHolds bool) {
	expires := 3600
	if decided == approvalv1.ApprovalStatus_APPROVAL_STATUS_EXPIRED {
		expires = 2
	}
	operator, agent := w.as(t, auth.Operator), w.with(t, 0, bound)
	operator.register(t, fmt.Sprintf(`{"id": "gate", "initial": "a",
		"meta": {"approval_mode": "ui", "approval": {"expires_seconds": %d, "approvers": {"roles": ["approver"]}}},
		"states": {"a": {"on": {"GO": {"target": "b", "requires_approval": true}}}, "b": {"on": {"GO": "a", "END": "over"}}, "over": {"type": "final"}}}`, expires))
	w.allows(t, "its agent", f, opCreate, ask{token: bound, session: "s"})
	run := agent.start(t, "gate").GetRunId()
	approval := agent.fire(t, run, "GO", "").GetApprovalId()
	w.allows(t, "its agent", f, opEnd, ask{token: bound, session: "s"})
	operator.heldBySession(t, run, true)

	humans := w.approvalsAs(t, 0, auth.Approver)
	if decided != approvalv1.ApprovalStatus_APPROVAL_STATUS_EXPIRED {
		granted := decided == approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED
		must[*approvalv1.DecideApprovalResponse](t)(humans.DecideApproval(within(t), &approvalv1.DecideApprovalRequest{ApprovalId: approval, Approve: granted}))
	}
	waits := decided == approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED // until the run is held no more
	eventually(t, "the approval is "+decided.String(), func() error {
		got := must[*approvalv1.GetApprovalResponse](t)(humans.GetApproval(within(t), &approvalv1.GetApprovalRequest{ApprovalId: approval})).GetApproval()
		if pending := operator.get(t, run).GetApproval().GetPending(); got.GetStatus() != decided || pending != waits {
			return fmt.Errorf("it is %s, pending %t", got.GetStatus(), pending)
		}
		return nil
	})
	if now := operator.get(t, run); now.GetStatus() != heldNow || now.GetState() != "a" {
		t.Fatalf("while the session has ended: %v", now)
	}
	if operatorHolds {
		w.allows(t, "the operator", f, opPause, ask{token: w.tokens[auth.Operator], run: run})
	}

	w.allows(t, "its agent", f, opReopen, ask{token: bound, session: "s"})
	if operatorHolds {
		eventually(t, "the session's hold is lifted", func() error {
			history := operator.history(t, run)
			if last := history[len(history)-1]; last.GetType() != enginev1.HistoryType_HISTORY_TYPE_HOLD_LIFTED {
				return fmt.Errorf("the history ends with %v", last)
			}
			return nil
		})
		if now := operator.get(t, run); now.GetStatus() != heldNow || now.GetState() != "a" {
			t.Errorf("the operator's hold is gone: %v", now)
		}
		w.allows(t, "the operator", f, opResume, ask{token: w.tokens[auth.Operator], run: run})
	}
	want, fired := "a", 0
	if decided == approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED {
		want, fired = "b", 1
	}
	eventually(t, "the run continues in "+want, func() error {
		if now := operator.get(t, run); now.GetStatus() != running || now.GetState() != want {
			return fmt.Errorf("it is %s in %s", now.GetStatus(), now.GetState())
		}
		return nil
	})
	var n int
	for _, entry := range operator.history(t, run) {
		if entry.GetApprovalId() == approval && entry.GetEvent() == "GO" && entry.GetTo() == "b" && entry.GetType() != enginev1.HistoryType_HISTORY_TYPE_APPROVAL_PARKED {
			n++
		}
	}
	if n != fired {
		t.Errorf("GO fired %d times, want %d", n, fired)
	}
	if now := agent.fire(t, run, "GO", ""); now.GetRejection() != nil {
		t.Errorf("afterwards: %v", now)
	}
}
