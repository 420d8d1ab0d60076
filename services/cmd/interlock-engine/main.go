// Command interlock-engine serves workflows, processes and runs on a Redis and a NATS
// that all services share.
package main

import (
	"errors"

	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/internal/build"
	"github.com/interlock-run/interlock/services/internal/commandline"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

func main() {
	var flags commandline.Engine
	line := daemon.Parse(&flags, commandline.OfEngine)
	daemon.Main(line, build.Version(), flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		cfg := engine.Config{Store: d.Store, Logger: d.Log, Definitions: flags.Definitions, Enforcement: flags.Enforcement, Quotas: flags.Quotas, Retention: flags.Retention, Metrics: d.Metrics, Standing: d.Standing()}
		var err error
		if flags.Retention.Runs > 0 && flags.Approval == "" {
			return errors.New("--run-retention needs --approval: a run is kept while humans are asked for it")
		}
		if flags.Approval != "" {
			if cfg.Approval, err = d.DialAs("approval", flags.Approval, flags.ClientFlags); err != nil {
				return err
			}
		}
		if flags.State != "" {
			if cfg.Sessions, err = d.DialAs("state", flags.State, flags.ClientFlags); err != nil {
				return err
			}
		}
		e := engine.New(cfg)
		e.Register(d.Server.GRPC())
		d.Go(e.Run)
		d.Go(e.Follow(d.NATS))
		return nil
	})
}
