// Package tail shows live events.
package tail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

// everything is the subject of all events.
const everything = "interlock.>"

// Command shows events as they come.
type Command struct {
	show.Printer
	daemon.NATSLogin
	Subject string `arg:"" optional:"" help:"NATS subject, wildcards allowed. By default every event; for people without the seals of the decision log."`
	NATSURL string `name:"nats-url" help:"NATS; found in the data folder by default." env:"INTERLOCK_NATS_URL" placeholder:"URL"`
	Data    string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Last    int    `help:"Begin with this many of the stream's last events." default:"0"`
	Count   int    `help:"End after this many events; 0 for never." default:"0"`
}

// Run prints events until ctx ends.
func (c *Command) Run(ctx context.Context, streams console.Streams) error {
	endpoint, err := c.source()
	if err != nil {
		return err
	}
	nc, err := endpoint.Connect("interlock-tail")
	if errors.Is(err, nats.ErrAuthorization) {
		return fmt.Errorf("%w; give --nats-username and --nats-password-file, or --nats-creds; "+
			"the NATS of `interlock up` takes none, leave it out there", err)
	}
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("tail: %w", err)
	}
	watcher, err := bus.Watch(ctx, js, bus.WatchConfig{Subjects: []string{cmp.Or(c.Subject, everything)}, Last: c.Last})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: NATS does not answer about the stream; log in as a user that may make consumers of it, as `gateway` of deploy/nats/nats.conf", err)
	}
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for n := 0; c.Count == 0 || n < c.Count; {
		m, err := watcher.Next(ctx)
		if ctx.Err() != nil {
			return nil // stopped
		}
		if err != nil {
			return fmt.Errorf("tail: %w", err)
		}
		if c.Subject == "" && c.ForPeople() && seal(m) {
			continue
		}
		if err := c.print(streams.Out, m); err != nil {
			return err
		}
		n++
	}
	return nil
}

// seal reports an event that only says how far the decision log is sealed.
func seal(m bus.Message) bool {
	ev, err := bus.Decode(m.Payload)
	return err == nil && ev.GetDecisionsSealed() != nil
}

// print writes an event. One that is not valid JSON is written as it is.
func (c *Command) print(out io.Writer, m bus.Message) error {
	if c.ForPeople() {
		return c.Next(out, nil, func(s show.Style) string { return tableLine(s, m) })
	}
	if c.Quiet {
		_, err := fmt.Fprintln(out, show.Text(m.ID))
		return err
	}
	if c.Output == "yaml" {
		return c.Next(out, jsontext.Value(m.Payload), nil)
	}
	_, err := fmt.Fprintln(out, jsonLine(m.Payload))
	return err
}

// tableLine returns an event for people.
func tableLine(s show.Style, m bus.Message) string {
	ev, err := bus.Decode(m.Payload)
	if err != nil || ev.GetEntity() == "" {
		return fmt.Sprintf("%s  %s  not an event that this version reads", s.Time(m.Time), show.Text(m.Subject))
	}
	if ev.GetTime() == nil {
		ev.Time = timestamppb.New(m.Time)
	}
	return s.Event(ev, rpc.DefaultNamespace)
}

// jsonLine returns JSON as programs and people can read it: without the escapes that only
// HTML wants.
func jsonLine(payload []byte) string {
	line, err := jsontext.AppendFormat(nil, payload)
	if err != nil {
		return string(payload)
	}
	return string(line)
}

// source returns the NATS of the flags, or that of the server on this machine.
func (c *Command) source() (bus.Endpoint, error) {
	if c.NATSURL != "" {
		return c.Endpoint(c.NATSURL)
	}
	folder, err := client.DataFolder(c.Data)
	if err != nil {
		return bus.Endpoint{}, err
	}
	endpoints, err := folder.ReadEndpoints()
	if err != nil {
		return bus.Endpoint{}, err
	}
	if endpoints.NATS == "" {
		return bus.Endpoint{}, errors.New(client.NotServed(c.Data) + ", or give --nats-url")
	}
	return bus.Endpoint{URL: endpoints.NATS}, nil
}
