package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// post sends one raw request; headers come as name, value, name, value.
func post(t *testing.T, url, body string, headers ...string) (status int, answer string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	pool := http.DefaultTransport.(*http.Transport).Clone()
	defer pool.CloseIdleConnections()
	res, err := pool.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw), res.Header
}

// TestHTTPRefusals: bad requests are refused before the protocol, with a reason.
func TestHTTPRefusals(t *testing.T) {
	t.Parallel()
	s := server(t, newPlane(), func(c *Config) {
		c.AllowedOrigins = []string{"https://good.example"}
	})
	url := guarded(t, s, access.Guard{AllowAnonymous: true, Hosts: []string{"proxy.example"}})
	for _, row := range []struct {
		name    string
		url     string
		body    string
		headers []string
		status  int
		want    string
	}{
		{"plain", "", initialize, nil, 200, "interlock"},
		{"localhost", "", initialize, []string{"Host", "localhost:1"}, 200, "interlock"},
		{"rebinding", "", initialize, []string{"Host", "evil.example"}, 403, "Host"},
		{"rebinding, same origin", "", initialize, []string{"Host", "evil.example", "Origin", "http://evil.example"}, 403, "Host"},
		{"reverse proxy", "", initialize, []string{"Host", "proxy.example"}, 200, "interlock"},
		{"cross origin", "", initialize, []string{"Origin", "https://evil.example"}, 403, "cross-origin"},
		{"cross site", "", initialize, []string{"Sec-Fetch-Site", "cross-site"}, 403, "cross-origin"},
		{"good origin", "", initialize, []string{"Origin", "https://good.example"}, 200, "interlock"},
		{"run and session", "?run=r&session=s", initialize, nil, 400, "a run or a session, not both"},
		{"two runs", "?run=r&run=q", initialize, nil, 400, "must have one value"},
		{"empty session", "?session=", initialize, nil, 400, "must have one value"},
		{"typo", "?sesion=s", initialize, nil, 400, `unknown query parameter \"sesion\"`},
		{"contradiction", "?session=a", initialize, []string{caller.SessionHeader, "b"}, 400, "different sessions"},
		{"agreement", "?session=a", initialize, []string{caller.SessionHeader, "a"}, 200, "interlock"},
		{"two headers", "", initialize, []string{caller.SessionHeader, "a", caller.SessionHeader, "b"}, 400, "send it once"},
		{"long session", "?session=" + strings.Repeat("x", 257), initialize, nil, 400, "at most 256"},
		{"control character", "?session=a%0ab", initialize, nil, 400, "printable"},
		{"path", "/runs/run_1", initialize, nil, 200, "interlock"},
		{"wrong path", "/things/run_1", initialize, nil, 400, "no such endpoint"},
		{"path and query", "/runs/run_1?run=run_2", initialize, nil, 400, "no such endpoint"},
		{"too large", "", initialize + strings.Repeat(" ", wire.MaxBody), nil, 413, "larger than 1 MiB"},
		{"not JSON", "", "{", nil, 400, `"code":-32700`},
		{"empty", "", "", nil, 400, `"code":-32700`},
		{"deep", "", `{"jsonrpc":"2.0","id":"d","method":"ping","params":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, nil, 400, `"id":"d"`},
		{"a large id", "", `{"jsonrpc":"2.0","id":725653563933458433,"method":"ping"}`, nil, 400, `"id":725653563933458433`},
		{"no message", "", `{"id":3}`, nil, 400, `"code":-32600`},
		{"an empty list", "", `[]`, nil, 400, `"code":-32600`},
		{"unknown method", "", `{"jsonrpc":"2.0","id":"x","method":"no/such"}`, nil, 200, `{"code":-32601`},
		{"unknown method, its id", "", `{"jsonrpc":"2.0","id":"x","method":"no/such"}`, nil, 200, `"id":"x"`},
		{
			"unknown method of the stateless protocol", "", `{"jsonrpc":"2.0","id":7,"method":"no/such","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			[]string{protocolHeader, "2026-07-28", "Mcp-Method", "no/such"},
			404, `"code":-32601`,
		},
		{"unknown version", "", initialize, []string{protocolHeader, "2020-01-01"}, 400, "protocol version"},
		{
			"future version", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			[]string{protocolHeader, "2099-01-01", "Mcp-Method", "tools/list"},
			400, "2026-07-28",
		},
		{"unknown session", "", initialize, []string{mcpSessionHeader, "stolen"}, 404, "session not found"},
	} {
		status, answer, _ := post(t, url+row.url, row.body, row.headers...)
		if status != row.status || !strings.Contains(answer, row.want) {
			t.Errorf("%s: %d %s, want %d with %q", row.name, status, answer, row.status, row.want)
		}
	}
}

// TestChunkedBody: a body without a length is bounded as well.
func TestChunkedBody(t *testing.T) {
	t.Parallel()
	url := endpoint(t, server(t, newPlane(), nil))
	body := struct{ io.Reader }{strings.NewReader(initialize + strings.Repeat(" ", wire.MaxBody))}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestBindings: every form of a URL, and the header, name the same run; the MCP
// session names none.
func TestBindings(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("one")
	p.start("two words/and slash")
	s := server(t, p, nil)
	url := endpoint(t, s)
	for _, version := range versions {
		for _, row := range []struct {
			suffix string
			header http.Header
			run    string
		}{
			{"?session=one", nil, "run_1"},
			{"?run=run_2", nil, "run_2"},
			{"/runs/run_2", nil, "run_2"},
			{"/sessions/one", nil, "run_1"},
			{"/sessions/two%20words%2Fand%20slash", nil, "run_2"},
			{"", http.Header{caller.SessionHeader: {"one"}}, "run_1"},
			{"", http.Header{caller.RunHeader: {"run_2"}}, "run_2"},
		} {
			session := overHTTP(t, url+row.suffix, version, nil, row.header)
			wantOK(t, call(t, session, "get_state", `{}`), "Run: "+row.run+" ")
		}
		session := overHTTP(t, url, version, nil, nil)
		wantOK(t, call(t, session, "get_state", `{}`), "does not belong to a session", "/mcp?session=NAME")
		wantRefused(t, call(t, session, "load_workflow", `{"name":"deploy"}`), "NOT_BOUND")
		wantRefused(t, call(t, session, "pause", `{}`), "NOT_BOUND")
	}
}

// TestTokenBindsOtherwise: a client that names neither run nor session drives the
// session of its token, and no other token's.
func TestTokenBindsOtherwise(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start(caller.TokenSession("first"))
	p.start(caller.TokenSession("second"))
	url := endpoint(t, server(t, p, nil))
	for _, version := range versions {
		for token, run := range map[string]string{"first": "run_1", "second": "run_2"} {
			session := overHTTP(t, url, version, nil, http.Header{"Authorization": {"Bearer " + token}})
			wantOK(t, call(t, session, "get_state", `{}`), "Run: "+run+" ")
		}
	}
}

// TestMCPSessionBindsNothing: each request is judged by its own URL, not by its MCP
// session.
func TestMCPSessionBindsNothing(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("one")
	p.start("two")
	url := endpoint(t, server(t, p, nil))
	_, _, header := post(t, url+"?session=one", initialize)
	id := header.Get(mcpSessionHeader)
	post(t, url+"?session=one", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, mcpSessionHeader, id)
	const get = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_state","arguments":{}}}`
	for suffix, want := range map[string]string{"?session=one": "run_1", "?session=two": "run_2", "": "does not belong to a session"} {
		if _, answer, _ := post(t, url+suffix, get, mcpSessionHeader, id); !strings.Contains(answer, want) {
			t.Errorf("%q: %s", suffix, answer)
		}
	}
}

// TestToken: the caller's token and namespace go to the services with every call, and
// not to upstream servers.
func TestToken(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.start("s1")
			fs := upstreamtest.NewBackend(t)
			fs.Add("read_file", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				if got := req.Extra.Header.Get("Authorization"); got != "Bearer upstream" {
					t.Errorf("the upstream got %q", got)
				}
				return &sdk.CallToolResult{}, nil
			})
			s := server(t, p, func(c *Config) {
				behind := fs.As("fs")
				behind.Headers = map[string]string{"Authorization": "Bearer upstream"}
				c.Upstreams = []upstream.Server{behind}
			})
			session := overHTTP(t, endpoint(t, s)+"?session=s1", version, nil,
				http.Header{"Authorization": {"Bearer secret"}, caller.NamespaceHeader: {"team"}})
			call(t, session, "mcp__fs__read_file", `{}`)
			call(t, session, "get_state", `{}`)
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.seen) < 3 {
				t.Fatalf("%d calls", len(p.seen))
			}
			for _, md := range p.seen {
				if one(md, "authorization") != "Bearer secret" || one(md, "interlock-namespace") != "team" {
					t.Errorf("metadata %v", md)
				}
			}
		})
	}
}

