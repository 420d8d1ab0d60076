// Package mcp serves the Model Context Protocol on stdio.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/interlock-run/interlock/pkg/auth"
	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/gateway"
)

// Command serves MCP on stdio.
type Command struct {
	client.Connection
	gateway.Flags
	// Claude Code tells its session, which its hooks are judged by.
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
	token, err := c.Credentials(streams, auth.Agent)
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
		fmt.Fprintf(streams.Err, "interlock: WORKFLOW_STATE_ID names the state %s, and nothing names a session that shares it: "+
			"this server acts for a new session, which may not use that state; give INTERLOCK_SESSION as well\n", c.StateID)
	}
	var vouched grpc.ClientConnInterface
	folder, err := client.DataFolder(c.Data)
	if err != nil && c.Token == "" {
		return err
	}
	if witness, err := auth.FileToken(folder.Tokens(), auth.Runtime); err == nil && c.Token == "" {
		vouched = rpc.Vouching(conn, func() string { return witness })
	}
	g, err := gateway.New(gateway.Config{
		Vouched: vouched,
		Engine:  conn, Policy: conn, State: conn, Upstreams: upstreams, ToolPrefix: c.ToolPrefix, StatePrefix: c.StatePrefix, Resume: resumedFor(os.Getenv), AllowUnbound: c.AllowUnbound,
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

// resumedFor is what a runner has resumed the agent for, by its environment (S15.5).
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
