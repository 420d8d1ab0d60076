// Package setup sets a workspace up step by step, for a person who types `interlock` in a new workspace. Each step is a command
// that exists alone.
package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/hook"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/up"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/workspace"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jailclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/packset"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
	"github.com/interlock-run/interlock/services/internal/beginning"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Command sets a workspace up.
type Command struct {
	Dir     string   `arg:"" optional:"" help:"The workspace." default:"." type:"path"`
	Pack    []string `help:"Put this pack in force, instead of asking; may be repeated." sep:"none" placeholder:"NAME"`
	Observe bool     `help:"Only observe, instead of asking: log every call, enforce no rule."`
	Yes     bool     `short:"y" help:"Write without asking."`
	Bare    bool     `hidden:"" help:"Show the status or the faults of a workspace that is set up already."`
}

// Run asks, writes, starts the server, and proves that a call is denied.
func (c *Command) Run(ctx context.Context, streams console.Streams) error {
	if len(c.Pack) > 0 && c.Observe {
		return console.Misusedf("give --pack or --observe, not both: with a pack, calls are logged, too")
	}
	if (!c.Yes || len(c.Pack) == 0 && !c.Observe) && !streams.Interactive() {
		return console.Misusedf("this asks questions, and standard input is no terminal: give --yes, and --pack NAME or --observe")
	}
	if !filepath.IsAbs(c.Dir) {
		at, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the workspace: %w", err)
		}
		c.Dir = filepath.Join(at, c.Dir)
	}
	if c.Bare {
		if routed, err := c.route(ctx, streams); routed || err != nil {
			return err
		}
	}
	choice, err := c.choose(streams)
	if err != nil {
		return err
	}
	return c.set(ctx, streams, choice)
}

// route answers in a workspace that is set up already: with its status, or with the report of doctor where a check fails.
func (c *Command) route(ctx context.Context, streams console.Streams) (routed bool, err error) {
	if len(workspace.Uses(c.Dir)) == 0 {
		return false, nil
	}
	var report bytes.Buffer
	doctor := workspace.Doctor{Dir: c.Dir, Ask: hook.OverHTTP, Jails: jailclient.Machine{}}
	err = doctor.Run(ctx, console.Streams{In: streams.In, Out: &report, Err: streams.Err})
	if errors.Is(err, console.ErrNo) {
		fmt.Fprint(streams.Out, report.String())
		return true, err
	}
	if err != nil {
		return true, err
	}
	status := workspace.Status{Dir: c.Dir}
	if err := status.Run(ctx, streams); err != nil {
		return true, err
	}
	fmt.Fprintln(streams.Out, "\ninterlock why: the last denial.  interlock tail: live.  interlock doctor --probe: proof.  interlock --help: all commands.")
	return true, nil
}

// choice has the packs of a person, or none to observe.
type choice struct {
	packs   []packset.Pack
	observe bool
	// line is a command line that is denied then; empty for a call that is denied always.
	line string
}

// option is one of the choices that are offered.
type option struct {
	name, what string
	packs      []string
}

// options are all of them. Those with a pack that this program does not have are not offered.
var options = []option{
	{"protect", "secrets-hygiene + bounded-write   rules for every phase; begin here", []string{"secrets-hygiene", "bounded-write"}},
	{"phases", "coding-tdd                        red, green, refactor", []string{"coding-tdd"}},
	{"just watch", "log every call, enforce no rule", nil},
}

// lines are command lines that packs deny, to prove it; the first of them counts.
var lines = []struct{ pack, line string }{{"secrets-hygiene", "cat .env"}, {"coding-tdd", "git push --force"}}

// choose returns the choice of the flags, or asks.
func (c *Command) choose(streams console.Streams) (*choice, error) {
	if c.Observe {
		return &choice{observe: true}, nil
	}
	if len(c.Pack) > 0 {
		return c.of(option{packs: c.Pack})
	}
	offered := slices.DeleteFunc(slices.Clone(options), func(o option) bool {
		return slices.ContainsFunc(o.packs, func(name string) bool { return !packset.Has(name) })
	})
	fmt.Fprintf(streams.Out, "No Interlock in %s yet.%s\n", c.Dir, found(c.Dir))
	for i, o := range offered {
		mark := ""
		if i == 0 {
			mark = "   <- Enter"
		}
		fmt.Fprintf(streams.Out, "  %d %-11s %s%s\n", i+1, o.name, o.what, mark)
	}
	fmt.Fprintln(streams.Out, "Other packs: interlock pack list, then interlock setup --pack NAME.")
	for {
		fmt.Fprint(streams.Out, "Your choice [1]: ")
		line, err := console.ReadLine(streams.In)
		if err != nil {
			return nil, fmt.Errorf("no choice was made: %w", err)
		}
		at := 0
		if line = strings.TrimSpace(line); line != "" {
			at = slices.IndexFunc(offered, func(o option) bool { return o.name == line })
			if len(line) == 1 {
				at = int(line[0]) - '1'
			}
		}
		if at >= 0 && at < len(offered) {
			return c.of(offered[at])
		}
		fmt.Fprintf(streams.Out, "Type a number from 1 to %d.\n", len(offered))
	}
}

