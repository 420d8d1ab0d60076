package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/background"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// newcomer is a person with a new home and a workspace, and interlock as the only program of Interlock.
type newcomer struct {
	t         *testing.T
	home, dir string
	env       []string
	program   string
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	home, err := os.MkdirTemp("", "il") // short: the path of a socket is
	if err != nil {
		t.Fatal(err)
	}
	n := &newcomer{t: t, home: home, dir: filepath.Join(home, "shop"), program: filepath.Join(builtFolder(t), "interlock")}
	n.env = []string{"PATH=" + filepath.Dir(n.program) + ":/usr/bin:/bin", "HOME=" + home, "TERM=dumb", "NO_PROXY=*"}
	t.Cleanup(func() {
		folders, _ := filepath.Glob(filepath.Join(home, ".local/state/interlock/*"))
		for _, folder := range folders {
			_, _ = background.Stop(context.WithoutCancel(t.Context()), datadir.Dir(folder))
		}
		os.RemoveAll(home)
	})
	for name, text := range map[string]string{".env": "KEY=1\n", "go.mod": "module shop\n"} {
		if err := os.MkdirAll(n.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// types has the newcomer type `interlock` and arguments at a terminal.
func (n *newcomer) types(args ...string) *screen {
	return openScreen(n.t, nil, n.dir, n.env, append([]string{n.program}, args...)...)
}

// runs runs a command without a terminal, and returns its output.
func (n *newcomer) runs(args ...string) string {
	n.t.Helper()
	cmd := exec.Command(n.program, args...)
	cmd.Dir, cmd.Env = n.dir, n.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		n.t.Errorf("interlock %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestFirstMinutes: one command at a terminal leads a newcomer to a denied call of the log; the next ones show the set-up, and take it out.
func TestFirstMinutes(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	s := n.types()
	s.shows(`(No Interlock in \S+/shop yet\. Found: go)`)
	s.shows(`(Your choice \[1\]: )`)
	s.types("")
	s.shows(`Will write (\.claude/settings\.local\.json \(hooks\), \.mcp\.json \(MCP server\), interlock/)`)
	s.shows(`(Write these files\? \[y/N/diff\] )`)
	s.types("diff")
	s.shows(`(\+ +"PreToolUse")`)
	s.shows(`(Write these files\? \[y/N/diff\] )`)
	s.types("y")
	id := s.shows("Check: asked the hook for `cat .env` \\(POLICY_DENIED, policy secrets-hygiene\\) -> DENIED, decision (probe_\\w+) in the log\\. It works\\.")
	s.shows(`(Interlock: enforcing: the hooks put each session on workflow "bounded-write")`)
	s.shows(`(interlock login --code [A-Z2-7-]+)`)

	// Typed again, it shows how things stand; a denial is explained without a log-in.
	n.types().shows(`server +running, (process \d+)`)
	n.types("why").shows(`(call +` + id + `)`)
	if out := n.runs("init", "claude-code", "--undo", "--yes"); !strings.Contains(out, "taken out") {
		t.Errorf("undo: %s", out)
	}
	if _, err := os.Stat(filepath.Join(n.dir, ".claude")); err == nil {
		t.Error("undo has left .claude")
	}
	if out := n.runs("stop"); !strings.Contains(out, "stopped process") {
		t.Errorf("stop: %s", out)
	}
}

// TestFirstMinutesDeclined: without a yes, nothing is written and no server starts.
func TestFirstMinutesDeclined(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	s := n.types()
	s.shows(`(Your choice \[1\]: )`)
	s.types("9")
	s.shows(`(Type a number from 1 to )`)
	s.types("")
	s.shows(`(\[y/N/diff\] )`)
	s.types("")
	s.shows(`(not written; answer y)`)
	entries, err := os.ReadDir(n.dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the workspace has %v, %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(n.home, ".local")); err == nil {
		t.Error("a data folder was made")
	}
}
