// Command interlock-policy-enforcer decides tool calls, on the Redis and NATS
// that all services share.
package main

import (
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/policyenforcer"
)

var version = "dev"

func main() {
	var flags struct {
		daemon.Flags
		daemon.StoreFlags
		daemon.ClientFlags
		Policy      policyenforcer.Flags `embed:""`
		Definitions definition.Flags     `embed:""`
		Engine      string               `help:"Address of the engine: dns:///engine:7431, or several HOST:PORT with commas between." required:"" env:"INTERLOCK_ENGINE" placeholder:"TARGET"`
		Approval    string               `help:"Address of the approval service. Without it whatever needs an approval is denied." env:"INTERLOCK_APPROVAL" placeholder:"TARGET"`
		State       string               `help:"Address of the state-store, which knows the trees of sessions. Without it every session is its own." env:"INTERLOCK_STATE" placeholder:"TARGET"`
	}
	daemon.Parse(&flags, "interlock-policy-enforcer", "Decides tool calls.", "127.0.0.1:7432")
	daemon.Main("interlock-policy-enforcer", version, flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		engine, err := d.Dial("engine", flags.Engine, flags.ClientFlags)
		if err != nil {
			return err
		}
		cfg := policyenforcer.Config{Store: d.Store, Engine: engine, Logger: d.Log, Registerer: d.Registry, Flags: flags.Policy, Definitions: flags.Definitions}
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
