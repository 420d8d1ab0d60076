package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
)

type tailCommand struct {
	Subject string `arg:"" optional:"" help:"NATS subject, wildcards allowed." default:"interlock.>"`
	NATSURL string `name:"nats-url" help:"NATS; found in the data folder by default." env:"INTERLOCK_NATS_URL" placeholder:"URL"`
	Data    string `name:"data-dir" help:"Data folder of the server on this machine; by default the nearest .interlock, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Last    int    `help:"Begin with the last so many events of the stream." default:"0"`
	Count   int    `help:"End after so many events; 0 for never." default:"0"`
	Format  string `help:"Output: table or json (one event a line)." enum:"table,json" default:"table"`
}

func (c *tailCommand) Run(ctx context.Context, io streams) error {
	url, err := c.url()
	if err != nil {
		return err
	}
	nc, err := bus.Endpoint{URL: url}.Connect("interlock-tail")
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("tail: %w", err)
	}
	watcher, err := bus.Watch(ctx, js, bus.WatchConfig{Subjects: []string{c.Subject}, Last: c.Last})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for n := 0; c.Count == 0 || n < c.Count; n++ {
		m, err := watcher.Next(ctx)
		if ctx.Err() != nil {
			return nil // told to stop
		}
		if err != nil {
			return fmt.Errorf("tail: %w", err)
		}
		if c.Format == "json" {
			_, err = fmt.Fprintf(io.out, "%s\n", m.Payload)
		} else {
			_, err = fmt.Fprintf(io.out, "%s  %s  %s\n", m.Time.Local().Format(time.TimeOnly), visible(m.Subject), visible(string(m.Payload)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *tailCommand) url() (string, error) {
	if c.NATSURL != "" {
		return c.NATSURL, nil
	}
	folder := dataFolder(c.Data)
	endpoints, err := folder.ReadEndpoints()
	if err != nil {
		return "", err
	}
	if endpoints.NATS == "" {
		return "", fmt.Errorf("no server runs in %s: start `interlock up` there, or give --nats-url", folder)
	}
	return endpoints.NATS, nil
}
