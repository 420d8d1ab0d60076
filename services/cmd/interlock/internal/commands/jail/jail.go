// Package jail runs command lines in jails, and explains jails.
package jail

import (
	"fmt"
	"os"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/hook"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jailclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/internal/jailer/hostproxy"
)

// Command is the family of commands on jails.
type Command struct {
	Run   runCommand   `cmd:"" default:"withargs" help:"Run a command line that was allowed, in its jail. Hooks put this in the place of the line."`
	Show  showCommand  `cmd:"" help:"Show the limits of a jail on a command line in the state of a run, or explain one entry of it."`
	Try   tryCommand   `cmd:"" help:"Run a command line in the jail of a state that only reads, without a server: its writes into this folder are discarded."`
	Probe probeCommand `cmd:"" help:"Show the level of this machine's jails, and the missing parts of the next one."`
}

// Status ends the program with the exit status of the command that it has run.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

type runCommand struct {
	Call      string `help:"Id of the call." required:"" placeholder:"CALL"`
	Of        string `name:"run" help:"Its run." required:"" placeholder:"RUN"`
	Server    string `help:"The http:// address of the edge; found in the data folder by default." env:"INTERLOCK_HTTP_SERVER,INTERLOCK_SERVER" placeholder:"URL"`
	Token     string `help:"Token to call with; by default that of the agent in the data folder." env:"INTERLOCK_TOKEN" placeholder:"TOKEN"`
	CA        string `name:"ca" help:"CA of the server's certificate (PEM); the system's by default." env:"INTERLOCK_CA" placeholder:"FILE"`
	Data      string `name:"data-dir" help:"Absolute path of the data folder of the server on this machine." env:"INTERLOCK_DATA" placeholder:"DIR"`
	Namespace string `help:"Namespace." env:"INTERLOCK_NAMESPACE" placeholder:"NAME"`
	Line      string `arg:"" help:"The line that was judged, as one word after --."`
}

// Run runs the line with the streams of this process: a terminal stays one.
func (c *runCommand) Run() error {
	call := jailclient.FromEnv(os.Getenv)
	env := call.Server
	server := &call.Server
	server.Server, server.Token, server.CA, server.Data, server.Namespace = c.Server, c.Token, c.CA, c.Data, c.Namespace
	server.KeepTo(c.Data != env.Data, c.Server != env.Server, c.Namespace != env.Namespace)
	call.Run, call.ID, call.Line = c.Of, c.Call, c.Line
	claimed, ok := call.Claim(os.Stderr, hook.OverHTTP)
	if !ok {
		return Status(jailclient.ExitNotRun)
	}
	if status := claimed.Execute(os.Stdin, os.Stdout, os.Stderr, hostproxy.Open); status != 0 {
		return Status(status)
	}
	return nil
}

type probeCommand struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

// Run prints the level.
func (c *probeCommand) Run(io console.Streams) error {
	if c.JSON {
		return jailclient.Tell(io.Out)
	}
	has := jailer.Probe()
	_, err := fmt.Fprintln(io.Out, show.Text(jail.Sentence(has.Level, has.Missing)))
	return err
}
