//go:build !unix

package runner

import (
	"errors"
	"os/exec"
	"syscall"
)

// group is not there on this system: an agent's processes could be left behind.
type group struct{}

func newGroup() (*group, error) {
	return nil, errors.New("agents are run on Unix systems only")
}

func (*group) add(*exec.Cmd) {}

func (*group) signal(syscall.Signal) {}

func (*group) kill() {}
