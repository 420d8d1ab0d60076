// Package runner runs the agents of sessions: `interlock runner`.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/runner"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// Command runs agents until it is stopped.
type Command struct {
	client.Connection
	Exec          string            `required:"" help:"Command that is an agent, for sh -c. It has the prompt on standard input, and its task in INTERLOCK_SESSION, WORKFLOW_STATE_ID, INTERLOCK_TASK_KIND and others. That it ends with 0 is the session's stop." placeholder:"COMMAND"`
	Labels        map[string]string `name:"label" mapsep:"none" help:"Label that this runner has: it takes tasks of sessions whose labels it has all. May be repeated." placeholder:"KEY=VALUE"`
	Max           int               `help:"How many agents run at a time, at most 1000." default:"1" placeholder:"N"`
	Name          string            `help:"Name of this runner, for people; by default of machine and process." placeholder:"NAME"`
	Workdir       string            `help:"Folder that agents run in; this one by default." type:"existingdir" placeholder:"DIR"`
	Grace         time.Duration     `help:"How long agents may continue when the runner is stopped." default:"30s" placeholder:"DURATION"`
	DeadlineGrace time.Duration     `help:"How long an agent may continue after SIGTERM when a clock has ended its run." default:"10s" placeholder:"DURATION"`
	Quiet         bool              `help:"Drop the output of agents."`
	Jail          string            `help:"Whether agents run in a jail: required, auto where this machine has one of level 3, or off. The working folder can be changed in it, and the agents' own folders in the home folder; the rest is read-only or hidden." enum:"required,auto,off" default:"off" env:"INTERLOCK_RUNNER_JAIL"`
	Write         []string          `help:"Path besides these that agents in a jail may change; may be repeated." sep:"none" placeholder:"PATH"`
	Read          []string          `help:"Path that is hidden from agents in a jail otherwise; may be repeated." sep:"none" placeholder:"PATH"`
	Hosts         []string          `name:"host" help:"Host that agents in a jail may reach; may be repeated. Without it, they may reach all." sep:"none" placeholder:"HOST"`
	AgentToken    string            `help:"Token that agents get as INTERLOCK_TOKEN. By default that of the agent in the data folder; they never get the runner's own." env:"INTERLOCK_AGENT_TOKEN" placeholder:"TOKEN"`
}

// Run takes tasks until ctx ends.
func (c *Command) Run(ctx context.Context, streams console.Streams) error {
	if c.Max < 1 || c.Max > 1000 {
		return console.Misusedf("--max is %d; it must be 1 to 1000", c.Max)
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find the name of this machine: %w; give --name", err)
		}
		c.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if err := c.PersonCredentials(streams, "running agents"); err != nil {
		return err
	}
	token, err := c.Credentials(ctx, streams, auth.Operator)
	if err != nil {
		return err
	}
	environ, err := c.environ(ctx, token, os.Environ())
	if err != nil {
		return err
	}
	tell := func(line string) { fmt.Fprintln(streams.Err, "interlock runner:", show.Text(line)) }
	outer, data, socket, err := c.outer(tell)
	if err != nil {
		return err
	}
	conn, err := c.Dial(ctx, streams, auth.Operator)
	if err != nil {
		return err
	}
	defer conn.Close()
	out, errs := agentLines(streams.Out), agentLines(streams.Err)
	if c.Quiet {
		out, errs = nil, nil
	}
	tell("takes tasks as " + c.Name)
	return runner.Run(ctx, runner.Config{
		Tasks: statev1.NewTaskServiceClient(conn), Components: statev1.NewComponentServiceClient(conn),
		Runs: enginev1.NewRunServiceClient(conn), Agents: &runner.Agents{
			Sessions: statev1.NewSessionServiceClient(conn), Agents: statev1.NewAgentServiceClient(conn),
			Runs: enginev1.NewRunServiceClient(conn),
		},
		Name: c.Name, Labels: c.Labels, Max: c.Max,
		Command: c.Exec, Dir: c.Workdir, Environ: environ, Grace: c.Grace, DeadlineGrace: c.DeadlineGrace, Out: out, Err: errs, Tell: tell,
		Jail: outer, Data: data, Socket: socket,
	})
}