// of reads the packs of an option.
func (c *Command) of(o option) (*choice, error) {
	loaded, err := packset.Load(o.packs, c.Dir)
	if err != nil {
		return nil, err
	}
	made := &choice{packs: loaded, observe: len(loaded) == 0}
	for _, denied := range lines {
		if made.line == "" && slices.Contains(o.packs, denied.pack) {
			made.line = denied.line
		}
	}
	if len(made.workflows()) > 1 {
		return nil, console.Misusedf("several of these packs have a workflow, and a session has one: choose one of them")
	}
	return made, nil
}

// workflows returns the texts of workflows of the packs.
func (ch *choice) workflows() (all [][]byte) {
	for _, p := range ch.packs {
		if p.Workflow != nil {
			all = append(all, p.Workflow)
		}
	}
	return all
}

func (ch *choice) begin() (all []beginning.Definition) {
	for _, p := range ch.packs {
		all = append(all, p.Begin...)
	}
	return all
}

// found lists the tools of a workspace and of this machine.
func found(dir string) string {
	var all []string
	for _, of := range []struct{ file, name string }{
		{".git", "git"}, {"go.mod", "go"}, {"package.json", "node"}, {"pyproject.toml", "python"}, {"Cargo.toml", "rust"},
	} {
		if _, err := os.Stat(filepath.Join(dir, of.file)); err == nil {
			all = append(all, of.name)
		}
	}
	all = append(all, clients()...)
	if len(all) == 0 {
		return ""
	}
	return " Found: " + strings.Join(all, ", ") + "."
}

// set writes, starts and proves.
func (c *Command) set(ctx context.Context, streams console.Streams, ch *choice) error {
	agent := workspace.ClaudeCode{Dir: c.Dir, Observe: ch.observe}
	if flows := ch.workflows(); len(flows) > 0 {
		agent.Workflow = flows[0]
	}
	files, err := newFiles(filepath.Join(c.Dir, packset.Folder), ch.packs)
	if err != nil {
		return err
	}
	if kept := ch.files() - len(files); kept > 0 {
		fmt.Fprintf(streams.Out, "%s/ has %d files of these packs: they stay as they are.\n", packset.Folder, kept)
	}
	if !c.Yes {
		if err := c.confirm(ctx, streams, &agent, files); err != nil {
			return err
		}
	}
	folder, err := datadir.New(c.Dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := f.write(); err != nil {
			return err
		}
	}
	invitation, err := c.serve(ctx, streams, folder, ch)
	if err != nil {
		return err
	}
	if err := agent.Install(ctx, streams); err != nil {
		return err
	}
	state, err := workspace.Look(ctx, streams, c.Dir, "")
	if err != nil {
		return err
	}
	probed, err := workspace.Prove(ctx, streams, c.Dir, ch.line)
	if err != nil {
		return fmt.Errorf("the set-up is written, and its check failed: %w; `interlock doctor --probe` says more", err)
	}
	fmt.Fprintf(streams.Out, "Server in the background (`interlock stop` ends it). Console: %s\n", state.Console)
	fmt.Fprintf(streams.Out, "Check: asked the hook for %s -> DENIED, decision %s in the log. It works.\n", probed, probed.CallID)
	fmt.Fprintln(streams.Out, state.Line())
	next := "start claude here"
	if len(clients()) == 0 {
		next = "install Claude Code, and start it here (`interlock init --help` has other agents)"
	}
	fmt.Fprintf(streams.Out, "Next: %s. See it live: interlock tail. A denial explained: interlock why. Take it out: interlock init claude-code --undo, and interlock stop\n", next)
	if ch.observe {
		fmt.Fprintln(streams.Out, "When it has seen enough: interlock suggest --observed --out first.json")
	}
	if invitation != "" {
		fmt.Fprint(streams.Out, invitation)
	}
	return nil
}

// confirm shows the files that will be written, and asks.
func (c *Command) confirm(ctx context.Context, streams console.Streams, agent *workspace.ClaudeCode, files []newFile) error {
	changes, err := agent.Changes(ctx, streams)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		changes = append(changes, fmt.Sprintf("%s/ (%d files of packs; each .md lists what its pack does not stop)", packset.Folder, len(files)))
	}
	fmt.Fprintf(streams.Out, "Will write %s, and .interlock (names the data folder, which is outside of the workspace).\n", strings.Join(changes, ", "))
	for {
		fmt.Fprint(streams.Out, "Write these files? [y/N/diff] ")
		line, err := console.ReadLine(streams.In)
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case err == nil && (answer == "y" || answer == "yes"):
			return nil
		case err == nil && (answer == "d" || answer == "diff"):
			if err := agent.Show(ctx, streams); err != nil {
				return err
			}
			for _, f := range files {
				fmt.Fprintf(streams.Out, "--- %s\n%s", relative(c.Dir, f.path), f.text)
			}
		default:
			fmt.Fprintln(streams.Out, "not written; answer y, or give --yes")
			return console.ErrNo
		}
	}
}

func relative(dir, path string) string {
	if short, err := filepath.Rel(dir, path); err == nil {
		return short
	}
	return path
}

// newFile is a file of a pack that is to be written.
type newFile struct {
	path string
	text []byte
}

// files returns how many files the packs have.
func (ch *choice) files() (n int) {
	for _, p := range ch.packs {
		n += len(p.Files)
	}
	return n
}

// newFiles returns the files of packs that are not there. Files that are there belong to the user, and stay.
func newFiles(folder string, packs []packset.Pack) (all []newFile, err error) {
	for _, p := range packs {
		for _, f := range p.Files {
			path := filepath.Join(folder, f.Name)
			switch _, err := os.Lstat(path); {
			case errors.Is(err, fs.ErrNotExist):
				all = append(all, newFile{path, f.Text})
			case err != nil:
				return nil, fmt.Errorf("look at the files of the pack %s: %w", p.Name, err)
			}
		}
	}
	return all, nil
}

func (f newFile) write() error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o750); err != nil {
		return fmt.Errorf("write the files of the pack: %w", err)
	}
	if err := os.WriteFile(f.path, f.text, 0o644); err != nil { //nolint:gosec // definitions are no secrets
		return fmt.Errorf("write the files of the pack: %w", err)
	}
	return nil
}

// serve starts a server in the background with the packs, and returns its text for people. In a server that runs, an operator
// puts them in force.
func (c *Command) serve(ctx context.Context, streams console.Streams, folder datadir.Dir, ch *choice) (invitation string, err error) {
	state, err := workspace.Look(ctx, streams, c.Dir, "")
	if err != nil {
		return "", err
	}
	if state.Running {
		return "", putInForce(ctx, streams, folder, ch)
	}
	args := []string{"up", "--detach", "--data-dir", string(folder)}
	for _, p := range ch.packs {
		args = append(args, "--pack", p.Name)
	}
	if taken("127.0.0.1:7420") || taken("127.0.0.1:7421") || taken("127.0.0.1:7422") {
		args = append(args, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	}
	var out, errs bytes.Buffer
	pid, err := up.Start(c.Dir, console.Streams{In: streams.In, Out: &out, Err: &errs}, args...)
	if err != nil {
		return "", err
	}
	if at, err := folder.ReadEndpoints(); err != nil || at.PID != pid {
		return "", fmt.Errorf("%w: %s; `%s` shows all of it", up.ErrNotStarted, strings.TrimSpace(errs.String()), shellwords.Join(append([]string{"interlock"}, args...)))
	}
	return errs.String(), nil
}

// taken reports that a port is in use.
func taken(address string) bool {
	lis, err := net.Listen("tcp", address)
	if err != nil {
		return true
	}
	_ = lis.Close()
	return false
}

// putInForce stores the definitions of packs in a server that runs.
func putInForce(ctx context.Context, streams console.Streams, folder datadir.Dir, ch *choice) error {
	definitions := ch.begin()
	if len(definitions) == 0 {
		return nil
	}
	at := client.Connection{Data: string(folder)}
	err := at.Do(ctx, streams, auth.Operator, func(conn grpc.ClientConnInterface) error {
		notes, err := beginning.Put(ctx, conn, definitions)
		for _, note := range notes {
			fmt.Fprintln(streams.Out, note)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("a server runs here, and its operators put packs in force: %w; log in with `interlock login`, or stop the server with `interlock stop`, and run this again", err)
	}
	return nil
}
