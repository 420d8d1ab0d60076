package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/gateway"
)

type mcpCommand struct {
	clientFlags
	gateway.Flags
	// Claude Code tells its session, which its hooks are judged by.
	Session   string `help:"Session whose run is driven; one for this process by default." env:"INTERLOCK_SESSION,CLAUDE_CODE_SESSION_ID" placeholder:"ID"`
	StateID   string `env:"WORKFLOW_STATE_ID" hidden:""`
	RunID     string `name:"run" help:"Run that is driven." env:"INTERLOCK_RUN" placeholder:"RUN"`
	Workspace string `help:"Root that file patterns are relative to; this folder by default." env:"INTERLOCK_WORKSPACE,CLAUDE_PROJECT_DIR" placeholder:"DIR"`
}

func (c *mcpCommand) Run(ctx context.Context, streams console.Streams) error {
	token, err := c.credentials(auth.Agent)
	if err != nil {
		return err
	}
	conn, err := c.dial(ctx, auth.Agent)
	if err != nil {
		return err
	}
	defer conn.Close()
	upstreams, err := c.Upstreams()
	if err != nil {
		return err
	}
	if c.Workspace == "" {
		if c.Workspace, err = os.Getwd(); err != nil {
			return fmt.Errorf("find this folder: %w; give --workspace", err)
		}
	}
	binding, err := gateway.BindingFromEnv(func(name string) string {
		return map[string]string{"INTERLOCK_RUN": c.RunID, "INTERLOCK_SESSION": c.Session}[name]
	})
	if err != nil {
		return err
	}
	g, err := gateway.New(gateway.Config{
		Engine: conn, Policy: conn, State: conn, Upstreams: upstreams, ToolPrefix: c.ToolPrefix, AllowUnbound: c.AllowUnbound,
		Stdio: gateway.Identity{
			Binding: binding, StateID: c.StateID, Token: token, Namespace: c.Namespace, Workspace: c.Workspace,
		},
		UpstreamStderr: streams.Err, Version: version,
	})
	if err != nil {
		return err
	}
	defer g.Close()
	return g.ServeStdio(ctx, streams.In, writeCloser{streams.Out})
}

// writeCloser keeps standard output open: the process's end closes it.
type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }
