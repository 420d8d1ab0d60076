package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// TestStdioBadLines: a line that is not a message is answered, and the connection
// lives on.
func TestStdioBadLines(t *testing.T) {
	t.Parallel()
	s := server(t, newPlane(), nil)
	in, send := io.Pipe()
	out, answers := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(t.Context(), in, answers) }()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	ask := func(line, want string) {
		t.Helper()
		go io.WriteString(send, line+"\n")
		if !lines.Scan() {
			t.Fatalf("no answer to %.80s", line)
		}
		if !json.Valid(lines.Bytes()) || !strings.Contains(lines.Text(), want) {
			t.Errorf("%.80s: %s, want %s", line, lines.Text(), want)
		}
	}
	ask(`{`, `"code":-32700`)
	ask(`nonsense`, `"code":-32700`)
	ask(`{}`, `"code":-32600`)
	ask(`[]`, `batches are not supported`)
	ask(`"x"`, `"code":-32600`)
	ask(`{"jsonrpc":"2.0","id":1,"method":"x","params":"`+strings.Repeat("x", wire.MaxBody)+`"}`, `larger than 1 MiB`)
	ask("\n\n"+initialize, `"protocolVersion":"2025-06-18"`)
	ask(`{"jsonrpc":"2.0","id":"a\/b","method":"ping"}`, `"result":{}`)
	ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nope","arguments":{}}}`, `unknown tool`)
	ask(`{"jsonrpc":"2.0","id":4,"method":"no/such"}`, `"code":-32601`)
	for _, depth := range []int{1_001, 9_000, 20_000, 200_000} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		ask(`{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"x","arguments":{"a":`+deep+`}}}`, `"id":"deep","jsonrpc":"2.0"`)
		ask(`{"params":`+deep+`,"method":"ping","id":77}`, `"id":77`)
	}
	ask(`{"jsonrpc":"2.0","id":725653563933458433,"method":"ping"}`, `"id":725653563933458433`)
	ask(`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":1.5`)
	ask(`{"id":5,"method":"ping"}`, `"id":5`)
	ask("\uFEFF"+`{"jsonrpc":"2.0","id":6,"method":"ping"}`, `"result":{}`)
	send.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	out.Close()
}

// TestStdioRepeatedID: a request whose id another has that is under way is answered with an error
// of that id, and the first one with its result.
func TestStdioRepeatedID(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	began, goOn := make(chan struct{}), make(chan struct{})
	fs := upstreamtest.NewBackend(t)
	fs.Add("read_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(began)
		<-goOn
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "the first"}}}, nil
	})
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	in, send := io.Pipe()
	out, answers := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(t.Context(), in, answers) }()
	lines := bufio.NewScanner(out)
	say := func(line string) { io.WriteString(send, line+"\n") }
	hear := func(parts ...string) {
		t.Helper()
		for lines.Scan() && strings.Contains(lines.Text(), `"method"`) { // notices
		}
		for _, part := range parts {
			if !strings.Contains(lines.Text(), part) {
				t.Errorf("%s: lacks %s", lines.Text(), part)
			}
		}
	}
	go say(initialize)
	hear(`"protocolVersion"`)
	const one = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"mcp__fs__read_file","arguments":{}}}`
	go say(one)
	<-began
	go say(one)
	hear(`"id":9`, `"error"`, "still under way")
	go say(`{"jsonrpc":"2.0","id":10,"method":"ping"}`)
	hear(`"id":10`)
	close(goOn)
	hear(`"id":9`, "the first")
	go say(`{"jsonrpc":"2.0","id":9,"method":"ping"}`) // it is free again
	hear(`"id":9`, `"result":{}`)
	send.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	out.Close()
}

// lockedBuffer is a buffer for two goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestStdioEndOfInput: requests before the end of the input are answered.
func TestStdioEndOfInput(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	running, finish := make(chan struct{}), make(chan struct{})
	fs := upstreamtest.NewBackend(t)
	fs.Add("slow", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(running)
		<-finish
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "worth the wait"}}}, nil
	})
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	in := strings.NewReader(initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{}}}`)
	var out lockedBuffer
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(t.Context(), in, &out) }()
	<-running
	close(finish)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "worth the wait") {
		t.Errorf("the answer is lost: %s", out.String())
	}
}

// TestStdioCancel: ServeStdio ends with its context, while its client is silent.
func TestStdioCancel(t *testing.T) {
	t.Parallel()
	s := server(t, newPlane(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	in, send := io.Pipe()
	defer send.Close()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(ctx, in, io.Discard) }()
	go io.WriteString(send, initialize+"\n")
	eventually(t, "the session", func() bool { return open(s) == 1 })
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("ServeStdio continues")
	}
}
