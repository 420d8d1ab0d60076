package jailer_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/internal/jailer/hostproxy"
)

func TestMain(m *testing.M) {
	jailer.Stage()
	if name := os.Getenv(listensOn); name != "" {
		listen(name)
	}
	if dir := os.Getenv(killedIn); dir != "" {
		runKilled(dir)
		os.Exit(0)
	}
	if has := jailer.Probe(); has.Level < jail.Full {
		fmt.Fprintln(os.Stderr, "this machine has no jail of level 3: "+has.Missing+"\nINTERLOCK_NO_JAIL=1 leaves the tests of jails out")
		if os.Getenv("INTERLOCK_NO_JAIL") == "1" {
			os.Exit(0)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// jailed runs a line of a shell, and returns its output and its witness.
func jailed(t *testing.T, p *jail.Profile, line string, change ...func(*jailer.Command)) (string, *jail.Witness) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &jailer.Command{
		CallID: "call", Argv: []string{"/bin/sh", "-c", line}, Env: os.Environ(), Dir: p.Workspace,
		Stdout: write, Stderr: write, Profile: p, Proxy: hostproxy.Open,
	}
	for _, f := range change {
		f(c)
	}
	output := make(chan string)
	go func() {
		data, _ := io.ReadAll(read)
		output <- string(data)
	}()
	w, err := jailer.Run(t.Context(), c)
	write.Close()
	out := <-output
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return out, w
}

func workspace(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i+1 < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func profile(dir string, writes jail.Writes) *jail.Profile {
	return &jail.Profile{Version: 1, Level: jail.Full, Workspace: dir, Folder: dir, Writes: writes, Network: jail.NetworkNone}
}

func TestProbe(t *testing.T) {
	if s := jailer.Probe(); s.Level != jail.Full {
		t.Fatalf("level %d: %s", s.Level, s.Missing)
	}
}

func TestWrites(t *testing.T) {
	t.Parallel()
	dir := workspace(t, "a.txt", "a\n")
	out, w := jailed(t, profile(dir, jail.WritesDiscard), "id; echo b >a.txt; cat a.txt; echo c >c.txt; ls; mount; exit 3")
	t.Logf("%s\n%+v", out, w)
	if data, _ := os.ReadFile(filepath.Join(dir, "a.txt")); !bytes.Equal(data, []byte("a\n")) {
		t.Errorf("a.txt is %q", data)
	}
	if w.ExitStatus != 3 || strings.Join(w.Tried, " ") != "a.txt c.txt" {
		t.Errorf("%+v", w)
	}
	out, w = jailed(t, profile(dir, jail.WritesDeny), "echo b >a.txt; cat a.txt")
	t.Logf("%s\n%+v", out, w)
	out, w = jailed(t, profile(dir, jail.WritesAllow), "echo b >a.txt; cat a.txt; echo x >$TMPDIR/x; mkdir q; mv a.txt q")
	t.Logf("%s\n%+v", out, w)
	if data, _ := os.ReadFile(filepath.Join(dir, "q/a.txt")); string(data) != "b\n" {
		t.Errorf("a.txt is %q", data)
	}
}

func TestLevelTwo(t *testing.T) {
	t.Parallel()
	dir := workspace(t, "a.txt", "a\n")
	p := profile(dir, jail.WritesAllow)
	p.Level = jail.Files
	out, w := jailed(t, p, "id; echo b >a.txt; cat a.txt; echo x >$TMPDIR/x; mkdir q; mv a.txt q; ls /tmp >/dev/null && echo l; echo x >/tmp/evil; kill -0 $PPID; (sleep 100 &) ; ls /",
		func(c *jailer.Command) { c.Highest = jail.Scoped })
	t.Logf("%s\n%+v", out, w)
}

// TestLimits: the kernel and the parent hold the limits of a profile, and the witness says which one.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, line string
		limits     jail.Limits
		stopped    string
		most       int // bytes of output
	}{
		{"processes", "for i in $(seq 1000); do sleep 100 & done 2>/dev/null; echo end", jail.Limits{Processes: 300}, "", 10},
		{"memory", `python3 -c 'x = bytearray(512 << 20); print("has it")' 2>/dev/null; echo no`, jail.Limits{MemoryMB: 128}, "", 3},
		{"cpu", "while :; do :; done", jail.Limits{CPUSeconds: 1}, "cpu_seconds", 0},
		{"wall", "sleep 100", jail.Limits{WallSeconds: 1}, "wall_seconds", 0},
		{"output", "yes", jail.Limits{OutputBytes: 1000}, "output_bytes", 1000},
		{"scratch", "head -c 20M /dev/zero >big 2>/dev/null || echo full", jail.Limits{ScratchMB: 8}, "", 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := profile(workspace(t), jail.WritesDiscard)
			p.Limits = test.limits
			out, w := jailed(t, p, test.line)
			if len(out) > test.most || w.Stopped != test.stopped {
				t.Errorf("%q, %+v", out, w)
			}
		})
	}
}

