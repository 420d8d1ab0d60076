// Package runner runs the agents of sessions: `interlock runner`.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/runner"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Command runs agents until it is told to stop.
type Command struct {
	client.Connection
	Exec       string            `required:"" help:"Command that is an agent, for sh -c. It has the prompt on standard input, and its task in INTERLOCK_SESSION, WORKFLOW_STATE_ID, INTERLOCK_TASK_KIND and others. That it ends with 0 is the session's stop." placeholder:"COMMAND"`
	Labels     map[string]string `name:"label" mapsep:"none" help:"Label that this runner has: it takes tasks of sessions whose labels it has all. May be repeated." placeholder:"KEY=VALUE"`
	Max        int               `help:"How many agents run at a time, at most 1000." default:"1" placeholder:"N"`
	Name       string            `help:"Name of this runner, for people; by default of machine and process." placeholder:"NAME"`
	Workdir    string            `help:"Folder that agents run in; this one by default." type:"existingdir" placeholder:"DIR"`
	Grace      time.Duration     `help:"How long agents may continue when the runner is told to stop." default:"30s" placeholder:"DURATION"`
	Quiet      bool              `help:"Drop what agents print."`
	AgentToken string            `help:"Token that agents get as INTERLOCK_TOKEN. By default that of the agent in the data folder; they never get the runner's own." env:"INTERLOCK_AGENT_TOKEN" placeholder:"TOKEN"`
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
	token, err := c.Credentials(streams, auth.Operator)
	if err != nil {
		return err
	}
	environ, err := c.environ(ctx, token, os.Environ())
	if err != nil {
		return err
	}
	conn, err := c.Dial(ctx, streams, auth.Operator)
	if err != nil {
		return err
	}
	defer conn.Close()
	tell := func(line string) { fmt.Fprintln(streams.Err, "interlock runner:", show.Text(line)) }
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
		Command: c.Exec, Dir: c.Workdir, Environ: environ, Grace: c.Grace, Out: out, Err: errs, Tell: tell,
	})
}

// agentLines writes what agents print, a line of one session after the other.
func agentLines(to io.Writer) func(session, line string) {
	return func(session, line string) { fmt.Fprintf(to, "[%s] %s\n", show.Text(session), show.Text(line)) }
}

// environ is what agents have in their environment in addition to what tells them of their
// task: where the server is, and a token for it that is not token, the runner's.
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

// agentToken is the token for agents, empty when there is none at hand. That of a
// data folder is for the server of that folder.
func (c *Command) agentToken(own string) (string, error) {
	token := c.AgentToken
	if token == "" && (c.Token == "" || c.Server == "") {
		folder, err := client.DataFolder(c.Data)
		if err == nil {
			token, err = auth.FileToken(folder.Tokens(), auth.Agent)
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

// servers are the addresses for agents: of the services, and where known of the
// edge, which hooks need.
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
