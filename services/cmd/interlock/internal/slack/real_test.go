package slack_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/slack"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/slack/slackfake"
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

// The relay with the true approval service: the vote is the person's, the record names the relay, and an approval above its rights has no
// buttons (S23.35, S23.36, S23.37).
func TestWithTheApprovalService(t *testing.T) {
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
	s, err := approval.New(approval.Config{Store: st, Logger: slog.New(slog.DiscardHandler), Flags: approval.Flags{Relays: []string{"slackbot=slack:T01/"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Register(server.GRPC())
	as := func(token string) approvalv1.ApprovalServiceClient {
		return approvalv1.NewApprovalServiceClient(server.Local(rpc.ClientConfig{Token: token}))
	}
	people := identityv1.NewPersonServiceClient(server.Local(rpc.ClientConfig{Token: "operator/olga"}))
	ann := &identityv1.PersonSpec{Name: "ann", Roles: []string{"approver"}, Identities: []string{"slack:T01/U02"}}
	if _, err := people.CreatePerson(t.Context(), &identityv1.CreatePersonRequest{Spec: ann}); err != nil {
		t.Fatal(err)
	}
	ask := func(id string, terms *approvalv1.Terms) {
		t.Helper()
		_, err := as("service/engine").CreateApproval(t.Context(), &approvalv1.CreateApprovalRequest{
			ApprovalId: id, Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, Subject: []byte(`{"tool":"Bash","capability":"bash"}`),
			Data: []byte(`{"command":"deploy --token=sk-live-0123456789abcdef"}`), Asker: &approvalv1.Asker{Principal: "agent-7"}, Terms: terms,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, func(cfg *slack.Config) {
		cfg.Approvals, cfg.Every = as("relay/slackbot"), 20*time.Millisecond // a watch that begins late misses changes
	})
	ask("apr_1", nil)
	m := r.message("Approval wanted: call of bash")
	whole := ""
	for _, b := range m.Blocks {
		if b.Text != nil {
			whole += b.Text.Text
		}
	}
	if strings.Contains(whole, "sk-live") || !strings.Contains(whole, "deploy") {
		t.Errorf("it shows %s", whole)
	}
	r.send(slackfake.Click(m, approve, "U66"), nil)
	r.whisper(1, `no registered person has the identity "slack:T01/U66"`)
	r.send(slackfake.Click(m, approve, slackfake.Ann), nil)
	m = r.message("Granted")
	if text := m.Blocks[1].Text.Text; !strings.Contains(text, "ann (slack:T01/U02, by relay slackbot) has approved") {
		t.Errorf("it says %s", text)
	}
	r.fake.Delete(m.Stamp)
	for id, terms := range map[string]*approvalv1.Terms{"apr_2": {Danger: "high"}, "apr_3": {Presence: true}} {
		ask(id, terms)
		m := r.message("Approval wanted")
		if got := fmt.Sprint(buttons(m)); got != "[interlock_open]" {
			t.Errorf("%s has the buttons %s", id, got)
		}
		// A click that the message does not offer, but Slack would sign, makes no decision.
		forged := slackfake.Click(m, approve, slackfake.Ann)
		got, err := as("approver/kim").GetApproval(t.Context(), &approvalv1.GetApprovalRequest{ApprovalId: id})
		if err != nil {
			t.Fatal(err)
		}
		forged["actions"].([]any)[0].(map[string]any)["value"] = fmt.Sprintf(`{"a":%q,"d":%q}`, id, got.GetApproval().GetDigest())
		r.send(forged, nil)
		r.until(func(_ []slackfake.Message, whispers []slackfake.Whisper, _ []map[string]any) bool {
			return strings.Contains(whispers[len(whispers)-1].Text, "approval "+id)
		})
		r.fake.Delete(m.Stamp)
	}
}
