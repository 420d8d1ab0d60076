package jailertest

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// attempt is one attempt to get out of a jail: a line of a shell, or code of Python.
type attempt struct {
	name string
	// as is the state's kind: reading (the default), editing, or asking (editing, with hosts).
	as       kind
	line, py string
	// open are the levels at which docs/jail.md says that the attempt succeeds, such as "12".
	open string
	// vain is the reason why the attempt has no effect without a jail, too; empty where it succeeds.
	vain string
	// inside is true where the attempt is about the workspace or a folder for scratch files.
	inside bool
	// least is the lowest level at which it is made.
	least jail.Level
	// root is true where only root can do it without a jail.
	root bool
	// user is true where it means something for users alone.
	user bool
	// limits bound the command.
	limits jail.Limits
	// check adds outcomes that the pen's state does not show.
	check func(result) []string
}

type kind int

const (
	reading kind = iota
	editing
	asking
)

// prelude is the beginning of code in Python.
const prelude = `import ctypes, errno, fcntl, glob, mmap, os, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
def won(why, ok=True):
    if ok: print("ESCAPED:", why, flush=True)
def watched():
    return int(os.environ["WATCHED"])
OUT = "/srv/outside"
`

// profile is the compiled profile of a state of the kind.
func (k kind) profile(level jail.Level, limits jail.Limits) *jail.Profile {
	rules, call := jail.Rules{Level: level, Limits: limits}, jail.Command{ReadOnly: k == reading, Workspace: workspace, Folder: workspace}
	if k == asking {
		rules.Hosts = []string{"allowed.example.com"}
	}
	profile := jail.Compile(rules, call)
	return &profile
}

// outcomes are all that an attempt has done to its pen.
func (s *services) outcomes(k kind, before state, r result) (found []string) {
	found = append(found, s.survivors()...)
	found = append(found, s.watched()...)
	after := s.state()
	for _, change := range differences(before.files, after.files) {
		if k == reading || !mayChange(change) {
			found = append(found, change)
		}
	}
	for name, n := range after.reached {
		if n > before.reached[name] {
			found = append(found, "reached "+name)
		}
	}
	for name, was := range before.facts {
		if name == "packets" && k == asking {
			continue // below level 3 the proxy is on the loopback of the machine
		}
		if after.facts[name] != was {
			found = append(found, fmt.Sprintf("%s is other than before:\n%s\n%s", name, was, after.facts[name]))
		}
	}
	for line := range strings.Lines(r.Output) {
		if strings.Contains(line, "CANARY") || strings.Contains(line, "ESCAPED") {
			found = append(found, fmt.Sprintf("output: %.200q", line))
		}
	}
	if strings.HasPrefix(r.Error, "the runner") {
		found = append(found, r.Error)
	}
	return found
}

// protected are files of a workspace that run later, outside of the jail.
var protected = []string{
	".git/hooks", ".git/config", ".git/commondir", ".git/info/attributes", ".envrc", ".vscode/tasks.json", ".vscode/settings.json",
	".vscode/launch.json", ".vscode/mcp.json", ".idea", ".husky", ".claude", ".cursor",
	".codex", ".gemini", ".mcp.json", ".devcontainer",
}

// mayChange reports whether a state that edits may make a difference.
func mayChange(change string) bool {
	_, name, _ := strings.Cut(change, " ")
	name, ok := strings.CutPrefix(name, workspace)
	if !ok {
		return false
	}
	for _, p := range protected {
		if rest, ok := strings.CutPrefix(name, "/"+p); ok && (rest == "" || rest[0] == '/' || rest[0] == ' ') {
			return false
		}
	}
	return true
}

// patience is how long an attempt may take before it is ended: longer than any limit of any attempt, on a busy machine.
const patience = 2 * time.Minute

// try makes an attempt at a level; jail.None makes it without a jail.
func (s *services) try(t *testing.T, a attempt, level jail.Level) []string {
	t.Helper()
	makeWorld(t)
	s.listen()
	s.endWatcher()
	s.startWatcher()
	j := job{Argv: shell(a.line), Env: []string{"WATCHED=" + strconv.Itoa(s.watcher.Process.Pid)}, Caches: cacheFolder}
	if a.py != "" {
		j.Argv = []string{"python3", "-I", "-c", prelude + a.py}
		if level == jail.None {
			j.Argv[0] = "/opt/python/bin/python3"
		}
	}
	if level > jail.None {
		j.Highest = level
		j.Profile = a.as.profile(level, a.limits)
	}
	before := s.state()
	r := run(t, j, patience)
	found := s.outcomes(a.as, before, r)
	if a.check != nil {
		found = append(found, a.check(r)...)
	}
	if level > jail.None && r.Late {
		found = append(found, "was not ended")
	}
	ended := level == jail.Files && strings.HasPrefix(r.Error, "the jail ended") // by the command: it may signal there
	if level > jail.None && r.Error != "" && !ended && !strings.HasPrefix(r.Error, "the runner") {
		t.Errorf("not started: %s\n%s", r.Error, r.Output)
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("took %s, output:\n%.2000s", r.Took, r.Output)
	}
	return found
}

