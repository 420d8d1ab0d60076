package upstream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/internal/jailer/needtest"
)

// jails runs commands without a jail, and keeps what it was given.
type jails struct {
	level jail.Level

	mu  sync.Mutex
	ran []*jailer.Command
}

func (j *jails) run(ctx context.Context, c *jailer.Command) (*jail.Witness, error) {
	j.mu.Lock()
	j.ran = append(j.ran, c)
	j.mu.Unlock()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Env, c.Dir, c.Stdin, c.Stdout, c.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-c.Signals:
				cmd.Process.Signal(s) // it may be gone
			case <-ended:
				return
			}
		}
	}()
	w := &jail.Witness{CallID: c.CallID, Hosts: []jail.Asked{{Host: "api.example:443"}}}
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		w.ExitStatus = exit.ExitCode()
	}
	return w, nil
}

func (j *jails) commands() []*jailer.Command {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.ran)
}

// log is a log that can be read while it is written.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// jailed starts a server where servers are jailed.
func jailed(t *testing.T, j upstream.Jailer, server upstream.Server, to io.Writer) *upstream.Set {
	t.Helper()
	s, err := upstream.New([]upstream.Server{server}, upstream.Options{
		ConnectTimeout: 20 * time.Second, Backoff: time.Millisecond, StopGrace: 100 * time.Millisecond, MaxResultBytes: 1 << 20,
		Logger: slog.New(slog.NewTextHandler(to, nil)), Changed: func(*upstream.Catalogue, upstream.Kinds) {},
		Reserved: func(string) bool { return false }, Jailer: j,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Await(within(t))
	return s
}

func (j *jails) jailer() upstream.Jailer {
	return upstream.Jailer{Run: j.run, Probe: func() jailer.Support { return jailer.Support{Level: j.level, Missing: "no namespaces here"} }}
}

// TestServerInJail: a server with needs is started in a jail with their profile, is called,
// restarted and stopped as others are.
func TestServerInJail(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			j := &jails{level: jail.Full}
			server := upstreamtest.Child(t, mode)
			server.Dir = t.TempDir()
			server.Needs = &upstream.Needs{Write: []string{"out"}}
			s := jailed(t, j.jailer(), server, io.Discard)
			before := number(t, s, "pid")
			if text, err := call(t, s, "env"); err != nil || !strings.Contains(text, "MINE=yes") || !strings.Contains(text, "PATH=") {
				t.Errorf("%v: %s", err, text)
			}
			if _, err := call(t, s, "crash"); err == nil {
				t.Error("it has crashed")
			}
			s.Await(within(t))
			var after int
			for after = before; after == before; {
				if tool := s.Catalogue().Tools["pid"]; tool != nil {
					if got, err := call(t, s, "pid"); err == nil && got != "" {
						after = number(t, s, "pid")
					}
				}
				if within(t).Err() != nil {
					t.Fatal("it was not restarted")
				}
			}
			first := j.commands()[0]
			if first.Dir != server.Dir || !slices.Contains(first.Profile.Write, server.Dir+"/out") || first.Profile.Network != jail.NetworkNone {
				t.Errorf("%s: %s", first.Dir, first.Profile.JSON())
			}
			s.Close()
			if upstreamtest.Alive(after) {
				t.Error("it is alive after Close")
			}
		})
	}
}

// TestServerNeedsMore: a server whose jail this machine does not have is not started, and says why.
func TestServerNeedsMore(t *testing.T) {
	t.Parallel()
	j := &jails{level: jail.Scoped}
	server := upstreamtest.Child(t, "plain")
	server.Needs = &upstream.Needs{Hosts: []string{"api.example"}}
	to := &log{}
	jailed(t, j.jailer(), server, to)
	if len(j.commands()) > 0 {
		t.Error("it was started")
	}
	if text := to.String(); !strings.Contains(text, "needs a jail of level 3") || !strings.Contains(text, "no namespaces here") {
		t.Error(text)
	}
}

// TestServerLacksSomething: a server in a jail that ends at once says which needs could help.
func TestServerLacksSomething(t *testing.T) {
	t.Parallel()
	j := &jails{level: jail.Full}
	to := &log{}
	server := upstream.Server{
		Name: "x", Needs: &upstream.Needs{},
		Command: []string{"/bin/sh", "-c", "echo \"Error: EROFS: read-only file system, open '/w/x.db'\" >&2; exit 3"},
	}
	jailed(t, j.jailer(), server, to)
	for _, words := range []string{"exit status 3", `\\\"write\\\": [\\\"/w/x.db\\\"]`, `\\\"hosts\\\": [\\\"api.example\\\"]`, "EROFS"} {
		if !strings.Contains(strings.ReplaceAll(to.String(), `\"`, `\\\"`), words) {
			t.Errorf("no %s in %s", words, to)
		}
	}
}

// TestServerWithoutJail: the log says that a server is not jailed, and why.
func TestServerWithoutJail(t *testing.T) {
	t.Parallel()
	for mode, want := range map[upstream.Jails]bool{upstream.JailsAuto: false, upstream.JailsRequired: true} {
		j := &jails{level: jail.Full}
		fake := j.jailer()
		fake.Mode = mode
		to := &log{}
		s := jailed(t, fake, upstreamtest.Child(t, "plain"), to)
		if number(t, s, "pid") == 0 || (len(j.commands()) > 0) != want {
			t.Errorf("%s: %d were jailed", mode, len(j.commands()))
		}
		if said := strings.Contains(to.String(), "a server is not jailed"); said == want {
			t.Errorf("%s: %s", mode, to)
		}
	}
}

// TestServerInRealJail: S20.11. The kernel holds the needs of a server.
func TestServerInRealJail(t *testing.T) {
	t.Parallel()
	support := jailer.Probe()
	if support.Level < jail.Files {
		needtest.Missing(t, support.Missing)
	}
	folder := t.TempDir()
	if err := os.Mkdir(folder+"/out", 0o755); err != nil {
		t.Fatal(err)
	}
	server := upstreamtest.Child(t, "plain")
	server.Dir, server.Needs = folder, &upstream.Needs{Write: []string{"out"}, Jail: upstream.Least(support.Level)}
	to := &log{}
	s := jailed(t, upstream.Jailer{Workspace: folder, Machine: jail.Machine{Home: t.TempDir(), Program: server.Command[0]}}, server, to)
	if s.Catalogue().Tools["pid"] == nil {
		upstreamtest.Eventually(t, "it says why", func() bool { return to.String() != "" })
		t.Fatal(to)
	}
	for file, want := range map[string]bool{folder + "/out/x": true, folder + "/x": false} {
		text, err := upstreamtest.Write(within(t), s, file)
		_, stat := os.Stat(file)
		if (stat == nil) != want {
			t.Errorf("%s: %q, %v, %v", file, text, err, stat)
		}
	}
}
