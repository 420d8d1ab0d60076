//go:build unix

package early

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
	call.Jail = hookclient.Self{}
	os.Exit(call.Run(os.Stdin, os.Stdout, os.Stderr, hookclient.Socket))
}
