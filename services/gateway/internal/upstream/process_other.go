//go:build !unix

package upstream

import (
	"os/exec"
	"strings"
)

func ownGroup(*exec.Cmd) {}

// signalGroup ends the command; there are no process groups here.
func signalGroup(cmd *exec.Cmd, kill bool) {
	if kill {
		cmd.Process.Kill() //nolint:errcheck // it may be gone
	}
}

// sameVariable reports whether two names are one environment variable: Windows ignores
// case.
func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }
