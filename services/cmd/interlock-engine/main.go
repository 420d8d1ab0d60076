// Command interlock-engine serves workflows, processes and runs on a Redis and a NATS
// that all services share.
package main

import (
	"errors"

	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/definition"
)

var version = "dev"

func main() {
	var flags struct {
		daemon.Flags
		daemon.StoreFlags
		daemon.ClientFlags
		Definitions definition.Flags `embed:""`
		Quotas      engine.Quotas    `embed:""`
		Retention   engine.Retention `embed:""`
		Approval    string           `help:"Address of the approval service: dns:///approval:7433, or several HOST:PORT with commas between; empty: what needs an approval is refused." env:"INTERLOCK_APPROVAL" placeholder:"TARGET"`
		State       string           `help:"Address of the state-store, which knows who is of one tree of sessions and must not approve; empty: each session is a tree of its own." env:"INTERLOCK_STATE" placeholder:"TARGET"`
	}
	daemon.Parse(&flags, "interlock-engine", "Serves workflows, processes and runs.", "127.0.0.1:7431")
	daemon.Main("interlock-engine", version, flags.Flags, &flags.StoreFlags, func(d *daemon.Daemon) error {
		cfg := engine.Config{Store: d.Store, Logger: d.Log, Definitions: flags.Definitions, Quotas: flags.Quotas, Retention: flags.Retention}
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
