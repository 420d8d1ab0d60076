package approval_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/approval"
)

// engine notes which approvals it is told of.
type engine struct {
	peerv1.UnimplementedRunPeerServiceServer
	told chan string
}

func (e *engine) SettleApproval(_ context.Context, req *peerv1.SettleApprovalRequest) (*peerv1.SettleApprovalResponse, error) {
	e.told <- req.GetApprovalId()
	return &peerv1.SettleApprovalResponse{}, nil
}

// The parts work together: while it runs an approval expires by itself, and both the
// engine and the webhook are told.
func TestService(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	posted := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { posted <- req.Header.Get("Interlock-Webhook-Id") }))
	defer hook.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, AllowAnonymous: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conn := server.Local(rpc.ClientConfig{})
	e := &engine{told: make(chan string, 1)}
	s, err := approval.New(approval.Config{
		Store: st, Engine: conn, Clock: clock.Now, Logger: slog.New(slog.DiscardHandler),
		Flags: approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: []string{hook.URL}, WebhookSecretFile: secret}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Register(server.GRPC())
	peerv1.RegisterRunPeerServiceServer(server.GRPC(), e)
	server.SetServing(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()

	made, err := approvalv1.NewApprovalServiceClient(conn).CreateApproval(t.Context(), &approvalv1.CreateApprovalRequest{
		Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION, Subject: []byte(`{}`), Asker: &approvalv1.Asker{Principal: "agent"}, RunId: "run_1",
	})
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetApproval().GetApprovalId()
	if got := receive(t, posted); got != "default.approval."+id+".1.requested" {
		t.Errorf("the webhook has got %s", got)
	}
	clock.Advance(24 * time.Hour)
	if got := receive(t, e.told); got != id {
		t.Errorf("the engine was told of %s", got)
	}
	if got := receive(t, posted); got != "default.approval."+id+".2.expired" {
		t.Errorf("the webhook has got %s", got)
	}
	cancel()
	if err := receive(t, done); err != nil {
		t.Error(err)
	}
}

// receive waits for a value that must come.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
