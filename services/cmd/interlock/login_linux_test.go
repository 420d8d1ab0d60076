package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// screen is a terminal with a program in it, and a person who types.
type screen struct {
	t    *testing.T
	file *os.File
	// path is that of the terminal, for programs in it.
	path string

	mu   sync.Mutex
	text bytes.Buffer
	seen int
}

// openScreen starts a program of a user, nil for this one, as the leader of a session at a terminal of its own.
func openScreen(t *testing.T, user *syscall.Credential, dir string, env []string, program ...string) *screen {
	t.Helper()
	file, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(file.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Credential: user}
	if user != nil {
		if err := side.Chown(int(user.Uid), int(user.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	side.Close()
	s := &screen{t: t, file: file, path: side.Name()}
	read := make(chan struct{})
	go func() {
		defer close(read)
		chunk := make([]byte, 4096)
		for {
			n, err := file.Read(chunk)
			s.mu.Lock()
			s.text.Write(chunk[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		end := os.Signal(syscall.SIGTERM)
		if program[0] == "sh" { // at a terminal it ignores that, and SIGHUP where its parent did
			end = os.Kill
		}
		_ = cmd.Process.Signal(end)
		_ = cmd.Wait()
		file.Close()
		<-read
		if t.Failed() {
			t.Logf("%v:\n%s", program, s.text.String())
		}
	})
	return s
}

// shows waits until the screen has a match after those before, and returns its first group.
func (s *screen) shows(pattern string) string {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(soon)
	defer tick.Stop()
	for {
		s.mu.Lock()
		text := s.text.String()[s.seen:]
		at := want.FindStringSubmatchIndex(text)
		if at != nil {
			s.seen += at[1]
		}
		s.mu.Unlock()
		if at != nil {
			return text[at[2]:at[3]]
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			s.t.Fatalf("not within %s: %s", patience, pattern)
		}
	}
}

func (s *screen) types(line string) {
	s.t.Helper()
	if _, err := s.file.WriteString(line + "\n"); err != nil {
		s.t.Fatal(err)
	}
}

// runs types a command, and returns what it prints and how it ends.
func (s *screen) runs(command string) (output string, code int) {
	s.t.Helper()
	s.types(command + "; echo en''ded $?")
	output = s.shows(`(?s)^(.*?ended \d+)\r?\n`)
	at := strings.LastIndex(output, "ended ")
	code, err := strconv.Atoi(output[at+len("ended "):])
	if err != nil {
		s.t.Fatal(err)
	}
	return output[:at], code
}

func (s *screen) succeeds(command string) string {
	s.t.Helper()
	output, code := s.runs(command)
	if code != 0 {
		s.t.Fatalf("%s: exit %d: %s", command, code, output)
	}
	return output
}

func (s *screen) fails(command, why string) {
	s.t.Helper()
	if output, code := s.runs(command); code == 0 || !strings.Contains(output, why) {
		s.t.Errorf("%s: exit %d, without %q: %s", command, code, why, output)
	}
}

// proves types a command that asks for a person's name or passphrase, and answers.
func (s *screen) proves(person, words, command string) (output string, code int) {
	s.t.Helper()
	s.types(command + "; echo en''ded $?")
	if asked := s.shows(`(your name[^\n]*: |passphrase of ` + person + `:|ended \d+)`); strings.HasPrefix(asked, "your") {
		s.types(person)
		s.shows(`(passphrase of ` + person + `:)`)
	} else if strings.HasPrefix(asked, "ended") {
		s.t.Fatalf("%s asks for no passphrase", command)
	}
	s.types(words)
	output = s.shows(`(?s)^(.*?ended \d+)\r?\n`)
	at := strings.LastIndex(output, "ended ")
	code, err := strconv.Atoi(output[at+len("ended "):])
	if err != nil {
		s.t.Fatal(err)
	}
	return output[:at], code
}

// decides proves to be a person, and has a command succeed.
func (s *screen) decides(person, command string) string {
	s.t.Helper()
	output, code := s.proves(person, terminalWords, command)
	if code != 0 {
		s.t.Fatalf("%s: exit %d: %s", command, code, output)
	}
	return output
}

// refuses has a command fail where it was not the person who was asked.
func (s *screen) refuses(command string) {
	s.t.Helper()
	if output, code := s.proves("ann", "not her four words", command); code == 0 || !strings.Contains(output, "the log-in is refused") {
		s.t.Errorf("%s: exit %d: %s", command, code, output)
	}
}

// registers has a person register with a passphrase by a code.
func (s *screen) registers(person, flags string) {
	s.t.Helper()
	s.types("interlock login " + flags + "; echo en''ded $?")
	s.shows(`(at least 12 characters:)`)
	s.types(terminalWords)
	s.shows(`(once more:)`)
	s.types(terminalWords)
	if code := s.shows(`logged in as ` + person + ` at this terminal, until [^\n]*\n(?:.*\n)?ended (\d+)`); code != "0" {
		s.t.Fatalf("log in: exit %s", code)
	}
}

// atTerminals is a server that demands presence at one terminal, and a person's shell at another.
type atTerminals struct {
	*screen
	env    []string
	folder string
	user   *syscall.Credential
	at     datadir.Endpoints
	agent  string
	code   string
}

// openTerminals starts a server and a shell. They are not root's where apart is set: no program of a user reads root's memory.
func openTerminals(t *testing.T, apart bool) *atTerminals {
	t.Helper()
	built := builtFolder(t)
	folder, err := os.MkdirTemp("", "il") // short: the path of a socket is
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	data := datadir.Dir(filepath.Join(folder, "data"))
	workspace, runtime := filepath.Join(folder, "ws"), filepath.Join(folder, "run")
	a := &atTerminals{folder: workspace, env: []string{
		"PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + workspace, "TERM=dumb", "PS1=", "NO_PROXY=*",
		"XDG_RUNTIME_DIR=" + runtime, "INTERLOCK_DATA=" + string(data),
	}}
	program := filepath.Join(folder, "interlock")
	text, err := os.ReadFile(filepath.Join(built, "interlock"))
	for _, err := range []error{err, os.Mkdir(workspace, 0o700), os.Mkdir(runtime, 0o700), os.WriteFile(program, text, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if apart && os.Getuid() == 0 {
		const nobody = 65534
		a.user = &syscall.Credential{Uid: nobody, Gid: nobody}
		a.env[0] = "PATH=" + folder + ":/usr/local/bin:/usr/bin:/bin"
		for _, path := range []string{folder, workspace, runtime} {
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	up := openScreen(t, a.user, workspace, a.env, program, "up", "--presence", "required",
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	a.code = up.shows(`interlock login --code ([A-Z2-7-]+)`)
	if a.at, err = data.ReadEndpoints(); err != nil {
		t.Fatal(err)
	}
	if a.agent, err = auth.FileToken(data.Local(), auth.Agent); err != nil {
		t.Fatal(err)
	}
	a.screen = openScreen(t, a.user, workspace, a.env, "sh", "-i")
	a.types("stty -echo; echo rea''dy")
	a.shows(`(ready)\r?\n`)
	return a
}

// asAgent runs a command of the agent, outside of the terminal.
func (a *atTerminals) asAgent(args ...string) string {
	a.t.Helper()
	cmd := exec.Command("interlock", append(args, "-o", "json")...)
	cmd.Path = filepath.Join(strings.TrimPrefix(strings.SplitN(a.env[0], ":", 2)[0], "PATH="), "interlock")
	cmd.Dir, cmd.Env = a.folder, append([]string{"INTERLOCK_TOKEN=" + a.agent}, a.env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitWaits) {
		a.t.Fatalf("%v: %v %s", args, err, out)
	}
	return string(out)
}

// waits has the agent ask for an approval.
func (a *atTerminals) waits() (approval, run string) {
	a.t.Helper()
	var started struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(a.asAgent("run", "start", "gate", "--session", fmt.Sprint("s", time.Now().UnixNano()))), &started); err != nil {
		a.t.Fatal(err)
	}
	found := regexp.MustCompile(`apr_[0-9a-z]{26}`).FindString(a.asAgent("run", "transition", started.RunID, "SHIP"))
	if found == "" {
		a.t.Fatal("the agent got no approval to wait for")
	}
	return found, started.RunID
}

const (
	gate = `{"id":"gate","initial":"build","states":{"build":{"allowed_tools":["Read"],
		"on":{"SHIP":{"target":"ship","requires_approval":true}}},"ship":{"type":"final"}}}`
	terminalWords = "four plain words here"
)

// A person registers by the code of `interlock up` at a terminal and decides there; before the log-in, after
// the log-out, and by a program that the shell has started, it is refused (S23.13, S23.16). A key of SSH logs
// in at a server elsewhere in the same way (S24.3), and signs a decision that the receipt shows (S23.26).
func TestLoginAtATerminal(t *testing.T) {
	t.Parallel()
	a := openTerminals(t, false)
	if err := os.WriteFile(filepath.Join(a.folder, "gate.json"), []byte(gate), 0o600); err != nil {
		t.Fatal(err)
	}
	a.fails("interlock policy list --as operator", "no person has logged in as operator")
	a.registers("ann", "--person ann --code "+a.code)
	a.succeeds("interlock policy list") // a log-in reads
	a.halts()
	a.decides("ann", "interlock workflow register gate.json")
	first, _ := a.waits()
	a.refuses("python3 -c 'import subprocess; exit(subprocess.call([\"interlock\", \"approval\", \"approve\", \"--yes\", \"" + first + "\"]))'")
	a.refuses("interlock approval approve --yes " + first)
	if output := a.decides("ann", "interlock approval approve --yes "+first); !strings.Contains(output, "GRANTED") {
		t.Errorf("approved: %s", output)
	}
	a.succeeds("ssh-keygen -q -t ed25519 -N '' -C ann -f key")
	a.decides("ann", "interlock person key add ann --ssh key.pub --label laptop")
	a.succeeds("interlock logout")
	second, run := a.waits()
	a.refuses("interlock approval approve --yes " + second)

	elsewhere := " --server " + a.at.GRPC
	a.refuses("interlock approval approve --yes " + second + elsewhere)
	if output := a.succeeds("interlock login --ssh key" + elsewhere); !strings.Contains(output, "logged in as ann") || !strings.Contains(output, "does not show that you are there") {
		t.Errorf("by SSH: %s", output)
	}
	a.refuses("python3 -c 'import subprocess; exit(subprocess.call(\"interlock approval approve --yes " + second + elsewhere + "\".split()))'")
	a.refuses("sh -c 'interlock approval approve --yes " + second + elsewhere + "; exit $?' </dev/null")
	if output := a.succeeds("INTERLOCK_SSH=key interlock approval approve --yes " + second + elsewhere + " --sign ssh --key key"); !strings.Contains(output, "you sign:") || !strings.Contains(output, "GRANTED") {
		t.Errorf("signed: %s", output)
	}
	a.succeeds("interlock receipt " + run + " --out run.receipt.json" + elsewhere)
	if output := a.succeeds("interlock receipt verify run.receipt.json --key $INTERLOCK_DATA/receipt.key.pub"); !strings.Contains(output, "ann") || !strings.Contains(output, "SHA256:") {
		t.Errorf("the receipt does not show the signature: %s", output)
	}
	a.succeeds("interlock logout" + elsewhere)
	a.invited(elsewhere)
	third, _ := a.waits()
	a.refuses("interlock approval approve --yes " + third + elsewhere)
	if output := a.succeeds("grep -rl ilp_ . ../data $XDG_RUNTIME_DIR || echo none"); !strings.Contains(output, "none") {
		t.Errorf("a token of a person lies in %s", output)
	}
}

// halts has a person, who has the role root, halt and freeze all and lift that by the ids that the terminal shows.
func (a *atTerminals) halts() {
	a.t.Helper()
	a.fails("interlock halt --all --reason night", "you have the role root: add --as root")
	a.decides("ann", "interlock halt --all --as root --reason night")
	a.decides("ann", "interlock freeze add --workflow '*' --until 1h --reason night")
	halt := regexp.MustCompile(`halt_\S+`).FindString(a.succeeds("interlock halt list"))
	freeze := regexp.MustCompile(`frz_\S+`).FindString(a.succeeds("interlock freeze list"))
	a.decides("ann", "interlock halt --as root --reason day --lift "+halt)
	a.decides("ann", "interlock freeze lift --reason day "+freeze)
}

// invited has a person register by an invitation, which says whom it is for.
func (a *atTerminals) invited(elsewhere string) {
	a.t.Helper()
	a.succeeds("interlock login --ssh key" + elsewhere)
	a.fails("INTERLOCK_SSH=key interlock person add bob --role approver"+elsewhere, "does not show that you are there") // a key without a touch
	a.succeeds("interlock logout" + elsewhere)
	if output := a.decides("ann", "interlock login --decide --person ann"); !strings.Contains(output, "start no agent here") {
		a.t.Errorf("it does not warn: %s", output)
	}
	a.succeeds("interlock person add bob --role approver") // such a log-in does not ask again
	code := regexp.MustCompile(`code +(\S+)`).FindStringSubmatch(a.succeeds("interlock person invite bob"))
	if code == nil {
		a.t.Fatal("the invitation has no code")
	}
	a.succeeds("interlock logout")
	a.fails("interlock login --person eve --ssh key --code "+code[1], "the code is for bob, and not for eve")
	a.registers("bob", "--code "+code[1])
	if output, code := a.proves("bob", terminalWords, "interlock person add eve --role operator --as approver"); code == 0 || !strings.Contains(output, "role approver") {
		a.t.Errorf("an approver adds a person: exit %d: %s", code, output)
	}
	a.succeeds("interlock run list") // an approver reads as that
	a.fails("interlock run list --as operator", "leave out --as, or give --as approver")
	if output, code := a.proves("bob", terminalWords, "interlock halt --all --reason night"); code == 0 || !strings.Contains(output, "role operator") {
		a.t.Errorf("an approver halts all: exit %d: %s", code, output)
	}
	a.succeeds("interlock logout")
}
