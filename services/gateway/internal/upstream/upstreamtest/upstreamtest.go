// Package upstreamtest has MCP servers for tests of their clients: one that is a process,
// and one over HTTP in the process of the test.
package upstreamtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// childMode makes the test binary a server.
const childMode = "MCP_TEST_CHILD"

// Main is for TestMain, before all other code: true in a test binary that was started as
// a server and has served.
func Main() bool {
	mode := os.Getenv(childMode)
	if mode != "" {
		serveMode(mode)
	}
	return mode != ""
}

// Child returns the test binary as a server on stdio, named child. Mode "plain" is a good one, "stubborn"
// ignores the end of its input and SIGTERM, "broken" ends at once, and "fails when staging" where NODE_ENV
// says so. Its tools are env and pid, which describe the process; crash, which ends it; write, which writes
// FILE; spawn, which starts one and returns its pid; and linger, which makes FILE.waiting and waits for
// FILE.
func Child(t *testing.T, mode string) upstream.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return upstream.Server{
		Name: "child", Command: []string{self}, Env: map[string]string{childMode: mode, "MINE": "yes"},
		Names: map[string]string{"env": "env", "pid": "pid", "crash": "crash", "spawn": "spawn", "linger": "linger"},
	}
}

// Alive reports whether a process runs; one that is dead and not waited for does not.
func Alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		found, err := os.FindProcess(pid)
		return err == nil && found.Signal(syscall.Signal(0)) == nil
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

var anyObject = json.RawMessage(`{"type":"object"}`)

func serveMode(mode string) {
	switch {
	case mode == "scripted":
		serveScript()
		return
	case mode == "broken":
		os.Exit(3)
	case mode == "fails when staging" && os.Getenv("NODE_ENV") == "staging":
		os.Exit(4)
	case mode == "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	srv := sdk.NewServer(&sdk.Implementation{Name: "child", Version: "1"}, nil)
	for name, run := range map[string]func(context.Context, *sdk.CallToolRequest) (string, error){
		"env": func(context.Context, *sdk.CallToolRequest) (string, error) {
			return strings.Join(os.Environ(), "\n"), nil
		},
		"pid":    func(context.Context, *sdk.CallToolRequest) (string, error) { return strconv.Itoa(os.Getpid()), nil },
		"crash":  func(context.Context, *sdk.CallToolRequest) (string, error) { os.Exit(7); return "", nil },
		"spawn":  spawn,
		"linger": linger,
		"write": func(_ context.Context, req *sdk.CallToolRequest) (string, error) {
			var args struct{ File string }
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return "", err
			}
			return "written", os.WriteFile(args.File, []byte("x"), 0o600)
		},
	} {
		srv.AddTool(&sdk.Tool{Name: name, InputSchema: anyObject}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			text, err := run(ctx, req)
			if err != nil {
				return nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		})
	}
	err := srv.Run(context.Background(), &sdk.StdioTransport{})
	if mode == "stubborn" {
		select {}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// Write has the child write a file, and returns its answer.
func Write(ctx context.Context, s *upstream.Set, file string) (string, error) {
	input, err := json.Marshal(map[string]string{"file": file})
	if err != nil {
		return "", err
	}
	got, err := s.Catalogue().Tools[upstream.Prefix+"child__write"].Call(ctx, upstream.Request{As: "write", Arguments: input})
	if err != nil {
		return "", err
	}
	return string(got.Output(1 << 10)), nil
}

func spawn(context.Context, *sdk.CallToolRequest) (string, error) {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout = os.Stdout // holds the pipe open
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return strconv.Itoa(cmd.Process.Pid), nil
}

func linger(ctx context.Context, req *sdk.CallToolRequest) (string, error) {
	var args struct{ File string }
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
		return "", err
	}
	if err := os.WriteFile(args.File+".waiting", nil, 0o600); err != nil {
		return "", err
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if _, err := os.Stat(args.File); err == nil {
			return "lingered", nil
		}
		<-tick.C
	}
	return "", ctx.Err()
}

// Patience bounds waits for things that take no time.
const Patience = 120 * time.Second

// Eventually waits for a condition.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// Backend is a server over HTTP, in the process of the test.
type Backend struct {
	srv *sdk.Server
	url string

	tools []string
	mu    sync.Mutex
	calls []string
}

// NewBackend serves tools, each of which echoes its arguments.
func NewBackend(t *testing.T, tools ...string) *Backend {
	t.Helper()
	b := &Backend{srv: sdk.NewServer(&sdk.Implementation{Name: "backend", Version: "1"}, nil)}
	for _, tool := range tools {
		b.Add(tool, nil)
	}
	b.url = Serve(t, b.srv)
	return b
}

// Serve serves srv over HTTP until the test ends, and returns its URL. Requests that still run
// then are cancelled, also those whose client has not cancelled them: a session closes only when
// its requests have ended.
func Serve(t *testing.T, srv *sdk.Server) string {
	t.Helper()
	running, end := context.WithCancel(context.Background())
	srv.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(running, cancel)()
			return next(ctx, method, req)
		}
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, nil))
	t.Cleanup(func() {
		end()
		closeAll(srv)
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

func closeAll(srv *sdk.Server) {
	for session := range srv.Sessions() {
		session.Close() // it is gone either way
	}
}

// Add adds a tool, which echoes its arguments without a handler.
func (b *Backend) Add(tool string, handler sdk.ToolHandler) {
	b.AddTool(&sdk.Tool{
		Name: tool, Description: "does " + tool,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","x-kept":[1,2]}}}`),
	}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		b.mu.Lock()
		b.calls = append(b.calls, tool)
		b.mu.Unlock()
		if handler != nil {
			return handler(ctx, req)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%s %s", tool, req.Params.Arguments)}}}, nil
	})
}

// AddTool adds a tool as it is.
func (b *Backend) AddTool(tool *sdk.Tool, handler sdk.ToolHandler) {
	b.tools = append(b.tools, tool.Name)
	b.srv.AddTool(tool, handler)
}

// Remove removes a tool.
func (b *Backend) Remove(tool string) { b.srv.RemoveTools(tool) }

// Forget ends all sessions, as a restart of the server does.
func (b *Backend) Forget() { closeAll(b.srv) }

// Called returns the tools that were called with Add's handlers, in order.
func (b *Backend) Called() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// As returns the server under a name. The tools that it has now keep their names as plain
// names where an operator may give those.
func (b *Backend) As(name string) upstream.Server {
	plain := map[string]string{}
	for _, tool := range b.tools {
		if !toolname.Known(tool) && !toolcall.Own(tool) && !strings.HasPrefix(tool, upstream.Prefix) {
			plain[tool] = tool
		}
	}
	return upstream.Server{Name: name, URL: b.url, Names: plain}
}