func one(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) == 1 {
		return values[0]
	}
	return ""
}

func TestStdioIdentity(t *testing.T) {
	t.Parallel()
	p := newPlane()
	s := server(t, p, func(c *Config) { c.Stdio.Token, c.Stdio.Namespace = "secret", "team" })
	call(t, overStdio(t, s, "2025-11-25", nil), "get_state", `{}`)
	p.mu.Lock()
	defer p.mu.Unlock()
	if one(p.seen[0], "authorization") != "Bearer secret" || one(p.seen[0], "interlock-namespace") != "team" {
		t.Errorf("metadata %v", p.seen[0])
	}
}

// TestAuthenticate: requests without a good token are refused, and an MCP session
// belongs to the token that opened it.
func TestAuthenticate(t *testing.T) {
	t.Parallel()
	url := guarded(t, server(t, newPlane(), nil), access.Guard{
		Identify: func(_ context.Context, token string) (auth.Principal, error) {
			switch token {
			case "nobody-knows":
				return auth.Principal{}, errors.New("store secret")
			case "alice", "bob":
				return auth.Principal{Name: token, Role: auth.Agent}, nil
			default:
				return auth.Principal{}, fmt.Errorf("secret: %w", auth.ErrUnauthenticated)
			}
		},
	})
	for _, headers := range [][]string{
		nil,
		{"Authorization", "Bearer mallory"},
		{"Authorization", "Basic alice"},
	} {
		status, answer, header := post(t, url, initialize, headers...)
		if status != http.StatusUnauthorized || header.Get("WWW-Authenticate") == "" || strings.Contains(answer, "secret") {
			t.Errorf("%v: %d %s", headers, status, answer)
		}
	}
	if status, answer, _ := post(t, url, initialize, "Authorization", "Bearer nobody-knows"); status != http.StatusServiceUnavailable || strings.Contains(answer, "secret") {
		t.Errorf("who cannot be told now: %d %s", status, answer)
	}
	_, _, header := post(t, url, initialize, "Authorization", "Bearer alice")
	id := header.Get(mcpSessionHeader)
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	others, asOthers, _ := post(t, url, ping, mcpSessionHeader, id, "Authorization", "Bearer bob")
	none, asNone, _ := post(t, url, ping, mcpSessionHeader, "NOSUCHSESSION", "Authorization", "Bearer bob")
	if others != http.StatusNotFound || others != none || asOthers != asNone {
		t.Errorf("another's session: %d %s, and one that does not exist: %d %s", others, asOthers, none, asNone)
	}
	if status, answer, _ := post(t, url, ping, mcpSessionHeader, id, "Authorization", "Bearer alice"); status != http.StatusOK {
		t.Errorf("one's own session: %d %s", status, answer)
	}
}

