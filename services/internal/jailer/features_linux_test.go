package jailer_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// at returns a change of a command that stays at a level.
func at(level jail.Level) func(*jailer.Command) {
	return func(c *jailer.Command) { c.Highest = level }
}

// TestProtected: protected files are unchanged after the command, and the witness names the attempts, at
// each level and by each way to change it.
func TestProtected(t *testing.T) {
	t.Parallel()
	const lines = `
	echo x >>.git/config
	echo x >.git/config.lock && mv .git/config.lock .git/config
	ln -f .git/config other && echo x >>other
	ln -sf other .git/config
	rm -rf .git
	mv .git old; mkdir -p .git/hooks; echo x >.git/hooks/pre-commit
	mv .git old; ln -s old .git; echo x >old/hooks/pre-commit
	rm -rf .git/hooks; ln -s ../sub .git/hooks; echo x >sub/pre-commit
	echo x >.git/hooks/new
	rm .git/hooks/pre-commit
	rm -rf .git; echo x >.git
	chmod 777 .git/hooks .git/config
	touch -d 2001-01-01 .git/config
	echo x >.envrc
	ln -s sub/x .envrc
	mkdir .vscode; echo x >.vscode/tasks.json
	mkdir -p sub/deep; echo x >sub/deep/tasks.json; ln -s sub/deep .vscode
	ln -s /etc .vscode
	rm link; echo x >link
	rm link; ln -s sub/x link`
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		for _, level := range []jail.Level{jail.Files, jail.Scoped, jail.Full} {
			dir := workspace(t, ".git/config", "c\n", ".git/hooks/pre-commit", "p\n", "sub/x", "x\n", "target", "t\n")
			if err := os.Symlink("target", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			outside := filepath.Join(t.TempDir(), "outside")
			p := profile(dir, jail.WritesAllow)
			p.Level, p.Protect = jail.None, []string{".git/config", ".git/hooks", ".envrc", ".vscode/tasks.json", "link"}
			before := look(t, dir)
			_, w := jailed(t, p, line+"; true", at(level))
			after := look(t, dir)
			for name, is := range before {
				if after[name] != is {
					t.Errorf("level %d: %s: %s is %q, was %q (tried %q)", level, line, name, after[name], is, w.Tried)
				}
			}
			for _, name := range []string{".git/hooks/new", ".envrc", ".vscode/tasks.json"} {
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
					t.Errorf("level %d: %s: %s was made (tried %q)", level, line, name, w.Tried)
				}
			}
			if _, err := os.Lstat(outside); err == nil {
				t.Errorf("level %d: %s: wrote outside", level, line)
			}
			if level < jail.Full && len(w.Tried) == 0 {
				t.Errorf("level %d: %s: nothing is reported", level, line)
			}
		}
	}
}

// look returns the protected files of TestProtected, with their kinds.
func look(t *testing.T, dir string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, name := range []string{".git", ".git/config", ".git/hooks", ".git/hooks/pre-commit", "link"} {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			seen[name] = "missing"
			continue
		}
		seen[name] = info.Mode().String()
		if target, err := os.Readlink(path); err == nil {
			seen[name] += " " + target
		} else if data, err := os.ReadFile(path); err == nil {
			seen[name] += " " + string(data) + info.ModTime().String()
		}
	}
	return seen
}

// TestHidden: the content of hidden files is not read at any level, and files next to them are.
func TestHidden(t *testing.T) {
	t.Parallel()
	for _, level := range []jail.Level{jail.Files, jail.Scoped, jail.Full} {
		dir := workspace(t, "a.txt", "a\n")
		home := workspace(t, ".ssh/id", "SECRET\n", ".netrc", "SECRET\n", ".config/gh/hosts", "SECRET\n", ".config/other", "open\n", ".profile", "open\n")
		p := profile(dir, jail.WritesDiscard)
		p.Level, p.Hide = jail.None, []string{"~/.ssh", "~/.netrc", "~/.config/gh", "~/missing"}
		out, _ := jailed(t, p, `cat ~/.ssh/id ~/.netrc ~/.config/gh/hosts; cd ~/.ssh 2>/dev/null && cat id; cat /proc/self/root$HOME/.netrc
		mv ~/.ssh ~/x 2>/dev/null && cat ~/x/id; ln ~/.netrc ~/y 2>/dev/null && cat ~/y; cat ~/.config/other ~/.profile `+dir+`/a.txt; ls -A ~ ~/.config`,
			at(level), env("HOME="+home), func(c *jailer.Command) { c.Machine.Home = home })
		if strings.Contains(out, "SECRET") || strings.Count(out, "open\n") != 2 || !strings.Contains(out, "\na\n") || !strings.Contains(out, ".profile\n") {
			t.Errorf("level %d: %s", level, out)
		}
	}
}

// TestErrors: a profile that cannot be enforced does not start, and the error names the entry.
func TestErrors(t *testing.T) {
	t.Parallel()
	dir := workspace(t, "a.txt", "a\n", "secret/x", "x\n", "plain", "text")
	for name, test := range map[string]struct {
		change func(*jail.Profile, *jailer.Command)
		want   string
	}{
		"version":           {func(p *jail.Profile, _ *jailer.Command) { p.Version = 2 }, "version 2"},
		"writes":            {func(p *jail.Profile, _ *jailer.Command) { p.Writes = "maybe" }, `"maybe"`},
		"network":           {func(p *jail.Profile, _ *jailer.Command) { p.Network = "" }, `network ""`},
		"level":             {func(_ *jail.Profile, c *jailer.Command) { c.Highest = jail.Scoped }, "needs a jail of level 3"},
		"no command":        {func(_ *jail.Profile, c *jailer.Command) { c.Argv = nil }, "no command"},
		"missing program":   {func(_ *jail.Profile, c *jailer.Command) { c.Argv = []string{"no-such-program"} }, "no-such-program is not in PATH"},
		"not a program":     {func(_ *jail.Profile, c *jailer.Command) { c.Argv = []string{dir + "/plain"} }, "permission denied"},
		"folder":            {func(_ *jail.Profile, c *jailer.Command) { c.Argv = []string{dir} }, "is a directory"},
		"missing workspace": {func(p *jail.Profile, _ *jailer.Command) { p.Workspace = dir + "/missing" }, "the workspace"},
		"file as workspace": {func(p *jail.Profile, _ *jailer.Command) { p.Workspace = dir + "/plain" }, "not a directory"},
		"all as workspace":  {func(p *jail.Profile, _ *jailer.Command) { p.Workspace = "/" }, "cannot be jailed"},
		"missing start":     {func(_ *jail.Profile, c *jailer.Command) { c.Dir = dir + "/missing" }, "the folder in which the command starts"},
		"hidden workspace":  {func(p *jail.Profile, _ *jailer.Command) { p.Hide = []string{filepath.Dir(dir)} }, "jail show --why " + filepath.Dir(dir)},
		"hidden program": {func(p *jail.Profile, c *jailer.Command) {
			c.Argv, c.Env, p.Hide = []string{"env"}, []string{"PATH=/usr/bin:/bin"}, []string{"/usr/bin", "/bin"}
		}, "env is not in PATH"},
		"hidden in a writable workspace": {func(p *jail.Profile, c *jailer.Command) {
			p.Level, c.Highest, p.Writes, p.Hide = jail.Files, jail.Scoped, jail.WritesAllow, []string{"secret"}
		}, "needs a jail of level 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := profile(dir, jail.WritesDiscard)
			c := &jailer.Command{Argv: []string{"/bin/true"}, Env: os.Environ(), Dir: dir, Profile: p}
			test.change(p, c)
			if w, err := jailer.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, %v", w, err)
			}
		})
	}
}

// TestEnds: no process outlives the command, the caller's end, or its context, unless it was granted.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, level := range []jail.Level{jail.Scoped, jail.Full} {
		p := profile(workspace(t), jail.WritesAllow)
		p.Level = jail.None
		mark := filepath.Join(p.Workspace, "mark")
		if err := syscall.Mkfifo(mark, 0o600); err != nil {
			t.Fatal(err)
		}
		// Each program that outlives the command holds the pipe's end open.
		_, w := jailed(t, p, `exec 9<>mark; sleep 1000 & setsid sh -c 'trap "" TERM HUP; sleep 1000 & sleep 1000' & (setsid sleep 1000 &) ; exit 4`, at(level))
		if w.ExitStatus != 4 {
			t.Errorf("%+v", w)
		}
		alone(t, mark)
		ctx, cancel := context.WithCancel(t.Context())
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			w, err := jailer.Run(ctx, &jailer.Command{Argv: []string{"sh", "-c", "exec 9<>mark; echo; (setsid sleep 1000 &); exec sleep 1000"}, Env: os.Environ(), Profile: p, Stdout: write, Highest: level})
			if err == nil && (w.Stopped != "cancelled" || w.Signal != "SIGTERM") {
				err = errors.New(w.Stopped + w.Signal)
			}
			done <- err
		}()
		if _, err := read.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		alone(t, mark)
	}
}

// alone fails when a process holds a named pipe open.
func alone(t *testing.T, path string) {
	t.Helper()
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err == nil {
		syscall.Close(fd)
	}
	if !errors.Is(err, syscall.ENXIO) {
		t.Errorf("a process of the jail has outlived it: %v", err)
	}
}

// TestSignals: signals of the caller reach the command, and its own status comes back.
func TestSignals(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal, 1)
	p := profile(workspace(t), jail.WritesDiscard)
	go func() {
		_, _ = read.Read(make([]byte, 1))
		signals <- syscall.SIGINT
	}()
	w, err := jailer.Run(t.Context(), &jailer.Command{
		Argv: []string{"sh", "-c", `trap "exit 7" INT; echo; while :; do sleep 0.01; done`}, Env: os.Environ(), Profile: p, Stdout: write, Signals: signals,
	})
	if err != nil || w.ExitStatus != 7 || w.Signal != "" {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestEnvironment: the command has the variables that the profile leaves, and no descriptor but its streams.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	leak, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, leak.Fd(), syscall.F_SETFD, 0); errno != 0 {
		t.Fatal(errno)
	}
	for _, level := range []jail.Level{jail.Scoped, jail.Full} {
		p := profile(workspace(t), jail.WritesDiscard)
		p.Level, p.DropEnv, p.Lend, p.SetEnv = jail.None, []string{"*_TOKEN", "aws_*"}, []string{"GH_TOKEN"}, map[string]string{"MODE": "jailed"}
		out, _ := jailed(t, p, `/usr/bin/env | sort; ls /proc/self/fd | tr '\n' ' '`, at(level), func(c *jailer.Command) {
			c.Env = []string{"PATH=/usr/bin:/bin", "A_TOKEN=x", "a_token=x", "GH_TOKEN=lent", "AWS_KEY=x", "INTERLOCK_TOKEN=x", "MODE=open", "KEPT=k"}
		})
		lines := slices.DeleteFunc(strings.Split(out, "\n"), func(l string) bool {
			return strings.HasPrefix(l, "PWD=") || strings.HasPrefix(l, "TMPDIR=") || strings.HasPrefix(l, "_=") ||
				level == jail.Full && strings.Contains(strings.ToLower(l), "_proxy=") // of no network
		})
		if got, want := strings.Join(lines, " "), "GH_TOKEN=lent KEPT=k MODE=jailed PATH=/usr/bin:/bin 0 1 2 3 "; got != want {
			t.Errorf("level %d: %q, want %q", level, got, want)
		}
	}
}

