// Command interlock-engine serves workflows and runs on a Redis and a NATS that
// all services share.
package main

import (
	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

var version = "dev"

func main() {
	var flags struct {
		daemon.Flags
		daemon.StoreFlags
	}
	daemon.Parse(&flags, "interlock-engine", "Serves workflows and runs.", "127.0.0.1:7431")
	daemon.Main("interlock-engine", version, flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		e := engine.New(engine.Config{Store: d.Store, Logger: d.Log})
		e.Register(d.Server.GRPC())
		d.Go(e.Follow(d.NATS))
		d.Go(e.Obey(d.NATS))
		return nil
	})
}
