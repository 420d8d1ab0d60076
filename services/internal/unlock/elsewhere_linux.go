package unlock

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Wait returns when the shell of the terminal has ended.
func (t Terminal) Wait() {
	fd, err := unix.PidfdOpen(t.at.shell, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if shell, err := look(t.at.shell); err != nil || shell.start != t.at.shellTime {
		return // its number is another's by now
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1) //nolint:gosec // the kernel's numbers of files are small
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// ownFolder refuses a folder that another user has made, or can write to.
func ownFolder(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("look at the folder of log-ins: %w", err)
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(of.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the folder %s is not yours alone; remove it, or set XDG_RUNTIME_DIR to one that is", folder)
	}
	return nil
}

// Supported reports whether this system says which process asks.
func Supported() error { return nil }
