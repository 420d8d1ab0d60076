package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// killedWalk is a workflow that has everything: an interrupt, a fork whose
// branches two connections work in, and an invoke.
const killedWalk = `{
  "id": "everything", "initial": "working", "context": {"n": 1},
  "interrupts": {"sql": {"trigger": {"file_pattern": "db/*.sql"}, "target": "checking"}},
  "states": {
    "working": {"allowed_tools": ["mcp__files__write_file"], "max_iterations": 2, "on": {"BUILT": {"fork": {
      "branches": {"lint": {"initial": "linting", "terminal": "linted"}, "types": {"initial": "typing", "terminal": "typed"}},
      "on_complete": "testing", "on_fail": "failed"}}}},
    "checking": {"allowed_tools": ["mcp__files__list_directory"], "instructions": "Look at the folder.", "on": {"CHECKED": "$return"}},
    "linting": {"allowed_tools": ["mcp__files__read_text_file"], "on": {"OK": "linted"}}, "linted": {"type": "final"},
    "typing": {"allowed_tools": ["mcp__files__list_directory"], "on": {"OK": "typed"}}, "typed": {"type": "final"},
    "testing": {"allowed_tools": [], "on": {"TEST": {"invoke": "everything-suite", "on_complete": "ready", "on_fail": "failed"}}},
    "ready": {"allowed_tools": [], "on": {"SHIP": "shipped"}},
    "shipped": {"type": "final"}, "failed": {"type": "final"}
  }
}`

const killedSuite = `{"id": "everything-suite", "initial": "unit", "states": {
  "unit": {"allowed_tools": ["mcp__files__list_directory"], "on": {"GREEN": "green"}}, "green": {"type": "final"}}}`

// TestLanguageSurvivesKills walks a real MCP client through all of it with the
// server killed and started again between every two steps. It must end as if
// no kill had happened.
func TestLanguageSurvivesKills(t *testing.T) {
	t.Parallel()
	var undisturbed, killed string
	t.Run("walks", func(t *testing.T) {
		t.Run("undisturbed", func(t *testing.T) {
			t.Parallel()
			undisturbed = walkEverything(t, false)
		})
		t.Run("killed", func(t *testing.T) {
			t.Parallel()
			killed = walkEverything(t, true)
		})
	})
	if killed != undisturbed {
		t.Errorf("with kills it ended as\n%s\nwithout as\n%s", killed, undisturbed)
	}
}