// attempts makes all attempts at a level.
func attempts(t *testing.T, level jail.Level) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the numbers of system calls are those of x86-64")
	}
	if got := jailer.Probe(); got.Level < level {
		t.Fatalf("the pen has level %d (%s), want %d", got.Level, got.Missing, level)
	}
	s := startServices(t)
	held, made := 0, 0
	names := map[string]bool{}
	for i, a := range allAttempts() {
		if names[a.name] {
			t.Errorf("two attempts are named %q", a.name)
		}
		names[a.name] = true
		if !chosen(a, i+int(level)) || level < a.least || a.root && os.Getuid() != 0 || a.user && os.Getuid() == 0 {
			continue
		}
		made++
		t.Run(a.name, func(t *testing.T) {
			found := s.try(t, a, level)
			if level < jail.Scoped && a.open == "" { // signals are open there, and no news
				found = slices.DeleteFunc(found, func(what string) bool { return strings.HasPrefix(what, "the process got") })
			}
			open := strings.Contains(a.open, strconv.Itoa(int(level)))
			if open == (len(found) > 0) {
				held++
				return
			}
			if open {
				t.Errorf("docs/jail.md says that level %d does not hold this, and it does", level)
			}
			for _, what := range found[:min(len(found), 12)] {
				t.Error(what)
			}
		})
	}
	t.Logf("level %d, user %d: %d of %d attempts end as docs/jail.md says", level, os.Getuid(), held, made)
}

// sampleOf is the share of attempts that `make test` makes; `make jail-test` makes all.
const sampleOf = 20

// chosen reports whether an attempt is made: INTERLOCK_ATTEMPTS is a regular expression of names.
func chosen(a attempt, i int) bool {
	if pattern := os.Getenv("INTERLOCK_ATTEMPTS"); pattern != "" {
		return regexp.MustCompile(pattern).MatchString(a.name)
	}
	return full() || i%sampleOf == 0
}

// side lets a test of the sample run next to others, each in its pen.
func side(t *testing.T) {
	if !full() {
		t.Parallel()
	}
}

// full reports whether all is to be run.
func full() bool { return os.Getenv("INTERLOCK_JAIL_TEST") == "full" }

func TestEscapesOfRoot(t *testing.T) {
	side(t)
	if (pen{UID: 0}).in(t) {
		attempts(t, jail.Full)
	}
}

func TestEscapes(t *testing.T) {
	side(t)
	if (pen{UID: user}).in(t) {
		attempts(t, jail.Full)
	}
}

// TestEscapesWithoutNamespaces makes the attempts where there are no user namespaces: at level 2.
func TestEscapesWithoutNamespaces(t *testing.T) {
	side(t)
	if (pen{UID: user, NoNamespaces: true}).in(t) {
		attempts(t, jail.Scoped)
	}
}

// TestEscapesFromLandlock makes the attempts where a kernel knows files alone: at level 1.
func TestEscapesFromLandlock(t *testing.T) {
	side(t)
	if (pen{UID: user, NoNamespaces: true}).in(t) {
		attempts(t, jail.Files)
	}
}

// TestAttemptsAreReal makes the attempts without a jail: each has the effect that the others must not have.
func TestAttemptsAreReal(t *testing.T) {
	side(t)
	if !(pen{UID: user}).in(t) {
		return
	}
	s := startServices(t)
	for i, a := range allAttempts() {
		if !chosen(a, i) || a.root || a.vain != "" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			found := s.try(t, a, jail.None)
			if !a.inside && a.as == reading {
				found = slices.DeleteFunc(found, litter)
			}
			if len(found) == 0 {
				t.Error("without a jail, the attempt does nothing")
			}
		})
	}
}

// litter reports whether a difference is one that the preparation of an attempt may have left.
func litter(change string) bool {
	what, name, _ := strings.Cut(change, " ")
	return what != "reached" && (strings.HasPrefix(name, workspace+"/") || strings.HasPrefix(name, "/tmp/") || strings.HasPrefix(name, home+"/.gnupg"))
}

// allAttempts are those of each part.
func allAttempts() []attempt {
	return slices.Concat(writeAttempts, toolAttempts, lateAttempts, runnerAttempts(), metadataAttempts, readAttempts(), descriptorAttempts, processAttempts,
		networkAttempts, socketAttempts(), namespaceAttempts, kernelAttempts, protectAttempts(), belowAttempts(), limitAttempts)
}
