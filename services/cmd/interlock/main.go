// Command interlock is Interlock in one binary: the server that runs everything,
// the command line, the MCP server on stdio and the hook of coding agents.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	_ "github.com/interlock-run/interlock/services/cmd/interlock/internal/earlyhook" // answers hooks before all else
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/offline"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

var version = "dev"

// Exit codes (see docs/operations.md).
const (
	exitDone  = 0
	exitNo    = 1 // invalid, denied, rejected
	exitUsage = 2 // usage or failure
)

type cli struct {
	Up         upCommand         `cmd:"" help:"Run everything in one process."`
	Validate   offline.Validate  `cmd:"" help:"Validate workflows, processes, policies and components."`
	Viz        offline.Viz       `cmd:"" help:"Draw the state graph of a workflow or a process."`
	Fmt        offline.Fmt       `cmd:"" help:"Format definitions written in JSON."`
	Test       offline.Test      `cmd:"" help:"Test workflows by scenario files, without a server."`
	Workflow   workflowCommand   `cmd:"" help:"Register and read workflows."`
	Run        runCommand        `cmd:"" help:"Start, drive and watch runs."`
	Process    processCommand    `cmd:"" help:"Register processes, start them, and answer their questions."`
	Check      checkCommand      `cmd:"" help:"Ask whether a tool call is allowed. An allowed one counts."`
	Policy     policyCommand     `cmd:"" help:"Store policies, attach them, and try them on recorded calls."`
	Approval   approvalCommand   `cmd:"" help:"See what humans are asked for, and decide it."`
	Decisions  decisionsCommand  `cmd:"" help:"Show the log of decisions on tool calls."`
	Audit      auditCommand      `cmd:"" help:"Verify the log of decisions."`
	Schema     schemaCommand     `cmd:"" help:"Register and read the schemas of shared states."`
	State      stateCommand      `cmd:"" help:"Create, read and change the states that sessions share."`
	Session    sessionCommand    `cmd:"" help:"Create, stop and watch over sessions."`
	Task       taskCommand       `cmd:"" help:"See what runners have to do."`
	Component  componentCommand  `cmd:"" help:"Define state components, and use their values."`
	Runner     runnerCommand     `cmd:"" help:"Run the agents of sessions: start them, and resume them when they are due."`
	MCP        mcpCommand        `cmd:"" name:"mcp" set:"caller=agent" help:"Speak MCP on stdio: Interlock's tools, and other servers behind the gate."`
	Hook       hookCommand       `cmd:"" help:"Answer one hook event of a coding agent (stdin, stdout, exit 2 blocks)."`
	Init       initCommand       `cmd:"" help:"Set a workspace up."`
	Token      tokenCommand      `cmd:"" help:"Make and read tokens of agents that are bound to a session."`
	Tail       tailCommand       `cmd:"" help:"Show live events."`
	Version    versionCommand    `cmd:"" help:"Show the version."`
	Completion completionCommand `cmd:"" help:"Print a completion script for a shell."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], console.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}

// run executes one command line and answers its exit code.
func run(ctx context.Context, args []string, io console.Streams) int {
	if slices.Equal(args, []string{"--version"}) {
		args = []string{"version"}
	}
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("interlock"),
		kong.Description("State-machine enforcement for AI agents."),
		kong.Writers(io.Out, io.Err), kong.Exit(func(code int) { exited = code }),
		kong.Vars{"caller": "operator"}, kong.PostBuild(acceptData),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(io))
	if err != nil {
		fmt.Fprintln(io.Err, "interlock:", err)
		return exitUsage
	}
	command, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		fmt.Fprintf(io.Err, "interlock: %s; see interlock %s--help\n", show.Lines(err.Error()), parsed(command, err))
		return exitUsage
	}
	switch err := command.Run(parser); {
	case err == nil:
		return exitDone
	case errors.Is(err, errBlocked):
		return exitUsage
	case errors.Is(err, console.ErrNo):
		return exitNo
	default:
		fmt.Fprintln(io.Err, "interlock:", explain(err))
		return exitUsage
	}
}

// acceptData takes --data for --data-dir, as `interlock up` does it the other way
// round, in every command that has no --data of its own.
func acceptData(parser *kong.Kong) error {
	return kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if command, ok := node.(*kong.Command); ok {
			named := func(name string) func(*kong.Flag) bool {
				return func(f *kong.Flag) bool { return f.Name == name }
			}
			folder := slices.IndexFunc(command.Flags, named("data-dir"))
			if folder >= 0 && !slices.ContainsFunc(command.Flags, named("data")) {
				command.Flags[folder].Aliases = append(command.Flags[folder].Aliases, "data")
			}
		}
		return next(nil)
	})
}

// parsed is the part of the command line that was understood.
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
