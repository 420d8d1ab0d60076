//go:build linux

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// nobody is the user that the agent runs as in this test, when root runs it.
const nobody = 65534

// TestAgentAsAnotherUser is the recipe of docs/security.md. The agent has the address of the
// server and an agent's token: its hook works, and no command for people does. Root runs
// it as another user; others check the modes that keep one out, and run the rest as
// themselves without the data folder.
func TestAgentAsAnotherUser(t *testing.T) {
	t.Parallel()
	public := publicFolder(t)
	program, data := filepath.Join(public, "interlock"), datadir.Dir(filepath.Join(public, "data"))
	if err := os.CopyFS(public, os.DirFS(builtFolder(t))); err != nil {
		t.Fatal(err)
	}
	up := exec.Command(program, "up", "--presence", "none", "--data-dir", string(data), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGTERM)
		_ = up.Wait()
	})
	at := served(t, data)
	agent, approver, operator := tokenOf(t, data, "agent"), tokenOf(t, data, "approver"), tokenOf(t, data, "operator")

	// as runs a command as the agent, who knows where the server is.
	as := func(input string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = "/"
		cmd.Stdin = strings.NewReader(input)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "INTERLOCK_HTTP_SERVER=" + at.HTTP, "INTERLOCK_SERVER=" + at.GRPC, "INTERLOCK_TOKEN=" + agent}
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// owner runs a command as the one who runs the server.
	owner := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, append(args, "--data-dir", string(data))...)
		cmd.Env = append(os.Environ(), "INTERLOCK_TOKEN="+operator)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for name, text := range map[string]string{
		"w.json": `{"id": "w", "initial": "a", "states": {"a": {"on": {"END": "b"}}, "b": {"type": "final"}}}`,
		"p.json": `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(public, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	owner("workflow", "register", filepath.Join(public, "w.json"))
	owner("policy", "put", filepath.Join(public, "p.json"), "--name", "p")
	owner("policy", "attach", "p", "--workflow", "w")
	const write = `{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Write", "tool_use_id": "t", "tool_input": {"file_path": "a", "content": ""}}`
	hook := func(want string) {
		t.Helper()
		if out, err := as(write, program, "hook", "--workflow", "w"); err != nil || !strings.Contains(out, want) {
			t.Errorf("the hook: %v, %s; want %s", err, out, want)
		}
	}
	hook(`Interlock asks people first`)
	id := regexp.MustCompile(`apr_[0-9a-z]{26}`).FindString(owner("approval", "list", "--status", "PENDING", "-o", "json"))
	if out, err := as("", program, "approval", "approve", id); err == nil || !strings.Contains(out, "agent") {
		t.Errorf("approving with the agent's token: %v, %s", err, out)
	}
	hook(`"permissionDecision":"deny"`)
	for _, file := range []string{data.Tokens(), data.Local(), data.TokenKey(), data.Database(), data.Socket()} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v, %v", file, info.Mode(), err)
		}
		if os.Getuid() != 0 {
			continue
		}
		if out, err := as("", "cat", file); err == nil || !strings.Contains(out, "ermission denied") {
			t.Errorf("the agent can read %s: %v", file, err)
		}
		if out, err := as("", "dd", "if=/dev/null", "of="+file, "conv=notrunc"); err == nil || !strings.Contains(out, "ermission denied") {
			t.Errorf("the agent can write %s: %v", file, err)
		}
	}
	if info, err := os.Stat(string(data)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder has %v, %v", info.Mode(), err)
	}
	if os.Getuid() == 0 {
		out, err := as("", "env", "-u", "INTERLOCK_TOKEN", program, "approval", "approve", "x", "--data-dir", string(data))
		if err == nil || strings.Contains(out, approver) {
			t.Errorf("the agent approves by the data folder: %v, %s", err, out)
		}
		if out, err := as("", "kill", "-0", pidText(up.Process.Pid)); err == nil {
			t.Errorf("the agent can signal the server: %s", out)
		}
	}
	// A person decides, and the call passes.
	owner("approval", "approve", id, "--token", approver)
	if out, err := as(write, program, "hook", "--workflow", "w"); err != nil || strings.Contains(out, "deny") {
		t.Errorf("after the approval: %v, %s", err, out)
	}
}

// publicFolder is a folder that every user can look into: those of t.TempDir are for their
// owner only, and would keep the agent out by themselves.
func publicFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "interlock-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func pidText(pid int) string {
	text, _ := json.Marshal(pid)
	return string(text)
}

// served waits for the server of a data folder.
func served(t *testing.T, data datadir.Dir) datadir.Endpoints {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(soon)
	defer tick.Stop()
	for {
		at, err := data.ReadEndpoints()
		if err == nil && at.HTTP != "" {
			if resp, err := http.Get(at.HTTP + "/readyz"); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return at
				}
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no server in %s: %v", data, err)
		case <-tick.C:
		}
	}
}

// tokenOf is the token of a role in a data folder.
func tokenOf(t *testing.T, data datadir.Dir, role string) string {
	t.Helper()
	text, err := os.ReadFile(data.Local())
	if err != nil {
		t.Fatal(err)
	}
	var tokens map[string]string
	if err := json.Unmarshal(text, &tokens); err != nil {
		t.Fatal(err)
	}
	return tokens[role]
}
