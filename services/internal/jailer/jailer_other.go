//go:build !linux

package jailer

import (
	"context"
	"errors"
	"runtime"

	"github.com/interlock-run/interlock/pkg/jail"
)

// Probe returns what this machine can enforce.
func Probe() Support {
	return Support{Missing: "jails need Linux; this is " + runtime.GOOS}
}

// Stage runs the inner part of a jail where this process is one, and does not return then.
func Stage() {}

// Run runs a command in a jail, and returns what it has witnessed. An error means that the command was
// not started.
func Run(context.Context, *Command) (*jail.Witness, error) {
	return nil, errors.New(Probe().Missing)
}

func inUse(string) bool { return false }

// EndLeft ends the programs that earlier commands have left running.
func EndLeft(string, *jail.Profile) error { return nil }

// Restore puts back what jails have left where they were killed.
func Restore(string) ([]string, error) { return nil, nil }
