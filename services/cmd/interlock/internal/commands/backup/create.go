package backup

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

type createCommand struct {
	show.Printer
	daemon.StoreLogin
	File  string `arg:"" help:"File to write; it must not exist." type:"path" placeholder:"FILE"`
	Data  string `name:"data-dir" help:"Data folder of interlock up, which may be running; by default that of this workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Store string `help:"sqlite, or the Redis of the services: redis://HOST:PORT/DB." default:"sqlite" env:"INTERLOCK_STORE" placeholder:"STORE"`
}

// created is the JSON of a backup that was made.
type created struct {
	about
	Items   map[string]int64 `json:"items"`
	Seconds float64          `json:"seconds"`
}

// Run writes a backup.
func (c *createCommand) Run(ctx context.Context, streams console.Streams, version console.Version) error {
	data, err := client.ServerFolder(c.Data)
	if err != nil {
		return err
	}
	began := time.Now()
	err = backup.Create(c.File, func(out *bufio.Writer) error {
		_, err := daemon.BackUp(ctx, config(c.Store, c.StoreLogin, data, string(version)), out)
		return err
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	file, err := backup.Open(c.File) // as it is on the disk
	if err != nil {
		return fmt.Errorf("the backup was written, and cannot be read: %w", err)
	}
	defer file.Close()
	view := created{aboutOf(c.File, &file.Head, &file.Tail, file.Bytes), file.Tail.Items, took.Seconds()}
	return c.Print(streams.Out, view, func(w *show.Sheet) {
		view.rows(show.Rows{W: w})
		fmt.Fprintf(w, "took\t%s\n", speed(view.Bytes, view.Seconds))
	})
}

// size returns a number of bytes for people.
func size(bytes int64) string {
	if bytes < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

// speed returns how long something took, and how much it was in a second.
func speed(bytes int64, seconds float64) string {
	return fmt.Sprintf("%.2f s, %s/s", seconds, size(int64(float64(bytes)/max(seconds, 1e-3))))
}

// rows writes the rows for people.
func (a *about) rows(t show.Rows) {
	t.Row("backup", a.BackupID)
	t.Row("of", a.Of.UTC().Format(time.RFC3339Nano))
	t.Row("store", fmt.Sprintf("%s, format %d, by Interlock %s", a.Store, a.Format, a.Program))
	t.Row("size", size(a.Bytes))
	t.Row("digest", a.Digest)
}
