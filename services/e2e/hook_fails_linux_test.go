package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// TestFailedHooksBlock: S13.10. Claude Code itself, with the hooks that init writes, makes no call
// when its hook fails, however that ends.
func TestFailedHooksBlock(t *testing.T) {
	t.Parallel()
	claude := claudeCode(t)
	interlock := binary(t, "interlock")
	shared := t.TempDir()
	u := &together{shape: shape{name: "up"}, data: datadir.Dir(filepath.Join(shared, ".interlock"))}
	u.restart(t)
	(&world{shape: &u.shape, namespace: "default"}).as(t, auth.Operator).register(t, reading)

	for name, tc := range map[string]struct {
		program string // that stands for the hook's; the real one by default
		data    string // the data folder of its server
		shared  bool
		args    []string
		says    string // the agent's text; empty where the call is made
	}{
		"allowed":             {data: string(u.data)},
		"denied":              {data: string(u.data), args: []string{"--workflow", "reading-only"}, says: `not allowed in state \"reading\"`},
		"shared, allowed":     {shared: true},
		"shared, not there":   {shared: true, program: "none", says: `Executable not found in $PATH: \"interlock\"`},
		"no server":           {data: t.TempDir(), says: "no server runs"},
		"silent server":       {data: signalling(t, 0), says: "did not answer in time"},
		"killed":              {data: signalling(t, syscall.SIGKILL), says: "blocking because onFailure"},
		"terminated":          {data: signalling(t, syscall.SIGTERM), says: "blocking because onFailure"},
		"hung up":             {data: signalling(t, syscall.SIGHUP), says: "blocking because onFailure"},
		"crashed":             {data: signalling(t, syscall.SIGSEGV), says: "hook error"},
		"stopped":             {data: signalling(t, syscall.SIGSTOP), says: "timed out; blocking because onFailure"},
		"missing":             {program: "none", says: "blocking because onFailure"},
		"not executable":      {program: script(t, "exit 0", 0o600), says: "blocking because onFailure"},
		"not a program":       {program: file(t, "\x00\x00", 0o700), says: "blocking because onFailure"},
		"ends with 1":         {program: script(t, "exit 1", 0o700), says: "blocking because onFailure"},
		"ends with 127":       {program: script(t, "exit 127", 0o700), says: "blocking because onFailure"},
		"ends with 255":       {program: script(t, "exit 255", 0o700), says: "blocking because onFailure"},
		"allows and dies":     {program: script(t, allowance+"; kill -9 $$", 0o700), says: "blocking because onFailure"},
		"allows and ends 1":   {program: script(t, allowance+"; exit 1", 0o700), says: "hook error"},
		"half an answer":      {program: script(t, `printf '{"hookSpecificOutput": '; kill -9 $$`, 0o700), says: "blocking because onFailure"},
		"an unknown decision": {program: script(t, strings.Replace(allowance, `"allow"`, `"allowed"`, 1), 0o700), says: "blocking because onFailure"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, path := t.TempDir(), os.Getenv("PATH")
			init := []string{"init", "claude-code", "--yes"}
			if tc.shared {
				init, dir = append(init, "--shared"), filepath.Join(shared, "ws-"+strings.ReplaceAll(name, " ", "-"))
				if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(string(u.data), filepath.Join(dir, ".interlock"))); err != nil {
					t.Fatal(err)
				}
				if tc.program == "" {
					path = filepath.Dir(interlock) + ":" + path
				}
			} else {
				program := tc.program
				if program == "" {
					program = interlock
				}
				data := tc.data
				if data == "" {
					data = t.TempDir()
				}
				init = append(init, "--binary", program, "--data-dir", data)
			}
			setUp := exec.CommandContext(within(t), interlock, append(append(init, tc.args...), dir)...)
			setUp.Env = append(cleanEnv(), "XDG_STATE_HOME="+t.TempDir())
			if out, err := setUp.CombinedOutput(); err != nil {
				t.Fatalf("init: %v\n%s", err, out)
			}
			read, out := oneCall(t, claude, dir, path, bashCall)
			_, err := os.Stat(filepath.Join(dir, "marker"))
			if made := !errors.Is(err, os.ErrNotExist); made != (tc.says == "") {
				t.Errorf("the call was made: %t\n%s", made, out)
			}
			if !strings.Contains(read, tc.says) {
				t.Errorf("the agent reads %s, and not %q", read, tc.says)
			}
		})
	}
}

// allowance prints a hook's answer that allows.
const allowance = `echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}'`

// claudeCode returns the client that is pinned in clients/package.json.
func claudeCode(t *testing.T) string {
	t.Helper()
	program := filepath.Join(nodeModules(t), "node_modules", ".bin", "claude")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run `npm ci` in services/e2e/clients", err)
	}
	return program
}

// modelCall is a call that a model makes.
type modelCall struct {
	tool  string
	input map[string]string
}

var bashCall = modelCall{"Bash", map[string]string{"command": "touch marker", "description": "Makes a file"}}

