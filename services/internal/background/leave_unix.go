//go:build linux || darwin

package background

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// largest is the size from which the log begins anew, with the old one kept next to it.
const largest = 16 << 20

// Leave takes this process from its terminal: into a session of its own, with the log of the data folder for its output. The
// program that started it sees the end of the output.
func Leave(data datadir.Dir) error {
	name := LogFile(data)
	if info, err := os.Stat(name); err == nil && info.Size() > largest {
		if err := os.Rename(name, name+".1"); err != nil {
			return fmt.Errorf("begin the log anew: %w", err)
		}
	}
	log, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	none, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("leave the terminal: %w", err)
	}
	defer func() { _ = none.Close() }()
	if _, err := unix.Setsid(); err != nil && !errors.Is(err, unix.EPERM) { // it leads a session already
		return fmt.Errorf("leave the terminal: %w", err)
	}
	for _, of := range []struct {
		from *os.File
		to   int
	}{{none, 0}, {log, 1}, {log, 2}} {
		if err := unix.Dup2(int(of.from.Fd()), of.to); err != nil { //nolint:gosec // a file of this process
			return fmt.Errorf("leave the terminal: %w", err)
		}
	}
	return nil
}
