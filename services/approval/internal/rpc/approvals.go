// Package rpc serves the contract of approvals over gRPC: it translates between the
// contract's messages and the use cases, and makes no decision.
package rpc

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/internal/redact"
)

// defaultPageSize is the size of a page without a given one.
const defaultPageSize = 100

// Approvals serves ApprovalService and ApprovalPeerService.
type Approvals struct {
	approvalv1.UnimplementedApprovalServiceServer
	peerv1.UnimplementedApprovalPeerServiceServer
	App *app.App
	// Masks find the secrets in what a relay shows.
	Masks redact.Masks
}

func caller(ctx context.Context) app.Caller {
	principal, _ := auth.FromContext(ctx)
	return app.Caller{Namespace: rpc.Namespace(ctx), Principal: principal}
}

// CreateApproval implements ApprovalService.
func (s *Approvals) CreateApproval(ctx context.Context, req *approvalv1.CreateApprovalRequest) (*approvalv1.CreateApprovalResponse, error) {
	r, created, err := s.App.Create(ctx, caller(ctx), app.Question{
		ID: req.GetApprovalId(), Kind: kindOf(req.GetKind()), Subject: req.GetSubject(), Data: req.GetData(), Editable: req.GetEditable(),
		Asker: consent.Asker{
			Principal: req.GetAsker().GetPrincipal(), Person: req.GetAsker().GetPerson(), SessionID: req.GetAsker().GetSessionId(), RootSession: req.GetAsker().GetRootSessionId(),
		},
		Message: req.GetMessage(), Terms: termsOf(req.GetTerms()), RunID: req.GetRunId(), Reuse: req.GetReuse(), UsedBy: req.GetUsedBy(),
		SettledUse: req.GetSettledUse(), Why: whyOf(req.GetWhy()), Facts: req.GetFacts(),
	})
	if err != nil {
		return nil, err
	}
	return &approvalv1.CreateApprovalResponse{Approval: approvalProto(r), Created: created}, nil
}

// GetApproval implements ApprovalService.
func (s *Approvals) GetApproval(ctx context.Context, req *approvalv1.GetApprovalRequest) (*approvalv1.GetApprovalResponse, error) {
	r, err := s.App.Get(ctx, caller(ctx), req.GetApprovalId())
	if err != nil {
		return nil, s.App.NotYet(caller(ctx), req.GetApprovalId(), err)
	}
	by := caller(ctx)
	out := s.seen(ctx, by, r)
	switch by.Principal.Role {
	case auth.Service, auth.Agent: // which do not decide
	default:
		detailed(out, r, s.App.Details(ctx, r))
	}
	return &approvalv1.GetApprovalResponse{Approval: s.shown(by, out)}, nil
}

// ListApprovals implements ApprovalService.
func (s *Approvals) ListApprovals(ctx context.Context, req *approvalv1.ListApprovalsRequest) (*approvalv1.ListApprovalsResponse, error) {
	terms, err := listing.Parse(req.GetFilter(), "status", "run_id", listing.Before, listing.Prefix)
	if err != nil {
		return nil, err
	}
	status, err := terms.OneOf("status", protomap.Names(approvalv1.ApprovalStatus_name, statusPrefix))
	if err != nil {
		return nil, err
	}
	q := app.Query{
		Standing: consent.Status(status), RunID: terms["run_id"], Prefix: terms[listing.Prefix],
		After: terms.BeginAfter(req.GetPageToken()), Limit: int(req.GetPageSize()),
	}
	if q.Limit == 0 {
		q.Limit = defaultPageSize
	}
	records, next, err := s.App.List(ctx, caller(ctx), q)
	if err != nil {
		return nil, err
	}
	resp := &approvalv1.ListApprovalsResponse{NextPageToken: next}
	by := caller(ctx)
	for _, r := range records {
		resp.Approvals = append(resp.Approvals, s.shown(by, s.seen(ctx, by, r)))
	}
	return resp, nil
}

// DecideApproval implements ApprovalService.
func (s *Approvals) DecideApproval(ctx context.Context, req *approvalv1.DecideApprovalRequest) (*approvalv1.DecideApprovalResponse, error) {
	by, err := s.App.Acting(ctx, caller(ctx), req.GetApprovalId(), req.GetAsIdentity())
	if err != nil {
		return nil, s.App.NotYet(caller(ctx), req.GetApprovalId(), err)
	}
	r, err := s.App.Decide(ctx, by, req.GetApprovalId(), app.Vote{
		Approve: req.GetApprove(), Note: req.GetNote(), Edited: req.GetEditedData(), Digest: req.GetDigest(), Key: req.GetIdempotencyKey(),
		Lease: leaseTerms(req.GetLease()), Signature: signatureOf(req.GetSignature()),
	})
	if err != nil {
		return nil, s.App.NotYet(caller(ctx), req.GetApprovalId(), err)
	}
	return &approvalv1.DecideApprovalResponse{Approval: s.shown(caller(ctx), approvalProto(r))}, nil
}

