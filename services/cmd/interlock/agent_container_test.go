//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// agentImage is the image of this test's containers: the released program alone,
// without other files.
const agentImage = "localhost/interlock-test-agent"

// container runs the program in containers by the recipe of docs/security.md.
type container struct {
	podman, workspace string
	env               []string
}

// newContainer makes the image. An error says why this machine runs no containers.
func newContainer(t *testing.T, folder, workspace string) (*container, error) {
	t.Helper()
	podman, err := exec.LookPath("podman")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte("FROM scratch\nCOPY interlock /interlock\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), podman, "build", "-q", "-t", agentImage, folder).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(podman, "rmi", "--force", agentImage).Run() })
	c := &container{podman: podman, workspace: workspace}
	if out, err := c.run("", "version"); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return c, nil
}

func (c *container) run(stdin string, args ...string) (string, error) {
	var command []string
	if _, err := exec.LookPath("runc"); err == nil { // crun refuses some machines
		command = append(command, "--runtime", "runc")
	}
	command = append(
		command, "run", "--rm", "-i", "--network", "host", "--user", "1000:1000", "--cap-drop", "all", "--security-opt", "no-new-privileges",
		"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", // the default is more than some machines may give
		"-v", c.workspace+":/shop", "-w", "/shop",
	)
	for _, variable := range c.env {
		command = append(command, "-e", variable)
	}
	cmd := exec.Command(c.podman, append(append(command, agentImage, "/interlock"), args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestAgentInContainer is the other recipe of docs/security.md. The hook of an agent in a
// container works; the data folder and the server's process are not there.
func TestAgentInContainer(t *testing.T) {
	t.Parallel()
	folder, workspace, data := builtFolder(t), t.TempDir(), datadir.Dir(t.TempDir())
	inside, err := newContainer(t, folder, workspace)
	if err != nil {
		t.Skipf("this machine runs no containers: %v", err)
	}
	program := filepath.Join(folder, "interlock")
	up := exec.Command(program, "up", "--presence", "none", "--data-dir", string(data), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGTERM)
		_ = up.Wait()
	})
	at := served(t, data)
	inside.env = []string{"INTERLOCK_HTTP_SERVER=" + at.HTTP, "INTERLOCK_SERVER=" + at.GRPC, "INTERLOCK_TOKEN=" + tokenOf(t, data, "agent")}

	workflow := filepath.Join(workspace, "w.json")
	if err := os.WriteFile(workflow, []byte(`{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["Read"], "on": {"END": "b"}}, "b": {"type": "final"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	register := exec.Command(program, "workflow", "register", workflow, "--data-dir", string(data), "--token", tokenOf(t, data, "operator"))
	if out, err := register.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const call = `{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": %q, "tool_use_id": %q, "tool_input": {"file_path": "a", "content": ""}}`
	for tool, want := range map[string]bool{"Read": false, "Write": true} {
		out, err := inside.run(fmt.Sprintf(call, tool, tool), "hook", "--server", at.HTTP, "--workflow", "w")
		if denied := strings.Contains(out, `"permissionDecision":"deny"`); err != nil || denied != want {
			t.Errorf("%s in the container: %v, %s", tool, err, out)
		}
	}
	if out, err := inside.run("", "validate", "/shop/w.json"); err != nil {
		t.Errorf("the workspace is not there: %v, %s", err, out)
	}
	for _, file := range []string{data.Tokens(), data.Local(), data.TokenKey(), data.Database(), fmt.Sprintf("/proc/%d/environ", up.Process.Pid)} {
		if out, err := inside.run("", "validate", file); err == nil || !strings.Contains(out, "no such file") {
			t.Errorf("the agent in the container sees %s: %v, %s", file, err, out)
		}
	}
	if out, err := inside.run("", "run", "force-state", "run_1", "--state", "b"); err == nil || !strings.Contains(out, "agent") {
		t.Errorf("the agent's token forces: %v, %s", err, out)
	}
}
