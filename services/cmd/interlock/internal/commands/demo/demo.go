// Package demo shows Interlock in a minute: it proves a workflow, walks a real MCP client
// through it with a server of its own, has a person approve, and forges a receipt. Then it
// shows the events that NATS carried. Every step is checked; it fails when one goes wrong.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/pages"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Command runs the demonstration.
type Command struct {
	Exit  bool `help:"End when the walk is done, instead of running until Ctrl-C."`
	Tools bool `hidden:"" help:"Be the MCP server behind the gate; the demonstration starts itself with this."`
}

// Run starts all services, walks, and by default stays until Ctrl-C.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	if c.Tools {
		if err := serveTools(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return (&demonstration{interlock: self, out: io.Out, errors: io.Err}).run(ctx, c.Exit)
}

// demonstration is one walk with a server of its own.
type demonstration struct {
	interlock   string // the program that is shown: this one
	out, errors io.Writer
}

func (d *demonstration) run(ctx context.Context, exit bool) (err error) {
	data, err := os.MkdirTemp("", "interlock-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	server := exec.Command(d.interlock, "up", "--data-dir", data, "--presence", "none",
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	server.Stderr = d.errors
	// Ctrl-C is for the demo, which then ends the server itself.
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.interlock, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	defer func() { err = errors.Join(err, end(server, ended)) }()
	endpoints, err := ready(ctx, datadir.Dir(data), ended)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "interlock up serves %s (REST, MCP), %s (gRPC), %s (NATS)\n", endpoints.HTTP, endpoints.GRPC, endpoints.NATS)
	if err := d.walk(ctx, data); err != nil {
		return err
	}
	if err := leave(ctx, endpoints.HTTP, datadir.Dir(data)); err != nil {
		return err
	}
	link, err := pages.Link(datadir.Dir(data), endpoints.HTTP, "")
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, look, link)
	if exit {
		fmt.Fprintln(d.out, "The server ends now. `interlock demo` without --exit keeps it running.")
		return nil
	}
	fmt.Fprintf(d.out, "Still running; its data is in %s. Ctrl-C ends it.\n", data)
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		ended <- err
		return fmt.Errorf("interlock up ended: %w", err)
	}
}

// look describes the console after the walk.
const look = `
Look at it in the console; this link logs in once:

  %s

  Runs         the walk: its path through the workflow, and where it was denied
  Decisions    each denial, and why
  Approvals    a deployment waits for you
  Sessions     two agents that share a state

`

func end(server *exec.Cmd, ended <-chan error) error {
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		return nil // it has ended already
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("interlock up did not drain in 30 s"), server.Process.Kill())
	}
}

// ready waits until the server says that it serves.
func ready(ctx context.Context, data datadir.Dir, ended chan error) (datadir.Endpoints, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return datadir.Endpoints{}, fmt.Errorf("interlock up is not ready: %w", ctx.Err())
		case err := <-ended:
			ended <- err
			return datadir.Endpoints{}, fmt.Errorf("interlock up ended: %w", err)
		case <-tick.C:
		}
		endpoints, err := data.ReadEndpoints()
		if err != nil || endpoints.HTTP == "" {
			continue
		}
		resp, err := http.Get(endpoints.HTTP + "/readyz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return endpoints, nil
		}
	}
}
