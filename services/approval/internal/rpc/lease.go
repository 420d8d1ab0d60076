package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// leaseTerms returns the terms, nil for none.
func leaseTerms(t *approvalv1.LeaseTerms) *consent.LeaseTerms {
	if t == nil {
		return nil
	}
	return &consent.LeaseTerms{Pattern: t.GetPattern(), Only: string(t.GetOnly()), Calls: t.GetCalls(), Minutes: t.GetMinutes()}
}

func leaseProto(l app.Lease) *approvalv1.Lease {
	return &approvalv1.Lease{
		LeaseId: l.ID, ApprovalId: l.ApprovalID, RunId: l.RunID, SessionId: l.SessionID, State: l.State,
		Policy: l.Policy, PolicyVersion: l.PolicyVersion, Rule: l.Rule, Capability: l.Capability, Pattern: l.Pattern, Only: []byte(l.Only),
		CallsLeft: l.Left, ExpiresAt: timestamppb.New(l.ExpiresAt), GrantedBy: l.GrantedBy, GrantedAt: timestamppb.New(l.GrantedAt),
	}
}

// ListLeases implements ApprovalService.
func (s *Approvals) ListLeases(ctx context.Context, req *approvalv1.ListLeasesRequest) (*approvalv1.ListLeasesResponse, error) {
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPageSize
	}
	leases, next, err := s.App.Leases(ctx, caller(ctx), req.GetRunId(), req.GetPageToken(), size)
	if err != nil {
		return nil, err
	}
	resp := &approvalv1.ListLeasesResponse{NextPageToken: next}
	for _, l := range leases {
		resp.Leases = append(resp.Leases, leaseProto(l))
	}
	return resp, nil
}

// RevokeLease implements ApprovalService.
func (s *Approvals) RevokeLease(ctx context.Context, req *approvalv1.RevokeLeaseRequest) (*approvalv1.RevokeLeaseResponse, error) {
	l, err := s.App.Revoke(ctx, caller(ctx), req.GetLeaseId())
	if err != nil {
		return nil, err
	}
	return &approvalv1.RevokeLeaseResponse{Lease: leaseProto(l)}, nil
}

// LeaseEvent implements app.Announcer.
func (Announcer) LeaseEvent(namespace, actor, change string, l *consent.Lease, at time.Time) (store.Event, error) {
	return protomap.LeaseEvent(namespace, actor, change, l, at)
}
