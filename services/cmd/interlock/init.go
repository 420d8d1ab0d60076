package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// hookTimeout is when Claude Code gives up on a hook, in seconds, and goes on as
// if there were none. The hook itself gives up before, and blocks.
const hookTimeout = 15

// hookEvents are those that the hook answers. Tool events need a matcher. A stop
// must not be blocked forever by a binary that is gone.
var hookEvents = []struct {
	name       string
	tool, stop bool
}{
	{name: "PreToolUse", tool: true},
	{name: "PostToolUse", tool: true},
	{name: "PostToolUseFailure", tool: true},
	{name: "UserPromptSubmit"},
	{name: "SessionStart"},
	{name: "Stop", stop: true},
	{name: "SubagentStart"},
	{name: "SubagentStop", stop: true},
}

func (c *initClaudeCode) Run(_ context.Context, io streams) error {
	command := []string{c.binary(), "hook"}
	wait := 0
	if c.Workflow != "" {
		def, err := c.workflow(io)
		if err != nil {
			return err
		}
		command = append(command, "--workflow", def.ID)
		wait = int(def.Meta.ApprovalWait / time.Second)
	}
	settings, err := editJSON(filepath.Join(c.Dir, ".claude", "settings.json"), func(doc []member, indent string) ([]member, error) {
		doc, err := addHooks(doc, shellJoin(command), wait, indent)
		if err != nil {
			return nil, err
		}
		return addDenials(doc, indent)
	})
	if err != nil {
		return err
	}
	servers, err := editJSON(filepath.Join(c.Dir, ".mcp.json"), func(doc []member, indent string) ([]member, error) {
		return addServer(doc, c.binary(), indent)
	})
	if err != nil {
		return err
	}
	var changed []*jsonFile
	for _, file := range []*jsonFile{settings, servers} {
		if !file.changed() {
			fmt.Fprintf(io.out, "%s: nothing to change\n", file.path)
			continue
		}
		changed = append(changed, file)
		fmt.Fprintf(io.out, "%s:\n%s\n", file.path, file.after)
	}
	if len(changed) == 0 {
		return nil
	}
	if !c.Yes && !confirmed("Write these files?", io) {
		fmt.Fprintln(io.out, "nothing written; say yes, or give --yes")
		return errNo
	}
	for _, file := range changed {
		if err := file.save(); err != nil {
			return err
		}
	}
	fmt.Fprintf(io.out, "written; %sstart `interlock up` in this workspace, and restart Claude Code\n", c.register())
	return nil
}