func TestMaxSessions(t *testing.T) {
	t.Parallel()
	s := server(t, newPlane(), func(c *Config) { c.MaxSessions = 2 })
	url := endpoint(t, s)
	var ids []string
	for range 2 {
		_, _, header := post(t, url, initialize)
		ids = append(ids, header.Get(mcpSessionHeader))
	}
	status, answer, header := post(t, url, initialize)
	if status != http.StatusTooManyRequests || !strings.Contains(answer, "too many open sessions") || header.Get("Retry-After") == "" {
		t.Errorf("%d %s", status, answer)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	req.Header.Set(mcpSessionHeader, ids[0])
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	eventually(t, "the session is forgotten", func() bool { return open(s) == 1 })
	if status, answer, _ := post(t, url, initialize); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
}

// One token does not take the sessions of the others.
func TestMaxSessionsOfAToken(t *testing.T) {
	t.Parallel()
	s := server(t, newPlane(), func(c *Config) { c.SessionsEach = 2 })
	url := endpoint(t, s)
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if status, answer, _ := post(t, url, initialize, "Authorization", "Bearer alice"); status != want ||
			want != http.StatusOK && !strings.Contains(answer, "QUOTA_EXCEEDED") {
			t.Errorf("session %d: %d %s", i, status, answer)
		}
	}
	if status, answer, _ := post(t, url, initialize, "Authorization", "Bearer bob"); status != http.StatusOK {
		t.Errorf("another's: %d %s", status, answer)
	}
}

// open is how many sessions a server has.
func open(s *Server) int {
	all, _ := s.sessions.Count("")
	return all
}

// TestDrain: streams end, new requests are sent away, and Close returns.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := server(t, newPlane(), nil)
	url := endpoint(t, s)
	older := overHTTP(t, url, "2025-06-18", nil, nil)
	newer := overHTTP(t, url, "2026-07-28", &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {},
	}, nil)
	call(t, older, "get_state", `{}`)
	call(t, newer, "get_state", `{}`)
	_, _, header := post(t, url, initialize)
	listen, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	listen.Header = http.Header{mcpSessionHeader: {header.Get(mcpSessionHeader)}, "Accept": {"text/event-stream"}}
	stream, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(listen)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatal(stream.Status)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, stream.Body)
	}()
	s.Drain()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("a stream outlives Drain")
	}
	if status, _, _ := post(t, url, initialize); status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := open(s); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Runs = nil }, "are required"},
		{func(c *Config) { c.ToolPrefix = "a b" }, "tool prefix"},
		{func(c *Config) { c.ToolPrefix = "mcp__x__" }, "tool prefix"},
		{func(c *Config) { c.Upstreams = []upstream.Server{{Name: "interlock", URL: "http://x"}} }, "reserved"},
	} {
		cfg := newPlane().config()
		row.change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("err = %v, want %q", err, row.want)
		}
	}
}
