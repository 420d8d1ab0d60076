package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// published are the tools of a coding agent that init knows, with the members of their inputs.
type published struct {
	Version string              `json:"version"`
	Event   string              `json:"event"` // before a call
	Tools   map[string][]string `json:"tools"`
}

// Members of inputs by their contents: code, and names of files.
var (
	executed = regexp.MustCompile(`(?i)^(commands?|cmd|script|script_?path|code|source_code|chars|keys|stdin|program|shell|exec)$`)
	named    = regexp.MustCompile(`(?i)(^|_)(path|paths|file|files|dir|folder|filename)$|path$`)
)

// unproved are tools with names of files that are taken for ones that may change them: their use
// of the files is unknown, or they change them in a way that is not measured.
var unproved = []string{
	"Artifact", "Delete", "EnterWorktree", "Projects", "Workflow", // the last runs the file
	"view_image",
}

// TestPublishedTools: S3.3. Of each agent that init knows, every tool whose input holds a command or
// code is judged as one, and every tool with names of files is known to read or to edit.
func TestPublishedTools(t *testing.T) {
	t.Parallel()
	agents := publishedTools(t)
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	operator := w.as(t, auth.Operator)
	operator.register(t, `{"id": "lines", "initial": "a", "states": {"a": {"allowed_commands": ["ls"], "on": {"GO": "b"}}, "b": {"type": "final"}}}`)
	const closed = `{"id": "closed", "initial": "a", "states": {"a": {"allowed_tools": ["TaskStop"], "on": {"GO": "b"}}, "b": {"type": "final"}}}`
	operator.register(t, closed)
	def, problems := workflow.Parse([]byte(closed))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	quoted := regexp.MustCompile(`Tool \\+"([^"\\]+)\\+"`)
	for agent, all := range agents {
		ask := func(workflow, tool string, input map[string]string) string {
			return w.hookOf(t, agent, workflow, map[string]any{
				"hook_event_name": all.Event, "session_id": agent + workflow, "conversation_id": agent + workflow, "tool_name": tool, "tool_input": input,
			})
		}
		if got := ask("lines", "Glob", map[string]string{"pattern": "rm x"}); !allowsHook(got) {
			t.Errorf("%s: a search is denied: %s", agent, got)
		}
		for _, tool := range slices.Sorted(maps.Keys(all.Tools)) {
			for _, member := range all.Tools[tool] {
				if executed.MatchString(member) {
					if got := ask("lines", tool, map[string]string{member: "rm x"}); allowsHook(got) {
						t.Errorf("%s %s: %s with %q is not judged as a command: %s", agent, all.Version, tool, member, got)
					}
				}
			}
			judged := quoted.FindStringSubmatch(ask("closed", tool, map[string]string{}))
			switch {
			case judged == nil && (tool == toolname.Loader || tool == "TaskStop"): // which is allowed there
			case judged == nil:
				t.Errorf("%s: %s is not denied where nothing is allowed", agent, tool)
			case toolname.Names{}.Fault(judged[1], toolname.Restricts) != "":
				t.Errorf("%s %s: %s (%s) is a tool, and a workflow may not name it", agent, all.Version, tool, judged[1])
			}
			if !slices.ContainsFunc(all.Tools[tool], named.MatchString) {
				continue
			}
			if judged == nil {
				continue
			}
			reads, edits := !toolcall.MayChange(m, m.State("a"), judged[1]), toolcall.Edits(m, judged[1])
			isShell := toolcall.Shell(nil, judged[1])
			if known := reads || edits || isShell; known == slices.Contains(unproved, judged[1]) {
				t.Errorf("%s %s: %s (%s) with %q: reads %t, edits %t, and is in the list of unproved ones: %t",
					agent, all.Version, tool, judged[1], all.Tools[tool], reads, edits, !known)
			}
		}
	}
}

// hookOf posts an event of an agent's hook.
func (w *world) hookOf(t testing.TB, agent, workflow string, event map[string]any) string {
	t.Helper()
	body := must[[]byte](t)(json.Marshal(event))
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, w.http+"/v1/hook", bytes.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+w.tokens[auth.Agent])
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Interlock-Agent", agent)
	req.Header.Set("X-Interlock-Workflow", workflow)
	got := w.roundTrip(t, req)
	if got.status != http.StatusOK {
		t.Fatalf("%s: %v", body, got)
	}
	return got.body
}

// publishedTools reads the tools of each agent: those of Claude Code from its package, and those of
// agents that publish no types from the offer of their client to its model.
func publishedTools(t *testing.T) map[string]published {
	t.Helper()
	all := map[string]published{}
	if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(filepath.Join("testdata", "tools.json"))), &all); err != nil {
		t.Fatal(err)
	}
	types := string(must[[]byte](t)(os.ReadFile(filepath.Join(nodeModules(t), "node_modules", "@anthropic-ai", "claude-code", "sdk-tools.d.ts"))))
	called := map[string]string{ // where the type has another name than the tool
		"FileEdit": "Edit", "FileRead": "Read", "FileWrite": "Write", "ListMcpResources": "ListMcpResourcesTool",
		"ReadMcpResource": "ReadMcpResourceTool", "ReadMcpResourceDir": "ReadMcpResourceDirTool",
		"ProposeSkills": "propose_skills",
	}
	var installed struct {
		Version string `json:"version"`
	}
	manifest := filepath.Join(nodeModules(t), "node_modules", "@anthropic-ai", "claude-code", "package.json")
	if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(manifest)), &installed); err != nil || installed.Version != all["claude-code"].Version {
		t.Fatalf("Claude Code %s is installed: look at what is new in it, and name it in testdata/tools.json (%v)", installed.Version, err)
	}
	tools := all["claude-code"].Tools
	member := regexp.MustCompile(`(?m)^  (\w+)\??:`)
	for _, found := range regexp.MustCompile(`(?sm)^export interface (\w+)Input \{\n(.*?)^\}`).FindAllStringSubmatch(types, -1) {
		name := found[1]
		if name == "Mcp" { // of any tool of a server
			continue
		}
		if other := called[name]; other != "" {
			name = other
		}
		tools[name] = []string{}
		for _, m := range member.FindAllStringSubmatch(found[2], -1) {
			tools[name] = append(tools[name], m[1])
		}
	}
	for _, tool := range []string{"Bash", "Monitor", "Read", "Edit", "NotebookEdit"} {
		if len(tools[tool]) == 0 {
			t.Fatalf("the types of Claude Code are of another form: they have no %s", tool)
		}
	}
	for _, tool := range listsOfClaude(t, "Agent", "Bash", "Write") { // which has more than its types
		if _, there := tools[tool]; !there {
			tools[tool] = []string{}
		}
	}
	return all
}

