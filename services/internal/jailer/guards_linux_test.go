package jailer_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// killedIn has this test's binary run a command in a jail, and be killed in the middle of it.
const killedIn = "JAILER_TEST_KILLED_IN"

// runKilled is that process: it runs a line that says when it has written, and then waits.
func runKilled(dir string) {
	highest, _ := strconv.Atoi(os.Getenv(killedIn + "_LEVEL")) // none for the most
	p := jail.Compile(jail.Rules{}, jail.Command{Workspace: dir, Folder: dir, Level: jail.Files})
	_, _ = jailer.Run(context.Background(), &jailer.Command{
		CallID: "call", Argv: []string{"/bin/sh", "-c", os.Getenv(killedIn+"_LINE") + "; echo written; sleep 600"}, Env: os.Environ(), Dir: dir,
		Stdout: os.Stdout, Profile: &p, Guards: filepath.Join(dir, "..", "guards"), Highest: jail.Level(highest),
	})
}

// S20.8: protected files are as they were, also where the jail's process is killed while its command runs.
func TestProtectedFilesAfterAKill(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir, guards := filepath.Join(top, "ws"), filepath.Join(top, "guards")
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, ".envrc")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), killedIn+"="+dir, killedIn+`_LINE=mkdir .claude; echo evil > .claude/settings.local.json; echo ../r > .git/commondir; ln -sfn evil .envrc; echo kept > a.txt`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 64)); n == 0 {
		t.Fatal(err)
	}
	if changed, err := jailer.Restore(guards); err != nil || len(changed) > 0 {
		t.Errorf("while the command runs: %v, %v", changed, err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git/commondir")); err != nil {
		t.Errorf("the line has not run: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	changed, err := jailer.Restore(guards)
	if err != nil || !slices.ContainsFunc(changed, func(name string) bool { return strings.HasSuffix(name, "commondir") }) {
		t.Errorf("changed %v, %v", changed, err)
	}
	for _, name := range []string{".claude", ".git/commondir"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if target, err := os.Readlink(filepath.Join(dir, ".envrc")); target != "real" {
		t.Errorf(".envrc leads to %q, %v", target, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(data) != "kept\n" {
		t.Errorf("a.txt: %q, %v", data, err)
	}
	if left, _ := os.ReadDir(guards); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if changed, err := jailer.Restore(guards); err != nil || len(changed) > 0 {
		t.Errorf("again: %v, %v", changed, err)
	}
}

// S20.4: programs end with the line, also where the jail's process is killed.
func TestProgramsEndWithAKilledJail(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"3"} { // below, programs that fork while they are ended can be missed
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = append(os.Environ(), killedIn+"="+t.TempDir(), killedIn+"_LEVEL="+level, killedIn+"_LINE=setsid sleep 600 & setsid sh -c 'sleep 600; true' & true")
		cmd.Stdout = write
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		write.Close()
		if n, err := read.Read(make([]byte, 64)); n == 0 {
			t.Fatal(err)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err := read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(read); err != nil { // it ends with the last of them
			t.Errorf("level %s: programs have outlived their jail: %v", level, err)
		}
	}
}

// S20.8: settings in folders are put back by the next command where the jail's process is killed.
func TestSettingsInFoldersAfterAKill(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"3", "1"} {
		n := plantNested(t)
		guards := filepath.Join(n.dir, "..", "guards")
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = append(n.env(), killedIn+"="+n.dir, killedIn+"_LEVEL="+level,
			killedIn+`_LINE=git -C sub config core.fsmonitor $EVIL; git init -q new; git -C new config core.fsmonitor $EVIL; mkdir a; echo evil > a/.envrc; echo kept > a/b.txt`)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n, err := out.Read(make([]byte, 64)); n == 0 {
			t.Fatal(err)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		changed, err := jailer.Restore(guards)
		if err != nil || len(changed) != 3 {
			t.Errorf("level %s: changed %v, %v", level, changed, err)
		}
		if n.look(t) {
			t.Errorf("level %s: a person's git has run the program", level)
		}
		if got := n.outside(t, n.dir, "cat a/b.txt; git -C sub config pull.rebase"); got != "kept\ntrue\n" {
			t.Errorf("level %s: %s", level, got)
		}
		if left, _ := os.ReadDir(guards); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
}

// S20.8: a command does not restore files of another one that was running when it began.
func TestSettingsOfParallelCommands(t *testing.T) {
	t.Parallel()
	n := plantNested(t)
	in := func(c *jailer.Command) { c.Guards = filepath.Join(n.dir, "..", "guards") }
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said, says, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { said.Close(); read.Close() })
	done := make(chan *jail.Witness)
	go func() {
		done <- n.inJail(t, jail.Full, jail.Rules{}, `mkdir a; echo evil > a/.envrc; git -C sub config core.fsmonitor $EVIL; echo made; read x`, in, func(c *jailer.Command) { c.Stdin, c.Stdout = read, says })
	}()
	if n, err := said.Read(make([]byte, 64)); n == 0 {
		t.Fatal(err)
	}
	inner := n.inJail(t, jail.Full, jail.Rules{}, `echo evil > a/.exrc`, in)
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	outer := <-done
	if n.look(t) {
		t.Errorf("a person's git has run the program: %v, %v", inner.Tried, outer.Tried)
	}
}
