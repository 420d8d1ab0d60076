// Command interlock-policy-enforcer decides tool calls, on the Redis and NATS
// that all services share.
package main

import (
	"github.com/interlock-run/interlock/services/internal/build"
	"github.com/interlock-run/interlock/services/internal/commandline"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/policyenforcer"
)

func main() {
	var flags commandline.PolicyEnforcer
	line := daemon.Parse(&flags, commandline.OfPolicyEnforcer)
	daemon.Main(line, build.Version(), flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		engine, err := d.Dial("engine", flags.Engine, flags.ClientFlags)
		if err != nil {
			return err
		}
		cfg := policyenforcer.Config{Store: d.Store, Engine: engine, Logger: d.Log, Metrics: d.Metrics, Flags: flags.Policy, Definitions: flags.Definitions}
		if flags.Approval != "" {
			if cfg.Approval, err = d.DialAs("approval", flags.Approval, flags.ClientFlags); err != nil {
				return err
			}
		}
		if flags.State != "" {
			if cfg.State, err = d.DialAs("state", flags.State, flags.ClientFlags); err != nil {
				return err
			}
		}
		e, err := policyenforcer.New(cfg)
		if err != nil {
			return err
		}
		e.Register(d.Server.GRPC())
		d.Go(e.Run)
		return nil
	})
}
