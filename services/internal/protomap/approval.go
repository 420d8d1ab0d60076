package protomap

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/consent"
)

// ApprovalTerms returns the terms of an approval in the contract.
func ApprovalTerms(t consent.Terms) *approvalv1.Terms {
	out := &approvalv1.Terms{
		Required: int32(t.Required), DenyThreshold: int32(t.DenyThreshold), //nolint:gosec // a definition's are bounded by 1000
		Eligible: approvers(t.Eligible), ExpiresAfter: duration(t.TTL),
		EscalateAfter: duration(t.Escalation.After), EscalateTo: approvers(t.Escalation.To),
		Presence: t.Presence, DistinctPeople: t.Distinct, Danger: string(t.Danger),
	}
	for _, c := range t.Also {
		out.Also = append(out.Also, &approvalv1.Circle{Term: c.Term, Required: int32(c.Required), Eligible: approvers(c.Eligible)}) //nolint:gosec // bounded by 1000
	}
	return out
}

// duration returns nil for zero.
func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func approvers(a consent.Approvers) *approvalv1.Approvers {
	if a.IsZero() {
		return nil
	}
	return &approvalv1.Approvers{Roles: a.Roles, Names: a.Names}
}
