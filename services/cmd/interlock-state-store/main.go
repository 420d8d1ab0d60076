// Command interlock-state-store serves schemas, shared states, sessions, tasks and
// components, on the Redis and NATS that all services share.
package main

import (
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/statestore"
)

var version = "dev"

func main() {
	var flags struct {
		daemon.Flags
		daemon.StoreFlags
		State statestore.Flags `embed:""`
	}
	daemon.Parse(&flags, "interlock-state-store", "Serves shared states and the sessions that share them.", "127.0.0.1:7434")
	daemon.Main("interlock-state-store", version, flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		s := statestore.New(statestore.Config{Store: d.Store, Logger: d.Log, Flags: flags.State})
		s.Register(d.Server.GRPC())
		d.Go(s.Run)
		d.Go(s.Follow(d.NATS))
		return nil
	})
}
