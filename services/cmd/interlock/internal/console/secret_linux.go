package console

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/services/internal/shield"
)

// AskSecret asks for a text that the terminal does not show. Meanwhile no other program of the user can open the terminal, or
// read the memory of this one. A program that has opened the terminal before can read from it.
func AskSecret(terminal *os.File, question string) (text string, err error) {
	if err := shield.Shield(); err != nil {
		return "", err
	}
	fd := int(terminal.Fd()) //nolint:gosec // a file of this process
	restore, err := hide(fd)
	if err != nil {
		return "", err
	}
	defer func() {
		restore()
		_, _ = fmt.Fprintln(terminal)
	}()
	return Ask(terminal, question)
}

// hide turns off the terminal's echo, its key that suspends a program, and its opening by other programs.
func hide(fd int) (restore func(), err error) {
	shown, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("look at the terminal: %w", err)
	}
	hidden := *shown
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Cc[unix.VSUSP] = 0 // a program that is suspended here would leave the terminal closed
	if err := unix.IoctlSetInt(fd, unix.TIOCEXCL, 0); err != nil {
		return nil, fmt.Errorf("keep the terminal from other programs: %w", err)
	}
	restore = func() {
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, shown)
		_ = unix.IoctlSetInt(fd, unix.TIOCNXCL, 0)
	}
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &hidden); err != nil {
		restore()
		return nil, fmt.Errorf("hide typed text: %w", err)
	}
	return restore, nil
}
