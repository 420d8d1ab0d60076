package approval_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/approval"
)

// byName knows callers by "role/name".
type byName struct{}

func (byName) Authenticate(_ context.Context, token string) (auth.Principal, error) {
	role, name, ok := strings.Cut(token, "/")
	if !ok || !auth.Role(role).Valid() {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return auth.Principal{Name: name, Role: auth.Role(role)}, nil
}

// A person whom an operator has registered decides over a relay, and nothing else that the relay tries is done (S23.35).
func TestRelayedDecision(t *testing.T) {
	t.Parallel()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	server, err := rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, Authenticator: byName{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s, err := approval.New(approval.Config{Store: st, Logger: slog.New(slog.DiscardHandler), Flags: approval.Flags{
		Relays: []string{"slackbot=slack:T01/"}, NotifyFlags: approval.NotifyFlags{PublicURL: "https://interlock.example.com/"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Register(server.GRPC())
	ctx := t.Context()
	as := func(token string) approvalv1.ApprovalServiceClient {
		return approvalv1.NewApprovalServiceClient(server.Local(rpc.ClientConfig{Token: token}))
	}
	people := identityv1.NewPersonServiceClient(server.Local(rpc.ClientConfig{Token: "operator/olga"}))
	for name, id := range map[string]string{"ann": "slack:T01/U02", "ben": "slack:T01/U03"} {
		if _, err := people.CreatePerson(ctx, &identityv1.CreatePersonRequest{Spec: &identityv1.PersonSpec{Name: name, Roles: []string{"approver"}, Identities: []string{id}}}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(danger string, data string) string {
		t.Helper()
		made, err := as("service/engine").CreateApproval(ctx, &approvalv1.CreateApprovalRequest{
			Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, Subject: []byte(`{"tool":"Bash"}`), Data: []byte(data), Asker: &approvalv1.Asker{Principal: "ben"},
			Terms: &approvalv1.Terms{Required: 1, Danger: danger},
		})
		if err != nil {
			t.Fatal(err)
		}
		return made.GetApproval().GetApprovalId()
	}
	bot := as("relay/slackbot")
	plain := ask("", `{"command":"curl -H 'Authorization: Bearer sk-live-0123456789abcdef'"}`)
	high := ask("high", `{"command":"ls"}`)
	got, err := bot.GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: plain})
	if err != nil || strings.Contains(got.String(), "sk-live") || !got.GetApproval().GetYou().GetMayDecide() {
		t.Errorf("a relay reads %v, %v", got, err)
	}
	vote := func(client approvalv1.ApprovalServiceClient, id, identity string) error {
		_, err := client.DecideApproval(ctx, &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true, AsIdentity: identity})
		return err
	}
	for name, tc := range map[string]struct {
		client       approvalv1.ApprovalServiceClient
		id, identity string
	}{
		"nobody":              {bot, plain, ""},
		"an unknown identity": {bot, plain, "slack:T01/U99"},
		"who asks":            {bot, plain, "slack:T01/U03"},
		"another team":        {bot, plain, "slack:T02/U02"},
		"above the danger":    {bot, high, "slack:T01/U02"},
		"another relay":       {as("relay/other"), plain, "slack:T01/U02"},
		"an approver":         {as("approver/kim"), plain, "slack:T01/U02"},
		"an agent":            {as("agent/mallory"), plain, "slack:T01/U02"},
	} {
		if err := vote(tc.client, tc.id, tc.identity); fault.ReasonOf(err) != fault.PermissionDenied && fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := bot.DecideApprovals(ctx, &approvalv1.DecideApprovalsRequest{Approve: true, Items: []*approvalv1.DecideApprovalsItem{{ApprovalId: plain, Digest: got.GetApproval().GetDigest()}}}); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("a relay decides several: %v", err)
	}
	if _, err := as("relay/other").ListApprovals(ctx, &approvalv1.ListApprovalsRequest{}); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("a relay that is not listed reads: %v", err)
	}
	if err := vote(bot, plain, "slack:T01/U02"); err != nil {
		t.Fatal(err)
	}
	after, err := as("approver/kim").GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: plain})
	if votes := after.GetApproval().GetVotes(); err != nil || len(votes) != 1 || votes[0].GetBy() != "ann" || after.GetApproval().GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED {
		t.Errorf("it stands at %v, %v", after, err)
	}
}
