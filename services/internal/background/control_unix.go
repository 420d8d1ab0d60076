//go:build linux || darwin

package background

import (
	"errors"
	"fmt"
	"net"
)

// control applies a function to the descriptor of a unix socket.
func control(conn net.Conn, do func(fd int) error) error {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("not a unix socket")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return fmt.Errorf("look at the socket: %w", err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil { //nolint:gosec // a file of this process
		return fmt.Errorf("look at the socket: %w", err)
	}
	if failed != nil {
		return fmt.Errorf("look at the socket: %w", failed)
	}
	return nil
}