func (c *initClaudeCode) register() string {
	if c.Workflow == "" {
		return ""
	}
	return "register the workflow with `interlock workflow register " + shellJoin([]string{c.Workflow}) + "`, "
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

// workflow reads and validates the definition, so that a typo is found now.
func (c *initClaudeCode) workflow(io streams) (*workflow.Definition, error) {
	src, err := definition(c.Workflow, io)
	if err != nil {
		return nil, err
	}
	def, problems := workflow.Parse(src)
	if problems.HasErrors() {
		return nil, refuse(c.Workflow, problems, io)
	}
	return def, nil
}

// hookEntry and hookGroup are the parts of Claude Code's settings that are written.
type hookEntry struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

type hookGroup struct {
	Matcher string      `json:"matcher,omitempty"`
	Hooks   []hookEntry `json:"hooks"`
}

// addHooks puts our command on each event, once, beside the hooks of others.
// Where the workflow has its agent wait for people, in seconds, the event that they
// are asked for waits longer.
func addHooks(doc []member, command string, wait int, indent string) ([]member, error) {
	hooks, err := inside(doc, "hooks", jsontext.KindBeginObject)
	if err != nil {
		return nil, err
	}
	for _, event := range hookEvents {
		groups, err := inside(hooks, event.name, jsontext.KindBeginArray)
		if err != nil {
			return nil, fmt.Errorf("hooks: %w", err)
		}
		entry := hookEntry{Type: "command", Command: command, Timeout: hookTimeout}
		if wait > 0 && event.name == "PreToolUse" {
			patience := wait + hookTimeout
			entry.Command += " --patience " + strconv.Itoa(patience)
			entry.Timeout = patience + hookTimeout
		}
		if !event.stop {
			// A missing binary is exit 127, after which the agent would go on.
			entry.Command += " || exit 2"
		}
		group := hookGroup{Hooks: []hookEntry{entry}}
		if event.tool {
			group.Matcher = "*"
		}
		groups, err = placed(groups, render(group, indent, 3), indent)
		if err != nil {
			return nil, fmt.Errorf("hooks: %s: %w", event.name, err)
		}
		hooks = set(hooks, event.name, write(groups, jsontext.KindBeginArray, indent, 2))
	}
	return set(doc, "hooks", write(hooks, jsontext.KindBeginObject, indent, 1)), nil
}

// denials keep the agent's file tools out of the data folder, which holds the
// tokens of every role.
var denials = []string{"Read(./.interlock/**)", "Edit(./.interlock/**)", "Write(./.interlock/**)"}

// addDenials adds our permission rules to those that are there.
func addDenials(doc []member, indent string) ([]member, error) {
	permissions, err := inside(doc, "permissions", jsontext.KindBeginObject)
	if err != nil {
		return nil, err
	}
	rules, err := inside(permissions, "deny", jsontext.KindBeginArray)
	if err != nil {
		return nil, fmt.Errorf("permissions: %w", err)
	}
	for _, denial := range denials {
		rule := render(denial, indent, 3)
		if !slices.ContainsFunc(rules, func(r member) bool { return same(r.value, rule) }) {
			rules = append(rules, member{value: rule})
		}
	}
	permissions = set(permissions, "deny", write(rules, jsontext.KindBeginArray, indent, 2))
	return set(doc, "permissions", write(permissions, jsontext.KindBeginObject, indent, 1)), nil
}

// inside reads a member one level deep; a missing one is empty.
func inside(doc []member, name string, kind jsontext.Kind) ([]member, error) {
	i := find(doc, name)
	if i < 0 {
		return nil, nil
	}
	all, err := members(doc[i].value, kind)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return all, nil
}

// placed puts our group where an earlier init had it, else last. Our entries in
// groups that others share are taken out, and nothing else is.
func placed(groups []member, ours jsontext.Value, indent string) ([]member, error) {
	var kept []member
	at := -1
	for _, g := range groups {
		rest, had, err := withoutOurs(g.value, indent)
		if err != nil {
			return nil, err
		}
		switch {
		case !had:
			kept = append(kept, g)
		case rest != nil:
			kept = append(kept, member{value: rest})
		case at < 0:
			at = len(kept)
			if same(g.value, ours) {
				ours = g.value
			}
			kept = append(kept, member{value: ours})
		}
	}
	if at < 0 {
		kept = append(kept, member{value: ours})
	}
	return kept, nil
}

// withoutOurs is a group without our entries: nil when nothing is left.
func withoutOurs(group jsontext.Value, indent string) (rest jsontext.Value, had bool, err error) {
	fields, err := members(group, jsontext.KindBeginObject)
	if err != nil {
		return nil, false, err
	}
	hooks, err := inside(fields, "hooks", jsontext.KindBeginArray)
	if err != nil {
		return nil, false, err
	}
	var others []member
	for _, h := range hooks {
		var entry struct {
			Command string `json:"command"`
		}
		if json.Unmarshal(h.value, &entry) == nil && isHook(entry.Command) {
			had = true
			continue
		}
		others = append(others, h)
	}
	if !had || len(others) == 0 {
		return nil, had, nil
	}
	fields = set(fields, "hooks", write(others, jsontext.KindBeginArray, indent, 4))
	return write(fields, jsontext.KindBeginObject, indent, 3), true, nil
}

// isHook recognises a command that init wrote.
func isHook(command string) bool {
	words := splitWords(command)
	return len(words) >= 2 && strings.HasPrefix(filepath.Base(words[0]), "interlock") && words[1] == "hook"
}

// same compares JSON values, whatever their blanks and order.
func same(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
}

// addServer adds our MCP server. One that is there is kept with all its options.
func addServer(doc []member, binary, indent string) ([]member, error) {
	servers, err := inside(doc, "mcpServers", jsontext.KindBeginObject)
	if err != nil {
		return nil, err
	}
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if i := find(servers, "interlock"); i >= 0 {
		var there server
		if json.Unmarshal(servers[i].value, &there) == nil && len(there.Args) > 0 && there.Args[0] == "mcp" {
			return doc, nil
		}
		return nil, errors.New(`"mcpServers" has another server of the name "interlock": rename it`)
	}
	servers = set(servers, "interlock", render(server{binary, []string{"mcp"}}, indent, 2))
	return set(doc, "mcpServers", write(servers, jsontext.KindBeginObject, indent, 1)), nil
}
