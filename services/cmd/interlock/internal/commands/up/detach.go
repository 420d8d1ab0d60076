package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/background"
	"github.com/interlock-run/interlock/services/internal/shield"
)

// ErrNotStarted says that a server in the background ended before it was ready. It has said why.
var ErrNotStarted = errors.New("the server in the background did not start")

// detach starts this command line as a server in the background, and shows what it says until it is ready.
func (c *Command) detach(streams console.Streams) error {
	data, err := client.ServerFolder(c.Data)
	if err != nil {
		return err
	}
	pid, err := Start("", streams, os.Args[1:]...)
	if err != nil {
		return err
	}
	if at, err := data.ReadEndpoints(); err != nil || at.PID != pid {
		return fmt.Errorf("%w; its log is %s", ErrNotStarted, background.LogFile(data))
	}
	return nil
}

// Start starts a server in the background by the command line of one, in a folder, and returns its process when the server has left the
// terminal. The server has the standard input of this command until then: it shows codes and asks for passphrases at a terminal
// only.
func Start(dir string, streams console.Streams, args ...string) (pid int, err error) {
	self, err := shield.Executable()
	if err != nil {
		return 0, fmt.Errorf("start the server: %w", err)
	}
	server := exec.Command(self, append(args, "--background")...) //nolint:gosec // this program
	server.Dir = dir
	if in, ok := streams.In.(*os.File); ok {
		server.Stdin = in
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return 0, fmt.Errorf("start the server: %w", err)
	}
	errs, err := server.StderrPipe()
	if err != nil {
		return 0, fmt.Errorf("start the server: %w", err)
	}
	if err := server.Start(); err != nil {
		return 0, fmt.Errorf("start the server: %w", err)
	}
	var shown sync.WaitGroup
	shown.Go(func() { _, _ = io.Copy(streams.Out, out) })
	shown.Go(func() { _, _ = io.Copy(streams.Err, errs) })
	shown.Wait() // until it has left, or ended
	pid = server.Process.Pid
	return pid, errors.Join(server.Process.Release())
}

// Stop ends the server of a workspace.
type Stop struct {
	Data string        `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Wait time.Duration `help:"How long to wait until the server has drained." default:"30s" placeholder:"DURATION"`
}

// Run ends the server, and returns when it has drained. Without one there is no work to do.
func (c *Stop) Run(ctx context.Context, streams console.Streams) error {
	folder, err := client.DataFolder(c.Data)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	pid, err := background.Stop(ctx, folder)
	switch {
	case errors.Is(err, background.ErrUnknown):
		return fmt.Errorf("%w; no process was ended: press Ctrl-C where `interlock up` runs, or end it by its number", err)
	case err != nil:
		return err
	case pid == 0:
		fmt.Fprintf(streams.Out, "no server runs in %s\n", folder)
	default:
		fmt.Fprintf(streams.Out, "stopped process %d of %s; no data is lost. Calls of agents are blocked until `interlock up` runs again\n", pid, folder)
	}
	return nil
}
