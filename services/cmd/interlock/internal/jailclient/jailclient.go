// Package jailclient runs a command line that Interlock has allowed, in its jail.
//
// Hooks put `interlock jail --run RUN --call ID -- LINE` in the place of LINE. It runs exactly the judged line: the server
// hands the profile out once, for exactly that line. In doubt, it does not run.
package jailclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// Exit codes: of a command that was not started, and the number added to that of the signal that has ended one.
const (
	ExitNotRun = 126
	bySignal   = 128
)

// How long it may take to claim a call, and to hand in a witness: an agent that stops a command does not wait long for its end.
const (
	claiming  = 10 * time.Second
	handingIn = 3 * time.Second
)

// Command is one command line of `interlock jail`.
type Command struct {
	Server hookclient.Client
	Run    string
	ID     string
	Line   string
}

// FromEnv returns a command with the environment's settings of the server.
func FromEnv(getenv func(string) string) Command {
	return Command{Server: hookclient.Client{
		Server: getenv("INTERLOCK_HTTP_SERVER"), Token: getenv("INTERLOCK_TOKEN"), CA: getenv("INTERLOCK_CA"), Data: getenv("INTERLOCK_DATA"),
		Namespace: getenv("INTERLOCK_NAMESPACE"), Trace: getenv("TRACEPARENT"), Jail: Machine{},
	}}
}

// Parse takes the flags that hooks write. It answers false for anything else, which is for the full parser.
func (c *Command) Parse(args []string) bool {
	flags := map[string]*string{
		"--data-dir": &c.Server.Data, "--server": &c.Server.Server, "--ca": &c.Server.CA, "--namespace": &c.Server.Namespace,
		"--run": &c.Run, "--call": &c.ID,
	}
	given := map[string]bool{}
	for len(args) >= 2 && args[0] != "--" {
		target, known := flags[args[0]]
		if !known || given[args[0]] {
			return false
		}
		*target = args[1]
		given[args[0]] = true
		args = args[2:]
	}
	c.Server.KeepTo(given["--data-dir"], given["--server"], given["--namespace"])
	if len(args) != 2 || args[0] != "--" || c.Run == "" || c.ID == "" {
		return false
	}
	c.Line = args[1]
	return true
}

// Claimed is a call that the server has handed out.
type Claimed struct {
	call    *Command
	post    hookclient.Transport
	command *jailer.Command
	started *hookclient.Started
}

// Claim claims the line of a call, which succeeds once. False: it must not run, and errs says why.
func (c *Command) Claim(errs io.Writer, post hookclient.Transport) (*Claimed, bool) {
	command, started, err := c.askServer(post)
	if err != nil {
		fmt.Fprintf(errs, "interlock jail: the command was not run: %v\n", err)
		if started != nil {
			c.testify(errs, post, started, c.failed(started, err))
		}
		return nil, false
	}
	return &Claimed{c, post, command, started}, true
}

// NeedsProxy reports that the command's network is a proxy: of hosts, or one that refuses all, so that programs end at once
// with the reason.
func (r *Claimed) NeedsProxy() bool {
	return r.command.Profile.Network != jail.NetworkOpen && jail.Level(r.started.Level) >= jail.Full
}

// Proxy is that of jailer.Command.
type Proxy = func(*os.File, jail.Hosts) (func(context.Context, func(jail.Asked)) error, error)

