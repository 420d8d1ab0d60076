package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/metrics"
)

// unread is a body that nobody may read.
type unread struct {
	t     *testing.T
	route string
}

func (u unread) Read([]byte) (int, error) {
	u.t.Errorf("%s: the body was read", u.route)
	return 0, io.EOF
}

// comesBy makes a request that came in at a loopback address.
func comesBy(method, path, host string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, path, body)
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420}))
}

// entrance is one route of the edge, and the status for anyone who has no good token.
type entrance struct {
	method, path string
	stranger     int
	// proves: who has no token gives a proof in the body instead.
	proves bool
}

// entrances are all routes: those of the OpenAPI document, and the others.
func entrances(t *testing.T, g *Gateway) []entrance {
	t.Helper()
	all := []entrance{
		{method: "GET", path: "/", stranger: 200},
		{method: "GET", path: "/openapi.json", stranger: 200},
		{method: "GET", path: "/metrics", stranger: 401},
		{method: "GET", path: "/.well-known/interlock", stranger: 200},
		{method: "GET", path: "/.well-known/authzen-configuration", stranger: 404}, // no public URL
		{method: "POST", path: "/access/v1/evaluation", stranger: 401},
		{method: "POST", path: "/access/v1/evaluations", stranger: 401},
		{method: "POST", path: "/access/v1/requests", stranger: 401},
		{method: "GET", path: "/access/v1/requests/apr_1", stranger: 401},
		{method: "POST", path: "/v1/hook", stranger: 200},       // an answer that blocks
		{method: "POST", path: "/v1/hook/start", stranger: 200}, // an answer that refuses
		{method: "POST", path: "/v1/hook/finish", stranger: 200},
		{method: "POST", path: "/mcp", stranger: 401},
		{method: "GET", path: "/mcp", stranger: 401},
		{method: "DELETE", path: "/mcp", stranger: 401},
		{method: "POST", path: "/mcp/runs/run_1", stranger: 401},
		{method: "POST", path: "/mcp/process", stranger: 401},
		{method: "POST", path: "/mcp/process/sessions/s", stranger: 401},
		{method: "GET", path: "/approvals", stranger: 401},
		{method: "GET", path: "/ui", stranger: 302},
		{method: "GET", path: "/ui/approvals/apr_1", stranger: 200},
		{method: "GET", path: "/v1/hook", stranger: 401},
		{method: "GET", path: "/nowhere", stranger: 401},
		{method: "POST", path: "/v1/nowhere", stranger: 401},
		{method: "DELETE", path: "/healthz", stranger: 405},
	}
	var document struct {
		Paths map[string]map[string]struct {
			Security []map[string]any `json:"security"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(ask(g, "GET", "/openapi.json", "").Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	for path, operations := range document.Paths {
		for method, operation := range operations {
			e := entrance{method: strings.ToUpper(method), path: parameter.ReplaceAllString(path, "1"), stranger: http.StatusUnauthorized}
			if len(operation.Security[0]) == 0 {
				e.stranger = http.StatusOK
			}
			if e.proves = strings.HasPrefix(path, "/v1/login/"); e.proves && e.stranger == http.StatusOK {
				e.stranger = http.StatusBadRequest // without a proof
			}
			if path == "/v1/login" { // its challenge is for anyone, and nothing is behind this gateway
				e.stranger = http.StatusServiceUnavailable
			}
			all = append(all, e)
		}
	}
	if len(all) < 80 {
		t.Fatalf("there are only %d routes", len(all))
	}
	return all
}

// TestDoor: whatever is asked for, the host is checked and then who asks, before
// anything of the body is read and before any service is called. Few paths are open,
// and those do nothing.
func TestDoor(t *testing.T) {
	t.Parallel()
	on := &line{}
	g := open(t, Config{Engine: on, Policy: on, State: on, Tokens: knows("s3cret"), Metrics: metrics.New()})
	for _, e := range entrances(t, g) {
		route := e.method + " " + e.path
		for name, tc := range map[string]struct {
			host, authorization string
			status              int
		}{
			"no token":                   {"localhost:7420", "", e.stranger},
			"a bad token":                {"localhost:7420", "Bearer wrong", e.stranger},
			"another scheme":             {"localhost:7420", "Basic s3cret", e.stranger},
			"a foreign host":             {"evil.example", "", http.StatusForbidden},
			"a foreign host and a token": {"evil.example:7420", "Bearer s3cret", http.StatusForbidden},
			"no host":                    {"", "Bearer s3cret", http.StatusForbidden},
		} {
			body := io.Reader(unread{t, name + ", " + route})
			if e.proves && tc.status == http.StatusBadRequest {
				body = http.NoBody
			}
			r := comesBy(e.method, e.path, tc.host, body)
			if tc.authorization != "" {
				r.Header.Set("Authorization", tc.authorization)
			}
			rec := httptest.NewRecorder()
			g.handler.ServeHTTP(rec, r)
			if rec.Code != tc.status {
				t.Errorf("%s, %s: %d, want %d: %s", name, route, rec.Code, tc.status, rec.Body)
			}
			if e.path == "/v1/hook" && rec.Code == http.StatusOK && !strings.Contains(rec.Body.String(), `"exit":2`) {
				t.Errorf("%s, %s lets a tool run: %s", name, route, rec.Body)
			}
		}
	}
	called := slices.DeleteFunc(on.called, func(method string) bool { return strings.HasSuffix(method, "LoginService/BeginLogin") })
	if len(called) > 0 {
		t.Errorf("called %v", called)
	}
}

// TestDoorWithoutIdentities: while it cannot be told whose a token is, nobody is let
// in, and nobody is told why.
func TestDoorWithoutIdentities(t *testing.T) {
	t.Parallel()
	on := &line{}
	g := open(t, Config{Engine: on, Policy: on, State: on, Tokens: broken{}})
	for path, want := range map[string]int{"/v1/runs": 503, "/mcp": 503, "/v1/hook": 200} {
		r := comesBy("POST", path, "localhost", unread{t, path})
		r.Header.Set("Authorization", "Bearer s3cret")
		rec := httptest.NewRecorder()
		g.handler.ServeHTTP(rec, r)
		if rec.Code != want || !strings.Contains(rec.Body.String(), "cannot be checked now") || strings.Contains(rec.Body.String(), "secret") {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if len(on.called) > 0 {
		t.Errorf("called %v", on.called)
	}
}

// broken cannot tell whose a token is.
type broken struct{}

func (broken) Authenticate(context.Context, string) (auth.Principal, error) {
	return auth.Principal{}, errors.New("secret address")
}

// TestRebound: no part of the edge serves a page of another name that was rebound to
// its loopback address, whether a token is needed or not (S9). Elsewhere every name is
// served.
func TestRebound(t *testing.T) {
	t.Parallel()
	loopback, public := net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)
	for _, anonymous := range []bool{true, false} {
		on := &line{}
		g := open(t, Config{
			Engine: on, Policy: on, State: on, Tokens: knows("s3cret"), AllowAnonymous: anonymous, PublicURL: "https://gate.example:8443",
		})
		for _, row := range []struct{ method, path string }{
			{"GET", "/"},
			{"GET", "/v1/runs/r"},
			{"POST", "/v1/runs/r/pause"},
			{"GET", "/v1/events"},
			{"GET", "/v1/ws"},
			{"GET", "/nowhere"},
			{"POST", "/v1/hook"},
			{"POST", "/mcp"},
			{"POST", "/mcp/process"},
			{"GET", "/ui/"},
		} {
			for _, at := range []struct {
				local  net.IP
				host   string
				served bool
			}{
				{loopback, "evil.example:7420", false},
				{loopback, "", false},
				{loopback, "127.0.0.1:7420", true},
				{loopback, "localhost:7420", true},
				{loopback, "gate.example:8443", true},
				{loopback, "GATE.example", true},
				{public, "evil.example", true},
			} {
				on.called = nil
				r := comesBy(row.method, row.path, at.host, http.NoBody)
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: at.local, Port: 7420}))
				r.Header.Set("Authorization", "Bearer s3cret")
				r.Header.Set("Origin", "http://"+at.host) // a rebound page is of the same origin
				rec := httptest.NewRecorder()
				g.handler.ServeHTTP(rec, r)
				if served := rec.Code != http.StatusForbidden; served != at.served || !served && len(on.called) > 0 {
					t.Errorf("%s %s of %q at %v: %d %s; called %v", row.method, row.path, at.host, at.local, rec.Code, rec.Body, on.called)
				}
			}
		}
	}
}

// TestDoorForAnybody: where nobody needs a token, tokens are the services' to judge,
// and hosts are checked all the same.
func TestDoorForAnybody(t *testing.T) {
	t.Parallel()
	on := &line{}
	g := open(t, Config{Engine: on, Policy: on, State: on, Tokens: knows("s3cret"), AllowAnonymous: true})
	for _, authorization := range []string{"", "Bearer other"} {
		r := comesBy("GET", "/v1/runs", "127.0.0.1:7420", http.NoBody)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		rec := httptest.NewRecorder()
		if g.handler.ServeHTTP(rec, r); rec.Code != http.StatusServiceUnavailable || len(on.called) == 0 {
			t.Errorf("%q: %d %s", authorization, rec.Code, rec.Body)
		}
		on.called = nil
	}
}