// TestTrees: the witness has the workspace's trees, and the files that the command has changed.
func TestTrees(t *testing.T) {
	t.Parallel()
	dir, trees := workspace(t, "a.txt", "a\n", "sub/b.txt", "b\n"), filepath.Join(t.TempDir(), "trees")
	with := func(c *jailer.Command) { c.Trees = trees }
	_, w := jailed(t, profile(dir, jail.WritesDiscard), "echo c >>a.txt", with)
	if w.TreeBefore == "" || w.TreeBefore != w.TreeAfter || len(w.Written) > 0 || strings.Join(w.Tried, " ") != "a.txt" {
		t.Errorf("%+v", w)
	}
	_, w = jailed(t, profile(dir, jail.WritesAllow), "echo c >>a.txt; rm sub/b.txt; echo d >d.txt", with)
	if w.TreeBefore == w.TreeAfter || w.TreeChanged != "a.txt" || strings.Join(w.Written, " ") != "a.txt d.txt sub/b.txt" {
		t.Errorf("%+v", w)
	}
}

// TestTreesInDoubt: no file that a command has changed is left out silently, and a file that was changed and changed back is named.
func TestTreesInDoubt(t *testing.T) {
	t.Parallel()
	deep := `i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i+1)); done; `
	long := `i=0; while [ $i -lt 13 ]; do n=$(printf '<%.0s' $(seq 250)); mkdir $n; cd $n; i=$((i+1)); done; for i in $(seq 200); do echo >$i; done; `
	for name, tc := range map[string]struct {
		before, line string
		writes       jail.Writes
		write        []string
		written      int
		failed       string
		changed      string
	}{
		"many files":                   {line: `mkdir a && cd a && for i in $(seq 5000); do echo >$i; done; echo x >../z`, failed: "more than", written: -1},
		"300 files":                    {line: `mkdir a && cd a && for i in $(seq 300); do echo >$i; done`, written: 300, changed: "a/1"},
		"long names":                   {line: long, failed: "more files", written: -1},
		"deep folders":                 {line: deep + "cd /; echo x >" + "$OLDPWD/x", failed: "too large"},
		"deep folders before":          {before: deep, line: "echo x >a.txt", failed: "too large"},
		"a sparse file":                {line: "truncate -s 20G big; echo x >a.txt", failed: "too large"},
		"a broken index":               {line: "mkdir .git; echo ref: refs/heads/x >.git/HEAD; echo DIRC nonsense >.git/index", failed: "index"},
		"changed back":                 {line: "echo b >a.txt; echo a >a.txt", changed: "a.txt"},
		"changed back, with its time":  {line: "touch -r a.txt /tmp/t; echo b >a.txt; echo a >a.txt; touch -r /tmp/t a.txt", changed: "a.txt"},
		"replaced and put back":        {line: "mv a.txt b; echo b >a.txt; mv b a.txt", changed: "a.txt"},
		"changed in a copy":            {line: "echo b >a.txt", writes: jail.WritesDiscard},
		"a folder that may be written": {line: "mkdir out; echo b >out/x; echo b >a.txt", writes: jail.WritesDiscard, write: []string{"out"}, written: 1, changed: "out/x"},
		"read":                         {line: "cat a.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workspace(t, "a.txt", "a\n")
			if tc.write != nil {
				if err := os.Mkdir(filepath.Join(dir, tc.write[0]), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			p := profile(dir, cmp.Or(tc.writes, jail.WritesAllow))
			p.Write = tc.write
			with := func(c *jailer.Command) { c.Trees = filepath.Join(t.TempDir(), "trees") }
			if tc.before != "" {
				jailed(t, p, tc.before, with)
			}
			_, w := jailed(t, p, tc.line, with)
			if (w.TreeFailed != "") != (tc.failed != "") || !strings.Contains(w.TreeFailed, tc.failed) || tc.failed == "" && w.TreeChanged != tc.changed ||
				tc.written >= 0 && len(w.Written) != tc.written {
				t.Errorf("failed %q, changed %q, %d files written", w.TreeFailed, w.TreeChanged, len(w.Written))
			}
			if data, _ := w.Sign(nil); len(data) > 1<<20 {
				t.Errorf("a witness of %d bytes", len(data))
			}
		})
	}
}

// TestCaches: the caches that a profile names are changed in the run's copy, which the next command of the
// run sees; the rest of the home folder is copied for one command.
func TestCaches(t *testing.T) {
	t.Parallel()
	dir := workspace(t, "a.txt", "a\n", "target/x", "x\n")
	home := workspace(t, ".npm/old", "old\n", "go/pkg/mod/m", "m\n", ".bashrc", "# mine\n")
	caches := filepath.Join(t.TempDir(), "caches")
	t.Cleanup(func() {
		if err := jailer.RemoveCaches(caches); err != nil {
			t.Error(err)
		}
	})
	p := profile(dir, jail.WritesDiscard)
	p.Caches = []string{"~/.cache", "~/.npm", "~/go/pkg", "target", "missing"}
	in := func(c *jailer.Command) { c.Machine.Home, c.Caches = home, caches }
	out, w := jailed(t, p, `cd ~ && echo 1 >.cache/made; echo 2 >.npm/new; rm .npm/old; chmod a-w go/pkg/mod; echo evil >>.bashrc; mkdir -p .other; echo 3 >.other/x
	echo 4 >/tmp/kept; echo 5 >/var/tmp/kept; echo 6 >`+dir+`/target/y`, in, env("HOME="+home))
	if want := []string{filepath.Join(home, ".bashrc"), filepath.Join(home, ".other/x")}; out != "" || !slices.Equal(w.Tried, want) {
		t.Errorf("%q, tried %q", out, w.Tried)
	}
	out, w = jailed(t, p, `cd ~ && cat .cache/made .npm/new .bashrc /tmp/kept /var/tmp/kept `+dir+`/target/y; ls .npm; ls -d .other; stat -c %a go/pkg/mod`, in, env("HOME="+home))
	if want := "1\n2\n# mine\n4\n5\n6\nnew\n"; !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "555\n") || len(w.Tried) > 0 {
		t.Errorf("%s%q", out, w.Tried)
	}
	for name, want := range map[string]string{".npm/old": "old\n", ".bashrc": "# mine\n"} {
		if data, err := os.ReadFile(filepath.Join(home, name)); string(data) != want {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	for _, name := range []string{".npm/new", ".cache", ".other"} {
		if _, err := os.Lstat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// fill makes a file of a size that other tests do not free on the disk at the same time.
const fill = "fill() { fallocate -l 300M $1 || head -c 300M /dev/zero >$1; }; "

// TestKept: the files of a run on the disk are bounded, in each way to fill it, and the next command has its room again. Its
// cases run one by one, because room that one frees hides files of another.
func TestKept(t *testing.T) {
	for name, tc := range map[string]struct {
		line, stopped string
		emptied, left bool
	}{
		"little":                   {line: "echo x >/tmp/kept", left: true},
		"at once":                  {line: "fill /tmp/big; echo x >/tmp/kept", emptied: true},
		"a sparse file":            {line: "truncate -s 1T /tmp/big; echo x >/tmp/kept", left: true},
		"without an end":           {line: "echo x >/tmp/kept; fill /tmp/big; sleep 100", stopped: "kept_mb", emptied: true},
		"in /var/tmp":              {line: "echo x >/tmp/kept; fill /var/tmp/big", emptied: true},
		"in a cache":               {line: "echo x >/tmp/kept; fill ~/.npm/big", emptied: true},
		"in closed folder":         {line: "echo x >/tmp/kept; mkdir /tmp/d; fill /tmp/d/big; chmod 0 /tmp/d", emptied: true},
		"small files":              {line: "echo x >/tmp/kept; mkdir /tmp/d; cd /tmp/d; seq 20000 | xargs touch", emptied: true},
		"deep folders":             {line: "echo x >/tmp/kept; cd /tmp; n=$(printf 'd%.0s' $(seq 200)); for i in $(seq 30); do mkdir $n; cd $n; done; fill big", emptied: true},
		"put in the place of /tmp": {line: "echo x >/tmp/kept; ln -s / /tmp/root; ln -s /tmp/root/usr /tmp/usr", left: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, home, caches := workspace(t), workspace(t, ".npm/old", "old\n"), filepath.Join(t.TempDir(), "caches")
			p := profile(dir, jail.WritesDiscard)
			p.Caches, p.Limits = []string{"~/.npm"}, jail.Limits{KeptMB: 8}
			in := func(c *jailer.Command) { c.Machine.Home, c.Caches = home, caches }
			_, w := jailed(t, p, fill+tc.line, in, env("HOME="+home))
			if slices.Contains(w.Notes, jailer.Emptied) != tc.emptied || tc.stopped != "" && w.Stopped != tc.stopped {
				t.Errorf("stopped %q, notes %q", w.Stopped, w.Notes)
			}
			if out, w := jailed(t, p, "cat /tmp/kept; cat ~/.npm/old", in, env("HOME="+home)); strings.Contains(out, "x\n") != tc.left || !strings.Contains(out, "old\n") || len(w.Notes) > 0 {
				t.Errorf("then %q, %+v", out, w)
			}
			if err := jailer.RemoveCaches(caches); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeptOfMany: the files of many commands add up, also those of a killed process. It runs alone, as TestKept does.
func TestKeptOfMany(t *testing.T) {
	dir, home, caches := workspace(t), workspace(t), filepath.Join(t.TempDir(), "caches")
	p := profile(dir, jail.WritesDiscard)
	p.Limits = jail.Limits{KeptMB: 800}
	in := func(c *jailer.Command) { c.Machine.Home, c.Caches = home, caches }
	emptied := 0
	for i := range 5 {
		_, w := jailed(t, p, fmt.Sprintf(fill+"fill /tmp/%d", i), in)
		if slices.Contains(w.Notes, jailer.Emptied) {
			emptied++
		}
	}
	if emptied != 1 {
		t.Errorf("emptied %d times", emptied)
	}
	// As a killed command leaves it.
	p.Limits.KeptMB = 8
	if err := os.WriteFile(filepath.Join(caches, "tmp", "big"), make([]byte, 20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(caches, "held")); err != nil {
		t.Fatal(err)
	}
	if out, w := jailed(t, p, "cat /tmp/big", in); !strings.Contains(out, "No such file") || !slices.Contains(w.Notes, jailer.Emptied) {
		t.Errorf("%q, %+v", out, w)
	}
}

// TestRunInUse: the folder of a run is not removed below a command.
func TestRunInUse(t *testing.T) {
	t.Parallel()
	dir, home, caches := workspace(t), workspace(t, ".npm/old", "old\n"), filepath.Join(t.TempDir(), "caches")
	p := profile(dir, jail.WritesDiscard)
	p.Caches = []string{"~/.npm"}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan error), make(chan struct{})
	in := func(c *jailer.Command) { c.Machine.Home, c.Caches = home, caches }
	go func() {
		defer close(ended)
		out, w := jailed(t, p, "echo x >~/.npm/new; touch /tmp/ready; read line; cat ~/.npm/new", in, env("HOME="+home), func(c *jailer.Command) { c.Stdin = read })
		if out != "x\n" {
			t.Errorf("%q, %+v", out, w)
		}
	}()
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(caches, "tmp", "ready")); err == nil {
				ready <- jailer.RemoveRun(caches)
				return
			}
		}
	}()
	if err := <-ready; err != nil {
		t.Error(err)
	}
	if _, err := write.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	<-ended
	if err := jailer.RemoveRun(caches); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(caches); err == nil {
		t.Error("it is there when no command uses it")
	}
}

// env adds variables to a command's environment.
func env(variables ...string) func(*jailer.Command) {
	return func(c *jailer.Command) { c.Env = append(slices.Clone(c.Env), variables...) }
}
