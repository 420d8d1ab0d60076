package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	interlock "github.com/interlock-run/interlock/pkg/sdk"
	"github.com/interlock-run/interlock/services/internal/jailer/needtest"
)

// jailed is a workflow whose first state reads, and whose second writes.
const jailed = `{
	"id": "jailed", "initial": "reading",
	"states": {
		"reading": {"allowed_tools": ["Bash", "Read"], "on": {"WRITE": "writing"}},
		"writing": {"allowed_tools": ["Bash", "Edit", "Write"], "on": {"TALK": "talking"}},
		"talking": {"allowed_tools": ["Read"], "on": {"DONE": "done"}},
		"done": {"type": "final"}
	}
}`

// needsJail skips a test where this machine has no jail of a level, and returns its level.
func needsJail(t *testing.T, least int) int {
	t.Helper()
	program := binary(t, "interlock") // may take longer than it has
	out, err := exec.CommandContext(within(t), program, "jail", "probe", "--json").Output()
	var has struct {
		Level   int
		Missing string
	}
	if err != nil || json.Unmarshal(out, &has) != nil {
		t.Fatalf("probe: %v, %s", err, out)
	}
	if has.Level < least {
		needtest.Missing(t, has.Missing)
	}
	return has.Level
}

// TestMCPShell: S20.12. The shell of interlock mcp runs commands in the jail of the state: a state that only reads
// keeps its files, and one that writes changes them.
func TestMCPShell(t *testing.T) {
	t.Parallel()
	level := needsJail(t, 3)
	u := startUp(t)
	folder := must[string](t)(filepath.EvalSymlinks(t.TempDir()))
	(&world{shape: &u.shape, namespace: "default"}).as(t, auth.Operator).register(t, jailed)
	cmd := exec.Command(binary(t, "interlock"), "mcp", "--data-dir", string(u.data), "--session", "shell", "--workspace", folder)
	cmd.Dir, cmd.Env = folder, append(cleanEnv(), "GH_TOKEN=secret")
	log := &capture{}
	cmd.Stderr = log
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session := must[*sdk.ClientSession](t)(client.Connect(within(t), &sdk.CommandTransport{Command: cmd}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-06-18"}))
	t.Cleanup(func() {
		session.Close()
		if t.Failed() {
			t.Log(log)
		}
	})
	call := func(tool string, arguments map[string]any) (string, *sdk.CallToolResult) {
		t.Helper()
		result := must[*sdk.CallToolResult](t)(session.CallTool(within(t), &sdk.CallToolParams{Name: tool, Arguments: arguments}))
		var text []string
		for _, content := range result.Content {
			if is, ok := content.(*sdk.TextContent); ok {
				text = append(text, is.Text)
			}
		}
		return strings.Join(text, "\n"), result
	}
	shell := func(line string) (string, *sdk.CallToolResult) {
		t.Helper()
		return call("shell", map[string]any{"command": line})
	}
	offers := func() bool {
		list := must[*sdk.ListToolsResult](t)(session.ListTools(within(t), nil))
		return slices.ContainsFunc(list.Tools, func(tool *sdk.Tool) bool { return tool.Name == "shell" })
	}
	if offers() {
		t.Error("it is listed without a workflow")
	}
	const discards = "Command lines run in a jail: changes of files are discarded when the line ends, there is no network, and programs end with their line."
	if text, result := call("load_workflow", map[string]any{"name": "jailed"}); result.IsError || !strings.Contains(text, discards) {
		t.Fatal(text)
	}
	if text, _ := call("get_state", map[string]any{}); !strings.Contains(text, discards) {
		t.Errorf("the agent does not read of its jail: %s", text)
	}
	if !offers() {
		t.Error("it is not listed where Bash is allowed")
	}
	unknown := "python3 -c 'open(\"made\", \"w\").write(\"x\"); import os; print(os.path.exists(\"made\"), os.environ.get(\"GH_TOKEN\"))'"
	text, result := shell(unknown)
	structured, _ := result.StructuredContent.(map[string]any)
	if result.IsError || !strings.Contains(text, "True None") || structured["jail_level"] != float64(level) {
		t.Errorf("in a state that reads: %s, %v", text, structured)
	}
	if _, err := os.Stat(folder + "/made"); err == nil {
		t.Error("a state that reads has changed the workspace")
	}
	if !strings.Contains(text, "made") || !strings.Contains(strings.ToLower(text), "discard") {
		t.Errorf("nothing is said of what was discarded: %s", text)
	}
	if text, result := shell("exit 5"); !result.IsError || !strings.Contains(text, "Exit status: 5") {
		t.Error(text)
	}
	if text, result := shell("rm -rf " + folder); !result.IsError || !strings.Contains(text, "COMMAND_WRITES") {
		t.Errorf("what certainly writes is refused: %s", text)
	}
	if text, _ := call("transition", map[string]any{"event": "WRITE"}); !strings.HasSuffix(text, "Command lines run in a jail: programs end with their line.") {
		t.Errorf("the agent does not read of its next jail: %s", text)
	}
	if text, result := shell(unknown); result.IsError {
		t.Error(text)
	}
	if _, err := os.Stat(folder + "/made"); err != nil {
		t.Error("a state that writes: ", err)
	}
	if text, result := shell("ls -la " + string(u.data) + "; cat " + u.data.Local()); strings.Contains(text, "local.json\n") || !result.IsError {
		t.Errorf("the data folder can be read: %s", text)
	}
	if text, _ := call("transition", map[string]any{"event": "TALK"}); strings.Contains(text, "in a jail") {
		t.Errorf("a state without commands: %s", text)
	}
	if text, result := shell("true"); offers() || !result.IsError || !strings.Contains(text, "TOOL_NOT_ALLOWED") {
		t.Errorf("where Bash is not allowed: %s", text)
	}
}

// TestMCPShellGivesEvidenceOfFiles: S14.9, S20.12. Tests in the shell of interlock mcp are evidence of the files that they saw: a change from
// outside voids it, and taking the change back makes it hold again.
func TestMCPShellGivesEvidenceOfFiles(t *testing.T) {
	t.Parallel()
	needsJail(t, 3)
	j := startInJails(t)
	j.operator.register(t, shipped)
	cmd := exec.Command(binary(t, "interlock"), "mcp", "--data-dir", string(j.u.data), "--session", "s", "--workspace", j.dir)
	cmd.Dir, cmd.Env = j.dir, cleanEnv()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session := must[*sdk.ClientSession](t)(client.Connect(within(t), &sdk.CommandTransport{Command: cmd}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-06-18"}))
	t.Cleanup(func() { session.Close() })
	call := func(tool string, arguments map[string]any) *sdk.CallToolResult {
		t.Helper()
		return must[*sdk.CallToolResult](t)(session.CallTool(within(t), &sdk.CallToolParams{Name: tool, Arguments: arguments}))
	}
	text := func(result *sdk.CallToolResult) string { return string(must[[]byte](t)(json.Marshal(result.Content))) }
	ship := func() string { return text(call("transition", map[string]any{"event": "SHIP"})) }
	call("load_workflow", map[string]any{"name": "shipped"})
	call("transition", map[string]any{"event": "PLANNED"})
	if got := call("shell", map[string]any{"command": "sh tests.sh"}); got.IsError {
		t.Fatal(text(got))
	}
	file := filepath.Join(j.dir, "a.txt")
	if evidence := j.evidence(); len(evidence) != 1 || !evidence[0].GetHeld() || evidence[0].GetTree() == "" {
		t.Errorf("after the tests: %v", evidence)
	}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("changed\n")
	if got := ship(); !strings.Contains(got, "tested") {
		t.Errorf("it ships what was not tested: %s", got)
	}
	write("a\n")
	if got := ship(); !strings.Contains(got, "Accepted") {
		t.Errorf("it does not ship what was tested: %s", got)
	}
}

// TestGuardedCommandRuns: S20.13. The command that the SDK returns runs its line once, in the jail of the state,
// and the jail's word is the outcome.
func TestGuardedCommandRuns(t *testing.T) {
	t.Parallel()
	needsJail(t, 3)
	u := startUp(t)
	folder := must[string](t)(filepath.EvalSymlinks(t.TempDir()))
	operator := (&world{shape: &u.shape, namespace: "default"}).as(t, auth.Operator)
	operator.register(t, jailed)
	operator.begin(t, &enginev1.StartRunRequest{Workflow: "jailed", SessionId: "guarded", Workspace: folder})
	client := must[*interlock.Client](t)(interlock.Dial(u.engines[0], interlock.Options{
		Token: u.tokens[auth.Agent], Session: "guarded", Jail: interlock.JailOptions{Program: binary(t, "interlock")},
	}))
	defer client.Close()
	run := func(c interlock.Command) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(within(t), c.Argv[0], c.Argv[1:]...)
		cmd.Dir, cmd.Env = folder, append(cleanEnv(), "INTERLOCK_DATA="+string(u.data))
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	reads := must[interlock.Command](t)(client.GuardCommand(within(t), "cat /etc/hostname; pwd; ls", interlock.InFolder(folder), interlock.JailRequired()))
	if out, status := run(reads); status != 0 || !strings.Contains(out, folder) {
		t.Errorf("%d: %s", status, out)
	}
	if out, status := run(reads); status != 126 || !strings.Contains(out, "was not run") {
		t.Errorf("it has run twice: %d: %s", status, out)
	}
	if report, err := client.Report(within(t), reads.Decision, interlock.Result{Output: []byte("x")}, true); err != nil || !report.Accounted {
		t.Errorf("%+v, %v", report, err)
	}
	other := must[interlock.Command](t)(client.GuardCommand(within(t), "pwd", interlock.InFolder(folder)))
	other.Argv[len(other.Argv)-1] = "touch made"
	if out, status := run(other); status != 126 {
		t.Errorf("another line has run: %d: %s", status, out)
	}
	var denied *interlock.DeniedError
	if _, err := client.GuardCommand(within(t), "rm -rf .", interlock.InFolder(folder)); !errors.As(err, &denied) {
		t.Error(err)
	}
	must[*interlock.Run](t)(client.Transition(within(t), "WRITE", nil))
	writes := must[interlock.Command](t)(client.GuardCommand(within(t), interlock.Line("touch", "it's made"), interlock.InFolder(folder)))
	if out, status := run(writes); status != 0 {
		t.Errorf("%d: %s", status, out)
	}
	if _, err := os.Stat(folder + "/it's made"); err != nil {
		t.Error(err)
	}
}

// TestRunnerJail: S20.14. An agent that a runner starts in a jail changes its working folder, and neither its
// home nor the data folder; its hooks work, and jails for its commands can be made in the jail.
func TestRunnerJail(t *testing.T) {
	t.Parallel()
	needsJail(t, 3)
	u := startUp(t)
	interlock := binary(t, "interlock")
	folder, home := must[string](t)(filepath.EvalSymlinks(t.TempDir())), must[string](t)(filepath.EvalSymlinks(t.TempDir()))
	(&world{shape: &u.shape, namespace: "default"}).as(t, auth.Operator).register(t, jailed)
	script := strings.NewReplacer("IL", interlock, "DATA", string(u.data)).Replace(`
exec > told 2>&1
IL jail probe --json
echo x > made; echo x > DATA/evil; echo x > $HOME/evil
printf '{"session_id":"agent","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"ls"}}' $PWD |
	env -u INTERLOCK_SERVER -u INTERLOCK_HTTP_SERVER -u INTERLOCK_TOKEN AI_AGENT=claude-code_2-1-332_harness IL hook --data-dir DATA --workflow jailed
`)
	if err := os.WriteFile(filepath.Join(folder, "agent.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(cleanEnv(), "INTERLOCK_DATA="+string(u.data), "INTERLOCK_TOKEN="+u.tokens[auth.Operator], "HOME="+home)
	runner := exec.CommandContext(t.Context(), interlock, "runner", "--exec", "sh agent.sh; echo ended > ended", "--jail", "required")
	runner.Dir, runner.Env = folder, env
	log := &capture{}
	runner.Stdout, runner.Stderr = log, log
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = runner.Process.Signal(os.Interrupt)
		_ = runner.Wait()
		if t.Failed() {
			t.Log(log)
		}
	})
	create := exec.CommandContext(within(t), interlock, "session", "create", "agent", "--prompt", "x")
	create.Env = env
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually(t, "the agent has ended", func() error {
		_, err := os.Stat(filepath.Join(folder, "ended"))
		return err
	})
	told := string(must[[]byte](t)(os.ReadFile(filepath.Join(folder, "told"))))
	if !strings.Contains(told, `"level":2`) && !strings.Contains(told, `"level":3`) {
		t.Errorf("the jail in the jail: %s", told)
	}
	if !strings.Contains(told, `"updatedInput"`) {
		t.Errorf("the hook: %s", told)
	}
	for path, want := range map[string]bool{folder + "/made": true, string(u.data) + "/evil": false, home + "/evil": false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
