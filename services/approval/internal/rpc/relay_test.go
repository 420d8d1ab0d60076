package rpc

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// What a relay reads has no secrets, and people see all (S23.36).
func TestShownToARelay(t *testing.T) {
	t.Parallel()
	const secret = "sk-live-0123456789abcdef"
	whole := &approvalv1.Approval{
		Data: []byte(`{"password":"` + secret + `","image":"web"}`), EditedData: []byte(`{"token":"` + secret + `"}`), EditPatch: []byte(`[{"value":"` + secret + `"}]`),
		Message: "token=" + secret, Reason: "password: " + secret, Outcome: "token=" + secret, Facts: []byte(secret),
		Votes: []*approvalv1.Vote{{Note: "token=" + secret}}, Previous: &approvalv1.PreviousApproval{Data: []byte(secret)},
	}
	s := &Approvals{}
	for role, masked := range map[auth.Role]bool{auth.Relay: true, auth.Approver: false, auth.Operator: false} {
		out := s.shown(app.Caller{Principal: auth.Principal{Role: role}}, proto.CloneOf(whole))
		text := out.String()
		if strings.Contains(text, secret) == masked {
			t.Errorf("the role %s sees %s", role, text)
		}
		if masked && !strings.Contains(text, "web") {
			t.Errorf("what is no secret is masked: %s", text)
		}
	}
}

// S23.53: the event of a vote says which relay has passed it on, and for which identity.
func TestVotesOfRelaysInEvents(t *testing.T) {
	t.Parallel()
	vote := &consent.Vote{Name: "ann", Approve: true, Relay: "slackbot", Identity: "slack:T01/U02"}
	e, err := Announcer{}.ApprovalEvent("default", "ann", &app.Record{Approval: &consent.Approval{ID: "apr_1"}}, &consent.Event{Type: "voted", Vote: vote}, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	ev, err := bus.Decode(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if got := ev.GetApprovalChanged(); got.GetBy() != "ann" || got.GetRelay() != "slackbot" || got.GetIdentity() != "slack:T01/U02" {
		t.Errorf("%v", got)
	}
}
