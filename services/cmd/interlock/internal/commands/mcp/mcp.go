// Package mcp serves the Model Context Protocol on stdio.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// Command serves MCP on stdio.
type Command struct {
	client.Connection
	gateway.Flags
	gateway.JailFlag
	// Claude Code gives its session, by which its hooks are judged.
	Session   string `help:"Session whose run is driven; one for this process by default." env:"INTERLOCK_SESSION,CLAUDE_CODE_SESSION_ID" placeholder:"ID"`
	StateID   string `env:"WORKFLOW_STATE_ID" hidden:""`
	RunID     string `name:"run" help:"Run that is driven." env:"INTERLOCK_RUN" placeholder:"RUN"`
	Workspace string `help:"Root that file patterns are relative to; this folder by default." env:"INTERLOCK_WORKSPACE,CLAUDE_PROJECT_DIR" placeholder:"DIR"`
}

// Run serves until standard input ends.
func (c *Command) Run(ctx context.Context, streams console.Streams, version console.Version) error {
	conn, err := c.Dial(ctx, streams, auth.Agent) // says first that there is no server
	if err != nil {
		return err
	}
	defer conn.Close()
	if streams.Interactive() {
		fmt.Fprintln(streams.Err, "interlock: this waits for messages of MCP on standard input: have an MCP client start it; Ctrl-C ends it")
	}
	token, err := c.Credentials(ctx, streams, auth.Agent)
	if err != nil {
		return err
	}
	upstreams, err := c.Upstreams()
	if err != nil {
		return err
	}
	workspace, err := input.Workspace(c.Workspace)
	if err != nil {
		return err
	}
	binding, err := gateway.BindingFromEnv(func(name string) string {
		return map[string]string{"INTERLOCK_RUN": c.RunID, "INTERLOCK_SESSION": c.Session}[name]
	})
	if err != nil {
		return err
	}
	if c.StateID != "" && c.Session == "" && c.RunID == "" {
		fmt.Fprintf(streams.Err, "interlock: WORKFLOW_STATE_ID names the state %s, but no setting names a session that shares it: "+
			"this server acts for a new session, which may not use that state; give INTERLOCK_SESSION as well\n", c.StateID)
	}
	folder, err := client.DataFolder(c.Data)
	if err != nil && c.Token == "" {
		return err
	}
	vouched := c.Vouched(conn)
	g, err := gateway.New(gateway.Config{
		Vouched: vouched, Gate: sync.OnceValue(c.Gate),
		// Only the enforcer must know checks, which the agent makes, from reports, which this process vouches for.
		Engine: vouched, Policy: conn, State: conn, Upstreams: upstreams, Jails: c.Jail, Shell: c.shell(streams), DataFolder: string(folder), ToolPrefix: c.ToolPrefix, StatePrefix: c.StatePrefix, Resume: resumedFor(os.Getenv), AllowUnbound: c.AllowUnbound,
		Stdio: gateway.Identity{
			Binding: binding, StateID: c.StateID, Token: token, Namespace: c.Namespace, Workspace: workspace,
		},
		UpstreamStderr: streams.Err, Version: string(version), Places: gateway.PlacesOf(string(folder)),
	})
	if err != nil {
		return err
	}
	defer g.Close()
	return g.ServeStdio(ctx, streams.In, writeCloser{streams.Out})
}

// shell returns how command lines of the client are run; nil, after saying why, where this machine has
// no jail.
func (c *Command) shell(streams console.Streams) *gateway.Shell {
	if c.Jail == "off" {
		return nil
	}
	support := jailer.Probe()
	self, err := os.Executable()
	switch {
	case err != nil:
		fmt.Fprintf(streams.Err, "interlock: no tool for commands is offered: this program cannot find itself: %v\n", err)
		return nil
	case support.Level < jail.Files:
		fmt.Fprintf(streams.Err, "interlock: no tool for commands is offered, because they would run without a jail: %s\n", support.Missing)
		return nil
	case c.Token != "" || c.Server != "" || !c.observes():
		fmt.Fprintln(streams.Err, "interlock: no tool for commands is offered, because only a program that observes calls starts commands: "+
			"leave out --token and --server, on a machine whose data folder has the token of the runtime")
		return nil
	}
	env := os.Environ()
	for name, value := range map[string]string{"INTERLOCK_NAMESPACE": c.Namespace, "INTERLOCK_DATA": c.data()} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return &gateway.Shell{Level: int(support.Level), Env: env, Argv: func(run, call, line string) []string {
		return []string{self, "jail", "--run", run, "--call", call, "--", line}
	}}
}

// observes reports that the data folder has the token of the runtime.
func (c *Command) observes() bool {
	folder, err := client.DataFolder(c.Data)
	if err != nil {
		return false
	}
	_, err = auth.FileToken(folder.Local(), auth.Runtime)
	return err == nil
}

// data returns the absolute path of the data folder; empty when it is not known.
func (c *Command) data() string {
	folder, err := client.DataFolder(c.Data)
	if err != nil {
		return ""
	}
	path, err := filepath.Abs(string(folder))
	if err != nil {
		return ""
	}
	return path
}

// resumedFor returns the reason why a runner has resumed the agent, by its environment
// (S15.5).
func resumedFor(getenv func(string) string) map[string]any {
	task := getenv("INTERLOCK_TASK_ID")
	if task == "" {
		return nil
	}
	resume := map[string]any{"task_id": task, "task_kind": getenv("INTERLOCK_TASK_KIND")}
	var callbacks []any
	if err := json.Unmarshal([]byte(getenv("INTERLOCK_CALLBACKS")), &callbacks); err == nil {
		resume["callbacks"] = callbacks
	}
	return resume
}

// writeCloser keeps standard output open: the process's end closes it.
type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }
