package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/storeseal"
	"github.com/interlock-run/interlock/services/policyenforcer"
)

type verifyCommand struct {
	show.Printer
	File string `arg:"" help:"The backup." type:"path" placeholder:"FILE"`
}

// verified is the JSON of the findings.
type verified struct {
	OK bool `json:"ok"`
	about
	// Problem is why the file cannot be restored; empty when it can.
	Problem string `json:"problem,omitempty"`
	// Records counts them by kind.
	Records map[string]int `json:"records,omitempty"`
	// Chains of the log of decisions, and the decisions that are in them or not yet.
	Chains   int      `json:"chains"`
	Sealed   int64    `json:"sealed"`
	Unsealed int64    `json:"unsealed"`
	Broken   []broken `json:"broken,omitempty"`
}

// broken is the JSON of a chain with which something is wrong.
type broken struct {
	Namespace string `json:"namespace"`
	Partition string `json:"partition"`
	Sequence  int64  `json:"sequence"`
	Problem   string `json:"problem"`
}

// Run verifies a backup.
func (c *verifyCommand) Run(ctx context.Context, streams console.Streams) error {
	view, err := c.verify(ctx)
	if errors.Is(err, backup.ErrDamaged) {
		view.Problem, err = err.Error(), nil
	}
	if err != nil {
		return err
	}
	view.OK = view.Problem == "" && len(view.Broken) == 0
	if err := c.Print(streams.Out, view, view.table); err != nil {
		return err
	}
	if !view.OK {
		return console.ErrNo
	}
	return nil
}

func (c *verifyCommand) verify(ctx context.Context) (view *verified, err error) {
	view = &verified{about: about{File: c.File}}
	file, err := backup.Open(c.File)
	if err != nil {
		return view, err
	}
	defer file.Close()
	view.about = aboutOf(c.File, &file.Head, &file.Tail, file.Bytes)
	// A complete backup is verified as it will be restored, in a store that goes again.
	scratch, err := os.MkdirTemp("", "interlock-verify-")
	if err != nil {
		return view, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	into := sqlitestore.Config{Path: filepath.Join(scratch, "store.db"), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	seen := &seen{Source: file, kinds: map[store.Key]bool{}}
	if err := sqlitestore.Import(ctx, into, seen); err != nil {
		return view, err
	}
	st, err := sqlitestore.Open(ctx, into)
	if err != nil {
		return view, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return view, view.look(ctx, storeseal.Reading(st), seen)
}

// seen notes which namespaces and kinds a backup has.
type seen struct {
	backup.Source
	kinds map[store.Key]bool // without ids
}

func (s *seen) Each(yield func(backup.Item) error) error {
	return s.Source.Each(func(item backup.Item) error {
		if r, is := item.(*backup.Record); is && !strings.HasPrefix(r.Key.Namespace, "_") { // services' own
			s.kinds[store.Key{Namespace: r.Key.Namespace, Kind: r.Key.Kind}] = true
		}
		return yield(item)
	})
}

// look reads all records, and recomputes the chains of the log.
func (v *verified) look(ctx context.Context, st store.Store, seen *seen) error {
	v.Records = map[string]int{}
	namespaces := map[string]bool{}
	for of := range seen.kinds {
		namespaces[of.Namespace] = true
		query := store.Query{Namespace: of.Namespace, Kind: of.Kind, Limit: 1000}
		for more := true; more; more = query.After != "" {
			page, err := st.List(ctx, query)
			if err != nil {
				return err
			}
			v.Records[of.Kind] += len(page.Records)
			query.After = page.Next
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		err := policyenforcer.VerifyLog(ctx, st, namespace, func(r *policyenforcer.ChainReport) error {
			v.Sealed, v.Unsealed = v.Sealed+r.Sealed, v.Unsealed+r.Unsealed
			if v.Chains++; !r.OK() {
				v.Broken = append(v.Broken, broken{namespace, r.Partition, r.Sequence, r.Problem})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *verified) table(w *show.Sheet) {
	if v.Problem != "" {
		fmt.Fprintln(w, show.Text(v.Problem))
		return
	}
	v.rows(show.Rows{W: w})
	for _, kind := range slices.Sorted(maps.Keys(v.Records)) {
		if n := v.Records[kind]; n > 0 {
			fmt.Fprintf(w, "%s\t%d\n", show.Text(kind), n)
		}
	}
	fmt.Fprintf(w, "log\t%s, %s sealed, %d not yet: %d broken\n",
		show.Counted(v.Chains, "chain"), show.Counted(int(v.Sealed), "decision"), v.Unsealed, len(v.Broken))
	for _, b := range v.Broken {
		fmt.Fprintf(w, "BROKEN\t%s/%s, record %d: %s\n", show.Text(b.Namespace), show.Text(b.Partition), b.Sequence, show.Text(b.Problem))
	}
}
