// Package jailer enforces a profile of package jail on one command: with Landlock, seccomp and
// namespaces on Linux, and not at all elsewhere.
package jailer

import (
	"context"
	"os"

	"github.com/interlock-run/interlock/pkg/jail"
)

// Support is what a machine can enforce.
type Support struct {
	Level jail.Level
	// Missing says which part keeps the level from being higher, and what would change that; empty at
	// level Full.
	Missing string
}

// Command is a command to run in a jail.
type Command struct {
	// CallID is copied into the witness.
	CallID string
	// Argv is the program, by its path or a name in PATH, and its arguments.
	Argv []string
	// Env is the environment before the profile changes it; Dir is where the command starts.
	Env []string
	Dir string
	// Streams are passed to the command as they are.
	Stdin, Stdout, Stderr *os.File
	// Note is the command's descriptor 3; nil for none.
	Note    *os.File
	Profile *jail.Profile
	Machine jail.Machine
	// Caches is a folder outside of the workspace that keeps the run's copies of caches between
	// commands; empty throws them away.
	Caches string
	// Trees is a file outside of the workspace that remembers its files between commands. Empty: the
	// witness has no trees, and no files that were written.
	Trees string
	// Guards is a folder outside of the workspace that keeps what Restore puts back where this process is killed before the
	// command has ended; empty puts nothing back then.
	Guards string
	// Left is a folder outside of the workspace that keeps which programs a command of the run has left running, for EndLeft; empty
	// keeps nothing.
	Left string
	// Highest is the level to stay at even where more is possible; None for the most.
	Highest jail.Level
	// Landlock is the version of Landlock to stay at, as an older kernel does; 0 for the kernel's, and -1 for none.
	Landlock int
	// Proxy takes the socket on which the command asks for the profile's hosts; serve ends with its context. It is
	// hostproxy.Open, which this package does not import: net/http is initialised late, and a command would wait
	// for it. A profile with a list of hosts is refused where this is nil.
	Proxy func(socket *os.File, rules jail.Hosts) (serve func(context.Context, func(jail.Asked)) error, err error)
	// Signals are passed on to the command.
	Signals <-chan os.Signal
}
