// Command interlock-policy-enforcer decides tool calls, on the Redis and NATS
// that all services share.
package main

import (
	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/pkg/rpc"
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
	kong.Parse(&flags, kong.Name("interlock-policy-enforcer"), kong.Description("Decides tool calls."),
		kong.Vars{"grpc": "127.0.0.1:7432"})
	daemon.Main("interlock-policy-enforcer", version, flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		engine, err := rpc.Dial(flags.Engine, flags.Client(d.Tracer))
		if err != nil {
			return err
		}
		d.OnClose(engine.Close)
		policyenforcer.New(policyenforcer.Config{Store: d.Store, Engine: engine, Logger: d.Log}).Register(d.Server.GRPC())
		return nil
	})
}
