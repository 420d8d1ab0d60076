package e2e

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// published are the tools of a coding agent that init knows, with the members of their inputs.
type published struct {
	Version string              `json:"version"`
	Event   string              `json:"event"` // before a call
	Tools   map[string][]string `json:"tools"`
}

// Members of inputs by what they hold: what is executed, and names of files.
var (
	executed = regexp.MustCompile(`(?i)^(commands?|cmd|script|script_?path|code|source_code|chars|keys|stdin|program|shell|exec)$`)
	named    = regexp.MustCompile(`(?i)(^|_)(path|paths|file|files|dir|folder|filename)$|path$`)
)

// unproved are tools with names of files that are taken for ones that may change them: nothing is
// known of what they do with their files, or they change them in a way that is not measured.
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
			if !slices.ContainsFunc(all.Tools[tool], named.MatchString) {
				continue
			}
			judged := quoted.FindStringSubmatch(ask("closed", tool, map[string]string{}))
			if judged == nil {
				t.Errorf("%s: %s is not denied where nothing is allowed", agent, tool)
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
// agents that publish no types from what a client of theirs offers its model.
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
	}
	tools := all["claude-code"].Tools
	member := regexp.MustCompile(`(?m)^  (\w+)\??:`)
	for _, found := range regexp.MustCompile(`(?sm)^export interface (\w+)Input \{\n(.*?)^\}`).FindAllStringSubmatch(types, -1) {
		name := found[1]
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
	return all
}
