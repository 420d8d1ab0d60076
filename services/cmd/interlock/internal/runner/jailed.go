package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/internal/jailer/hostproxy"
)

// Jail is the outer jail of agents: the commands that a state judges run in jails of their own inside of it.
type Jail struct {
	Machine jail.Machine
	// Write and Read are paths besides the working folder that an agent may change, and that are hidden
	// otherwise. Hosts are those that it may reach; nil for any.
	Write, Read, Hosts []string
	// Run is that of package jailer by default.
	Run func(context.Context, *jailer.Command) (*jail.Witness, error)
}

// ofAgents are the files of agents in the home of their user.
var ofAgents = []string{
	"~/.claude", "~/.claude.json", "~/.codex", "~/.gemini", "~/.cursor", "~/.copilot", "~/.config/github-copilot",
}

// hooksOfAgents are files in them that say which hooks run.
var hooksOfAgents = []string{
	"~/.claude/settings.json", "~/.claude/settings.local.json", "~/.codex/hooks.json", "~/.gemini/settings.json", "~/.cursor/hooks.json",
	"~/.copilot/hooks",
}

// profile returns the limits that the kernel enforces on an agent. data is the data folder of its server,
// which its hooks read; empty for none.
func (o *Jail) profile(folder, data, socket string, environ []string) *jail.Profile {
	rules := jail.Rules{
		Read: o.Read, Write: slices.Concat(o.Write, ofAgents), Hosts: o.Hosts, Background: true,
	}
	if data != "" {
		rules.Read = append(rules.Read, data)
		rules.Write = append(rules.Write, filepath.Join(data, "witnesses"))
	}
	if socket != "" {
		rules.Write = append(rules.Write, socket)
	}
	p := jail.Compile(rules, jail.Command{Workspace: folder, Folder: folder})
	// The agent has the environment of before: its programs need its keys.
	p.Level, p.Nest, p.Background, p.DropEnv, p.SetEnv = jail.Full, true, false, nil, map[string]string{}
	for _, variable := range environ {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(strings.ToUpper(name), "INTERLOCK_") {
			p.SetEnv[name] = value // others are lost in a jail
		}
	}
	p.Limits = jail.Limits{}
	p.Hide = slices.DeleteFunc(p.Hide, func(path string) bool {
		return slices.ContainsFunc(ofAgents, func(own string) bool { return path == own || strings.HasPrefix(path, own+"/") })
	})
	p.Protect = append(p.Protect, hooksOfAgents...)
	if data != "" {
		p.Protect = append(p.Protect, data)
	}
	slices.Sort(p.Protect)
	return &p
}

// runJailed runs an agent in the outer jail until it ends or ctx does.
func (j *job) runJailed(ctx context.Context, e *ending, environ []string, stdout, stderr io.Writer) {
	folder := j.Dir
	if folder == "" {
		var err error
		if folder, err = os.Getwd(); err != nil {
			e.err = err
			return
		}
	}
	streams, err := openStreams(j.task.GetPrompt(), stdout, stderr)
	if err != nil {
		e.err = err
		return
	}
	jailed, kill := context.WithCancel(context.Background())
	defer kill()
	signals := make(chan os.Signal, 1)
	stopped := context.AfterFunc(ctx, func() {
		signals <- syscall.SIGTERM
		time.AfterFunc(j.graceFor(context.Cause(ctx)), kill)
	})
	run := j.Jail.Run
	if run == nil {
		run = jailer.Run
	}
	witness, err := run(jailed, &jailer.Command{
		CallID: "task:" + j.task.GetTaskId(), Argv: []string{"/bin/sh", "-c", j.Command}, Env: environ, Dir: folder,
		Stdin: streams.in, Stdout: streams.out, Stderr: streams.err, Signals: signals,
		Profile: j.Jail.profile(folder, j.Data, j.Socket, environ), Machine: j.Jail.Machine, Proxy: hostproxy.Open,
	})
	streams.close()
	if !stopped() {
		e.stopped = context.Cause(ctx)
	}
	switch {
	case err != nil:
		e.err = fmt.Errorf("its jail did not start: %w", err)
	case witness.Failed != "":
		e.err = fmt.Errorf("its jail did not start: %s", witness.Failed)
	case witness.Signal != "":
		e.how = "signal: " + witness.Signal
	default:
		e.ok, e.how = witness.ExitStatus == 0, fmt.Sprintf("exit status %d", witness.ExitStatus)
	}
}

// agentStreams are the standard streams of an agent in a jail.
type agentStreams struct {
	in, out, err *os.File
	copying      sync.WaitGroup
}

func openStreams(prompt string, stdout, stderr io.Writer) (*agentStreams, error) {
	s := &agentStreams{}
	var opened []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			opened = append(opened, r, w)
		}
		return r, w, err
	}
	in, write, err := pipe()
	if err == nil {
		var read *os.File
		if read, s.out, err = pipe(); err == nil {
			s.pass(stdout, read)
		}
		if err == nil {
			if read, s.err, err = pipe(); err == nil {
				s.pass(stderr, read)
			}
		}
	}
	if err != nil {
		for _, file := range opened {
			file.Close()
		}
		return nil, fmt.Errorf("its streams: %w", err)
	}
	s.in = in
	go func() {
		defer write.Close()
		io.WriteString(write, prompt) //nolint:errcheck // an agent need not read it
	}()
	return s, nil
}

func (s *agentStreams) pass(to io.Writer, from *os.File) {
	s.copying.Go(func() {
		defer from.Close()
		io.Copy(to, from) //nolint:errcheck // it ends with the agent
	})
}

// close closes the agent's ends, and waits for its output.
func (s *agentStreams) close() {
	s.in.Close()
	s.out.Close()
	s.err.Close()
	s.copying.Wait()
}
