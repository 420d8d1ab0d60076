package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

//go:embed demo.json
var definition string

// walk returns the demonstration itself.
func (d *demonstration) walk(ctx context.Context, data string) error {
	upstream := fmt.Sprintf("workspace='%s' demo --tools", d.interlock)
	command := exec.Command(d.interlock, "mcp", "--data-dir", data, "--upstream", upstream)
	command.Stderr = d.errors
	client := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		return fmt.Errorf("connect to interlock mcp: %w", err)
	}
	defer session.Close()
	for _, step := range steps {
		if err := d.take(ctx, session, step); err != nil {
			return err
		}
	}
	at, err := datadir.Dir(data).ReadEndpoints()
	if err != nil {
		return err
	}
	return d.showEvents(ctx, at.NATS)
}

type object = map[string]any

// step is one call and its required outcome.
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
	{say: "edit while planning", tool: "mcp__workspace__edit", args: edit, refused: true, contains: []string{"mcp__workspace__edit", "planning", "READY"}},
	{say: "move on", tool: "transition", args: object{"event": "READY", "rationale": "bug found in line 42"}, contains: []string{"implementing"}},
	{say: "edit while implementing", tool: "mcp__workspace__edit", args: edit, contains: []string{"edited"}},
	{say: "edit again", tool: "mcp__workspace__edit", args: edit, contains: []string{"edited"}},
	{say: "edit a third time", tool: "mcp__workspace__edit", args: edit, refused: true, contains: []string{"2", "DONE"}},
	{say: "move on to testing", tool: "transition", args: object{"event": "DONE"}, contains: []string{"testing"}},
	{say: "ship, claiming that the tests pass", tool: "transition", args: object{"event": "SHIP", "data": object{"tests": "pass"}}, refused: true, contains: []string{"tests_passed", "mcp__workspace__test"}},
	{say: "run the tests", tool: "mcp__workspace__test", args: object{}, contains: []string{"PASS"}},
	{say: "ship", tool: "transition", args: object{"event": "SHIP"}, contains: []string{"shipped", "COMPLETED"}},
}

var edit = object{"file_path": "main.go", "old_string": "<=", "new_string": "<"}

func (d *demonstration) take(ctx context.Context, session *mcp.ClientSession, s step) error {
	fmt.Fprintf(d.out, "\n> %s: %s\n", s.say, s.tool)
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
	fmt.Fprintf(d.out, "  %s: %s\n", verdict, strings.ReplaceAll(strings.TrimSpace(text.String()), "\n", "\n  "))
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
