package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// TestSessionsStartFromAgents: `session create --agent` and the runner make a session from its
// agent: workflow, policy, component and the data for the runtime (S15.10).
func TestSessionsStartFromAgents(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	folder := t.TempDir()
	cli := func(env []string, args ...string) (string, error) {
		cmd := exec.CommandContext(within(t), binary(t, "interlock"), args...)
		cmd.Dir = folder
		cmd.Env = append(append(cleanEnv(), "INTERLOCK_DATA="+string(u.data)), env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	operator := []string{"INTERLOCK_TOKEN=" + u.tokens[auth.Operator]}
	ok := func(args ...string) string {
		t.Helper()
		out, err := cli(operator, args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	wants := func(out string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(out, word) {
				t.Errorf("%q is not in\n%s", word, out)
			}
		}
	}
	for name, text := range map[string]string{
		"case.json":    `{"id": "case", "initial": "reading", "states": {"reading": {"model": "m2", "thinking_level": "high", "allowed_tools": ["Read", "Bash"], "on": {"DONE": "over"}}, "over": {"type": "final"}}}`,
		"careful.json": `{"role": "agent", "name": "careful", "deny": [{"capability": "bash"}]}`,
		"memory.json":  `{"name": "Memory", "slug": "memory", "persistence": "session", "schema_definition": {"seen": {"type": "integer"}}, "initial_values": {"seen": 7}}`,
		"support.yaml": "name: support\nmodel_ref: m1\ninstructions: Be kind.\ntool_refs: [Read]\nstate_refs: [memory]\nworkflow: case\npolicy: careful\nenable_conversations: true\n",
		"worse.json":   `{"name": "support", "modelref": "m1"}`,
		"agent.sh": `cat >/dev/null
{ env | grep -e ^INTERLOCK_AGENT= -e ^INTERLOCK_MODEL= -e ^INTERLOCK_THINKING_LEVEL= -e ^INTERLOCK_INSTRUCTIONS= -e ^INTERLOCK_TOOLS= -e ^INTERLOCK_CONVERSATIONS= | sort
cat "$INTERLOCK_COMPONENT_FILE"; interlock run list --session "$INTERLOCK_SESSION" -o json; } >told.tmp; mv told.tmp told
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ok("workflow", "register", "case.json")
	ok("policy", "put", "careful.json")
	wants(ok("component", "create", "memory.json", "-o", "json"), `"component_id": "comp_`)
	wants(ok("agent", "create", "support.yaml"), "created", "support", "version 1")
	wants(ok("agent", "list"), "support", "m1", "case", "careful")
	wants(ok("agent", "get", "support", "-o", "json"), `"agent_id": "agent_`, `"created_at"`, `"updated_at"`, `"enable_conversations": true`)
	if out, err := cli(operator, "agent", "update", "worse.json"); err == nil || !strings.Contains(out, "modelref") {
		t.Errorf("a field that is not known: %v\n%s", err, out)
	}

	wants(ok("session", "create", "case-1", "--agent", "support"), "support", "memory")
	ok("session", "create", "case-1", "--agent", "support") // the same again
	wants(ok("run", "list", "--session", "case-1", "-o", "json"), `"workflow": "case"`, `"state": "reading"`)
	run := strings.TrimSpace(ok("run", "list", "--session", "case-1", "-q"))
	if strings.Contains(run, "\n") {
		t.Errorf("its runs are %s", run)
	}
	agent := []string{"INTERLOCK_TOKEN=" + u.tokens[auth.Agent]}
	if out, err := cli(agent, "check", "Read", "--run", run); err != nil {
		t.Errorf("Read: %v\n%s", err, out)
	}
	if out, err := cli(agent, "check", "Bash", "--run", run, "--input", `{"command": "ls"}`); err == nil || !strings.Contains(out, "careful") {
		t.Errorf("Bash: %v\n%s", err, out)
	}

	// A session that was created over REST is set up by the runner.
	req := exec.CommandContext(within(t), "curl", "-sf", "-H", "Authorization: Bearer "+u.tokens[auth.Operator],
		"-H", "Content-Type: application/json", "-d", `{"session_name": "case-2", "agent": "support", "prompt": "Help."}`, u.http+"/v1/sessions")
	wants(string(must[[]byte](t)(req.Output())), `"agent":"support"`, `"state_ref":"memory"`)
	runner := exec.CommandContext(t.Context(), binary(t, "interlock"), "runner", "--exec", "sh agent.sh", "--name", "desk")
	runner.Dir = folder
	runner.Env = append(append(cleanEnv(), "INTERLOCK_DATA="+string(u.data), "PATH="+filepath.Dir(binary(t, "interlock"))+string(os.PathListSeparator)+os.Getenv("PATH")), operator...)
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = runner.Process.Signal(os.Interrupt)
		_ = runner.Wait()
	})
	var told []byte
	eventually(t, "the agent is told", func() (err error) {
		told, err = os.ReadFile(filepath.Join(folder, "told"))
		return err
	})
	wants(string(told), "INTERLOCK_AGENT=support\nINTERLOCK_CONVERSATIONS=true\nINTERLOCK_INSTRUCTIONS=Be kind.\nINTERLOCK_MODEL=m2\nINTERLOCK_THINKING_LEVEL=high\nINTERLOCK_TOOLS=[\"Read\"]\n",
		`{"seen":7}`, `"workflow": "case"`)
	wants(ok("agent", "delete", "support"), "deleted")
	if out, err := cli(operator, "session", "create", "case-3", "--agent", "support"); err == nil || !strings.Contains(out, "there is no agent") {
		t.Errorf("from one that is not there: %v\n%s", err, out)
	}
}