// unregistered are the events of Claude Code that init sets up no hook for, and why that is right.
var unregistered = map[string]string{
	"ConfigChange":        "reports settings that have changed; doctor compares them",
	"CwdChanged":          "reports a folder, which each call names, too",
	"DirectoryAdded":      "reports a folder, which each call names, too",
	"Elicitation":         "asks a person for a value that a server wants",
	"ElicitationResult":   "reports that value",
	"FileChanged":         "reports a file that has changed outside of the client",
	"InstructionsLoaded":  "reports instructions; a command in them has its own event",
	"MessageDisplay":      "reports text",
	"Notification":        "reports text",
	"PermissionDenied":    "reports a call that was not made; an operator who wants it recorded sets it up",
	"PermissionRequest":   "asks about a call that PreToolUse has asked about",
	"PostCompact":         "reports a conversation that was shortened",
	"PostModelSwitch":     "reports a model",
	"PostToolBatch":       "reports calls each of which has its own event",
	"PreCompact":          "asks about a conversation, and runs no tool",
	"PreModelSwitch":      "asks about a model, and runs no tool",
	"SessionEnd":          "reports an end",
	"Setup":               "reports a start without a session",
	"StopFailure":         "reports an end",
	"TaskCompleted":       "reports an entry in the list of tasks",
	"TaskCreated":         "reports an entry in the list of tasks",
	"TeammateIdle":        "reports an agent that waits",
	"UserPromptExpansion": "reports a slash command; a command in its text has its own event",
	"WorktreeCreate":      "replaces what makes a worktree, and runs no tool",
	"WorktreeRemove":      "reports a worktree",
}

// TestPublishedEvents: S13.9. Of each event that the newest Claude Code has, init sets up a hook, or it is
// known that no tool runs by it.
func TestPublishedEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := binary(t, "interlock")
	init := exec.CommandContext(within(t), program, "init", "claude-code", "--yes", "--data-dir", t.TempDir(), dir)
	init.Env = append(cleanEnv(), "XDG_STATE_HOME="+t.TempDir())
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	var settings struct {
		Hooks map[string]any `json:"hooks"`
	}
	if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(filepath.Join(dir, ".claude", "settings.local.json"))), &settings); err != nil {
		t.Fatal(err)
	}
	events := listsOfClaude(t, "PreToolUse", "PostToolUse", "Stop")
	for _, event := range events {
		_, set := settings.Hooks[event]
		if why := unregistered[event]; set == (why != "") {
			t.Errorf("%s: init sets a hook up: %t, and it need not because it %q", event, set, why)
		}
		if hookevent.Of(hookevent.ClaudeCode, event) == hookevent.Unknown {
			t.Errorf("%s is not known", event)
		}
	}
	for _, event := range slices.Concat(slices.Collect(maps.Keys(settings.Hooks)), slices.Collect(maps.Keys(unregistered))) {
		if !slices.Contains(events, event) {
			t.Errorf("Claude Code has no %s", event)
		}
	}
}

// listsOfClaude returns the names in the lists of the installed Claude Code that begin with a name; some list
// has to have the others, too. Its program holds the same lists as the types of its SDK.
func listsOfClaude(t *testing.T, first string, others ...string) (names []string) {
	t.Helper()
	root := filepath.Join(nodeModules(t), "node_modules", "@anthropic-ai")
	programs := must[[]string](t)(filepath.Glob(filepath.Join(root, "claude-code-*", "claude*")))
	if len(programs) == 0 {
		t.Fatalf("no program of Claude Code in %s", root)
	}
	program := must[*os.File](t)(os.Open(programs[0]))
	defer program.Close()
	list := regexp.MustCompile(`\["` + first + `"(,"[A-Za-z_]+")+\]`)
	buffer, kept, whole := make([]byte, 4<<20), 0, false
	for {
		n, err := io.ReadFull(program, buffer[kept:])
		read := buffer[:kept+n]
		for at := 0; ; { // the prefix is cheaper to find than the pattern
			next := bytes.Index(read[at:], []byte(`["`+first+`",`))
			if next < 0 {
				break
			}
			at += next
			var found []string
			if text := list.Find(read[at:min(at+longestList, len(read))]); text != nil && json.Unmarshal(text, &found) == nil {
				names = append(names, found...)
				whole = whole || !slices.ContainsFunc(others, func(name string) bool { return !slices.Contains(found, name) })
			}
			at++
		}
		if err != nil {
			break
		}
		kept = copy(buffer, read[len(read)-longestList:])
	}
	if !whole {
		t.Fatalf("%s has no list of %q and %q", programs[0], first, others)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// longestList is more than any of the lists needs.
const longestList = 8 << 10
