//go:build unix

package earlyjail

import (
	"fmt"
	"os"
	"slices"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jailclient"
)

func init() {
	if len(os.Args) < 2 || os.Args[1] != "jail" {
		return
	}
	if slices.Equal(os.Args[2:], []string{"probe", "--json"}) {
		if err := jailclient.Tell(os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 4 && os.Args[2] == "put-back" { // hooks ask for it
		if notice := (jailclient.Machine{}).Restore(os.Args[3]); notice != "" {
			fmt.Println(notice)
		}
		os.Exit(0)
	}
	call := jailclient.FromEnv(os.Getenv)
	if !call.Parse(os.Args[2:]) {
		return // the full parser explains, or helps
	}
	if target, err := call.Server.Target(); err == nil && target.Socket == "" {
		return // TCP and TLS take the whole program
	}
	claimed, ok := call.Claim(os.Stderr, hookclient.Socket)
	if !ok {
		os.Exit(jailclient.ExitNotRun)
	}
	execute := func(proxy jailclient.Proxy) int { return claimed.Execute(os.Stdin, os.Stdout, os.Stderr, proxy) }
	if claimed.NeedsProxy() { // the proxy takes the whole program
		Rest = execute
		return
	}
	os.Exit(execute(nil))
}
