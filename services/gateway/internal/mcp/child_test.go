package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// childMode makes the test binary an upstream server.
const childMode = "MCP_TEST_CHILD"

// childMain is an upstream MCP server on stdio. Mode "stubborn" ignores the end of
// its input and SIGTERM; "broken" ends at once, and "fails when staging" where
// NODE_ENV says so.
func childMain(mode string) {
	switch {
	case mode == "broken":
		os.Exit(3)
	case mode == "fails when staging" && os.Getenv("NODE_ENV") == "staging":
		os.Exit(4)
	}
	srv := sdk.NewServer(&sdk.Implementation{Name: "child", Version: "1"}, nil)
	text := func(s string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}, nil
	}
	srv.AddTool(&sdk.Tool{Name: "env", InputSchema: emptySchema}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(strings.Join(os.Environ(), "\n"))
	})
	srv.AddTool(&sdk.Tool{Name: "pid", InputSchema: emptySchema}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(strconv.Itoa(os.Getpid()))
	})
	srv.AddTool(&sdk.Tool{Name: "crash", InputSchema: emptySchema}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		os.Exit(7)
		return nil, nil
	})
	srv.AddTool(&sdk.Tool{Name: "spawn", InputSchema: emptySchema}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		cmd := exec.Command("sleep", "600")
		cmd.Stdout = os.Stdout // holds the pipe open
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return text(strconv.Itoa(cmd.Process.Pid))
	})
	srv.AddTool(&sdk.Tool{Name: "linger", InputSchema: emptySchema}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var args struct{ File string }
		if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
			return nil, err
		}
		if err := os.WriteFile(args.File+".waiting", nil, 0o600); err != nil {
			return nil, err
		}
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if _, err := os.Stat(args.File); err == nil {
				return text("lingered")
			}
			<-tick.C
		}
		return nil, ctx.Err()
	})
	if mode == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	err := srv.Run(context.Background(), &sdk.StdioTransport{})
	if mode == "stubborn" {
		select {}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func child(t *testing.T, mode string) Upstream {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Upstream{Name: "child", Command: []string{self}, Env: map[string]string{childMode: mode, "MINE": "yes"}}
}

// alive is whether a process runs; one that is dead and not waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func number(t *testing.T, result *sdk.CallToolResult) int {
	t.Helper()
	n, err := strconv.Atoi(textOf(result))
	if err != nil {
		t.Fatalf("not a number: %s", textOf(result))
	}
	return n
}

func childServer(t *testing.T, mode string) (*Server, *sdk.ClientSession, *plane) {
	t.Helper()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	s := server(t, p, func(c *Config) { c.Upstreams = []Upstream{child(t, mode)} })
	return s, overStdio(t, s, "2025-11-25", nil), p
}

// TestChildProcess: a real upstream process is run, restarted when it crashes, and
// stopped with everything that it started.
func TestChildProcess(t *testing.T) {
	s, session, p := childServer(t, "plain")
	first := number(t, call(t, session, "pid", `{}`))
	grandchild := number(t, call(t, session, "spawn", `{}`))
	wantRefused(t, call(t, session, "mcp__child__crash", `{}`), "UPSTREAM_FAILED", "broke during mcp__child__crash; what it did is not known")
	if last := p.lastReport(); last.GetOk() {
		t.Error("a crash was reported as a success")
	}
	eventually(t, "what the crashed server left behind is stopped", func() bool { return !alive(grandchild) })
	var second int
	eventually(t, "the server is back", func() bool {
		result := call(t, session, "pid", `{}`)
		if result.IsError {
			return false // it is down, or has just gone down
		}
		second = number(t, result)
		return true
	})
	if first == second {
		t.Error("the same process")
	}
	grandchild = number(t, call(t, session, "spawn", `{}`))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if alive(second) {
		t.Error("the server outlives Close")
	}
	eventually(t, "its child is stopped", func() bool { return !alive(grandchild) })
}

// TestChildEnv: an upstream never sees our token.
func TestChildEnv(t *testing.T) {
	t.Setenv("INTERLOCK_TOKEN", "secret-token")
	t.Setenv("Interlock_Server", "secret-server")
	t.Setenv("KEPT", "kept")
	_, session, _ := childServer(t, "plain")
	env := textOf(call(t, session, "env", `{}`))
	if strings.Contains(env, "secret-") || !strings.Contains(env, "KEPT=kept") || !strings.Contains(env, "MINE=yes") {
		t.Error(env)
	}
}

// TestFirstCall: a client that calls a tool at once, and never lists any, waits for
// a server that just starts.
func TestFirstCall(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	cfg := p.config()
	cfg.Upstreams, cfg.Stdio = []Upstream{child(t, "plain")}, Identity{Binding: Binding{SessionID: "s1"}}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	number(t, call(t, overStdio(t, s, "2025-11-25", nil), "pid", `{}`))
}

// TestStubbornChild: a process that listens to nothing is killed.
func TestStubbornChild(t *testing.T) {
	t.Parallel()
	s, session, _ := childServer(t, "stubborn")
	pid := number(t, call(t, session, "pid", `{}`))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if alive(pid) {
		t.Error("it is alive")
	}
}

// TestBrokenUpstream: one that cannot be started says so, holds up nothing, and
// leaves the others alone.
func TestBrokenUpstream(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	fs := backendServer(t, "read_file")
	missing := Upstream{Name: "missing", Command: []string{"/no/such/server"}}
	s := server(t, p, func(c *Config) { c.Upstreams = []Upstream{child(t, "broken"), missing, fs.as("fs")} })
	session := overStdio(t, s, "2025-11-25", nil)
	wantOK(t, call(t, session, "mcp__fs__read_file", `{}`))
	for server, want := range map[string]string{"child": "exit status 3", "missing": "no such file"} {
		_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "mcp__" + server + "__x"})
		if err == nil || !strings.Contains(err.Error(), "the server "+server+" is not available") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", server, err)
		}
	}
	if n := s.Ready(t.Context()); n != 1 {
		t.Errorf("%d upstreams serve", n)
	}
}

// TestHTTPUpstreamRestart: an HTTP upstream that went away is connected again.
func TestHTTPUpstreamRestart(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	fs := backendServer(t, "read_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []Upstream{fs.as("fs")} })
	session := overStdio(t, s, "2025-11-25", nil)
	wantOK(t, call(t, session, "read_file", `{}`))
	for upstreamSession := range fs.srv.Sessions() {
		upstreamSession.Close() // as after a restart of the server: it knows no session
	}
	eventually(t, "it is connected again", func() bool { return !call(t, session, "read_file", `{}`).IsError })
}

func TestResultSizes(t *testing.T) {
	t.Parallel()
	structured := &sdk.CallToolResult{StructuredContent: map[string]any{"a": 1}}
	image := &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{Data: make([]byte, 300), MIMEType: "image/png"}}}
	if n := resultBytes(structured); n != int64(len(`{"a":1}`)) {
		t.Errorf("structured: %d", n)
	}
	if n := resultBytes(image); n < 400 {
		t.Errorf("image: %d, less than its base64", n)
	}
	long := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a" + strings.Repeat("é", maxOutput)}}}
	out := resultOutput(long)
	if len(out) <= maxOutput || len(out) > maxOutput+4 || strings.Contains(string(out), "\uFFFD") {
		t.Errorf("output of %d bytes", len(out))
	}
}
