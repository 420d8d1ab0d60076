package rpc

import (
	"context"
	"strings"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// statusOf returns the status of an approval for a call. One that was used
// is granted to the call that has used it, which may use it again, and used for any other.
func statusOf(a *approvalv1.Approval, usedBy string) consent.Status {
	if a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_USED && usedBy != "" && a.GetUsedBy() == usedBy {
		return consent.Granted
	}
	return consent.Status(strings.TrimPrefix(a.GetStatus().String(), "APPROVAL_STATUS_"))
}

// Approvals asks humans through the approval service's contract, with the
// enforcer's own credentials: the question and its asker are the enforcer's.
type Approvals struct {
	service approvalv1.ApprovalServiceClient
	peer    peerv1.ApprovalPeerServiceClient
}

var _ enforcer.Approvals = (*Approvals)(nil)

// NewApprovals makes the adapter.
func NewApprovals(service approvalv1.ApprovalServiceClient, peer peerv1.ApprovalPeerServiceClient) *Approvals {
	return &Approvals{service, peer}
}

// Request implements enforcer.Approvals.
func (a *Approvals) Request(ctx context.Context, namespace string, ask enforcer.Ask) (enforcer.Approval, error) {
	req := &approvalv1.CreateApprovalRequest{
		Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, Subject: ask.Action.Subject.AppendJSON(nil),
		Asker:   &approvalv1.Asker{Principal: ask.Asker.Principal, Person: ask.Asker.Person, SessionId: ask.Asker.SessionID, RootSessionId: ask.Asker.RootSession},
		Message: ask.Message, Terms: protomap.ApprovalTerms(ask.Terms), RunId: ask.RunID, Reuse: true,
		UsedBy: ask.UsedBy, SettledUse: ask.SettledUse, Facts: ask.Facts,
		Why: &approvalv1.Why{
			Policy: ask.Policy, PolicyVersion: ask.PolicyVersion, Rule: ask.Rule, WorkflowVersion: ask.WorkflowVersion, Entry: ask.Entry,
		},
	}
	if !ask.Action.Data.IsZero() { // no input is not the input null
		req.Data = ask.Action.Data.AppendJSON(nil)
	}
	resp, err := a.service.CreateApproval(rpc.InNamespace(ctx, namespace), req)
	if err != nil {
		return enforcer.Approval{}, err
	}
	approval := resp.GetApproval()
	return enforcer.Approval{
		ID: approval.GetApprovalId(), Created: resp.GetCreated(),
		Status: statusOf(approval, ask.UsedBy), UsedBy: approval.GetUsedBy(), UsedAt: approval.GetUsedAt().AsTime(), Outcome: approval.GetOutcome(),
		Policy: approval.GetWhy().GetPolicy(), PolicyVersion: approval.GetWhy().GetPolicyVersion(), Rule: approval.GetWhy().GetRule(),
	}, nil
}

// Consume implements enforcer.Approvals.
func (a *Approvals) Consume(ctx context.Context, namespace, approvalID, digest, usedBy, insteadOf string) error {
	_, err := a.peer.ConsumeApproval(rpc.InNamespace(ctx, namespace), &peerv1.ConsumeApprovalRequest{
		ApprovalId: approvalID, Digest: digest, UsedBy: usedBy, InsteadOf: insteadOf,
	})
	return err
}

// Withdraw implements enforcer.Approvals.
func (a *Approvals) Withdraw(ctx context.Context, namespace, approvalID, reason string) error {
	ctx = rpc.InNamespace(ctx, namespace)
	_, err := a.peer.VoidApproval(ctx, &peerv1.VoidApprovalRequest{ApprovalId: approvalID, Reason: reason})
	if !ended(err) {
		return err
	}
	// It was not granted, so its question is cancelled.
	if _, err = a.service.CancelApproval(ctx, &approvalv1.CancelApprovalRequest{ApprovalId: approvalID, Reason: reason}); ended(err) {
		return nil
	}
	return err
}

// ended reports whether an approval has ended, by a refusal of its service.
func ended(err error) bool {
	switch fault.ReasonOf(err) {
	case fault.FailedPrecondition, fault.ApprovalDecided, fault.NotFound:
		return true
	default:
		return false
	}
}
