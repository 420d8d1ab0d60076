package jailertest

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Places of a pen.
const (
	home         = "/home/agent"
	workspace    = "/srv/ws"
	outside      = "/srv/outside"
	dataFolder   = home + "/.local/share/interlock"
	configFolder = home + "/.config/interlock"
	cacheFolder  = "/srv/caches" // Command.Caches
	sshAgent     = "/tmp/ssh-canary/agent.1"
)

// files are the files of a pen; contents with CANARY must not be read in a jail.
var files = map[string]string{
	dataFolder + "/tokens.json":                `{"approver":"CANARY-approver"}`,
	dataFolder + "/token.key":                  "CANARY-key",
	dataFolder + "/interlock.db":               "CANARY-store",
	configFolder + "/config.json":              "CANARY-config",
	home + "/.ssh/id_ed25519":                  "CANARY-ssh",
	home + "/.ssh/authorized_keys":             "CANARY-authorized",
	home + "/.aws/credentials":                 "CANARY-aws",
	home + "/.netrc":                           "CANARY-netrc",
	home + "/.git-credentials":                 "CANARY-git",
	home + "/.npmrc":                           "CANARY-npm",
	home + "/.pypirc":                          "CANARY-pypi",
	home + "/.kube/config":                     "CANARY-kube",
	home + "/.docker/config.json":              "CANARY-docker",
	home + "/.config/gh/hosts.yml":             "CANARY-gh",
	home + "/.config/gcloud/token":             "CANARY-gcloud",
	home + "/.gnupg/secring.gpg":               "CANARY-gnupg",
	home + "/.password-store/x.gpg":            "CANARY-pass",
	home + "/.mozilla/firefox/cookies":         "CANARY-firefox",
	home + "/.cargo/credentials.toml":          "CANARY-cargo",
	home + "/.claude/.credentials.json":        "CANARY-claude",
	home + "/.bashrc":                          "# bash\n",
	home + "/.profile":                         "# profile\n",
	home + "/.gitconfig":                       "[user]\n\tname = a\n\temail = a@example.com\n",
	home + "/.config/autostart/x.desktop":      "x\n",
	home + "/.config/systemd/user/x":           "x\n",
	home + "/.config/git/ignore":               "x\n",
	home + "/.local/bin/tool":                  "#!/bin/sh\necho tool\n",
	home + "/.cache/pip/x":                     "x\n",
	home + "/.npm/x":                           "x\n",
	home + "/notes.txt":                        "mine\n",
	outside + "/canary.txt":                    "canary\n",
	outside + "/hard.txt":                      "hard\n",
	outside + "/dir/deep.txt":                  "deep\n",
	outside + "/script.sh":                     "#!/bin/sh\necho x\n",
	outside + "/Makefile":                      "all:\n\techo x\n",
	"/srv/ws-other/file.txt":                   "a neighbour whose name begins alike\n",
	"/var/spool/cron/crontabs/agent":           "# m h\n",
	"/var/spool/cron/atjobs/x":                 "x\n",
	"/var/tmp/canary":                          "x\n",
	"/tmp/canary":                              "x\n",
	"/dev/shm/canary":                          "x\n",
	evilScript:                                 evil,
	"/root/secret":                             "CANARY-root",
	workspace + "/main.py":                     "print('main')\n",
	workspace + "/README.md":                   "# demo\n",
	workspace + "/Makefile":                    "all:\n\t@echo made > made.txt\n",
	workspace + "/src/a.txt":                   "a\n",
	workspace + "/src/deep/b.txt":              "b\n",
	workspace + "/.envrc":                      "export A=1\n",
	workspace + "/.vscode/settings.json":       "{}\n",
	workspace + "/.vscode/tasks.json":          "{}\n",
	workspace + "/.claude/settings.json":       "{}\n",
	workspace + "/.claude/settings.local.json": "{}\n",
	workspace + "/.mcp.json":                   "{}\n",
	workspace + "/.gitignore":                  "build/\nsub/\n",
	workspace + "/.git/HEAD":                   "ref: refs/heads/main\n",
	workspace + "/.git/config":                 "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
	workspace + "/.git/hooks/pre-commit":       "#!/bin/sh\nexit 0\n",
	workspace + "/.git/info/exclude":           "\n",
	workspace + "/.git/objects/info/x":         "\n",
	workspace + "/.git/refs/heads/.keep":       "\n",
	workspace + "/.husky/pre-commit":           "#!/bin/sh\n",
	workspace + "/pkg/.envrc":                  "export A=1\n",
	workspace + "/pkg/.vscode/tasks.json":      "{}\n",
	workspace + "/pkg/.claude/settings.json":   "{}\n",
	workspace + "/sub/.git/HEAD":               "ref: refs/heads/main\n",
	workspace + "/sub/.git/config":             "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[pull]\n\trebase = true\n",
	workspace + "/sub/.git/objects/info/x":     "\n",
	workspace + "/sub/.git/refs/heads/.keep":   "\n",
	workspace + "/sub/a.txt":                   "a\n",
}

// roots are the folders that a scan sees: all of a pen that is not of the machine.
var roots = []string{"/home", "/srv", "/var", "/run", "/tmp", "/root", "/dev/shm", "/pen", "/opt/suid"}

// makeWorld puts the pen's files back as they were.
func makeWorld(t *testing.T) {
	t.Helper()
	for _, root := range roots {
		if root == "/pen" || root == "/opt/suid" {
			continue
		}
		clearDir(root)
	}
	for name, content := range files {
		if strings.HasPrefix(name, "/root/") && os.Getuid() != 0 {
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
	for _, name := range []string{"/.ssh/id_ed25519", "/.local/bin/tool"} {
		must(t, os.Chmod(home+name, map[bool]os.FileMode{true: 0o755, false: 0o600}[strings.Contains(name, "bin")]))
	}
	must(t, os.Chmod(workspace+"/.git/hooks/pre-commit", 0o755))
	must(t, os.Chmod(evilScript, 0o755))
	must(t, os.Symlink(outside, workspace+"/link-out"))
	must(t, os.Symlink(outside+"/canary.txt", workspace+"/link-file"))
	must(t, os.Link(outside+"/hard.txt", workspace+"/hard.txt"))
	must(t, os.Link(dataFolder+"/tokens.json", workspace+"/hard-token"))
	must(t, syscall.Mkfifo(outside+"/fifo", 0o666))
	for _, dir := range []string{cacheFolder, "/run/user/1000", "/tmp/.X11-unix", "/tmp/ssh-canary", home + "/.cargo/registry", home + "/go/pkg"} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	if _, err := os.Lstat("/var/run"); err != nil {
		must(t, os.Symlink("/run", "/var/run"))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clearDir empties a folder.
func clearDir(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		_ = filepath.WalkDir(name, func(at string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(at, 0o755)
			}
			return nil
		})
		_ = os.RemoveAll(name)
	}
}

// scan describes every file of the pen, by its name.
func scan(t *testing.T) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if name == cacheFolder || strings.HasPrefix(name, "/pen/usr/work") || strings.HasPrefix(name, "/pen/etc/work") {
				return fs.SkipDir
			}
			if err == nil {
				seen[name] = describe(name)
			}
			return nil
		})
	}
	return seen
}

// describe returns the description of a file; times of folders and sockets are left out, since their entries are seen.
func describe(name string) string {
	var s unix.Stat_t
	if err := unix.Lstat(name, &s); err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("mode %o owner %d:%d", s.Mode, s.Uid, s.Gid)
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		text += fmt.Sprintf(" size %d time %d.%d", s.Size, s.Mtim.Sec, s.Mtim.Nsec)
		if f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			h := sha256.New()
			_, _ = io.Copy(h, f)
			f.Close()
			text += " hash " + hex.EncodeToString(h.Sum(nil)[:6])
		}
	case unix.S_IFLNK:
		target, _ := os.Readlink(name)
		text += " to " + target
	}
	list := make([]byte, 1024)
	if n, err := unix.Llistxattr(name, list); err == nil && n > 0 && !strings.HasPrefix(name, "/pen/") {
		text += " attributes " + strings.ReplaceAll(string(list[:n]), "\x00", " ")
	}
	return text
}

// differences names the differences between two scans.
func differences(before, after map[string]string) (changed []string) {
	for name, was := range before {
		switch is, ok := after[name]; {
		case !ok:
			changed = append(changed, "removed "+name)
		case is != was:
			changed = append(changed, fmt.Sprintf("changed %s (%s -> %s)", name, was, is))
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			changed = append(changed, "made "+name)
		}
	}
	slices.Sort(changed)
	return changed
}

// services are the canaries of a pen that are not files.
type services struct {
	t       *testing.T
	reached sync.Map // name of a socket -> *atomic.Int64
	watcher *exec.Cmd
	signals chan string
	sockets []io.Closer
}

// unixSockets are those of a pen; "@" begins an abstract one.
var unixSockets = []string{
	sshAgent, "/run/docker.sock", "/run/user/1000/bus", "/tmp/.X11-unix/X0", "@/tmp/.X11-unix/X0", "@dbus-canary",
	"/run/user/1000/gpg-agent", home + "/.gnupg/S.gpg-agent", outside + "/service.sock", dataFolder + "/interlock.sock",
}

