package workspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// hookTimeout is when agents give up on a hook, in seconds. The hook itself gives up before, and
// blocks.
const hookTimeout = 15

// block has Claude Code (from 2.1.295 on) block when a hook is missing, ends by a signal or with a
// code that has no meaning, or takes too long.
const block = "block"

// hookEvents are those that the hook answers. Tool events need a matcher. Where a hook fails, a
// prompt and the start of a session need not be blocked, since each call is, and a stop must not.
var hookEvents = []struct {
	name         string
	tool, passes bool
}{
	{name: "PreToolUse", tool: true},
	{name: hookevent.SkillCommand, tool: true},
	{name: "PostToolUse", tool: true},
	{name: "PostToolUseFailure", tool: true},
	{name: "UserPromptSubmit", passes: true},
	{name: "SessionStart", passes: true},
	{name: "Stop", passes: true},
	{name: "SubagentStart"},
	{name: "SubagentStop", passes: true},
}

// hookEntry and hookGroup are the parts of Claude Code's settings that are written.
type hookEntry struct {
	Type      string   `json:"type"`
	Command   string   `json:"command"`
	Args      []string `json:"args,omitempty"` // without a shell
	Timeout   int      `json:"timeout"`
	OnFailure string   `json:"onFailure,omitempty"`
}

type hookGroup struct {
	Matcher string      `json:"matcher,omitempty"`
	Hooks   []hookEntry `json:"hooks"`
}

