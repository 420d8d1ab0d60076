package app_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// weighed is a store that counts the bytes it is given to keep, and those it answers.
type weighed struct {
	store.Store
	written, read atomic.Int64
}

func (w *weighed) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	for _, put := range batch.Puts {
		w.written.Add(int64(len(put.Data) + len(put.History)))
		for _, entry := range put.Earlier {
			w.written.Add(int64(len(entry)))
		}
	}
	for _, event := range batch.Events {
		w.written.Add(int64(len(event.Payload)))
	}
	return w.Store.Commit(ctx, batch)
}

func (w *weighed) Get(ctx context.Context, key store.Key) (store.Record, error) {
	record, err := w.Store.Get(ctx, key)
	w.read.Add(int64(len(record.Data)))
	return record, err
}

func (w *weighed) History(ctx context.Context, key store.Key, after int64, limit int) ([]store.HistoryEntry, error) {
	entries, err := w.Store.History(ctx, key, after, limit)
	for _, entry := range entries {
		w.read.Add(int64(len(entry.Data)))
	}
	return entries, err
}

// A patch of one field of a large state writes what it changes, and so does a replica
// that follows read: the whole document is written once in many versions.
func TestLargeStateCostsWhatChanges(t *testing.T) {
	t.Parallel()
	const size, patches = 100 << 10, 130
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("root", anything, `{"n":0,"text":"`+strings.Repeat("x", size)+`"}`)
		writer, reader := &weighed{Store: r.store}, &weighed{Store: r.open()}
		writes, follows := r.replica(writer), r.replica(reader)
		for n := range patches {
			want, err := writes.Editor.Update(r.Context(), operator, patch(st.Key.ID, fmt.Sprintf(`[{"op":"replace","path":"/n","value":%d}]`, n)))
			if err != nil {
				r.Fatal(err)
			}
			got, _, err := follows.States.Get(r.Context(), operator, st.Key.ID, 0, nil)
			if err != nil || got.Version != want.Version || got.Data.String() != want.Data.String() {
				r.Fatalf("version %d reads as %v, %v", want.Version, got, err)
			}
		}
		// A whole document for each 64 versions, and less than 2 KiB for each of the others.
		if most := int64((patches/64+1)*(size+512) + patches*2<<10); writer.written.Load() > most || reader.read.Load() > 2*most {
			r.Errorf("%d patches of one field of %d bytes wrote %d bytes and read %d, more than %d",
				patches, size, writer.written.Load(), reader.read.Load(), most)
		}
		whole, _, err := r.replica(r.store).States.Get(r.Context(), operator, st.Key.ID, 0, nil)
		if last, _, _ := follows.States.Get(r.Context(), operator, st.Key.ID, 0, nil); err != nil || whole.Data.String() != last.Data.String() {
			r.Errorf("a replica that knows nothing reads %v, %v", whole, err)
		}
	})
}

// Patches that together are longer than the document do not pile up: a load reads a
// document and at most as much again.
func TestLargePatchesDoNotPileUp(t *testing.T) {
	t.Parallel()
	const size = 20 << 10
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("root", anything, `{"text":""}`)
		for n := range 40 {
			text := strings.Repeat(string(rune('a'+n%26)), size)
			r.update(operator, patch(st.Key.ID, `[{"op":"replace","path":"/text","value":"`+text+`"}]`))
			fresh := &weighed{Store: r.store}
			got, _, err := r.replica(fresh).States.Get(r.Context(), operator, st.Key.ID, 0, nil)
			if err != nil || got.Data.String() != `{"text":"`+text+`"}` {
				r.Fatalf("after %d patches it reads %.80s, %v", n+1, got.Data, err)
			}
			if read := fresh.read.Load(); read > 5*size {
				r.Fatalf("after %d patches a load reads %d bytes of a document of %d", n+1, read, size)
			}
		}
	})
}

// interposed does something once, before the history is read.
type interposed struct {
	store.Store
	do func()
}

func (i *interposed) History(ctx context.Context, key store.Key, after int64, limit int) ([]store.HistoryEntry, error) {
	if do := i.do; do != nil {
		i.do = nil
		do()
	}
	return i.Store.History(ctx, key, after, limit)
}

// A state that changes while it is read, so that what its record was read with is
// forgotten, is read again.
func TestStateIsForgottenWhileItIsRead(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{HistoryVersions: 1}, func(r *rig) {
		st := r.state("root", anything, `{"n":0}`)
		busy := &interposed{Store: r.store, do: func() {
			for n := range 200 {
				r.update(operator, patch(st.Key.ID, fmt.Sprintf(`[{"op":"replace","path":"/n","value":%d}]`, n)))
			}
		}}
		got, _, err := r.replica(busy).States.Get(r.Context(), operator, st.Key.ID, 0, nil)
		if err != nil || got.Version != 201 || got.Data.String() != `{"n":199}` {
			r.Fatalf("it reads %+v, %v", got, err)
		}
	})
}