// oneCall has Claude Code make one call in a workspace, and returns the agent's view of
// it, and the output. Its model answers from this process.
func oneCall(t *testing.T, claude, dir, path string, call modelCall) (read, output string) {
	t.Helper()
	model := &oneToolCall{modelCall: call}
	out, err := prompted(t, claude, dir, path, "go", model)
	if err != nil {
		t.Fatalf("claude: %v\n%s", err, out)
	}
	if model.result == "" {
		t.Fatalf("the agent reads no result:\n%s", out)
	}
	return model.result, out
}

// prompted gives Claude Code a prompt.
func prompted(t *testing.T, claude, dir, path, prompt string, model *oneToolCall) (output string, err error) {
	t.Helper()
	server := httptest.NewServer(model)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := exec.CommandContext(ctx, claude, "-p", prompt, "--allowedTools", "Bash,Skill", "--strict-mcp-config")
	run.Dir = dir
	run.Env = []string{
		"PATH=" + path, "HOME=" + t.TempDir(), "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=none", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	out, err := run.CombinedOutput()
	return string(out), err
}

// oneToolCall is a model that makes one call, and keeps the request with its result. Without a tool it
// makes none.
type oneToolCall struct {
	modelCall
	id     string // of the call; one by default
	result string
}

func (m *oneToolCall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Stream   bool `json:"stream"`
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if json.NewDecoder(r.Body).Decode(&request) != nil {
		request.Tools = nil
	}
	if len(request.Tools) > 0 {
		last := string(request.Messages[len(request.Messages)-1].Content)
		if strings.Contains(last, `"tool_result"`) {
			m.result = last
		}
	}
	m.answer(w, len(request.Tools) > 0)
}

// answer makes the call, or says that it is done.
func (m *oneToolCall) answer(w http.ResponseWriter, agent bool) {
	if !agent { // a title, or another request
		fmt.Fprint(w, `{"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "ok"}],
			"stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}`)
		return
	}
	block, delta, stop := `{"type": "text", "text": ""}`, map[string]any{"type": "text_delta", "text": "done"}, "end_turn"
	if m.result == "" && m.tool != "" {
		input, _ := json.Marshal(m.input) // texts always encode
		block, stop = `{"type": "tool_use", "id": "`+cmp.Or(m.id, "toolu_1")+`", "name": "`+m.tool+`", "input": {}}`, "tool_use"
		delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
	}
	change, _ := json.Marshal(delta)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range [][2]string{
		{"message_start", `{"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
			"stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}}}`},
		{"content_block_start", `{"type": "content_block_start", "index": 0, "content_block": ` + block + `}`},
		{"content_block_delta", `{"type": "content_block_delta", "index": 0, "delta": ` + string(change) + `}`},
		{"content_block_stop", `{"type": "content_block_stop", "index": 0}`},
		{"message_delta", `{"type": "message_delta", "delta": {"stop_reason": "` + stop + `", "stop_sequence": null}, "usage": {"output_tokens": 1}}`},
		{"message_stop", `{"type": "message_stop"}`},
	} {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e[0], strings.ReplaceAll(e[1], "\n", " "))
	}
}

// signalling returns the data folder of a server that answers no question about a call, and sends a
// signal, if it is one, to each process that asks it.
func signalling(t *testing.T, signal syscall.Signal) string {
	t.Helper()
	d := datadir.Dir(must[string](t)(os.MkdirTemp("", "ilk"))) // sockets need short paths
	t.Cleanup(func() { _ = os.RemoveAll(string(d)) })
	lis := must[net.Listener](t)(net.Listen("unix", d.Socket()))
	err := errors.Join(os.WriteFile(d.Local(), []byte(`{"agent": "ils_aaaaaaaaaaaaaaaaaaaaaaaa"}`), 0o600),
		d.WriteEndpoints(datadir.Endpoints{Socket: d.Socket()}))
	if err != nil {
		t.Fatal(err)
	}
	type caller struct{}
	server := &http.Server{
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, caller{}, peer(conn))
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			event, _ := io.ReadAll(r.Body)
			if !bytes.Contains(event, []byte(`"PreToolUse"`)) {
				fmt.Fprint(w, `{"exit": 0}`)
				return
			}
			if pid, _ := r.Context().Value(caller{}).(int); signal != 0 {
				_ = syscall.Kill(pid, signal)
			}
			<-r.Context().Done()
		}),
	}
	go func() { _ = server.Serve(lis) }()
	t.Cleanup(func() { _ = server.Close() })
	return string(d)
}

// peer is the process at the other end.
func peer(conn net.Conn) (pid int) {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return 0
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if who, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(who.Pid)
		}
	})
	return pid
}

// script returns a program of a line of a shell, and file a file.
func script(t *testing.T, line string, mode os.FileMode) string {
	t.Helper()
	return file(t, "#!/bin/sh\n"+line+"\n", mode)
}

func file(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "interlock")
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return name
}
