// Package store looks after the store itself.
package store

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

// Command is the family of commands on the store.
type Command struct {
	AcceptRollback acceptCommand `cmd:"" help:"Accept a rolled-back store. Lost data is not recovered."`
}

type acceptCommand struct {
	daemon.StoreLogin
	Data  string `name:"data-dir" help:"Data folder of interlock up, which must not be running; by default that of this workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Store string `help:"sqlite, or the Redis of the services: redis://HOST:PORT/DB." default:"sqlite" env:"INTERLOCK_STORE" placeholder:"STORE"`
}

// Run accepts the rollback of a store. Services that refuse everything continue within a
// second.
func (c *acceptCommand) Run(ctx context.Context, streams console.Streams, version console.Version) error {
	data, err := client.ServerFolder(c.Data)
	if err != nil {
		return err
	}
	lost, err := daemon.AcceptRollback(ctx, daemon.StoreConfig{
		URL: c.Store, StoreLogin: c.StoreLogin, Path: data.Database(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Program: string(version),
	})
	if err != nil {
		return err
	}
	if len(lost) == 0 {
		fmt.Fprintln(streams.Out, "The store has not gone back in time: no action is needed.")
		return nil
	}
	for _, what := range lost {
		fmt.Fprintln(streams.Out, "Accepted:", what)
	}
	return nil
}
