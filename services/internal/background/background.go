// Package background finds the process that serves from a data folder, ends it, and takes a server from its terminal.
//
// It must never send a signal to a process that is not the server of the folder.
package background

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// LogFile returns the file that a server in the background writes to.
func LogFile(data datadir.Dir) string { return filepath.Join(string(data), "server.log") }

// Server is the process that serves from a data folder.
type Server struct {
	// PID is its process; 0 when none serves.
	PID int
	// Endpoints is where it serves.
	Endpoints datadir.Endpoints
}

// ErrUnknown says that a server may run, and that the system does not say which process it is.
var ErrUnknown = errors.New("which process serves from the data folder cannot be verified")

// Find returns the server of a data folder. The kernel names the process that listens at a socket in the folder: a record with
// the number of a process that has ended, or that is another program by now, does not count.
func Find(ctx context.Context, data datadir.Dir) (Server, error) {
	at, err := data.ReadEndpoints()
	if err != nil || at.PID == 0 {
		return Server{}, err
	}
	socket := data.Socket()
	if at.Socket == "" || socket == "" { // its path would be too long for one
		return Server{Endpoints: at}, ErrUnknown
	}
	// Another program may have written the record, or a link: only the folder's own socket is the server's.
	if file, err := os.Lstat(socket); err == nil && file.Mode().Type() != os.ModeSocket {
		return Server{Endpoints: at}, fmt.Errorf("%w: %s is no socket", ErrUnknown, socket)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return Server{}, nil // it was killed, and its record is old
	}
	if err != nil {
		return Server{}, fmt.Errorf("ask who serves from %s: %w", data, err)
	}
	defer func() { _ = conn.Close() }()
	pid, err := listener(conn)
	switch {
	case err != nil:
		return Server{Endpoints: at}, errors.Join(ErrUnknown, err)
	case pid != at.PID: // 0 for a process of another container
		return Server{Endpoints: at}, fmt.Errorf("%w: its record names process %d, and the socket is of process %d", ErrUnknown, at.PID, pid)
	}
	return Server{PID: pid, Endpoints: at}, nil
}

// pause is the time between two looks at a server that drains.
const pause = 20 * time.Millisecond

// Stop asks the server of a data folder to end, and waits until it has drained or ctx ends. It returns the process; 0 when none
// serves. The signal goes to the process that was found, and not to a later one with its number.
func Stop(ctx context.Context, data datadir.Dir) (pid int, err error) {
	at, err := data.ReadEndpoints()
	if err != nil || at.PID == 0 {
		return 0, err
	}
	process, err := os.FindProcess(at.PID) // holds this very process, where the system can
	if err != nil {
		return 0, fmt.Errorf("stop the server: %w", err)
	}
	defer func() { _ = process.Release() }()
	found, err := Find(ctx, data)
	if err != nil || found.PID == 0 {
		return 0, err
	}
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, fmt.Errorf("stop process %d: %w", found.PID, err)
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for data.Locked() {
		select {
		case <-ctx.Done():
			return found.PID, fmt.Errorf("process %d still drains: %w", found.PID, ctx.Err())
		case <-tick.C:
		}
	}
	return found.PID, nil
}
