package background

import (
	"net"

	"golang.org/x/sys/unix"
)

// listener returns the process that listens at the other end of a connection, as the kernel knows it.
func listener(conn net.Conn) (pid int, err error) {
	err = control(conn, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			pid = int(cred.Pid)
		}
		return err //nolint:wrapcheck // control does
	})
	return pid, err
}
