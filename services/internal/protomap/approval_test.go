package protomap

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/consent"
)

func TestApprovalTerms(t *testing.T) {
	t.Parallel()
	if got := ApprovalTerms(consent.Terms{}); !proto.Equal(got, &approvalv1.Terms{}) {
		t.Errorf("no terms are %v", got)
	}
	got := ApprovalTerms(consent.Terms{
		Required: 2, DenyThreshold: 3, Eligible: consent.Approvers{Roles: []string{"approver"}, Names: []string{"olga"}}, TTL: time.Hour,
		Escalation: consent.Escalation{After: time.Minute, To: consent.Approvers{Names: []string{"bob"}}},
	})
	want := &approvalv1.Terms{
		Required: 2, DenyThreshold: 3, Eligible: &approvalv1.Approvers{Roles: []string{"approver"}, Names: []string{"olga"}},
		ExpiresAfter: durationpb.New(time.Hour), EscalateAfter: durationpb.New(time.Minute), EscalateTo: &approvalv1.Approvers{Names: []string{"bob"}},
	}
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
