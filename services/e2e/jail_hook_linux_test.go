package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/jailer/needtest"
)

// planned is a workflow whose first state only reads, and needs tests that a jail has witnessed.
const planned = `{"id": "planned", "initial": "plan", "guards": {"tested": {"evidence": "tests"}}, "evidence": {"tests": {"tool": "Bash", "command": "sh tests.sh", "after": "edit"}},
	"states": {"plan": {"allowed_tools": ["Read", "Bash"], "on": {"GO": {"target": "done", "guard": "tested"}}}, "done": {"type": "final"}}}`

// inJails is a workspace whose agent's lines run in jails.
type inJails struct {
	*testing.T
	u        *together
	operator *caller
	dir      string
	workflow string
	calls    int
}

func startInJails(t *testing.T) *inJails {
	t.Helper()
	u := startUp(t)
	if out := must[[]byte](t)(exec.CommandContext(within(t), binary(t, "interlock"), "jail", "probe", "--json").Output()); !bytes.Contains(out, []byte(`"level":3`)) {
		needtest.Missing(t, string(out))
	}
	j := &inJails{T: t, u: u, workflow: "planned", dir: must[string](t)(filepath.EvalSymlinks(t.TempDir()))}
	j.operator = (&world{shape: &u.shape, namespace: "default"}).as(t, auth.Operator)
	j.operator.register(t, planned)
	for name, text := range map[string]string{"tests.sh": "echo tested\n", "a.txt": "a\n"} {
		if err := os.WriteFile(filepath.Join(j.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// hooked is the line that the hook makes of one; empty where it denies.
func (j *inJails) hooked(line string) (wrapped, answer string) {
	j.Helper()
	out := j.hookedBy(line, "claude-code_2-1-332_harness")
	var said struct {
		Specific struct {
			Input struct {
				Command string `json:"command"`
			} `json:"updatedInput"`
		} `json:"hookSpecificOutput"`
	}
	_ = json.Unmarshal([]byte(out), &said) // a denial has no input
	return said.Specific.Input.Command, out
}

// hookedBy is the hook's answer to a client. One whose version is not known has no jail.
func (j *inJails) hookedBy(line, client string) string {
	j.Helper()
	j.calls++
	cmd := exec.CommandContext(within(j), binary(j, "interlock"), "hook", "--data-dir", string(j.u.data), "--workflow", j.workflow)
	cmd.Env = append(cleanEnv(), "AI_AGENT="+client)
	cmd.Stdin = bytes.NewReader(must[[]byte](j)(json.Marshal(map[string]any{
		"session_id": "s", "hook_event_name": "PreToolUse", "cwd": j.dir, "tool_name": "Bash",
		"tool_input": map[string]any{"command": line}, "tool_use_id": fmt.Sprint("call", j.calls),
	})))
	out, err := cmd.CombinedOutput()
	if err != nil {
		j.Fatalf("hook: %v\n%s", err, out)
	}
	return string(out)
}

// sh runs the line of the agent's shell.
func (j *inJails) sh(line string) (status int, output string) {
	j.Helper()
	cmd := exec.CommandContext(within(j), "bash", "-c", line)
	cmd.Dir, cmd.Env = j.dir, cleanEnv()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		j.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// run runs a line that the state allows.
func (j *inJails) run(line string) (status int, output string) {
	j.Helper()
	wrapped, answer := j.hooked(line)
	if wrapped == "" {
		j.Fatalf("%s: %s", line, answer)
	}
	return j.sh(wrapped)
}

// evidence is the evidence of the run.
func (j *inJails) evidence() []*enginev1.Evidence {
	j.Helper()
	return must[*enginev1.GetRunResponse](j)(j.operator.runs.GetRun(within(j), &enginev1.GetRunRequest{SessionId: "s"})).GetRun().GetEvidence()
}

func (j *inJails) gone(name string) {
	j.Helper()
	if _, err := os.Stat(filepath.Join(j.dir, name)); !errors.Is(err, os.ErrNotExist) {
		j.Errorf("%s is there: %v", name, err)
	}
}

// S20: a line that a state allows runs in its jail: the agent's shell sees its output and status, and no file changes.
func TestHookedLinesRunInJails(t *testing.T) {
	t.Parallel()
	j := startInJails(t)
	for line, want := range map[string]struct {
		status int
		output string
	}{
		"echo out; exit 3":                         {3, "out\n"},
		"echo err >&2":                             {0, "err\n"},
		"kill -TERM $$":                            {128 + 15, ""},
		"./unknown || echo none":                   {0, "none\n"},
		`python3 -c 'open("made", "w"); print(1)'`: {0, "1\n"},
		"cat a.txt | tr a b":                       {0, "b\n"},
		"printf '%s' \"it's\"":                     {0, "it's"},
	} {
		wrapped, answer := j.hooked(line)
		if wrapped == "" {
			t.Logf("%s: %s", line, answer) // the analysis is certain of it
			continue
		}
		status, output := j.sh(wrapped)
		if status != want.status || !strings.Contains(output, want.output) {
			t.Errorf("%s: %d %q", line, status, output)
		}
	}
	j.gone("made")
}

// S20: a line whose state lists hosts reaches those, by a proxy that takes the whole program: the jail is started anew for it
// after the call was claimed, which happens once.
func TestHookedLinesReachTheirHosts(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("this test needs curl: install it, e.g. apt-get install curl")
	}
	j := startInJails(t)
	serve := func() string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answered\n") }))
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	listed, other := serve(), serve()
	j.workflow = "listed"
	j.operator.register(t, `{"id": "listed", "initial": "fetch", "states": {"fetch": {"allowed_tools": ["Bash"], "jail": {"hosts": ["private:`+listed+`"]}, "on": {"END": "done"}}, "done": {"type": "final"}}}`)
	if status, output := j.run("curl -sS --noproxy '' http://" + listed + "/; exit 3"); status != 3 || output != "answered\n" {
		t.Errorf("a listed host: %d %q", status, output)
	}
	if _, output := j.run("curl -sS --noproxy '' http://" + other + "/"); strings.Contains(output, "answered") || !strings.Contains(output, "The jail refuses") {
		t.Errorf("another host: %q", output)
	}
	if _, output := j.run("curl -sS --noproxy '*' http://" + listed + "/"); strings.Contains(output, "answered") {
		t.Errorf("a listed host without the proxy: %q", output)
	}
}

// S20: a line runs once, and only the line that was judged.
func TestHookedLinesRunOnce(t *testing.T) {
	t.Parallel()
	j := startInJails(t)
	wrapped, answer := j.hooked("echo once")
	if wrapped == "" {
		t.Fatal(answer)
	}
	for _, other := range []string{
		strings.Replace(wrapped, "-- 'echo once'", "-- 'echo twice'", 1),
		strings.Replace(wrapped, "--call 'call1'", "--call 'other'", 1),
		strings.Replace(wrapped, "--run 'run_", "--run 'run_x", 1),
		strings.Replace(wrapped, "-- 'echo once'", "-- 'echo' 'once'", 1),
		strings.Replace(wrapped, "-- 'echo once'", "--", 1),
	} {
		if status, output := j.sh(other); status == 0 || strings.HasPrefix(output, "once") || strings.HasPrefix(output, "twice") {
			t.Errorf("%s: %d %s", other, status, output)
		}
	}
	if status, output := j.sh(wrapped); status != 0 || output != "once\n" {
		t.Errorf("%d %s", status, output)
	}
	if status, output := j.sh(wrapped); status != 126 || !strings.Contains(output, "the command was not run") || !strings.Contains(output, "started already") {
		t.Errorf("again: %d %s", status, output)
	}
}

// S20: without the server no line runs, and a jail's witness from a time without it gives evidence when it was delivered.
func TestWitnessesOfAnAwayServer(t *testing.T) {
	t.Parallel()
	j := startInJails(t)
	if err := os.WriteFile(filepath.Join(j.dir, "tests.sh"), []byte("echo tested; read go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrapped, _ := j.hooked("sh tests.sh")
	lost, _ := j.hooked("echo ran")
	running := exec.CommandContext(within(t), "bash", "-c", wrapped)
	running.Dir, running.Env = j.dir, cleanEnv()
	var told bytes.Buffer
	running.Stderr = &told
	in, out := must[io.WriteCloser](t)(running.StdinPipe()), must[io.ReadCloser](t)(running.StdoutPipe())
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil { // it runs
		t.Fatalf("%v\n%s", err, &told)
	}
	j.u.process.kill()
	if status, output := j.sh(lost); status != 126 || !strings.Contains(output, "the command was not run") {
		t.Errorf("without a server: %d %s", status, output)
	}
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(); err != nil || !strings.Contains(told.String(), "is kept until the server can be reached") {
		t.Fatalf("%v\n%s", err, &told)
	}
	kept := must[[]string](t)(filepath.Glob(filepath.Join(string(j.u.data), "witnesses", "*.json")))
	if len(kept) != 1 {
		t.Fatalf("kept: %v", kept)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	j.u.restart(t)
	j.operator = (&world{shape: &j.u.shape, namespace: "default"}).as(t, auth.Operator)
	eventually(t, "the server takes it in", func() error {
		if got := j.evidence(); len(got) != 1 || !got[0].GetHeld() {
			return fmt.Errorf("evidence: %v", got)
		}
		if left := must[[]string](t)(filepath.Glob(filepath.Join(string(j.u.data), "witnesses", "*.json"))); len(left) != 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
}

// S20: a witness that was changed is refused, and gives no evidence.
func TestForgedWitness(t *testing.T) {
	t.Parallel()
	j := startInJails(t)
	j.hooked("sh tests.sh")
	run := must[*enginev1.GetRunResponse](t)(j.operator.runs.GetRun(within(t), &enginev1.GetRunRequest{SessionId: "s"})).GetRun()
	w := &world{shape: &j.u.shape, namespace: "default"}
	for _, signature := range [][]byte{make([]byte, 32), bytes.Repeat([]byte{1}, 32)} {
		body := string(must[[]byte](t)(json.Marshal(map[string]any{
			"run_id": run.GetRunId(), "call_id": "call1", "witness": []byte(`{"call_id": "call1", "exit_status": 0}`), "signature": signature,
		})))
		if got := w.send(t, "POST", "/v1/hook/finish", j.u.tokens[auth.Agent], body); !strings.Contains(got.body, "refused") {
			t.Errorf("%+v", got)
		}
	}
	if got := j.evidence(); len(got) != 1 || got[0].GetHeld() {
		t.Errorf("evidence: %v", got)
	}
}

// S20: no process of a line outlives the program that has started its jail, for any end of it.
func TestKilledJails(t *testing.T) {
	t.Parallel()
	j := startInJails(t)
	wrapped, answer := j.hooked("echo begun; sleep 4242 & sleep 4242")
	if wrapped == "" {
		t.Fatal(answer)
	}
	program, _, _ := strings.Cut(wrapped, "\n") // the jail alone, so that it is this process's child
	running := exec.CommandContext(within(t), "bash", "-c", "exec "+program)
	running.Dir, running.Env = j.dir, append(cleanEnv(), "MARK_OF_JAIL="+j.dir)
	out := must[io.ReadCloser](t)(running.StdoutPipe())
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the line runs", func() error {
		if all := marked(t, j.dir); len(all) < 3 {
			return fmt.Errorf("it runs as %v", all)
		}
		return nil
	})
	if err := running.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = running.Wait()
	eventually(t, "all of the jail has ended", func() error {
		if left := marked(t, j.dir); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
}

// S4.1: a command whose jail was killed may have changed any file. While it runs its files are not known.
func TestKilledJailsFireInterrupts(t *testing.T) {
	t.Parallel()
	j := startInJails(t)
	j.operator.register(t, `{"id": "watched", "initial": "work", "interrupts": {"schema": {"trigger": {"file_pattern": "schema/**"}, "target": "review"}},
		"states": {"work": {"allowed_tools": ["Edit", "Bash"], "on": {"END": "done"}}, "review": {"allowed_tools": ["Read"], "on": {"OK": "$return"}}, "done": {"type": "final"}}}`)
	j.workflow = "watched"
	state := func() string {
		return must[*enginev1.GetRunResponse](t)(j.operator.runs.GetRun(within(t), &enginev1.GetRunRequest{SessionId: "s"})).GetRun().GetState()
	}
	program, answer := j.hooked("trap '' TERM; mkdir schema; echo x >schema/x.sql; echo begun; sleep 4242")
	if program, _, _ = strings.Cut(program, "\n"); program == "" {
		t.Fatal(answer)
	}
	running := exec.CommandContext(within(t), "bash", "-c", "exec "+program)
	running.Dir, running.Env = j.dir, cleanEnv()
	out := must[io.ReadCloser](t)(running.StdoutPipe())
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if status, output := j.run("ls"); status != 0 || state() != "work" {
		t.Errorf("while it runs: %d %s, state %s", status, output, state())
	}
	if err := running.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = running.Wait()
	wrapped, answer := j.hooked("ls")
	if wrapped != "" || state() != "review" || !strings.Contains(answer, "was killed") {
		t.Errorf("state %s: %s", state(), answer)
	}
	if left := must[[]string](t)(filepath.Glob(filepath.Join(string(j.u.data), "witnesses", "*"))); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// marked are the processes with a variable.
func marked(t *testing.T, mark string) (names []string) {
	t.Helper()
	for _, file := range must[[]string](t)(filepath.Glob("/proc/[0-9]*/environ")) {
		if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, []byte("MARK_OF_JAIL="+mark)) {
			names = append(names, file)
		}
	}
	return names
}
