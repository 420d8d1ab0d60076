//go:build unix

package upstream

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group of its own, so that it can be
// stopped with everything that it starts.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup ends the command's process group: politely, or for good.
func signalGroup(cmd *exec.Cmd, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	syscall.Kill(-cmd.Process.Pid, signal) //nolint:errcheck // the group may be gone
}

// sameVariable reports whether two names are one environment variable.
func sameVariable(a, b string) bool { return a == b }
