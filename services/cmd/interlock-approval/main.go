// Command interlock-approval asks humans and keeps what they decide, on the Redis
// and NATS that all services share.
package main

import (
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

var version = "dev"

func main() {
	var flags struct {
		daemon.Flags
		daemon.StoreFlags
		daemon.ClientFlags
		Approval approval.Flags `embed:""`
		Engine   string         `help:"Address of the engine, which is told of decisions at once: dns:///engine:7431, or several HOST:PORT with commas between. Without it runs continue a little later." env:"INTERLOCK_ENGINE" placeholder:"TARGET"`
	}
	daemon.Parse(&flags, "interlock-approval", "Asks humans, and keeps what they decide.", "127.0.0.1:7435")
	daemon.Main("interlock-approval", version, flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		cfg := approval.Config{Store: d.Store, Logger: d.Log, Registerer: d.Registry, Flags: flags.Approval}
		if flags.Engine != "" {
			engine, err := d.DialAs("engine", flags.Engine, flags.ClientFlags)
			if err != nil {
				return err
			}
			cfg.Engine = engine
		}
		s, err := approval.New(cfg)
		if err != nil {
			return err
		}
		s.Register(d.Server.GRPC())
		d.Go(s.Run)
		d.Go(s.Follow(d.NATS))
		return nil
	})
}
