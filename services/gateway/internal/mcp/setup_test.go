package mcp

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/owntools"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// patience bounds waits for things that take no time.
const patience = upstreamtest.Patience

func TestMain(m *testing.M) {
	if upstreamtest.Main() {
		return
	}
	goleak.VerifyTestMain(m)
}

// server starts an edge on a plane.
func server(t *testing.T, p *plane, change func(*Config)) *Server {
	t.Helper()
	cfg := p.config()
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	cfg.backoff = time.Millisecond
	cfg.DrainTimeout = time.Second
	cfg.stopGrace = 100 * time.Millisecond
	cfg.Stdio = caller.Identity{Binding: caller.Binding{SessionID: "s1"}}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !cfg.Alone { // or they wait for the client
		s.upstreams.Ready(ctx)
	}
	return s
}

// overStdio connects a client to the edge's stdio.
func overStdio(t *testing.T, s *Server, version string, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := s.ServeStdio(context.Background(), fromClient, toClient)
		toClient.Close()
		served <- err
	}()
	session := connect(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, version, options)
	t.Cleanup(func() {
		session.Close()
		toServer.Close()
		fromServer.Close()
		if err := <-served; err != nil {
			t.Errorf("ServeStdio: %v", err)
		}
	})
	return session
}

// endpoint serves the edge over HTTP, without authentication.
func endpoint(t *testing.T, s *Server) string {
	t.Helper()
	return guarded(t, s, access.Guard{AllowAnonymous: true})
}

// guarded serves the edge behind a door.
func guarded(t *testing.T, s *Server, door access.Guard) string {
	t.Helper()
	mux := http.NewServeMux()
	for path, part := range map[string]access.Part{Path: s.HTTPHandler(), ProcessPath: s.ProcessHandler()} {
		mux.Handle(path, part)
		mux.Handle(path+"/", part)
	}
	web := httptest.NewServer(door.Protect(mux, s.HTTPHandler().Refuse))
	t.Cleanup(func() {
		s.Drain()
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL + "/mcp"
}

// overHTTP connects a client to a URL of the edge.
func overHTTP(t *testing.T, url, version string, options *sdk.ClientOptions, header http.Header) *sdk.ClientSession {
	t.Helper()
	pool := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(pool.CloseIdleConnections)
	session := connect(t, &sdk.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: withHeader{pool, header}},
	}, version, options)
	t.Cleanup(func() { session.Close() })
	return session
}

type withHeader struct {
	base   http.RoundTripper
	header http.Header
}

func (w withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range w.header {
		r.Header[name] = values
	}
	return w.base.RoundTrip(r)
}

func connect(t *testing.T, transport sdk.Transport, version string, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("negotiated %s, want %s", got, version)
	}
	return session
}

// call calls a tool; arguments are JSON text, so that odd ones can be sent.
func call(t *testing.T, session *sdk.ClientSession, tool, arguments string) *sdk.CallToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s(%s): %v", tool, arguments, err)
	}
	return result
}

func textOf(result *sdk.CallToolResult) string {
	var parts []string
	for _, content := range result.Content {
		if text, ok := content.(*sdk.TextContent); ok {
			parts = append(parts, text.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func codeOf(result *sdk.CallToolResult) string {
	structured, _ := result.StructuredContent.(map[string]any)
	code, _ := structured["code"].(string)
	return code
}

func wantOK(t *testing.T, result *sdk.CallToolResult, parts ...string) {
	t.Helper()
	if result.IsError {
		t.Fatalf("refused: %s", textOf(result))
	}
	wantText(t, result, parts...)
}

func wantRefused(t *testing.T, result *sdk.CallToolResult, code string, parts ...string) {
	t.Helper()
	if !result.IsError || codeOf(result) != code {
		t.Fatalf("isError %v, code %q, want a refusal with %q: %s", result.IsError, codeOf(result), code, textOf(result))
	}
	wantText(t, result, parts...)
}

func wantText(t *testing.T, result *sdk.CallToolResult, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(textOf(result), part) {
			t.Fatalf("the text lacks %q:\n%s", part, textOf(result))
		}
	}
}

func toolNames(t *testing.T, session *sdk.ClientSession) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, own := []string{}, owntools.New(owntools.Config{})
	for _, tool := range result.Tools {
		if !own.Reserves(tool.Name) {
			found = append(found, tool.Name)
		}
	}
	slices.Sort(found)
	return found
}

// eventually waits for a condition.
var eventually = upstreamtest.Eventually
