package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/events"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

type restoreCommand struct {
	show.Printer
	events.Where
	File string `arg:"" help:"The backup." type:"path" placeholder:"FILE"`
}

// restoredView is the JSON of a restore.
type restoredView struct {
	about
	// AskedAgain is how many approvals wait for people, who are asked again.
	AskedAgain int     `json:"approvals_asked_again"`
	Seconds    float64 `json:"seconds"`
	// Events has the published events; absent where no NATS was named.
	Events *events.Outcome `json:"events,omitempty"`
}

// Run restores a backup.
func (c *restoreCommand) Run(ctx context.Context, streams console.Streams, version console.Version) error {
	view, err := c.restore(ctx, string(version))
	if err != nil {
		return err
	}
	var unpublished error
	if c.Store == "sqlite" || c.NATSURL != "" {
		if view.Events, unpublished = c.Rebuild(ctx, bus.RebuildConfig{}, string(version)); unpublished != nil {
			unpublished = fmt.Errorf("the store is restored, and its events could not be published; "+
				"run interlock events rebuild: %w", unpublished)
		}
	}
	if err := errors.Join(c.Print(streams.Out, view, view.table), unpublished); err != nil {
		return err
	}
	if view.Events != nil && view.Events.Lacks() {
		return console.ErrNo
	}
	return nil
}

func (c *restoreCommand) restore(ctx context.Context, version string) (view *restoredView, err error) {
	file, err := backup.Open(c.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := client.ServerFolder(c.Data)
	if err != nil {
		return nil, err
	}
	if c.Store == "sqlite" {
		if err := data.Make(); err != nil {
			return nil, err
		}
		unlock, err := data.Lock()
		if err != nil {
			return nil, err
		}
		defer unlock() //nolint:errcheck // the process ends
	}
	began := time.Now()
	from := &asking{Source: file, of: file.Tail.At, now: began, waits: map[store.Key]bool{}}
	if err := daemon.Restore(ctx, config(c.Store, c.StoreLogin, data, version), from); err != nil {
		return nil, err
	}
	view = &restoredView{about: aboutOf(c.File, &file.Head, &file.Tail, file.Bytes), AskedAgain: len(from.waits)}
	view.Seconds = time.Since(began).Seconds()
	return view, nil
}

// asking is a backup with the timers by which people are asked again, and with the time of the restore for the clocks of runs.
type asking struct {
	backup.Source
	of, now time.Time
	waits   map[store.Key]bool
}

func (a *asking) Each(yield func(backup.Item) error) error {
	err := a.Source.Each(func(item backup.Item) error {
		if timer, is := item.(*backup.Timer); is && timer.TimerID == ledger.ClockWatchID() {
			return nil
		}
		if err := yield(item); err != nil {
			return err
		}
		r, is := item.(*backup.Record)
		if !is {
			return nil
		}
		delete(a.waits, r.Key) // it may have changed while the backup was made
		if timer, ends := approval.EndLease(store.Record{Key: r.Key, Labels: r.Labels}, a.now); ends {
			return yield(&backup.Timer{Timer: timer})
		}
		timer, waits, err := approval.AskAgain(store.Record{Key: r.Key, Labels: r.Labels}, a.of, a.now)
		if err != nil || !waits {
			return err
		}
		a.waits[r.Key] = true
		return yield(&backup.Timer{Timer: timer})
	})
	if err != nil {
		return err
	}
	return yield(&backup.Timer{Timer: ledger.ClockWatch{Gap: a.now, Restored: a.now}.Timer(a.now)})
}

func (v *restoredView) table(w *show.Sheet) {
	v.rows(show.Rows{W: w})
	fmt.Fprintf(w, "took\t%s\n", speed(v.Bytes, v.Seconds))
	w.Flush()
	fmt.Fprintf(w, "\nRestored. Everything after %s is lost.\n", v.Of.UTC().Format(time.RFC3339))
	if v.AskedAgain > 0 {
		fmt.Fprintf(w, "%s for people, who are asked again: their later decisions are lost.\n",
			waits(v.AskedAgain))
	}
	if v.Events == nil {
		fmt.Fprintln(w, "Publish the events that NATS lacks: interlock events rebuild --store URL --nats-url URL")
		return
	}
	v.Events.Table(w)
}

func waits(n int) string {
	if n == 1 {
		return "1 approval waits"
	}
	return fmt.Sprintf("%d approvals wait", n)
}
