//go:build !linux && !darwin

package background

import (
	"errors"
	"net"
)

// listener refuses: this system does not name the process.
func listener(net.Conn) (pid int, err error) {
	return 0, errors.New("this system does not name the process that listens at a socket")
}
