// Command interlock is Interlock in one binary: the server that runs everything,
// the command line, the MCP server on stdio and the hook of coding agents.
//
// This package only wires. The code of `interlock WORD ...` is in the package of that
// word in internal/commands, or in internal/offline when it needs no server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/hook"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/jail"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	_ "github.com/interlock-run/interlock/services/cmd/interlock/internal/early" // answers `interlock hook` in its init, and exits
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/earlyjail"
	_ "github.com/interlock-run/interlock/services/cmd/interlock/internal/earlymemory"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/build"
	"github.com/interlock-run/interlock/services/internal/configfile"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/jailer/hostproxy"
)

// Exit codes, as docs/cli.md has them.
const (
	exitDone      = 0
	exitNo        = 1  // refused: denied, rejected, invalid
	exitUndecided = 2  // unreachable, undecodable, failed: there is no decision
	exitWaits     = 3  // a human decides first
	exitUsage     = 64 // the command line is wrong
)

func main() {
	if earlyjail.Rest != nil {
		os.Exit(earlyjail.Rest(hostproxy.Open))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	dropEmpty()
	code := run(ctx, os.Args[1:], console.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, io console.Streams) int {
	switch {
	case len(args) == 0 && !io.Interactive():
		fmt.Fprintln(io.Err, "interlock: Interlock blocks this: no command is given, such as `interlock hook ...`; see interlock --help. "+
			"An agent that reads the hooks of another one needs its own: interlock init")
		return exitUndecided
	case len(args) == 0:
		args = []string{"setup", "--bare"}
	case slices.Equal(args, []string{"--version"}):
		args = []string{"version"}
	case len(args) > 0 && args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	}
	exited := -1
	parser, err := newParser(ctx, args, io, func(code int) { exited = code })
	if err != nil {
		fmt.Fprintln(io.Err, "interlock:", err)
		return exitUndecided
	}
	command, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		fmt.Fprintf(io.Err, "interlock: %s; see interlock %s--help\n", show.Lines(reworded(err.Error(), parsed(command, err))), parsed(command, err))
		if blocks(args) {
			return exitUndecided
		}
		return exitUsage
	}
	err = command.Run(parser)
	if err != nil && !saidAlready(err) {
		fmt.Fprintln(io.Err, "interlock:", client.Explain(err))
	}
	return exitCode(err)
}

// newParser makes the parser of a command line.
func newParser(ctx context.Context, args []string, io console.Streams, exit func(int)) (*kong.Kong, error) {
	options := []kong.Option{
		kong.Name("interlock"), kong.Description("State-machine enforcement for AI agents."),
		kong.Writers(io.Out, io.Err), kong.Exit(exit), configfile.Durations(),
		kong.Groups{"Connection": "Connection:", "Output": "Output:"},

		kong.Vars{"caller": "operator (without a terminal, of the agent)"},
		kong.PostBuild(variables), kong.ValueFormatter(describe), kong.Help(help),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(io, console.Version(build.Version()), daemon.Again(func() (map[string]string, error) { return again(ctx, args, io) })),
	}
	if serves(args) {
		file, err := daemon.FromFile(args)
		if err != nil {
			return nil, err
		}
		options = append(options, file...)
	}
	for _, c := range named(args) {
		options = append(options, kong.DynamicCommand(c.name, c.help, "", c.grammar(), c.tags...))
	}
	return kong.New(&struct{}{}, options...)
}

// serves reports a command line of a server, which has a file of flags.
func serves(args []string) bool { return word(args) == "up" }

// again parses a command line of a server anew, with its file.
func again(ctx context.Context, args []string, io console.Streams) (map[string]string, error) {
	parser, err := newParser(ctx, args, io, func(int) {})
	if err != nil {
		return nil, err
	}
	command, err := parser.Parse(args)
	if err != nil {
		return nil, err
	}
	return daemon.Values(command), nil
}

// word returns the first that is no flag: the command.
func word(args []string) string {
	first := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if first < 0 {
		return ""
	}
	return args[first]
}

// blocks reports a command line of a hook. Agents continue after any exit code of a hook but
// 2, so that a mistake in it must not end with another.
func blocks(args []string) bool {
	return word(args) == "hook"
}

// saidAlready reports an outcome that the command has printed.
func saidAlready(err error) bool {
	var status jail.Status
	if errors.As(err, new(console.Exit)) {
		return true
	}
	return errors.Is(err, console.ErrNo) || errors.Is(err, console.ErrWaits) || errors.Is(err, hook.ErrBlocked) || errors.As(err, &status)
}

// exitCode returns the exit code for the outcome of a command.
func exitCode(err error) int {
	var status jail.Status
	var exit console.Exit
	switch {
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &exit):
		return int(exit)
	case err == nil:
		return exitDone
	case errors.Is(err, console.ErrWaits):
		return exitWaits
	case errors.Is(err, console.ErrNo) || client.Refused(err):
		return exitNo
	case console.IsMisused(err):
		return exitUsage
	default:
		return exitUndecided
	}
}

// parsed returns the part of the command line that was understood.
func parsed(command *kong.Context, err error) string {
	var failed *kong.ParseError
	if command == nil && errors.As(err, &failed) {
		command = failed.Context
	}
	path := ""
	if command != nil {
		for _, p := range command.Path {
			if p.Command != nil {
				path += p.Command.Name + " "
			}
		}
	}
	return path
}
