package workspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
)

// hookTimeout is when Claude Code gives up on a hook, in seconds, and continues as
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

// addHooks puts our command on each event, once, next to the hooks of others.
// Where the workflow has its agent wait for people, in seconds, the event that they
// are asked for waits longer.
func addHooks(doc []jsonfile.Member, command string, wait int, indent string) ([]jsonfile.Member, error) {
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
			// A missing binary is exit 127, after which the agent would continue.
			entry.Command += " || exit 2"
		}
		group := hookGroup{Hooks: []hookEntry{entry}}
		if event.tool {
			group.Matcher = "*"
		}
		groups, err = placed(groups, jsonfile.Render(group, indent, 3), indent)
		if err != nil {
			return nil, fmt.Errorf("hooks: %s: %w", event.name, err)
		}
		hooks = jsonfile.Set(hooks, event.name, jsonfile.Write(groups, jsontext.KindBeginArray, indent, 2))
	}
	return jsonfile.Set(doc, "hooks", jsonfile.Write(hooks, jsontext.KindBeginObject, indent, 1)), nil
}

// denials keep the agent's file tools out of the data folder, which holds the
// tokens of every role.
var denials = []string{"Read(./.interlock/**)", "Edit(./.interlock/**)", "Write(./.interlock/**)"}

// addDenials adds our permission rules to those that are there.
func addDenials(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
	permissions, err := inside(doc, "permissions", jsontext.KindBeginObject)
	if err != nil {
		return nil, err
	}
	rules, err := inside(permissions, "deny", jsontext.KindBeginArray)
	if err != nil {
		return nil, fmt.Errorf("permissions: %w", err)
	}
	for _, denial := range denials {
		rule := jsonfile.Render(denial, indent, 3)
		if !slices.ContainsFunc(rules, func(r jsonfile.Member) bool { return jsonfile.Same(r.Value, rule) }) {
			rules = append(rules, jsonfile.Member{Value: rule})
		}
	}
	permissions = jsonfile.Set(permissions, "deny", jsonfile.Write(rules, jsontext.KindBeginArray, indent, 2))
	return jsonfile.Set(doc, "permissions", jsonfile.Write(permissions, jsontext.KindBeginObject, indent, 1)), nil
}

// inside reads a member one level deep; a missing one is empty.
func inside(doc []jsonfile.Member, name string, kind jsontext.Kind) ([]jsonfile.Member, error) {
	i := jsonfile.Find(doc, name)
	if i < 0 {
		return nil, nil
	}
	all, err := jsonfile.Members(doc[i].Value, kind)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return all, nil
}

// placed puts our group where an earlier init had it, else last. Our entries in
// groups that others share are taken out, and nothing else is.
func placed(groups []jsonfile.Member, ours jsontext.Value, indent string) ([]jsonfile.Member, error) {
	var kept []jsonfile.Member
	at := -1
	for _, g := range groups {
		rest, had, err := withoutOurs(g.Value, indent)
		if err != nil {
			return nil, err
		}
		switch {
		case !had:
			kept = append(kept, g)
		case rest != nil:
			kept = append(kept, jsonfile.Member{Value: rest})
		case at < 0:
			at = len(kept)
			if jsonfile.Same(g.Value, ours) {
				ours = g.Value
			}
			kept = append(kept, jsonfile.Member{Value: ours})
		}
	}
	if at < 0 {
		kept = append(kept, jsonfile.Member{Value: ours})
	}
	return kept, nil
}

// withoutOurs is a group without our entries: nil when nothing is left.
func withoutOurs(group jsontext.Value, indent string) (rest jsontext.Value, had bool, err error) {
	fields, err := jsonfile.Members(group, jsontext.KindBeginObject)
	if err != nil {
		return nil, false, err
	}
	hooks, err := inside(fields, "hooks", jsontext.KindBeginArray)
	if err != nil {
		return nil, false, err
	}
	var others []jsonfile.Member
	for _, h := range hooks {
		var entry struct {
			Command string `json:"command"`
		}
		if json.Unmarshal(h.Value, &entry) == nil && isHook(entry.Command) {
			had = true
			continue
		}
		others = append(others, h)
	}
	if !had || len(others) == 0 {
		return nil, had, nil
	}
	fields = jsonfile.Set(fields, "hooks", jsonfile.Write(others, jsontext.KindBeginArray, indent, 4))
	return jsonfile.Write(fields, jsontext.KindBeginObject, indent, 3), true, nil
}

// isHook recognises a command that init wrote.
func isHook(command string) bool {
	words := shellwords.Split(command)
	return len(words) >= 2 && strings.HasPrefix(filepath.Base(words[0]), "interlock") && words[1] == "hook"
}

// addServer adds our MCP server. One that is there is kept with all its options.
func addServer(doc []jsonfile.Member, binary, data, indent string) ([]jsonfile.Member, error) {
	servers, err := inside(doc, "mcpServers", jsontext.KindBeginObject)
	if err != nil {
		return nil, err
	}
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if i := jsonfile.Find(servers, "interlock"); i >= 0 {
		var there server
		if json.Unmarshal(servers[i].Value, &there) == nil && len(there.Args) > 0 && there.Args[0] == "mcp" {
			return doc, nil
		}
		return nil, errors.New(`"mcpServers" has another server of the name "interlock": rename it`)
	}
	servers = jsonfile.Set(servers, "interlock", jsonfile.Render(server{binary, []string{"mcp", "--data-dir", data}}, indent, 2))
	return jsonfile.Set(doc, "mcpServers", jsonfile.Write(servers, jsontext.KindBeginObject, indent, 1)), nil
}