func startServices(t *testing.T) *services {
	s := &services{t: t, signals: make(chan string, 1024)}
	for _, network := range []string{"tcp4", "tcp6"} {
		for _, port := range []int{80, 443, 18080} {
			address := fmt.Sprintf(":%d", port)
			if os.Getuid() != 0 && port < 1024 {
				continue
			}
			l, err := net.Listen(network, address)
			must(t, err)
			s.serve("tcp"+address, l)
		}
	}
	t.Cleanup(func() {
		for _, c := range s.sockets {
			c.Close()
		}
		s.endWatcher()
	})
	s.startWatcher()
	return s
}

// listen starts the sockets that are files, which makeWorld removes.
func (s *services) listen() {
	for _, name := range unixSockets {
		if name[0] != '@' {
			_ = os.Remove(name)
			_ = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		l, err := net.Listen("unix", name)
		if err != nil {
			if name[0] == '@' {
				continue // listens already
			}
			s.t.Fatal(err)
		}
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
		}
		if name[0] != '@' {
			_ = os.Chmod(name, 0o777)
		}
		s.serve(name, l)
	}
}

// serve counts who connects, and hands out a secret.
func (s *services) serve(name string, l net.Listener) {
	s.sockets = append(s.sockets, l)
	counted, _ := s.reached.LoadOrStore(name, &atomic.Int64{})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			counted.(*atomic.Int64).Add(1)
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nCANARY-service\r\n")
			conn.Close()
		}
	}()
}

// reachedAll returns how often each socket was reached.
func (s *services) reachedAll() map[string]int64 {
	all := map[string]int64{}
	s.reached.Range(func(name, n any) bool {
		all[name.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	return all
}

// startWatcher starts a process of the same user that notes the signals that it gets.
func (s *services) startWatcher() {
	s.watcher = exec.Command(penTest, "canary-process")
	s.watcher.Env = append(os.Environ(), modeVar+"="+modeWatch, "CANARY_SECRET=CANARY-of-a-process")
	s.watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.watcher.Dir = dataFolder
	if _, err := os.Stat(dataFolder); err != nil {
		s.watcher.Dir = "/"
	}
	out, err := s.watcher.StdoutPipe()
	must(s.t, err)
	must(s.t, s.watcher.Start())
	ready := make(chan bool)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if lines.Text() == "ready" {
				close(ready)
				continue
			}
			s.signals <- lines.Text()
		}
	}()
	<-ready
}

func (s *services) endWatcher() {
	_ = s.watcher.Process.Kill()
	_ = s.watcher.Wait()
}

// watched returns the signals that the watcher got, and whether it is dead or stopped.
func (s *services) watched() (found []string) {
	state := procState(s.watcher.Process.Pid)
	if strings.ContainsAny(state, "ZXTt") || state == "" {
		found = append(found, "the process is in state "+strconv.Quote(state))
		s.endWatcher()
		s.startWatcher()
	}
	for {
		select {
		case name := <-s.signals:
			found = append(found, "the process got "+name)
		default:
			return found
		}
	}
}

// procState is the letter of a process's state; empty where there is none.
func procState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	rest := stat[strings.LastIndexByte(string(stat), ')')+1:]
	return strings.Fields(string(rest))[0]
}

// processes are those of the pen that live, but for process 1, this one and the watcher.
func (s *services) processes() map[int]string {
	found := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == 1 || pid == os.Getpid() || pid == s.watcher.Process.Pid {
			continue
		}
		if state := procState(pid); state == "" || strings.ContainsAny(state, "ZX") {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		found[pid] = strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
	}
	return found
}

// survivors waits a little for processes that are about to end, and kills the others.
func (s *services) survivors() (found []string) {
	left := s.processes()
	for deadline := time.Now().Add(500 * time.Millisecond); len(left) > 0 && time.Now().Before(deadline); left = s.processes() {
		time.Sleep(5 * time.Millisecond)
	}
	for _, line := range left {
		found = append(found, "left running: "+line)
	}
	for deadline := time.Now().Add(10 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = s.processes() {
		for pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
	return found
}

// state is the state of a pen: all that a row must not change.
type state struct {
	files   map[string]string
	reached map[string]int64
	facts   map[string]string
}

func (s *services) state() state {
	facts := map[string]string{}
	host, _ := os.Hostname()
	facts["host name"] = host
	for _, name := range []string{
		"/proc/self/mountinfo", "/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem", "/proc/sys/kernel/core_pattern",
		"/proc/sys/net/ipv4/ip_forward", "/proc/sys/kernel/domainname",
	} {
		data, _ := os.ReadFile(name)
		facts[name] = string(data)
	}
	facts["packets"] = packets()
	return state{files: scan(s.t), reached: s.reachedAll(), facts: facts}
}

// packets counts those of the loopback.
func packets() string {
	data, _ := os.ReadFile("/proc/self/net/dev")
	for line := range strings.Lines(string(data)) {
		if name, rest, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "lo" {
			return strings.Fields(rest)[1]
		}
	}
	return ""
}