func walkEverything(t *testing.T, kills bool) string {
	clients := nodeModules(t)
	files := t.TempDir()
	u := startUp(t, "--mcp-config", upstreams(t, clients, files))
	w := &world{shape: &u.shape, namespace: "default"}
	operator := w.as(t, auth.Operator)
	operator.register(t, killedWalk)
	operator.register(t, killedSuite)
	client := startWalker(t, clients)
	migration := filepath.Join(files, "db", "..", "db", "1.sql")
	if err := os.Mkdir(filepath.Join(files, "db"), 0o750); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		session, tool string
		args          map[string]any
		refused       bool
		says          string
	}{
		{"main", "load_workflow", map[string]any{"name": "everything"}, false, `working`},
		{"main", "mcp__files__write_file", map[string]any{"path": filepath.Join(files, "a.go"), "content": "a"}, false, `wrote`},
		{"main", "mcp__files__write_file", map[string]any{"path": migration, "content": "create"}, false, `(?s)wrote.*\[INTERLOCK INTERRUPT\].*checking.*list_directory.*CHECKED.*Look at the folder`},
		{"main", "mcp__files__write_file", map[string]any{"path": migration, "content": "again"}, true, `checking`},
		{"main", "mcp__files__list_directory", map[string]any{"path": files}, false, `a\.go`},
		{"main", "transition", map[string]any{"event": "CHECKED"}, false, `working`},
		{"main", "mcp__files__write_file", map[string]any{"path": filepath.Join(files, "b.go"), "content": "b"}, false, `wrote`},
		{"main", "mcp__files__write_file", map[string]any{"path": filepath.Join(files, "c.go"), "content": "c"}, false, `wrote`},
		{"main", "mcp__files__write_file", map[string]any{"path": filepath.Join(files, "d.go"), "content": "d"}, true, `2`},
		{"main", "transition", map[string]any{"event": "BUILT", "data": map[string]any{"built": true}}, false, `linting`},
		{"other", "load_workflow", map[string]any{"name": "everything", "branch": "types"}, false, `typing`},
		{"other", "mcp__files__read_text_file", map[string]any{"path": filepath.Join(files, "a.go")}, true, `typing`},
		{"main", "mcp__files__read_text_file", map[string]any{"path": filepath.Join(files, "a.go")}, false, `a`},
		{"other", "mcp__files__list_directory", map[string]any{"path": files}, false, `a\.go`},
		{"main", "transition", map[string]any{"event": "OK", "data": map[string]any{"lint": "clean"}}, false, `(?i)wait`},
		{"main", "mcp__files__read_text_file", map[string]any{"path": filepath.Join(files, "a.go")}, true, `(?i)wait`},
		{"other", "transition", map[string]any{"event": "OK", "data": map[string]any{"types": "sound"}}, false, `(?i)joined|testing`},
		{"other", "transition", map[string]any{"event": "BRANCH_DONE:types"}, false, `(?i)complete`},
		{"main", "get_state", nil, false, `testing`},
		{"main", "transition", map[string]any{"event": "TEST"}, false, `unit`},
		{"main", "mcp__files__list_directory", map[string]any{"path": files}, false, `a\.go`},
		{"main", "transition", map[string]any{"event": "GREEN", "data": map[string]any{"passed": 3}}, false, `ready`},
		{"main", "transition", map[string]any{"event": "SHIP"}, false, `COMPLETED`},
	} {
		if kills {
			u.process.kill()
			u.restart(t)
		}
		got := client.call(t, map[string]any{
			"url": u.http, "token": u.tokens[auth.Agent], "session": step.session, "workspace": files, "tool": step.tool, "arguments": step.args,
		})
		if got.IsError != step.refused || !regexp.MustCompile(step.says).MatchString(got.Text) {
			t.Fatalf("step %d, %s %s %v: refused %t: %s\nwant refused %t, saying %s",
				i+1, step.session, step.tool, step.args, got.IsError, got.Text, step.refused, step.says)
		}
	}
	c := w.as(t, auth.Agent)
	run := must[*enginev1.GetRunResponse](t)(c.runs.GetRun(within(t), &enginev1.GetRunRequest{SessionId: "main"})).GetRun()
	return ending(t, c, run.GetRunId())
}

// ending is the end of a run, without ids and times.
func ending(t *testing.T, c *caller, id string) string {
	t.Helper()
	run := c.get(t, id)
	text := fmt.Sprintf("%s %s %s after %d transitions\n", run.GetStatus(), run.GetState(), run.GetContext(), run.GetTransitionCount())
	for _, e := range c.history(t, id) {
		text += fmt.Sprintf("%d %s %s %s %s->%s %s %d joins %s\n",
			e.GetRunVersion(), e.GetType(), e.GetBranch(), e.GetEvent(), e.GetFrom(), e.GetTo(), e.GetStatus(), len(e.GetJoins()), e.GetInterrupt())
	}
	return text
}

// walker is the Node client of clients/walker.mjs.
type walker struct {
	in  io.Writer
	out *bufio.Scanner
}

func startWalker(t *testing.T, clients string) *walker {
	t.Helper()
	node := exec.CommandContext(t.Context(), "node", "walker.mjs")
	node.Dir, node.Env = clients, cleanEnv()
	in, out := must[io.WriteCloser](t)(node.StdinPipe()), must[io.ReadCloser](t)(node.StdoutPipe())
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = node.Wait()
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &walker{in, lines}
}

type said struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError"`
}

func (w *walker) call(t *testing.T, request map[string]any) said {
	t.Helper()
	if _, err := fmt.Fprintf(w.in, "%s\n", must[[]byte](t)(json.Marshal(request))); err != nil {
		t.Fatal(err)
	}
	if !w.out.Scan() {
		t.Fatalf("the client ended: %v", w.out.Err())
	}
	var got said
	if err := json.Unmarshal(w.out.Bytes(), &got); err != nil {
		t.Fatalf("%s: %v", w.out.Bytes(), err)
	}
	return got
}
