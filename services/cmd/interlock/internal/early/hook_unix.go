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
	client := hookclient.FromEnv(os.Getenv)
	if !client.Parse(os.Args[2:]) {
		return // the full parser explains, or helps
	}
	if target, err := client.Target(); err == nil && target.Socket == "" {
		return // TCP and TLS take the whole program
	}
	if client.BreakGlass != "" {
		return // and so do grants
	}
	client.Jail = hookclient.Self{}
	os.Exit(client.Run(os.Stdin, os.Stdout, os.Stderr, hookclient.Socket))
}
