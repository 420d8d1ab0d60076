// Command interlock-policy-enforcer decides tool calls, on the Redis and NATS
// that all services share.
package main

import (
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/policyenforcer"
)

var version = "dev"

func main() {
	var flags struct {
		daemon.Flags
		daemon.StoreFlags
		daemon.ClientFlags
		Engine string `help:"Address of the engine: dns:///engine:7431, or several HOST:PORT with commas between." required:"" env:"INTERLOCK_ENGINE" placeholder:"TARGET"`
	}
	daemon.Parse(&flags, "interlock-policy-enforcer", "Decides tool calls.", "127.0.0.1:7432")
	daemon.Main("interlock-policy-enforcer", version, flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		engine, err := d.Dial("engine", flags.Engine, flags.ClientFlags)
		if err != nil {
			return err
		}
		policyenforcer.New(policyenforcer.Config{Store: d.Store, Engine: engine, Logger: d.Log}).Register(d.Server.GRPC())
		return nil
	})
}
