package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
)

// showEvents prints the events of NATS, from the first event to the run's end.
func (d *demonstration) showEvents(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	nc, err := (bus.Endpoint{URL: url}).Connect("demo")
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	watcher, err := bus.Watch(ctx, js, bus.WatchConfig{From: 1})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	fmt.Fprintln(d.out, "\nThe events, as NATS carried them:")
	var seen []string
	for !slices.Contains(seen, "run.completed") {
		m, err := watcher.Next(ctx)
		if err != nil {
			return fmt.Errorf("the run's end never came over NATS: %w", err)
		}
		event, err := bus.Decode(m.Payload)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "  %-60s %s\n", m.Subject, detail(event))
		seen = append(seen, event.GetEntity()+"."+event.GetType())
	}
	for _, want := range []string{"workflow.registered", "run.started", "toolcall.denied", "run.transitioned", "toolcall.allowed", "run.rejected"} {
		if !slices.Contains(seen, want) {
			return errors.New("no event " + want + " among " + strings.Join(seen, ", "))
		}
	}
	return nil
}
