// Command goclients walks through a gated workflow with a Go client of MCP: the first release
// of the official SDK, or mcp-go. It prints its findings and exits with 1.
//
//	goclients CLIENT PROTOCOL http URL TOKEN SESSION
//	goclients CLIENT PROTOCOL stdio COMMAND ARGUMENTS...
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// client is the common interface of every client.
type client interface {
	tools(ctx context.Context) ([]string, error)
	// call returns the text of a tool's result, and whether it is an error.
	call(ctx context.Context, tool string, arguments map[string]any) (string, bool, error)
	prompt(ctx context.Context, name string) (string, error)
	read(ctx context.Context, uri string) (string, error)
	close()
}

const flow = `{"id": "go-offers", "initial": "looking", "states": {
	"looking": {"allowed_tools": ["Read"], "on": {"OPEN": "open"}},
	"open": {"allowed_tools": ["mcp__everything__*"], "disallowed_tools": ["mcp__everything__resource:demo://resource/dynamic/blob/*"], "on": {"DONE": "done"}},
	"done": {"type": "final"}}}`

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := walk(ctx, os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func walk(ctx context.Context, args []string) error {
	open := map[string]func(context.Context, string, []string) (client, error){"go-sdk": openSDK, "mcp-go": openMCPGo}[args[0]]
	c, err := open(ctx, args[1], args[2:])
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer c.close()
	w := &walker{client: c}
	w.accepted(ctx, "create_workflow", map[string]any{"definition": json.RawMessage(flow)}, "")
	w.accepted(ctx, "load_workflow", map[string]any{"name": "go-offers"}, "looking")
	w.refused(ctx, "mcp__everything__echo", map[string]any{"message": "hello"}, "OPEN")
	const uri, hidden = "demo://resource/dynamic/text/1", "demo://resource/dynamic/blob/1"
	if _, err := c.read(ctx, uri); err == nil || !strings.Contains(err.Error(), "looking") {
		w.wrong("a resource that the state does not allow: %v", err)
	}
	w.accepted(ctx, "transition", map[string]any{"event": "OPEN"}, "open")
	w.accepted(ctx, "mcp__everything__echo", map[string]any{"message": "anybody there?"}, "anybody there?")
	if names, err := c.tools(ctx); err != nil || !slices.Contains(names, "mcp__everything__echo") {
		w.wrong("the tools are %v, %v", names, err)
	}
	if text, err := c.prompt(ctx, "mcp__everything__simple-prompt"); err != nil || text == "" {
		w.wrong("the prompt is %q, %v", text, err)
	}
	if text, err := c.read(ctx, uri); err != nil || !strings.Contains(text, "Resource 1") {
		w.wrong("the resource is %q, %v", text, err)
	}
	if _, err := c.read(ctx, hidden); err == nil || !strings.Contains(err.Error(), "blob") {
		w.wrong("a resource that the state forbids: %v", err)
	}
	w.accepted(ctx, "transition", map[string]any{"event": "DONE"}, "COMPLETED")
	return w.verdict()
}

// walker collects findings.
type walker struct {
	client
	problems []string
}

func (w *walker) wrong(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *walker) accepted(ctx context.Context, tool string, arguments map[string]any, want string) {
	if text, isError, err := w.call(ctx, tool, arguments); err != nil || isError || !strings.Contains(text, want) {
		w.wrong("%s: %v, %s", tool, err, text)
	}
}

func (w *walker) refused(ctx context.Context, tool string, arguments map[string]any, want string) {
	if text, isError, err := w.call(ctx, tool, arguments); err != nil || !isError || !strings.Contains(text, want) {
		w.wrong("%s is not refused: %v, %s", tool, err, text)
	}
}

func (w *walker) verdict() error {
	if len(w.problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(w.problems, "\n"))
}