// outer returns the jail of agents, or nil for none, and the data folder and the socket that their hooks use.
func (c *Command) outer(tell func(string)) (outer *runner.Jail, data, socket string, err error) {
	if c.Jail == "off" {
		if len(c.Write)+len(c.Read)+len(c.Hosts) > 0 {
			return nil, "", "", console.Misusedf("--write, --read and --host are of the jail of agents: give --jail required or auto as well")
		}
		return nil, "", "", nil
	}
	support := jailer.Probe()
	if support.Level < jail.Full {
		text := fmt.Sprintf("agents need a jail of level 3, and this machine has level %d: %s", support.Level, support.Missing)
		if c.Jail == "required" {
			return nil, "", "", errors.New(text)
		}
		tell("agents run without a jail: " + text)
		return nil, "", "", nil
	}
	machine, err := thisMachine()
	if err != nil {
		return nil, "", "", err
	}
	if folder, err := client.DataFolder(c.Data); err == nil {
		data = resolved(string(folder))
		if endpoints, err := folder.ReadEndpoints(); err == nil {
			socket = resolved(endpoints.Socket)
		}
	}
	return &runner.Jail{Machine: machine, Write: c.Write, Read: c.Read, Hosts: c.Hosts}, data, socket, nil
}

// thisMachine returns the facts about this machine for the jail of agents. Their hooks read the data folder,
// which the jails of their commands hide.
func thisMachine() (jail.Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return jail.Machine{}, fmt.Errorf("find the home folder: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return jail.Machine{}, fmt.Errorf("find this program: %w", err)
	}
	return jail.Machine{Home: resolved(home), Program: resolved(program), RuntimeDir: resolved(os.Getenv("XDG_RUNTIME_DIR"))}, nil
}

// resolved returns a path without links, as far as it is there.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil && path != "" {
		return real
	}
	return path
}

// agentLines writes the output of agents, a line of one session after the other.
func agentLines(to io.Writer) func(session, line string) {
	return func(session, line string) { fmt.Fprintf(to, "[%s] %s\n", show.Text(session), show.Text(line)) }
}

// environ returns the environment of agents in addition to the variables of their task:
// where the server is, and a token for it that is not token, the runner's.
func (c *Command) environ(ctx context.Context, token string, own []string) ([]string, error) {
	agents, err := c.agentToken(token)
	if err != nil {
		return nil, err
	}
	server, edge, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	environ := runner.Environ(own, token)
	insecure := ""
	if c.Insecure {
		insecure = "true"
	}
	for _, variable := range [][2]string{
		{"INTERLOCK_TOKEN", agents},
		{"INTERLOCK_SERVER", server},
		{"INTERLOCK_HTTP_SERVER", edge},
		{"INTERLOCK_NAMESPACE", c.Namespace},
		{"INTERLOCK_CA", c.CA},
		{"INTERLOCK_INSECURE", insecure},
	} {
		if variable[1] != "" {
			environ = append(environ, variable[0]+"="+variable[1])
		}
	}
	return environ, nil
}

// agentToken returns the token for agents, empty when there is none at hand. That of a
// data folder is for the server of that folder.
func (c *Command) agentToken(own string) (string, error) {
	token := c.AgentToken
	if token == "" && (c.Token == "" || c.Server == "") {
		folder, err := client.DataFolder(c.Data)
		if err == nil {
			token, err = auth.FileToken(folder.Local(), auth.Agent)
		}
		if err != nil {
			token = "" // they have to do without
		}
	}
	if token == own && token != "" {
		return "", errors.New("the runner's own token must not be given to agents: " +
			"give --agent-token with one of the role agent")
	}
	return token, nil
}

// servers returns the addresses for agents: of the services, and where known of the edge,
// which hooks need.
func (c *Command) servers(ctx context.Context) (services, edge string, err error) {
	if c.Server != "" {
		if strings.HasPrefix(c.Server, "http://") || strings.HasPrefix(c.Server, "https://") {
			edge = c.Server
		}
		return c.Server, edge, nil
	}
	folder, err := client.DataFolder(c.Data)
	if err != nil {
		return "", "", err
	}
	endpoints, err := folder.ReadEndpoints()
	if err != nil {
		return "", "", err
	}
	target, _, err := c.Target(ctx)
	return cmp.Or(target, endpoints.GRPC), endpoints.HTTP, err
}
