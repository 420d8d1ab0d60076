package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/interlock-run/interlock/pkg/workflow"
)

type initCommand struct {
	ClaudeCode initClaudeCode `cmd:"" name:"claude-code" help:"Write Claude Code's hooks and MCP server into this workspace."`
}

type initClaudeCode struct {
	Workflow string `help:"Definition that sessions are put on." type:"path" placeholder:"FILE"`
	Dir      string `arg:"" optional:"" help:"The workspace." default:"." type:"path"`
	Binary   string `help:"The interlock command to call; this one by default." placeholder:"PATH"`
	Yes      bool   `short:"y" help:"Write without asking."`
}

// hookEvents are those that the hook answers; those with a matcher are about
// tools.
var hookEvents = []struct {
	name    string
	matcher bool
}{
	{"PreToolUse", true},
	{"PostToolUse", true},
	{"PostToolUseFailure", true},
	{"UserPromptSubmit", false},
	{"SessionStart", false},
	{"Stop", false},
	{"SubagentStop", false},
}

func (c *initClaudeCode) Run(_ context.Context, io streams) error {
	command := []string{c.binary(), "hook"}
	if c.Workflow != "" {
		name, err := c.workflowName(io)
		if err != nil {
			return err
		}
		command = append(command, "--workflow", name)
	}
	settings := filepath.Join(c.Dir, ".claude", "settings.json")
	servers := filepath.Join(c.Dir, ".mcp.json")
	files := map[string]func(map[string]any) error{
		settings: func(doc map[string]any) error { return addHooks(doc, shellJoin(command)) },
		servers:  func(doc map[string]any) error { return addServer(doc, c.binary()) },
	}
	contents := map[string][]byte{}
	for _, file := range []string{settings, servers} {
		data, err := edited(file, files[file])
		if err != nil {
			return err
		}
		contents[file] = data
		fmt.Fprintf(io.out, "%s:\n%s\n", file, data)
	}
	if !c.Yes && !confirmed(io) {
		fmt.Fprintln(io.out, "nothing written; say yes, or give --yes")
		return errNo
	}
	for file, data := range contents {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	fmt.Fprintln(io.out, "written; start `interlock up` in this workspace, register the workflow, and restart Claude Code")
	return nil
}

func (c *initClaudeCode) binary() string {
	if c.Binary != "" {
		return c.Binary
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "interlock"
}

// workflowName validates the definition, so that a typo is found now.
func (c *initClaudeCode) workflowName(io streams) (string, error) {
	src, err := definition(c.Workflow, io)
	if err != nil {
		return "", err
	}
	def, problems := workflow.Parse(src)
	if err := problems.Err(); err != nil {
		return "", fmt.Errorf("%s: %w", c.Workflow, err)
	}
	return def.ID, nil
}

// edited answers a JSON file with a change, keeping everything else in it.
func edited(file string, change func(map[string]any) error) ([]byte, error) {
	doc := map[string]any{}
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(data, &doc); err != nil {
			return nil, fmt.Errorf("%s is not a JSON object, and is left alone: %w", file, err)
		}
	}
	if err := change(doc); err != nil {
		return nil, fmt.Errorf("%s is left alone: %w", file, err)
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return append(out, '\n'), nil
}

// addHooks adds our command to each event, once, beside the hooks of others.
func addHooks(doc map[string]any, command string) error {
	hooks, err := object(doc, "hooks")
	if err != nil {
		return err
	}
	for _, event := range hookEvents {
		entry := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command, "timeout": 15}}}
		if event.matcher {
			entry["matcher"] = "*"
		}
		groups, ok := hooks[event.name].([]any)
		if hooks[event.name] != nil && !ok {
			return fmt.Errorf("hooks.%s is not a list", event.name)
		}
		hooks[event.name] = append(withoutOurs(groups), entry)
	}
	return nil
}

// withoutOurs drops groups that an earlier init wrote.
func withoutOurs(groups []any) []any {
	kept := []any{}
	for _, g := range groups {
		if !ours(g) {
			kept = append(kept, g)
		}
	}
	return kept
}

func ours(group any) bool {
	g, _ := group.(map[string]any)
	hooks, _ := g["hooks"].([]any)
	for _, h := range hooks {
		entry, _ := h.(map[string]any)
		command, _ := entry["command"].(string)
		words := splitFields(command)
		if len(words) >= 2 && filepath.Base(words[0]) == "interlock" && words[1] == "hook" {
			return true
		}
	}
	return false
}

func addServer(doc map[string]any, binary string) error {
	servers, err := object(doc, "mcpServers")
	if err != nil {
		return err
	}
	servers["interlock"] = map[string]any{"command": binary, "args": []any{"mcp"}}
	return nil
}

func object(doc map[string]any, key string) (map[string]any, error) {
	if doc[key] == nil {
		doc[key] = map[string]any{}
	}
	o, ok := doc[key].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%q is not an object", key)
	}
	return o, nil
}