// addHooks puts our command on each event, once, next to the hooks of others.
// Where the workflow has its agent wait for people, in seconds, the event that they
// are asked for waits longer.
func addHooks(doc []jsonfile.Member, command []string, wait int, indent string) ([]jsonfile.Member, error) {
	hooks, err := inside(doc, "hooks", jsontext.KindBeginObject)
	if err != nil {
		return nil, err
	}
	for _, event := range hookEvents {
		groups, err := inside(hooks, event.name, jsontext.KindBeginArray)
		if err != nil {
			return nil, fmt.Errorf("hooks: %w", err)
		}
		words, timeout := command, hookTimeout
		if hookevent.Of(hookevent.ClaudeCode, event.name) == hookevent.Before { // people may be asked first
			words, timeout = patient(command, wait)
		}
		entry := hookEntry{Type: "command", Command: words[0], Args: words[1:], Timeout: timeout}
		if !event.passes {
			entry.OnFailure = block
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

// placed puts our group where an earlier init had it, else last. Our entries in groups
// that others share are taken out, and no others.
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

// withoutOurs returns a group without our entries, or an entry that is in no group: nil
// when none is left.
func withoutOurs(group jsontext.Value, indent string) (rest jsontext.Value, had bool, err error) {
	if isHook(wordsOf(group)) {
		return nil, true, nil
	}
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
		if isHook(wordsOf(h.Value)) {
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

// isHook recognises the words of a command that init wrote: our program, called as a hook. A command
// that mentions it, or that passes its output on, is the user's.
func isHook(words []string) bool {
	return len(words) > 1 && words[1] == "hook" && isOurs(filepath.Base(words[0]), words[2:]) && !slices.Contains(words, "|")
}

// wordsOf returns the words that a hook runs, with a shell or without, by any of the names that
// agents have for its command.
func wordsOf(entry jsontext.Value) []string {
	var e struct {
		Command string   `json:"command"`
		Bash    string   `json:"bash"`
		Args    []string `json:"args"`
	}
	if json.Unmarshal(entry, &e) != nil {
		return nil
	}
	if e.Args != nil {
		return append([]string{e.Command}, e.Args...)
	}
	return shellwords.Split(e.Command + e.Bash)
}

// isOurs distinguishes our program, which may be called interlock-next, from another's
// interlock-notify: by the folder that its hook needs.
func isOurs(name string, args []string) bool {
	return name == "interlock" || name == "interlock.exe" || strings.HasPrefix(name, "interlock") && slices.Contains(args, "--data-dir")
}

// withoutHooks takes our hooks and permission rules out of settings, and lists and objects
// that this leaves empty.
func withoutHooks(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
	hooks, err := inside(doc, "hooks", jsontext.KindBeginObject)
	if err != nil {
		return nil, err
	}
	denied, allowed, ours := append(denialsOf(doc), portable...), allowancesOf(doc), false
	for _, event := range slices.Clone(hooks) {
		groups, err := inside(hooks, event.Name, jsontext.KindBeginArray)
		if err != nil {
			return nil, fmt.Errorf("hooks: %w", err)
		}
		var kept []jsonfile.Member
		had := false
		for _, g := range groups {
			rest, mine, err := withoutOurs(g.Value, indent)
			switch {
			case err != nil:
				return nil, fmt.Errorf("hooks: %s: %w", event.Name, err)
			case !mine:
				kept = append(kept, g)
			case rest != nil:
				kept = append(kept, jsonfile.Member{Value: rest})
			}
			had = had || mine
		}
		if had {
			ours = true
			hooks = emptied(hooks, event.Name, kept, jsontext.KindBeginArray, indent, 2)
		}
	}
	if !ours {
		return doc, nil
	}
	doc = emptied(doc, "hooks", hooks, jsontext.KindBeginObject, indent, 1)
	if doc, err = withoutRules(doc, "deny", denied, indent); err != nil {
		return nil, err
	}
	return withoutRules(doc, "allow", allowed, indent)
}

// emptied sets a member to its rest, or drops it when that is empty.
func emptied(doc []jsonfile.Member, name string, left []jsonfile.Member, kind jsontext.Kind, indent string, depth int) []jsonfile.Member {
	if len(left) == 0 {
		return dropped(doc, name)
	}
	return jsonfile.Set(doc, name, jsonfile.Write(left, kind, indent, depth))
}

func dropped(doc []jsonfile.Member, name string) []jsonfile.Member {
	return slices.DeleteFunc(slices.Clone(doc), func(m jsonfile.Member) bool { return m.Name == name })
}

// ourServer reports that one of the servers is ours.
func ourServer(servers []jsonfile.Member) bool {
	i := jsonfile.Find(servers, "interlock")
	var there struct {
		Args []string `json:"args"`
	}
	return i >= 0 && json.Unmarshal(servers[i].Value, &there) == nil && len(there.Args) > 0 && there.Args[0] == "mcp"
}

// withFolderOf returns the arguments of a server that is there, with the data folder of other
// ones. One that names none finds it in another way, and keeps doing so.
func withFolderOf(wanted []string, server []jsonfile.Member) (args []string) {
	const flag = "--data-dir"
	folder := func(args []string) (at int, value string) {
		if at = slices.Index(args, flag); at < 0 || at+1 == len(args) {
			return -1, ""
		}
		return at, args[at+1]
	}
	if json.Unmarshal(server[jsonfile.Find(server, "args")].Value, &args) != nil {
		return nil
	}
	at, is := folder(args)
	_, want := folder(wanted)
	switch {
	case at < 0 || is == want:
		return nil
	case want == "":
		return slices.Delete(args, at, at+2)
	}
	args[at+1] = want
	return args
}

// withProgramOf reports that a server that is there calls another program of ours than the hooks.
func withProgramOf(wanted string, server []jsonfile.Member) bool {
	at := jsonfile.Find(server, "command")
	var command string
	return at >= 0 && json.Unmarshal(server[at].Value, &command) == nil && command != wanted && isOurs(filepath.Base(command), nil)
}

// addServer adds our MCP server. One that is there is kept with all its options, but for the
// data folder and the program: they must be those of the hooks.
func addServer(doc []jsonfile.Member, binary string, args []string, indent string) ([]jsonfile.Member, error) {
	servers, err := inside(doc, "mcpServers", jsontext.KindBeginObject)
	if err != nil {
		return nil, err
	}
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if ourServer(servers) {
		there, err := inside(servers, "interlock", jsontext.KindBeginObject)
		if err != nil {
			return nil, err
		}
		kept, moved := withFolderOf(args, there), withProgramOf(binary, there)
		if kept == nil && !moved {
			return doc, nil
		}
		if kept != nil {
			there = jsonfile.Set(there, "args", jsonfile.Render(kept, indent, 3))
		}
		if moved {
			there = jsonfile.Set(there, "command", jsonfile.Render(binary, indent, 3))
		}
		servers = jsonfile.Set(servers, "interlock", jsonfile.Write(there, jsontext.KindBeginObject, indent, 2))
		return jsonfile.Set(doc, "mcpServers", jsonfile.Write(servers, jsontext.KindBeginObject, indent, 1)), nil
	}
	if jsonfile.Find(servers, "interlock") >= 0 {
		return nil, errors.New(`"mcpServers" has another server of the name "interlock": rename it`)
	}
	servers = jsonfile.Set(servers, "interlock", jsonfile.Render(server{binary, args}, indent, 2))
	return jsonfile.Set(doc, "mcpServers", jsonfile.Write(servers, jsontext.KindBeginObject, indent, 1)), nil
}
