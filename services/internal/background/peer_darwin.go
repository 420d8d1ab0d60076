package background

import (
	"net"

	"golang.org/x/sys/unix"
)

// listener returns the process that listens at the other end of a connection, as the kernel knows it.
func listener(conn net.Conn) (pid int, err error) {
	err = control(conn, func(fd int) (err error) {
		pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		return err //nolint:wrapcheck // control does
	})
	return pid, err
}