// DecideApprovals implements ApprovalService.
func (s *Approvals) DecideApprovals(ctx context.Context, req *approvalv1.DecideApprovalsRequest) (*approvalv1.DecideApprovalsResponse, error) {
	b := app.Batch{Approve: req.GetApprove(), Note: req.GetNote(), Key: req.GetIdempotencyKey(), Signature: signatureOf(req.GetSignature())}
	for _, item := range req.GetItems() {
		b.Items = append(b.Items, app.BatchItem{ID: item.GetApprovalId(), Digest: item.GetDigest()})
	}
	records, err := s.App.DecideAll(ctx, caller(ctx), b)
	if err != nil {
		return nil, err
	}
	resp := &approvalv1.DecideApprovalsResponse{}
	for _, r := range records {
		resp.Approvals = append(resp.Approvals, approvalProto(r))
	}
	return resp, nil
}

// CancelApproval implements ApprovalService.
func (s *Approvals) CancelApproval(ctx context.Context, req *approvalv1.CancelApprovalRequest) (*approvalv1.CancelApprovalResponse, error) {
	r, err := s.App.Cancel(ctx, caller(ctx), req.GetApprovalId(), req.GetReason())
	if err != nil {
		return nil, s.App.NotYet(caller(ctx), req.GetApprovalId(), err)
	}
	return &approvalv1.CancelApprovalResponse{Approval: approvalProto(r)}, nil
}

// ConsumeApproval implements ApprovalPeerService.
func (s *Approvals) ConsumeApproval(ctx context.Context, req *peerv1.ConsumeApprovalRequest) (*peerv1.ConsumeApprovalResponse, error) {
	r, err := s.App.Consume(ctx, caller(ctx), req.GetApprovalId(), req.GetDigest(), req.GetUsedBy(), req.GetInsteadOf())
	if err != nil {
		return nil, err
	}
	return &peerv1.ConsumeApprovalResponse{Approval: approvalProto(r)}, nil
}

// VoidApproval implements ApprovalPeerService.
func (s *Approvals) VoidApproval(ctx context.Context, req *peerv1.VoidApprovalRequest) (*peerv1.VoidApprovalResponse, error) {
	r, err := s.App.Void(ctx, caller(ctx), req.GetApprovalId(), req.GetReason())
	if err != nil {
		return nil, err
	}
	return &peerv1.VoidApprovalResponse{Approval: approvalProto(r)}, nil
}

// WatchApproval implements ApprovalService.
func (s *Approvals) WatchApproval(req *approvalv1.WatchApprovalRequest, stream grpc.ServerStreamingServer[approvalv1.WatchApprovalResponse]) error {
	ctx := stream.Context()
	return s.App.NotYet(caller(ctx), req.GetApprovalId(), s.App.Wait(ctx, caller(ctx), req.GetApprovalId(), func(r *app.Record) error {
		return stream.Send(&approvalv1.WatchApprovalResponse{Approval: s.shown(caller(ctx), approvalProto(r))})
	}))
}

// WatchApprovals implements ApprovalService.
func (s *Approvals) WatchApprovals(_ *approvalv1.WatchApprovalsRequest, stream grpc.ServerStreamingServer[approvalv1.WatchApprovalsResponse]) error {
	ctx := stream.Context()
	return s.App.Watch(ctx, caller(ctx), func(r *app.Record) error {
		return stream.Send(&approvalv1.WatchApprovalsResponse{Approval: s.shown(caller(ctx), approvalProto(r))})
	})
}

func kindOf(kind approvalv1.ApprovalKind) consent.Kind {
	return consent.Kind(strings.ToLower(strings.TrimPrefix(kind.String(), kindPrefix)))
}

func termsOf(t *approvalv1.Terms) consent.Terms {
	out := consent.Terms{
		Required: int(t.GetRequired()), DenyThreshold: int(t.GetDenyThreshold()), Eligible: approversOf(t.GetEligible()),
		TTL:        t.GetExpiresAfter().AsDuration(),
		Escalation: consent.Escalation{After: t.GetEscalateAfter().AsDuration(), To: approversOf(t.GetEscalateTo())},
		Danger:     consent.Danger(t.GetDanger()),
		Presence:   t.GetPresence(), Distinct: t.GetDistinctPeople(),
	}
	for _, c := range t.GetAlso() {
		out.Also = append(out.Also, consent.Circle{Term: c.GetTerm(), Required: int(c.GetRequired()), Eligible: approversOf(c.GetEligible())})
	}
	return out
}

func approversOf(a *approvalv1.Approvers) consent.Approvers {
	return consent.Approvers{Roles: a.GetRoles(), Names: a.GetNames()}
}
