// Command demo walks a real MCP client through a gated workflow: it starts
// `interlock up` with everything embedded, puts a small MCP server with a Read
// and an Edit tool behind the gate, is refused, moves on, and shows the events
// that NATS carried. Every step is checked; it ends with 1 when one goes wrong.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

//go:embed demo.json
var definition string

func main() {
	interlock := flag.String("interlock", "bin/interlock", "the interlock binary")
	tools := flag.Bool("tools", false, "be the MCP server behind the gate (the demo starts itself with this)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var err error
	if *tools {
		err = serveTools(ctx)
	} else {
		err = demo(ctx, *interlock, os.Getenv("DEMO_EXIT") != "")
	}
	interrupted := ctx.Err() != nil
	stop()
	if err != nil && (!*tools || !interrupted) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo starts everything, walks, and stays until Ctrl-C unless told otherwise.
func demo(ctx context.Context, interlock string, exit bool) (err error) {
	data, err := os.MkdirTemp("", "interlock-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	interlock, err = filepath.Abs(interlock)
	if err != nil {
		return err
	}
	server := exec.Command(interlock, "up", "--data", data,
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	server.Stderr = os.Stderr
	// Ctrl-C is for the demo, which then ends the server itself.
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start %s: %w; run `make build` first", interlock, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	defer func() { err = errors.Join(err, end(server, ended)) }()
	endpoints, err := ready(ctx, datadir.Dir(data), ended)
	if err != nil {
		return err
	}
	fmt.Printf("interlock up serves %s (REST, MCP), %s (gRPC), %s (NATS)\n", endpoints.HTTP, endpoints.GRPC, endpoints.NATS)
	if err := walk(ctx, interlock, data); err != nil || exit {
		return err
	}
	fmt.Printf("\nStill running; its data is in %s. Ctrl-C ends it.\n", data)
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		ended <- err
		return fmt.Errorf("interlock up ended: %w", err)
	}
}

func end(server *exec.Cmd, ended <-chan error) error {
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		return nil // it has ended already
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("interlock up did not drain in 30 s"), server.Process.Kill())
	}
}

// ready waits until the server says that it serves.
func ready(ctx context.Context, data datadir.Dir, ended chan error) (datadir.Endpoints, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return datadir.Endpoints{}, fmt.Errorf("interlock up is not ready: %w", ctx.Err())
		case err := <-ended:
			ended <- err
			return datadir.Endpoints{}, fmt.Errorf("interlock up ended: %w", err)
		case <-tick.C:
		}
		endpoints, err := data.ReadEndpoints()
		if err != nil || endpoints.HTTP == "" {
			continue
		}
		resp, err := http.Get(endpoints.HTTP + "/readyz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return endpoints, nil
		}
	}
}

// walk is the demonstration itself.
func walk(ctx context.Context, interlock, data string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(interlock, "mcp", "--data-dir", data, "--upstream", fmt.Sprintf("workspace='%s' -tools", self))
	command.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		return fmt.Errorf("connect to interlock mcp: %w", err)
	}
	defer session.Close()
	for _, step := range steps {
		if err := step.take(ctx, session); err != nil {
			return err
		}
	}
	at, err := datadir.Dir(data).ReadEndpoints()
	if err != nil {
		return err
	}
	return showEvents(ctx, at.NATS)
}

type object = map[string]any

// step is one call and what must come of it.
type step struct {
	say     string
	tool    string
	args    object
	refused bool
	// contains must all be in the answer.
	contains []string
}

var steps = []step{
	{say: "register the workflow", tool: "create_workflow", args: object{"definition": json.RawMessage(definition)}},
	{say: "load it", tool: "load_workflow", args: object{"name": "bugfix"}, contains: []string{"planning"}},
	{say: "edit while planning", tool: "Edit", args: edit, refused: true, contains: []string{"Edit", "planning", "READY"}},
	{say: "move on", tool: "transition", args: object{"event": "READY", "rationale": "bug found in line 42"}, contains: []string{"implementing"}},
	{say: "edit while implementing", tool: "Edit", args: edit, contains: []string{"edited"}},
	{say: "edit again", tool: "Edit", args: edit, contains: []string{"edited"}},
	{say: "edit a third time", tool: "Edit", args: edit, refused: true, contains: []string{"2", "DONE"}},
	{say: "move on to testing", tool: "transition", args: object{"event": "DONE"}, contains: []string{"testing"}},
	{say: "ship, claiming in the same breath that tests pass", tool: "transition", args: object{"event": "SHIP", "data": object{"test_result": "pass"}}, refused: true, contains: []string{"tests_passed", "test_result"}},
	{say: "report the test result", tool: "transition", args: object{"event": "TESTED", "data": object{"test_result": "pass"}}, contains: []string{"testing"}},
	{say: "ship", tool: "transition", args: object{"event": "SHIP"}, contains: []string{"shipped", "COMPLETED"}},
}

var edit = object{"file_path": "main.go", "old_string": "<=", "new_string": "<"}

func (s step) take(ctx context.Context, session *mcp.ClientSession) error {
	fmt.Printf("\n> %s: %s\n", s.say, s.tool)
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: s.tool, Arguments: s.args})
	if err != nil {
		return fmt.Errorf("%s: %w", s.say, err)
	}
	var text strings.Builder
	for _, c := range result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	verdict := "ok"
	if result.IsError {
		verdict = "REFUSED"
	}
	fmt.Printf("  %s: %s\n", verdict, strings.ReplaceAll(strings.TrimSpace(text.String()), "\n", "\n  "))
	if result.IsError != s.refused {
		return fmt.Errorf("%s: refused is %t, not %t", s.say, result.IsError, s.refused)
	}
	for _, want := range s.contains {
		if !strings.Contains(text.String(), want) {
			return fmt.Errorf("%s: the answer does not mention %q", s.say, want)
		}
	}
	return nil
}