// Execute runs the line, and returns its exit status. What the user or the agent should read goes to errs. A proxy of nil is
// for a command that needs none.
func (r *Claimed) Execute(in, out, errs *os.File, proxy Proxy) int {
	c, post, command, started := r.call, r.post, r.command, r.started
	command.Proxy = proxy
	command.Stdin, command.Stdout, command.Stderr = in, out, errs
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	command.Signals = signals
	if file := folderFile(); file != "" && changesFolder.MatchString(c.Line) {
		note, end, err := handOut(file, command.Profile.Workspace)
		if err == nil {
			command.Note, command.Argv[len(command.Argv)-1] = note, handingOut+c.Line
			defer end()
		}
	}
	drop, err := c.expect(started)
	if err != nil {
		fmt.Fprintf(errs, "interlock jail: the command was not run: its witness could not be kept: %v\n", err)
		c.testify(errs, post, started, c.failed(started, err))
		return ExitNotRun
	}
	defer drop()
	seen, err := jailer.Run(context.Background(), command)
	if err != nil {
		c.Server.Forget() // the known facts of this machine may not hold any more
		fmt.Fprintf(errs, "interlock jail: the command was not run: %v\n", err)
		c.testify(errs, post, started, c.failed(started, err))
		return ExitNotRun
	}
	c.testify(errs, post, started, seen)
	if slices.Contains(seen.Notes, jailer.Emptied) {
		fmt.Fprintf(errs, "interlock jail: %s\n", jailer.Emptied)
	}
	if seen.Stopped != "" {
		fmt.Fprintf(errs, "interlock jail: the command was ended: %s\n", seen.Stopped)
	}
	return Status(seen)
}

// Try runs a line in the jail of a state that only reads a folder, and returns its witness.
func Try(ctx context.Context, folder, line string) (*jail.Witness, error) {
	shell, err := bash()
	if err != nil {
		return nil, err
	}
	machine, err := (&Command{}).machine()
	if err != nil {
		return nil, err
	}
	profile := jail.Compile(jail.Rules{}, jail.Command{ReadOnly: true, Workspace: resolved(folder), Folder: resolved(folder), Level: max(jailer.Probe().Level, jail.Files)})
	return jailer.Run(ctx, &jailer.Command{
		CallID: "try", Argv: []string{shell, "--noprofile", "--norc", "-c", line}, Env: os.Environ(), Dir: resolved(folder),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Profile: &profile, Machine: machine,
	})
}

// rootFolder returns the folder of this user's data folders; empty for none.
func rootFolder() datadir.Dir {
	root, err := datadir.Root()
	if err != nil {
		return ""
	}
	return root
}

// askServer claims the call, and makes a command from the answer. It returns the claim even if the command cannot run.
func (c *Command) askServer(post hookclient.Transport) (*jailer.Command, *hookclient.Started, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("find the current folder: %w", err)
	}
	shell, err := bash()
	if err != nil {
		return nil, nil, err
	}
	to, err := c.Server.Connect(time.Now().Add(claiming), post)
	if err != nil {
		return nil, nil, err
	}
	c.Server.HandIn(to)
	started, err := to.Start(c.Run, c.ID, c.Line, c.Server.Support().Level)
	if err != nil {
		return nil, nil, err
	}
	profile := &jail.Profile{}
	if err := json.Unmarshal(started.Profile, profile); err != nil {
		return nil, started, fmt.Errorf("read the profile: %w", err)
	}
	if profile.Version != 1 || profile.Digest() != started.Digest {
		return nil, started, errors.New("this version of interlock does not know all of the profile: update it to that of the server")
	}
	machine, err := c.machine()
	if err != nil {
		return nil, started, err
	}
	guards, err := c.Server.Guards()
	if err != nil {
		return nil, started, err
	}
	if _, err := jailer.Restore(guards); err != nil {
		return nil, started, fmt.Errorf("restore protected files that a killed command has changed: %w", err)
	}
	left := filepath.Join(filepath.Dir(guards), "left", datadir.Digest(c.Run)[:16])
	if err := jailer.EndLeft(left, profile); err != nil {
		return nil, started, fmt.Errorf("end programs that an earlier command has left running: %w", err)
	}
	command := &jailer.Command{
		CallID: c.ID, Left: left, Argv: []string{shell, "--noprofile", "--norc", "-c", c.Line}, Env: os.Environ(), Dir: folder,
		Profile: profile, Machine: machine, Guards: guards,
	}
	c.keep(command)
	return command, started, nil
}

// bash returns the shell that runs lines. It does not depend on the agent's PATH.
func bash() (string, error) {
	for _, name := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"} {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name, nil
		}
	}
	return "", errors.New("there is no bash in /bin, /usr/bin or /usr/local/bin")
}

// machine returns the facts about this machine that a profile needs.
func (c *Command) machine() (jail.Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return jail.Machine{}, errors.New("HOME is not an absolute path, so it is not known which files are the user's")
	}
	program, err := os.Executable()
	if err != nil {
		return jail.Machine{}, fmt.Errorf("find this program: %w", err)
	}
	m := jail.Machine{Home: resolved(home), Program: resolved(program)}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		m.RuntimeDir = resolved(dir)
	}
	if dir, err := os.UserConfigDir(); err == nil && filepath.IsAbs(dir) {
		m.ConfigFolder = resolved(filepath.Join(dir, datadir.Default))
	}
	if c.Server.Server == "" && c.Server.Data != "" {
		folder, err := datadir.At(c.Server.Data)
		if err != nil {
			return jail.Machine{}, err
		}
		m.DataFolder = resolved(string(folder))
	} else if root := rootFolder(); root != "" {
		m.DataFolder = resolved(string(root))
	}
	return m, nil
}

// resolved returns a path without links, as far as it exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// failed returns the witness of a command that was not started.
func (c *Command) failed(started *hookclient.Started, why error) *jail.Witness {
	now := time.Now()
	return &jail.Witness{
		CallID: c.ID, Profile: started.Digest, Level: jail.Level(started.Level), Failed: why.Error(), ExitStatus: -1, Started: now, Ended: now,
	}
}

// killed is what the witness of a command says whose process was killed before it.
const killed = "the process that watches over the command was killed"

// expect keeps that a command may have changed any file, until its witness is heard or kept.
func (c *Command) expect(started *hookclient.Started) (drop func(), err error) {
	now := time.Now()
	seen := &jail.Witness{
		CallID: c.ID, Profile: started.Digest, Level: jail.Level(started.Level), ExitStatus: -1, Signal: "SIGKILL", Started: now, Ended: now, TreeFailed: killed,
	}
	data, signature := seen.Sign(started.Key)
	return c.Server.Expect(hookclient.Testimony{RunID: started.RunID, CallID: c.ID, Witness: data, Signature: signature})
}

// testify hands in the witness, or keeps it until the server can hear it.
func (c *Command) testify(errs io.Writer, post hookclient.Transport, started *hookclient.Started, seen *jail.Witness) {
	data, signature := seen.Sign(started.Key)
	t := hookclient.Testimony{RunID: started.RunID, CallID: c.ID, Witness: data, Signature: signature}
	to, err := c.Server.Connect(time.Now().Add(handingIn), post)
	var heard hookclient.Heard
	if err == nil {
		heard, err = to.Finish(t)
	}
	var no *hookclient.Refused
	switch {
	case err == nil && heard.Notice != "":
		fmt.Fprintln(errs, heard.Notice)
	case err == nil:
	case errors.As(err, &no) && !no.Away:
		fmt.Fprintf(errs, "interlock jail: the server refuses the witness: %s\n", no.Why)
	default:
		if lost := c.Server.Keep(t); lost != nil {
			fmt.Fprintf(errs, "interlock jail: the witness of this command is lost: %v, and it could not be kept: %v\n", err, lost)
			return
		}
		fmt.Fprintf(errs, "interlock jail: the witness of this command is kept until the server can be reached: %v\n", err)
	}
}

// Status returns the exit status of a command, as shells have it.
func Status(seen *jail.Witness) int {
	if seen.Signal == "" {
		return seen.ExitStatus
	}
	if n := number(strings.TrimPrefix(seen.Signal, "SIG")); n > 0 {
		return bySignal + n
	}
	return bySignal + int(syscall.SIGKILL)
}
