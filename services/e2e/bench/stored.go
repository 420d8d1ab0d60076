package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// storedRuns measures checks and transitions of 64 callers while many runs
// are stored: it should make no difference. The runs are put into the store
// directly; they are whole, so that any of them can be called for too.
func (b *bencher) storedRuns(ctx context.Context) (err error) {
	const callers = 64
	s, err := b.newStage("sqlite")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var checked, any, moved []*load
	for i, n := range b.stored {
		path := filepath.Join(s.dir, "stored"+strconv.Itoa(n)+".db")
		if err := b.fill(ctx, path, n); err != nil {
			return fmt.Errorf("store %d runs: %w", n, err)
		}
		c, err := s.serve(childConfig{Role: roleInterlock, Path: path})
		if err != nil {
			return err
		}
		p, err := s.dial(c, callers)
		if err != nil {
			return err
		}
		runs, err := p.runs(ctx, 2*callers)
		if err != nil {
			return err
		}
		base := func(kind string) string {
			if i == 0 {
				return ""
			}
			return fmt.Sprintf("%s, %d stored", kind, b.stored[0])
		}
		name := fmt.Sprintf(", %d stored", n)
		random := func(int, int) string { return storedID(rand.IntN(n)) } // any will do
		checked = append(checked, &load{name: "check" + name, base: base("check"), open: checks(ctx, p, own(runs[:callers]))})
		any = append(any, &load{name: "check of any run" + name, base: base("check of any run"), open: checks(ctx, p, random)})
		moved = append(moved, &load{name: "transition" + name, base: base("transition"), open: transitions(ctx, p, runs[callers:])})
		for _, l := range []*load{checked[i], any[i], moved[i]} {
			l.callers, l.calls, l.server = callers, 1, c.pid
			if l.base != "" && l != any[i] {
				l.goals = []goal{{bound: 0.9}}
			}
		}
	}
	loads := append(append(checked, moved...), any...)
	if err := measure(ctx, loads, b.rounds, b.round); err != nil {
		return err
	}
	b.table("With many runs stored, on SQLite. A check of any run finds most of them in no cache when a million are stored", loads)
	return nil
}

func storedID(n int) string { return fmt.Sprintf("run_%026d", n) }

// fill makes a store with n runs, copies of the sample's.
func (b *bencher) fill(ctx context.Context, path string, n int) (err error) {
	st, err := sqlitestore.Open(ctx, sqlitestore.Config{Path: path})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	from := &b.sample.Transition.Puts[0]
	batches := make([]store.Batch, st.Shards())
	flush := func(batch *store.Batch) error {
		_, err := st.Commit(ctx, *batch)
		batch.Puts = batch.Puts[:0]
		return err
	}
	for i := range n {
		put := *from
		put.Key.ID, put.Expect, put.History = storedID(i), store.Absent, nil
		put.Data = bytes.Replace(from.Data, []byte(from.Key.ID), []byte(put.Key.ID), 1)
		batch := &batches[put.Key.Shard(st.Shards())]
		if batch.Puts = append(batch.Puts, put); len(batch.Puts) < 1000 {
			continue
		}
		if err := flush(batch); err != nil {
			return err
		}
	}
	for i := range batches {
		if err := flush(&batches[i]); err != nil {
			return err
		}
	}
	return nil
}
