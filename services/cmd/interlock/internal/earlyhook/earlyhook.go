//go:build unix

// Package earlyhook answers `interlock hook` before the rest of the program is
// initialised, and ends the process. It does nothing for any other command line.
//
// The whole program takes ten times as long to initialise as a hook takes to be
// answered: compiled schemas, expression environments, metrics and servers that
// a hook never uses. Go initialises packages in the order of their import paths
// as soon as what they import is initialised (the language specification,
// "Program initialization"), so this package, which imports little, comes before
// those. Only the program's main may import it.
package earlyhook

import (
	"os"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
)

func init() {
	if len(os.Args) < 2 || os.Args[1] != "hook" {
		return
	}
	call := hookclient.FromEnv(os.Getenv)
	if !call.Parse(os.Args[2:]) {
		return // the full parser explains, or helps
	}
	if target, err := call.Target(); err == nil && target.Socket == "" {
		return // TCP and TLS take the whole program
	}
	os.Exit(call.Run(os.Stdin, os.Stdout, os.Stderr, hookclient.Socket))
}
