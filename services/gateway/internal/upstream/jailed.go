package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/internal/jailer/hostproxy"
)

// Jailer starts commands in jails.
type Jailer struct {
	// Mode is JailsAuto by default.
	Mode Jails
	// Machine is the one that servers run on, Workspace the folder that is read-only for servers
	// that do not need to write there.
	Machine   jail.Machine
	Workspace string
	// Probe and Run are those of package jailer by default.
	Probe func() jailer.Support
	Run   func(context.Context, *jailer.Command) (*jail.Witness, error)
}

func (j Jailer) withDefaults() Jailer {
	j.Mode = cmp.Or(j.Mode, JailsAuto)
	if j.Probe == nil {
		j.Probe = jailer.Probe
	}
	if j.Run == nil {
		j.Run = jailer.Run
	}
	return j
}

// enough reports an error where this machine cannot enforce the needs of a server.
func (j Jailer) enough(n *Needs) error {
	support := j.Probe()
	if support.Level >= n.level() {
		return nil
	}
	return fmt.Errorf("it needs a jail of level %d, and this machine has level %d: %s; start it without one by \"jail\": \"off\" in its needs",
		n.level(), support.Level, cmp.Or(support.Missing, "the missing part is not known"))
}

// inJail is a server's process in a jail.
type inJail struct {
	needs   *Needs
	hidden  []string // with "~" for home
	home    string
	signals chan os.Signal
	kill    context.CancelFunc
	ended   chan struct{}
	witness *jail.Witness // after ended
	err     error
	stderr  *tail
	read    chan struct{} // closed when its stderr has been read
}

// startInJail starts a server in a jail; its standard streams are the given files.
func startInJail(server Server, needs *Needs, options Options, env environment, in, out *os.File) (*inJail, error) {
	if err := options.Jailer.enough(needs); err != nil {
		return nil, err
	}
	workspace, folder, err := places(options.Jailer.Workspace, server.Dir)
	if err != nil {
		return nil, err
	}
	stderr, childErr, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	ctx, kill := context.WithCancel(context.Background())
	profile := needs.profile(workspace, folder)
	p := &inJail{
		needs: needs, hidden: profile.Hide, home: options.Jailer.Machine.Home, signals: make(chan os.Signal, 1), kill: kill, ended: make(chan struct{}), read: make(chan struct{}),
		stderr: &tail{also: options.Stderr},
	}
	go func() {
		defer close(p.read)
		io.Copy(p.stderr, stderr) //nolint:errcheck // it ends with the process
		stderr.Close()
	}()
	go func() {
		defer close(p.ended)
		defer kill()
		p.witness, p.err = options.Jailer.Run(ctx, &jailer.Command{
			CallID: "upstream:" + server.Name, Argv: server.Command, Env: env, Dir: folder, Stdin: in, Stdout: out, Stderr: childErr,
			Profile: profile, Machine: options.Jailer.Machine, Proxy: hostproxy.Open, Signals: p.signals,
		})
		in.Close()
		out.Close()
		childErr.Close()
	}()
	return p, nil
}

// wait waits for the end, and says how it came.
func (p *inJail) wait() error {
	<-p.ended
	<-p.read
	words := p.stderr.String()
	switch {
	case p.err != nil:
		return fmt.Errorf("its jail did not start: %w", p.err)
	case p.witness.Failed != "":
		return fmt.Errorf("its jail did not start: %s", p.witness.Failed)
	}
	how := fmt.Sprintf("exit status %d", p.witness.ExitStatus)
	if p.witness.Signal != "" {
		how = "signal: " + p.witness.Signal
	}
	if p.witness.Stopped != "" {
		how += " (" + p.witness.Stopped + ")"
	}
	if could := p.needs.lacks(words, os.Environ(), p.hidden, p.home, p.witness); len(could) > 0 && !p.witness.OK() {
		how += "; it runs in a jail, and these entries of its \"needs\" may help: " + strings.Join(could, ", ")
	}
	return &ending{errors.New(how), words}
}

func (p *inJail) signal(kill bool) {
	if kill {
		p.kill()
		return
	}
	select {
	case p.signals <- syscall.SIGTERM:
	default: // one is on its way
	}
}

// ending is how a process has ended, and its last words, which are for logs alone.
type ending struct {
	error
	words string
}

// Unwrap implements errors.Unwrap.
func (e *ending) Unwrap() error { return e.error }

// lastWordsOf returns the last output of a process before it ended.
func lastWordsOf(err error) string {
	var e *ending
	if errors.As(err, &e) {
		return e.words
	}
	return ""
}

// places returns the workspace and the folder that a server starts in, as absolute paths.
func places(workspace, folder string) (string, string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", "", fmt.Errorf("find the folder that it starts in: %w", err)
	}
	workspace = within(here, workspace)
	return workspace, within(here, folder), nil
}

// tail keeps the end of the output, and passes all of it on.
type tail struct {
	also io.Writer

	mu   sync.Mutex
	kept []byte
}

const mostWords = 2 << 10

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, data...)
	if len(t.kept) > 2*mostWords {
		t.kept = append([]byte{}, t.kept[len(t.kept)-mostWords:]...)
	}
	t.mu.Unlock()
	if t.also != nil {
		t.also.Write(data) //nolint:errcheck // a courtesy
	}
	return len(data), nil
}

// String returns the end.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.kept[max(0, len(t.kept)-mostWords):]), "\uFFFD")
}
