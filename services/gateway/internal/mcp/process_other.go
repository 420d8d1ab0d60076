//go:build !unix

package mcp

import "os/exec"

func ownGroup(*exec.Cmd) {}

// signalGroup ends the command; there are no process groups here.
func signalGroup(cmd *exec.Cmd, kill bool) {
	if kill {
		cmd.Process.Kill() //nolint:errcheck // it may be gone
	}
}
