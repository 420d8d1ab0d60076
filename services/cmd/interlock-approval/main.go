// Command interlock-approval asks humans and keeps their decisions, on the Redis and NATS
// that all services share.
package main

import (
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/internal/build"
	"github.com/interlock-run/interlock/services/internal/commandline"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

func main() {
	var flags commandline.Approval
	line := daemon.Parse(&flags, commandline.OfApproval)
	daemon.Main(line, build.Version(), flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		masks, err := flags.Masks.Masks()
		if err != nil {
			return err
		}
		people, err := flags.PeopleKey()
		if err != nil {
			return err
		}
		cfg := approval.Config{
			Store: d.Store, Masks: masks, Logger: d.Log, Metrics: d.Metrics, Flags: flags.Approval, PersonKey: people, Names: d.Names,
		}
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
