// Command interlock-engine serves workflows and runs on a Redis and a NATS that
// all services share.
package main

import (
	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

var version = "dev"

func main() {
	var flags struct {
		daemon.Flags
		daemon.StoreFlags
	}
	kong.Parse(&flags, kong.Name("interlock-engine"), kong.Description("Serves workflows and runs."),
		kong.Vars{"grpc": "127.0.0.1:7431"})
	daemon.Main("interlock-engine", version, flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		e := engine.New(engine.Config{Store: d.Store, Logger: d.Log})
		e.Register(d.Server.GRPC())
		d.Go(e.Follow(d.NATS))
		return nil
	})
}
