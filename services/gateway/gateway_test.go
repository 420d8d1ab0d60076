package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// line is a connection that leads nowhere and notes what was called.
type line struct {
	mu     sync.Mutex
	called []string
}

func (l *line) Invoke(_ context.Context, method string, _, _ any, _ ...grpc.CallOption) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.called = append(l.called, method)
	return fault.New(fault.Unavailable, "nobody there").GRPCStatus().Err()
}

func (l *line) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, fault.New(fault.Unavailable, "nobody there").GRPCStatus().Err()
}

// knows takes one token.
type knows string

func (k knows) Authenticate(_ context.Context, token string) (auth.Principal, error) {
	if token != string(k) {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return auth.Principal{Name: "alice", Role: auth.Approver}, nil
}

func open(t *testing.T, cfg Config) *Gateway {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func ask(g *Gateway, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	g.handler.ServeHTTP(rec, req)
	return rec
}

// TestRoutes: every part of the edge is at its path.
func TestRoutes(t *testing.T) {
	t.Parallel()
	on := &line{}
	g := open(t, Config{Engine: on, Policy: on, State: on, Tokens: knows("s3cret"), AdvertiseGRPC: "127.0.0.1:7421"})
	for _, row := range []struct {
		method, path string
		status       int
		shows        string
	}{
		{"GET", "/", http.StatusOK, "Interlock"},
		{"GET", "/v1/approvals", http.StatusUnauthorized, "UNAUTHENTICATED"},
		{"POST", "/mcp", http.StatusUnauthorized, "jsonrpc"},
		{"POST", "/mcp/process", http.StatusUnauthorized, "jsonrpc"},
		{"GET", "/ui", http.StatusFound, "/ui/"},
		{"GET", "/ui/approvals/apr_01", http.StatusOK, "<title>Interlock"},
		{"GET", "/.well-known/interlock", http.StatusOK, "127.0.0.1:7421"},
		{"POST", "/v1/hook", http.StatusOK, "not known here"},
	} {
		if rec := ask(g, row.method, row.path, ""); rec.Code != row.status || !strings.Contains(rec.Body.String()+rec.Header().Get("Location"), row.shows) {
			t.Errorf("%s %s: %d %s", row.method, row.path, rec.Code, rec.Body)
		}
	}
	if len(on.called) > 0 {
		t.Errorf("called %v", on.called)
	}
}

// TestApprovalConnection: approvals are asked of their own service, and of the
// engine's connection where that leads to all.
func TestApprovalConnection(t *testing.T) {
	t.Parallel()
	all, approvals := &line{}, &line{}
	const list = "/interlock.approval.v1.ApprovalService/ListApprovals"
	for _, row := range []struct {
		approval grpc.ClientConnInterface
		asked    *line
	}{{approvals, approvals}, {nil, all}} {
		g := open(t, Config{Engine: all, Policy: &line{}, State: &line{}, Approval: row.approval, Tokens: knows("s3cret")})
		rest := ask(g, "GET", "/v1/approvals", "", "Authorization", "Bearer s3cret")
		if rest.Code != http.StatusServiceUnavailable {
			t.Errorf("%d", rest.Code)
		}
		if len(row.asked.called) != 1 || row.asked.called[0] != list {
			t.Errorf("asked %v", row.asked.called)
		}
	}
}

// TestWrongPublicURL: links that lead nowhere are not made.
func TestWrongPublicURL(t *testing.T) {
	t.Parallel()
	on := &line{}
	for _, address := range []string{"gate.example", "ftp://gate.example", "https://%"} {
		if _, err := New(Config{Engine: on, Policy: on, State: on, PublicURL: address}); err == nil {
			t.Errorf("%s was taken", address)
		}
	}
}
