package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

func TestMain(m *testing.M) {
	jailer.Stage()
	if !upstreamtest.Main() {
		goleak.VerifyTestMain(m)
	}
}

// open starts servers, and waits until each has been tried.
func open(t *testing.T, servers ...upstream.Server) *upstream.Set {
	t.Helper()
	s, err := upstream.New(servers, upstream.Options{
		ConnectTimeout: time.Minute, Backoff: time.Millisecond, StopGrace: 100 * time.Millisecond, MaxResultBytes: 1 << 20,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Changed: func(*upstream.Catalogue, upstream.Kinds) {},
		Reserved: func(name string) bool { return name == "get_state" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Await(within(t))
	return s
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), upstreamtest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// call calls a tool without arguments, and is the text of its result.
func call(t *testing.T, s *upstream.Set, name string) (string, error) {
	t.Helper()
	tool := s.Catalogue().Tools[name]
	if tool == nil {
		t.Fatal(s.Unknown(name))
	}
	got, err := tool.Call(within(t), upstream.Request{As: name, Arguments: json.RawMessage(`{}`)})
	if err != nil {
		return "", err
	}
	return string(got.Output(1 << 20)), nil
}

func number(t *testing.T, s *upstream.Set, name string) int {
	t.Helper()
	text, err := call(t, s, name)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestProcess: a process is run, restarted when it crashes, and stopped with
// everything that it started.
func TestProcess(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Child(t, "plain"))
	first, grandchild := number(t, s, "pid"), number(t, s, "spawn")
	_, err := call(t, s, "mcp__child__crash")
	var failure *upstream.Failure
	if !errors.As(err, &failure) || failure.NotCalled || failure.Late || !strings.Contains(failure.Error(), "broke during mcp__child__crash; its effect is not known") {
		t.Errorf("a crash is %+v", err)
	}
	upstreamtest.Eventually(t, "what the crashed server left behind is stopped", func() bool { return !upstreamtest.Alive(grandchild) })
	upstreamtest.Eventually(t, "the server is back", func() bool { _, err := call(t, s, "pid"); return err == nil })
	second := number(t, s, "pid")
	if first == second {
		t.Error("the same process")
	}
	grandchild = number(t, s, "spawn")
	s.Close()
	if upstreamtest.Alive(second) {
		t.Error("the server outlives Close")
	}
	upstreamtest.Eventually(t, "its child is stopped", func() bool { return !upstreamtest.Alive(grandchild) })
	if _, err := call(t, s, "pid"); !errors.As(err, &failure) || !failure.NotCalled {
		t.Errorf("a call after Close is %+v", err)
	}
}

// TestProcessEnv: a server never sees our token.
func TestProcessEnv(t *testing.T) {
	t.Setenv("INTERLOCK_TOKEN", "secret-token")
	t.Setenv("Interlock_Server", "secret-server")
	t.Setenv("KEPT", "kept")
	env, err := call(t, open(t, upstreamtest.Child(t, "plain")), "env")
	if err != nil || strings.Contains(env, "secret-") || !strings.Contains(env, "KEPT=kept") || !strings.Contains(env, "MINE=yes") {
		t.Error(env, err)
	}
}

// TestStubbornProcess: one that listens to nothing is killed.
func TestStubbornProcess(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Child(t, "stubborn"))
	pid := number(t, s, "pid")
	s.Close()
	if upstreamtest.Alive(pid) {
		t.Error("it is alive")
	}
}

// TestBroken: a server that cannot be started says so, holds up nothing, and leaves
// the others alone.
func TestBroken(t *testing.T) {
	t.Parallel()
	missing := upstream.Server{Name: "missing", Command: []string{"/no/such/server"}}
	s := open(t, upstreamtest.Child(t, "broken"), missing, upstreamtest.NewBackend(t, "read_file").As("fs"))
	if text, err := call(t, s, "mcp__fs__read_file"); err != nil {
		t.Error(text, err)
	}
	for server, want := range map[string]string{"child": "exit status 3", "missing": "no such file"} {
		why := s.Unknown("mcp__" + server + "__x")
		if !strings.Contains(why, "the server "+server+" is not available") || !strings.Contains(why, want) {
			t.Errorf("%s: %s", server, why)
		}
	}
	if n := s.Ready(within(t)); n != 1 {
		t.Errorf("%d servers serve", n)
	}
}

// TestHTTPRestart: a server over HTTP that went away is connected again.
func TestHTTPRestart(t *testing.T) {
	t.Parallel()
	fs := upstreamtest.NewBackend(t, "read_file")
	s := open(t, fs.As("fs"))
	if _, err := call(t, s, "mcp__fs__read_file"); err != nil {
		t.Fatal(err)
	}
	fs.Forget()
	upstreamtest.Eventually(t, "it is connected again", func() bool { _, err := call(t, s, "mcp__fs__read_file"); return err == nil })
}

// TestToolsOfAServerAreBounded: a server's tools take no more memory than is documented.
func TestToolsOfAServerAreBounded(t *testing.T) {
	t.Parallel()
	fs := upstreamtest.NewBackend(t)
	for i := range 3000 {
		fs.AddTool(&sdk.Tool{
			Name: fmt.Sprintf("tool%04d", i), Description: strings.Repeat("x", 4<<10), InputSchema: json.RawMessage(`{"type":"object"}`),
		}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	}
	server := fs.As("fs")
	server.Names = nil
	s := open(t, server)
	if got := len(s.Catalogue().List); got < 1900 || got > 2048 {
		t.Errorf("%d tools of 4 KiB each are offered", got)
	}
}

// TestNames: a tool has its full name, and a plain one only where the operator gives it
// one; no server takes the name of a client's tool, of Interlock's or of another server.
func TestNames(t *testing.T) {
	t.Parallel()
	fs := upstreamtest.NewBackend(t, "Read", "search", "get_state", "mcp__git__log", "odd name")
	git := upstreamtest.NewBackend(t, "log", "search")
	behind := fs.As("fs")
	behind.Names = map[string]string{"look": "search"}
	plain := git.As("git")
	plain.Names = nil
	s := open(t, behind, plain)
	want := []string{
		"look", "mcp__fs__Read", "mcp__fs__get_state", "mcp__fs__mcp__git__log", "mcp__fs__search", "mcp__git__log", "mcp__git__search",
	}
	listed := func() (names []string) {
		for _, tool := range s.Catalogue().List {
			names = append(names, tool.Name)
		}
		return names
	}
	if got := listed(); !slices.Equal(got, want) {
		t.Errorf("listed %v\nwant   %v", got, want)
	}
	tool := s.Catalogue().Tools["look"]
	if tool.Server() != "fs" || tool.Qualified != "mcp__fs__search" || tool.Other("look") != "mcp__fs__search" || tool.Other("mcp__fs__search") != "look" {
		t.Errorf("look is %+v", tool)
	}
	// The schema is passed on as it is.
	if raw, _ := json.Marshal(tool.InputSchema); string(raw) != `{"type":"object","properties":{"path":{"type":"string","x-kept":[1,2]}}}` {
		t.Errorf("schema: %s", raw)
	}
	for name, want := range map[string]string{"search": "call mcp__fs__search or mcp__git__search", "Read": "call mcp__fs__Read"} {
		if why := s.Unknown(name); !strings.Contains(why, want) {
			t.Error(why)
		}
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	for want, servers := range map[string][]upstream.Server{
		"upstream name":            {{Name: "a__b", URL: "http://x"}},
		"upstream name \"a_\"":     {{Name: "a_", URL: "http://x"}},
		"upstream name \"\"":       {{URL: "http://x"}},
		"\"interlock\" is reserve": {{Name: "interlock", URL: "http://x"}},
		"\"Statewright\" is reser": {{Name: "Statewright", URL: "http://x"}},
		"needs a command or a URL": {{Name: "a"}},
		"keep one":                 {{Name: "a", URL: "x", Command: []string{"y"}}},
		"two upstreams":            {{Name: "a", URL: "http://x"}, {Name: "a", URL: "http://y"}},

		`"x" cannot be named "Read"`:       {{Name: "a", URL: "http://x", Names: map[string]string{"Read": "x"}}},
		`"x" cannot be named "bash"`:       {{Name: "a", URL: "http://x", Names: map[string]string{"bash": "x"}}},
		`"x" cannot be named "transition"`: {{Name: "a", URL: "http://x", Names: map[string]string{"transition": "x"}}},
		`"x" cannot be named "own"`:        {{Name: "a", URL: "http://x", Names: map[string]string{"own": "x"}}},
		`"x" cannot be named "mcp__b__x"`:  {{Name: "a", URL: "http://x", Names: map[string]string{"mcp__b__x": "x"}}},
		"it is also named one":             {{Name: "a", URL: "http://x", Names: map[string]string{"one": "x", "two": "x"}}},
		"the server a has a tool of this":  {{Name: "a", URL: "http://x", Names: map[string]string{"one": "x"}}, {Name: "b", URL: "http://y", Names: map[string]string{"one": "y"}}},
	} {
		own := func(name string) bool { return name == "own" }
		if _, err := upstream.New(servers, upstream.Options{Logger: slog.Default(), Reserved: own}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %q", err, want)
		}
	}
}

// A tool that can only be called as a task cannot be called through the gate, which says so
// by not listing it.
func TestTasks(t *testing.T) {
	t.Parallel()
	for _, asStream := range []bool{false, true} {
		t.Run(fmt.Sprint("as a stream ", asStream), func(t *testing.T) {
			t.Parallel()
			const tools = `{"name":"plain","inputSchema":{"type":"object"}},{"name":"may","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},` +
				`{"name":"must","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var req struct {
					ID     json.RawMessage
					Method string
				}
				switch {
				case r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&req) != nil:
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				case req.ID == nil:
					w.WriteHeader(http.StatusAccepted)
					return
				}
				answer := `"error":{"code":-32601,"message":"unknown"}`
				switch req.Method {
				case "initialize":
					answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
				case "tools/list":
					answer = `"result":{"tools":[` + tools + `]}`
				}
				if asStream && req.Method == "tools/list" {
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n\n", req.ID, answer)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, answer)
			}))
			t.Cleanup(web.Close)
			s := open(t, upstream.Server{Name: "raw", URL: web.URL})
			var got []string
			for _, tool := range s.Catalogue().List {
				got = append(got, tool.Name)
			}
			if !slices.Equal(got, []string{"mcp__raw__may", "mcp__raw__plain"}) {
				t.Errorf("the tools %v are listed: %s", got, s.Unknown("mcp__raw__may"))
			}
		})
	}
}

// The URL of a server may hold a secret. The server is called by all of it, and nobody is shown
// more than its host.
func TestSecretsOfURLs(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "pid", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "1"}}}, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if r.URL.Path != "/in-the-path" || r.URL.Query().Get("key") != "in-the-query" || password != "in-the-user" {
			http.Error(w, "this is not how it is called: "+r.URL.Path, http.StatusNotFound)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer web.Close()
	u := strings.Replace(web.URL, "://", "://user:in-the-user@", 1) + "/in-the-path?key=in-the-query"
	s := open(t, upstream.Server{Name: "child", URL: u})
	if n := number(t, s, "mcp__child__pid"); n != 1 {
		t.Errorf("it says %d", n)
	}
	s.Close()
	web.Close()
	s = open(t, upstream.Server{Name: "child", URL: u})
	if shown := s.Unknown("mcp__child__pid"); !strings.Contains(shown, "refused") || strings.Contains(shown, "in-the-") {
		t.Errorf("of a server that is down, agents are shown %s", shown)
	}
}
