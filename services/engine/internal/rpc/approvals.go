package rpc

import (
	"context"
	"fmt"
	"strings"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// kinds of questions of the engine; it asks no others.
var kinds = map[consent.Kind]approvalv1.ApprovalKind{
	consent.Transition:  approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION,
	consent.ProcessStep: approvalv1.ApprovalKind_APPROVAL_KIND_PROCESS_STEP,
}

// Approvals asks humans through the approval service's contract, with the engine's own
// credentials: the question, and its asker, are its own word.
type Approvals struct {
	service approvalv1.ApprovalServiceClient
	peer    peerv1.ApprovalPeerServiceClient
}

var _ ports.Approvals = (*Approvals)(nil)

// NewApprovals makes the adapter.
func NewApprovals(service approvalv1.ApprovalServiceClient, peer peerv1.ApprovalPeerServiceClient) *Approvals {
	return &Approvals{service, peer}
}

// longestMessage is the most that the contract takes, in characters.
const longestMessage = 8192

// Create implements app.Approvals.
func (a *Approvals) Create(ctx context.Context, namespace, runID string, r consent.Request) error {
	message := r.Message
	if characters := []rune(message); len(characters) > longestMessage {
		message = string(characters[:longestMessage-3]) + "..."
	}
	req := &approvalv1.CreateApprovalRequest{
		ApprovalId: r.ID, Kind: kinds[r.Action.Kind], Subject: r.Action.Subject.AppendJSON(nil), Editable: r.Editable,
		Asker:   &approvalv1.Asker{Principal: r.Asker.Principal, Person: r.Asker.Person, SessionId: r.Asker.SessionID, RootSessionId: r.Asker.RootSession},
		Message: message, Terms: protomap.ApprovalTerms(r.Terms), RunId: runID,
	}
	if !r.Action.Data.IsZero() {
		req.Data = r.Action.Data.AppendJSON(nil)
	}
	_, err := a.service.CreateApproval(rpc.InNamespace(ctx, namespace), req)
	return err
}

// Get implements app.Approvals.
func (a *Approvals) Get(ctx context.Context, namespace, approvalID string) (*ports.Approval, error) {
	resp, err := a.service.GetApproval(rpc.InNamespace(ctx, namespace), &approvalv1.GetApprovalRequest{ApprovalId: approvalID})
	if err != nil {
		return nil, err
	}
	approval, err := approvalOf(resp.GetApproval())
	if err != nil {
		return nil, fmt.Errorf("approval %s: %w", approvalID, err)
	}
	return approval, nil
}

// Consume implements app.Approvals.
func (a *Approvals) Consume(ctx context.Context, namespace, approvalID, digest, usedBy string) error {
	_, err := a.peer.ConsumeApproval(rpc.InNamespace(ctx, namespace), &peerv1.ConsumeApprovalRequest{
		ApprovalId: approvalID, Digest: digest, UsedBy: usedBy,
	})
	return err
}

// Void implements app.Approvals.
func (a *Approvals) Void(ctx context.Context, namespace, approvalID, reason string) error {
	_, err := a.peer.VoidApproval(rpc.InNamespace(ctx, namespace), &peerv1.VoidApprovalRequest{ApprovalId: approvalID, Reason: reason})
	return err
}

// Cancel implements app.Approvals.
func (a *Approvals) Cancel(ctx context.Context, namespace, approvalID, reason string) error {
	_, err := a.service.CancelApproval(rpc.InNamespace(ctx, namespace), &approvalv1.CancelApprovalRequest{ApprovalId: approvalID, Reason: reason})
	return err
}

// approvalOf returns an approval as the engine needs it.
func approvalOf(p *approvalv1.Approval) (*ports.Approval, error) {
	a := &ports.Approval{RunID: p.GetRunId()}
	a.ID, a.Digest, a.Editable, a.Reason, a.By = p.GetApprovalId(), p.GetDigest(), p.GetEditable(), p.GetReason(), p.GetBy()
	a.Status = consent.Status(strings.TrimPrefix(p.GetStatus().String(), "APPROVAL_STATUS_"))
	if p.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_USED {
		a.Status, a.UsedAt = consent.Granted, p.GetUsedAt().AsTime()
	}
	a.Action.Kind = consent.Kind(strings.ToLower(strings.TrimPrefix(p.GetKind().String(), "APPROVAL_KIND_")))
	a.Terms.Required = int(p.GetTerms().GetRequired())
	a.ExpiresAt = p.GetExpiresAt().AsTime()
	for _, v := range p.GetVotes() {
		a.Votes = append(a.Votes, consent.Vote{Name: v.GetBy(), Role: protomap.LowerWord(v.GetRole(), "APPROVER_ROLE_"), Approve: v.GetApprove(), Note: v.GetNote(), At: v.GetTime().AsTime()})
	}
	var err error
	if a.Action.Subject, err = value(p.GetSubject()); err != nil {
		return nil, err
	}
	if a.Action.Data, err = value(p.GetData()); err != nil {
		return nil, err
	}
	if len(p.GetEditedData()) > 0 {
		a.Edit = &consent.Edit{By: p.GetEditedBy()}
		a.Edit.Data, err = value(p.GetEditedData())
	}
	return a, err
}

// value reads JSON of any size; an empty text is a missing value.
func value(text []byte) (document.Value, error) {
	if len(text) == 0 {
		return document.Value{}, nil
	}
	v, problem := document.Parse(text, document.Limits{Bytes: len(text) + 1})
	if problem != nil {
		return v, problem
	}
	return v, nil
}

// Open implements app.Approvals.
func (a *Approvals) Open(ctx context.Context, namespace, runID string) (bool, error) {
	for _, status := range []consent.Status{consent.Pending, consent.Granted} {
		resp, err := a.service.ListApprovals(rpc.InNamespace(ctx, namespace), &approvalv1.ListApprovalsRequest{
			PageSize: 1, Filter: listing.Filter(listing.Term{Key: "status", Value: string(status)}, listing.Term{Key: "run_id", Value: runID}),
		})
		if err != nil || len(resp.GetApprovals()) > 0 || resp.GetNextPageToken() != "" {
			return err == nil, err
		}
	}
	return false, nil
}