// TestLentSockets: a socket is reached where its variable is lent, and not elsewhere.
func TestLentSockets(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("this test needs python3: install it, e.g. apt-get install python3")
	}
	for _, folder := range []string{"", "/run"} {
		dir, err := os.MkdirTemp(folder, "lent")
		if errors.Is(err, os.ErrPermission) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		socket := filepath.Join(dir, "agent")
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		for _, lent := range []bool{false, true} {
			p := profile(workspace(t), jail.WritesDiscard)
			if lent {
				p.Lend = []string{"SSH_AUTH_SOCK"}
			}
			p.Hide = []string{dir}
			out, _ := jailed(t, p, `python3 -c 'import socket, os; socket.socket(socket.AF_UNIX).connect("`+socket+`"); print("reached")' 2>&1 | tail -1`, env("SSH_AUTH_SOCK="+socket))
			if (out == "reached\n") != lent {
				t.Errorf("%s, lent %v: %s", socket, lent, out)
			}
		}
	}
}

// TestGitConfigIsNamed: git leaves no trace when the configuration cannot be replaced, and the witness names the attempt.
func TestGitConfigIsNamed(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("this test needs git: install it, e.g. apt-get install git")
	}
	for _, c := range []struct {
		line  string
		tried bool
	}{
		{"git config user.name x", true},
		{"git branch --set-upstream-to=other", true},
		{"git remote add origin /nowhere", true},
		{"git branch -m renamed", true},
		{"git config --get core.bare; git status; git branch new; git switch -q new", false},
		{"echo x > .git/x.lock; mv .git/x.lock .git/y", false},
	} {
		dir := workspace(t, "a.txt", "a\n")
		if out, err := exec.Command("sh", "-c", "cd "+dir+" && git init -q && git config user.email a@b && git config user.name a && git add . && git commit -qm a && git branch other").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		p := profile(dir, jail.WritesAllow)
		p.Protect = []string{".git/config"}
		out, w := jailed(t, p, c.line, func(j *jailer.Command) { j.Machine.Home = t.TempDir() })
		if slices.Contains(w.Tried, ".git/config") != c.tried {
			t.Errorf("%s: tried %q: %s", c.line, w.Tried, out)
		}
	}
}

// TestProgramsThatAreEnded: the witness names the programs that a command has left running, and no others.
func TestProgramsThatAreEnded(t *testing.T) {
	t.Parallel()
	const started = `up() { until [ "$(cat /proc/$1/comm)" = "$2" ]; do :; done; }; `
	for _, level := range []jail.Level{jail.Files, jail.Scoped, jail.Full} {
		for _, c := range []struct {
			line string
			left []string
		}{
			{"sleep 300 & up $! sleep", []string{"sleep"}},
			{"(setsid sleep 300 & up $! sleep; sleep 300 & up $! sleep) ; true", []string{"sleep"}},
			{`cp /bin/sleep "$TMPDIR/s) Z 1 (x" && { "$TMPDIR/s) Z 1 (x" 300 & up $! "s) Z 1 (x"; }`, []string{"s) Z 1 (x"}},
			{"sleep 300 & kill $!; wait; true", nil},
			{"echo a | cat; true & wait", nil},
			{"(sleep 300 & up $! sleep; exec true); exit 3", []string{"sleep"}},
		} {
			p := profile(workspace(t), jail.WritesAllow)
			p.Level = jail.None
			out, w := jailed(t, p, started+c.line, at(level))
			if !slices.Equal(w.Left, c.left) {
				t.Errorf("level %d: %s: left %q: %s", level, c.line, w.Left, out)
			}
		}
		p := profile(workspace(t), jail.WritesAllow)
		p.Level, p.Background = jail.None, true
		if _, w := jailed(t, p, "sleep 0.3 & true", at(level)); len(w.Left) > 0 {
			t.Errorf("level %d: a program in the background was ended: %q", level, w.Left)
		}
	}
}
