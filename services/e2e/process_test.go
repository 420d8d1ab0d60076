package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one running command. It ends with its test, with all its children.
type process struct {
	name   string
	cmd    *exec.Cmd
	log    *capture
	exited chan struct{}
	err    error // how it ended, once exited is closed
}

// start starts a built command. Its log is shown when the test fails.
func start(t testing.TB, name string, args ...string) *process {
	t.Helper()
	return startIn(t, nil, name, args...)
}

// startIn is start with more in the environment.
func startIn(t testing.TB, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(binary(t, name), args...), log: &capture{}, exited: make(chan struct{})}
	p.cmd.Env = append(cleanEnv(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of %s %s:\n%s", name, strings.Join(args, " "), p.log.tail(6<<10))
		}
	})
	return p
}

// cleanEnv is the environment without settings of Interlock's own, but for this: the tests need tokens of
// operators and approvers.
func cleanEnv() []string {
	env := []string{"INTERLOCK_PRESENCE=none"}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "INTERLOCK_") && !strings.HasPrefix(pair, "OTEL_") {
			env = append(env, pair)
		}
	}
	return env
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process and its children at once.
func (p *process) kill() {
	_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
	<-p.exited
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.pid(), s); err != nil {
		t.Errorf("signal %s: %v", p.name, err)
	}
}

// drain sends SIGTERM and expects an orderly end.
func (p *process) drain(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	p.ended(t)
	if p.err != nil {
		t.Errorf("%s ended with %v, not 0, after SIGTERM", p.name, p.err)
	}
	if strings.Contains(p.log.String(), "did not finish in time") {
		t.Errorf("%s cut calls off instead of draining them", p.name)
	}
}

// ended waits until the process has ended.
func (p *process) ended(t testing.TB) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.kill()
		t.Fatalf("%s did not end within %s", p.name, patience)
	}
}

// running is false when the process has ended.
func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// serving waits for the line in which a service says where it serves kind
// ("grpc", "http", "admin").
func (p *process) serving(t testing.TB, kind string) string {
	t.Helper()
	address := ""
	eventually(t, p.name+" says its "+kind+" address", func() error {
		for line := range strings.Lines(p.log.String()) {
			var said map[string]any
			if json.Unmarshal([]byte(line), &said) == nil && said["msg"] == "serving" {
				if a, ok := said[kind].(string); ok {
					address = a
					return nil
				}
			}
		}
		if !p.running() {
			t.Fatalf("%s ended: %v\n%s", p.name, p.err, p.log)
		}
		return errors.New("it has not yet")
	})
	return address
}

// eventually polls until check is content, or fails the test with its last word.
func eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("waited %s in vain until %s: %v", patience, what, err)
		case <-tick.C:
		}
	}
}

// status is a field of /proc/PID/status in bytes: "VmRSS", "VmHWM".
func (p *process) status(t testing.TB, field string) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, field+": %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	t.Fatalf("no %s in the status of %s", field, p.name)
	return 0
}

// openFiles counts the process's file descriptors.
func (p *process) openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid()))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// capture keeps the output of a process.
type capture struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func (c *capture) tail(n int) string {
	s := c.String()
	return s[max(0, len(s)-n):]
}
