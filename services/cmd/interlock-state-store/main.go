// Command interlock-state-store serves schemas, shared states, sessions, tasks and
// components, on the Redis and NATS that all services share.
package main

import (
	"github.com/interlock-run/interlock/services/internal/build"
	"github.com/interlock-run/interlock/services/internal/commandline"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/statestore"
)

func main() {
	var flags commandline.StateStore
	line := daemon.Parse(&flags, commandline.OfStateStore)
	daemon.Main(line, build.Version(), flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		key, err := flags.MintingKey()
		if err != nil {
			return err
		}
		s := statestore.New(statestore.Config{Store: d.Store, Logger: d.Log, Metrics: d.Metrics, TokenKey: key, Names: d.Names, Flags: flags.State})
		s.Register(d.Server.GRPC())
		d.Go(s.Run)
		d.Go(s.Follow(d.NATS))
		return nil
	})
}
