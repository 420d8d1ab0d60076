// Package events looks after the stream of events, which is derived from the store.
package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/decisions"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/decided"
	"github.com/interlock-run/interlock/services/internal/natsserver"
)

// Command is the family of commands on the stream of events.
type Command struct {
	Rebuild rebuildCommand `cmd:"" help:"Publish the events that NATS has lost, and the store still has."`
}

type rebuildCommand struct {
	show.Printer
	Where
	From   string `help:"Only events since then: 24h, or 2026-01-31T08:00:00Z." placeholder:"TIME"`
	DryRun bool   `help:"Publish nothing."`
}

// Where are a store and the NATS of its events.
type Where struct {
	daemon.StoreLogin
	daemon.NATSLogin
	Data    string `name:"data-dir" help:"Data folder of interlock up, which must not be running; by default that of this workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Store   string `help:"sqlite, or the Redis of the services: redis://HOST:PORT/DB." default:"sqlite" env:"INTERLOCK_STORE" placeholder:"STORE"`
	NATSURL string `name:"nats-url" help:"NATS of the services; the embedded one of the data folder by default." env:"INTERLOCK_NATS_URL" placeholder:"URL"`
}

// Outcome is the JSON of the findings.
type Outcome struct {
	DryRun bool   `json:"dry_run,omitzero"`
	Kinds  []kind `json:"kinds"`
	// Published is how many events were published, or would be.
	Published int       `json:"published"`
	Present   int       `json:"present"`
	Pending   int       `json:"pending"`
	KeptSince time.Time `json:"kept_since,omitzero"`
	Forgotten int64     `json:"forgotten"`
}

// kind counts the events of one kind.
type kind struct {
	Kind      string `json:"kind"`
	Published int    `json:"published"`
	Expired   int    `json:"expired"`
	Crowded   int    `json:"crowded"`
	Refused   int    `json:"refused"`
	Held      int    `json:"held"`
}

// Run publishes the missing events of the stream.
func (c *rebuildCommand) Run(ctx context.Context, streams console.Streams, version console.Version) error {
	cfg := bus.RebuildConfig{DryRun: c.DryRun}
	if c.From != "" {
		from, err := decisions.Since(c.From, time.Now())
		if err != nil {
			return fmt.Errorf("--from %w", err)
		}
		cfg.From = from
	}
	out, err := c.Rebuild(ctx, cfg, string(version))
	if out == nil {
		return err
	}
	if err := errors.Join(err, c.Print(streams.Out, out, out.Table)); err != nil {
		return err
	}
	if out.Lacks() {
		return console.ErrNo
	}
	return nil
}

// Lacks reports that events could not be published which the stream should have.
func (o *Outcome) Lacks() bool {
	return slices.ContainsFunc(o.Kinds, func(k kind) bool { return k.Refused+k.Held > 0 })
}

// Rebuild publishes the missing events of the stream. With an error, the outcome has the
// work before; nil if there is none.
func (c *Where) Rebuild(ctx context.Context, cfg bus.RebuildConfig, version string) (*Outcome, error) {
	found, err := c.publishAgain(ctx, cfg, version)
	if found == nil {
		return nil, err
	}
	return outcomeOf(found, cfg.DryRun), err
}

func (c *Where) publishAgain(
	ctx context.Context, cfg bus.RebuildConfig, version string,
) (found *bus.Rebuilt, err error) {
	data, err := client.ServerFolder(c.Data)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	endpoint, err := c.Endpoint(c.NATSURL)
	if err != nil {
		return nil, err
	}
	if c.Store == "sqlite" || c.NATSURL == "" {
		if _, err := os.Stat(string(data)); err != nil {
			return nil, fmt.Errorf("there is no data folder %s: name it with --data-dir, or the services' --store and --nats-url", data)
		}
		unlock, err := data.Lock()
		if err != nil {
			return nil, err
		}
		defer unlock() //nolint:errcheck // the process ends
	}
	st, err := daemon.OpenStore(ctx, daemon.StoreConfig{
		URL: c.Store, StoreLogin: c.StoreLogin, Path: data.Database(), AllowLossy: true, Logger: log, Program: version, Unchecked: true,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if c.NATSURL == "" {
		server, err := natsserver.Start(natsserver.Config{Dir: data.NATS(), Log: log})
		if err != nil {
			return nil, err
		}
		defer server.Stop()
		endpoint = server.Endpoint()
	}
	conn, err := endpoint.Connect("interlock-rebuild")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return bus.Rebuild(ctx, decided.Outbox(st), conn, cfg)
}

func outcomeOf(found *bus.Rebuilt, dryRun bool) *Outcome {
	out := &Outcome{
		DryRun: dryRun, Present: found.Present, Pending: found.Pending, KeptSince: found.Oldest, Forgotten: found.Forgotten,
	}
	kinds := map[string]*kind{}
	for _, of := range []struct {
		counts map[string]int
		field  func(*kind) *int
	}{
		{found.Missing, func(k *kind) *int { return &k.Published }},
		{found.Expired, func(k *kind) *int { return &k.Expired }},
		{found.Crowded, func(k *kind) *int { return &k.Crowded }},
		{found.Refused, func(k *kind) *int { return &k.Refused }},
		{found.Held, func(k *kind) *int { return &k.Held }},
	} {
		for name, n := range of.counts {
			if kinds[name] == nil {
				kinds[name] = &kind{Kind: name}
			}
			*of.field(kinds[name]) = n
		}
	}
	out.Kinds = []kind{}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		out.Kinds = append(out.Kinds, *kinds[name])
		out.Published += kinds[name].Published
	}
	return out
}

// Table prints for people: the published events by kind, and then the others, and why.
func (o *Outcome) Table(w *show.Sheet) {
	if len(o.Kinds) > 0 {
		fmt.Fprintln(w, "KIND\tPUBLISHED\tTOO OLD\tNO ROOM\tTOO LARGE\tHELD BACK")
	}
	var not kind
	for _, k := range o.Kinds {
		w.Cells(k.Kind, k.Published, k.Expired, k.Crowded, k.Refused, k.Held)
		not.Expired += k.Expired
		not.Crowded += k.Crowded
		not.Refused += k.Refused
		not.Held += k.Held
	}
	w.Flush()
	verb := "Published"
	if o.DryRun {
		verb = "Would publish"
	}
	fmt.Fprintf(w, "%s %d events. The stream had %d. %d more are left to the services, which publish them when they run.\n", verb, o.Published, o.Present, o.Pending)
	for _, line := range []struct {
		n    int64
		text string
	}{
		{int64(not.Expired), "%d are older than the stream keeps events.\n"},
		{int64(not.Crowded), "For %d the stream has no room next to newer ones: raise --events-max-bytes.\n"},
		{int64(not.Refused), "%d are too large for the stream, or follow one that is: raise max_payload, or its max_msg_size.\n"},
		{int64(not.Held), "%d were deleted from the stream so lately that NATS takes them for duplicates: try again later.\n"},
		{o.Forgotten, "%d earlier events are not kept by the store any more (--events-keep)" + kept(o.KeptSince) +
			". Those that the stream lacks cannot be published again.\n"},
	} {
		if line.n > 0 {
			fmt.Fprintf(w, line.text, line.n)
		}
	}
}

// kept describes since when events are kept.
func kept(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return ", which has those since " + since.UTC().Format(time.RFC3339)
}
