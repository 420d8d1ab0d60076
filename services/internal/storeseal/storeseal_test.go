package storeseal_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/internal/seal"
	"github.com/interlock-run/interlock/services/internal/storeseal"
)

// house is a sealed SQLite store, and the files beside it.
type house struct {
	*testing.T
	path string
	box  *seal.Box
	mark *seal.Mark
	*storeseal.Store
	close func()
	log   bytes.Buffer
}

const passphrase = "correct horse battery staple"

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{T: t, path: filepath.Join(dir, "store.db")}
	h.box = must[*seal.Box](t)(seal.Make(filepath.Join(dir, "seal.json"), passphrase))
	mark := must[*seal.Mark](t)(seal.MakeMark(filepath.Join(dir, "seal.mark"), "", h.box))
	if err := mark.Close(); err != nil {
		t.Fatal(err)
	}
	h.open()
	t.Cleanup(func() { h.close() })
	return h
}

func decides(kind string) bool { return kind == "person" }

// open opens the store with its mark, as a start of the server does.
func (h *house) open() {
	h.Helper()
	h.mark = must[*seal.Mark](h.T)(seal.OpenMark(filepath.Join(filepath.Dir(h.path), "seal.mark"), "", h.box))
	raw := must[*sqlitestore.Store](h.T)(sqlitestore.Open(context.Background(), sqlitestore.Config{Path: h.path, Logger: slog.New(slog.DiscardHandler)}))
	h.Store = storeseal.Wrap(raw, storeseal.Config{
		Key: h.box.Key("records"), Mark: h.mark, Decides: decides, Exclusive: true, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
	})
	closed := false
	h.close = func() {
		if !closed {
			closed = true
			_ = raw.Close()
			_ = h.mark.Close()
		}
	}
}

// sql changes the database, while no server runs, as another program can.
func (h *house) sql(statements ...string) {
	h.Helper()
	h.close()
	db := must[*sql.DB](h.T)(sql.Open("sqlite", h.path))
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			h.Fatalf("%s: %v", statement, err)
		}
	}
}

func (h *house) put(key store.Key, expect int64, data string) {
	h.Helper()
	_, err := h.Commit(h.Context(), store.Batch{Puts: []store.Put{{Key: key, Expect: expect, Data: []byte(data), History: []byte(data), Labels: map[string]string{"of": data}}}})
	if err != nil {
		h.Fatal(err)
	}
}

var (
	people = store.Key{Namespace: "default", Kind: "person", ID: "people"}
	run    = store.Key{Namespace: "default", Kind: "run", ID: "r"}
)

// S24.12, S24.13: a record that another program has written, changed, put back or removed is refused, and named.
func TestRecordsOfOtherProgramsAreRefused(t *testing.T) {
	t.Parallel()
	const at = ` WHERE key LIKE '%person%'`
	for name, change := range map[string][]string{
		"its data":                     {`UPDATE records SET data = replace(CAST(data AS TEXT), 'two', 'eve')` + at},
		"data without a code":          {`UPDATE records SET data = '{"people":{}}'` + at},
		"no data":                      {`UPDATE records SET data = ''` + at},
		"no data and no labels":        {`UPDATE records SET data = '', labels = (SELECT labels FROM records WHERE key LIKE '%plain%')` + at},
		"its labels":                   {`UPDATE records SET labels = (SELECT labels FROM records WHERE key LIKE '%run%')` + at},
		"a lower version":              {`UPDATE records SET version = 1` + at},
		"the data of another record":   {`UPDATE records SET data = (SELECT data FROM records WHERE key LIKE '%run%'), labels = (SELECT labels FROM records WHERE key LIKE '%run%')` + at},
		"the data of its history":      {`UPDATE records SET data = (SELECT data FROM history` + at + ` AND version = 2)` + at},
		"a code that is cut off":       {`UPDATE records SET data = substr(data, 1, length(data) - 8)` + at},
		"another serial":               {`UPDATE records SET data = CAST(substr(data, 1, length(data) - 55) || 'xxxxxxxx' || substr(data, length(data) - 46) AS BLOB)` + at},
		"an older copy":                {`UPDATE records SET data = (SELECT data FROM kept), version = 1, labels = (SELECT labels FROM kept)` + at},
		"an older copy as a newer one": {`UPDATE records SET data = (SELECT data FROM kept), version = 9, labels = (SELECT labels FROM kept)` + at},
		"its removal":                  {`DELETE FROM records` + at},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.put(people, store.Absent, "one")
			h.put(run, store.Absent, "run")
			if _, err := h.Commit(t.Context(), store.Batch{Appends: []store.Append{{Key: store.Key{Namespace: "default", Kind: "plain", ID: "log"}, Entry: []byte("x")}}}); err != nil {
				t.Fatal(err)
			}
			h.sql(`CREATE TABLE kept AS SELECT data, labels FROM records` + at)
			h.open()
			h.put(people, 1, "two")
			if r, err := h.Get(t.Context(), people); err != nil || string(r.Data) != "two" {
				t.Fatalf("before: %q, %v", r.Data, err)
			}
			h.sql(change...)
			h.open()
			_, err := h.Get(t.Context(), people)
			if refused := new(storeseal.RefusedError); !errors.As(err, &refused) || refused.Key != people {
				t.Errorf("got %v", err)
			}
			if err := h.Refused(); err == nil || !strings.Contains(err.Error(), "person/people") {
				t.Errorf("it is not named: %v", err)
			}
			if !strings.Contains(h.log.String(), "id=people") {
				t.Errorf("it is not logged: %s", h.log.String())
			}
			if _, err := h.Get(t.Context(), run); err != nil {
				t.Errorf("another record: %v", err)
			}
		})
	}
}

// S24.12: an entry of a history and an answer that another program has written are refused.
func TestEntriesAndAnswersOfOtherProgramsAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"other data":      `UPDATE history SET data = 'x' WHERE version = 2`,
		"another version": `UPDATE history SET data = (SELECT data FROM history WHERE version = 3) WHERE version = 2`,
		"another key":     `UPDATE history SET data = (SELECT data FROM history WHERE key LIKE '%run%') WHERE version = 2`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.put(people, store.Absent, "one")
			h.put(people, 1, "two")
			h.put(people, 2, "three")
			h.put(run, store.Absent, "run")
			h.sql(change)
			h.open()
			if entries, err := h.History(t.Context(), people, 1, 1); !errors.As(err, new(*storeseal.RefusedError)) {
				t.Errorf("got %v, %v", entries, err)
			}
		})
	}
	for name, change := range map[string]string{
		"other data":   `UPDATE answers SET answer = 'allow'`,
		"another name": `UPDATE answers SET answer = (SELECT answer FROM answers ORDER BY key DESC LIMIT 1)`,
	} {
		t.Run("answer: "+name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			for _, once := range []string{"a", "b"} {
				batch := store.Batch{Idempotency: &store.Idempotency{Owner: run, Name: once, Digest: "d", Answer: []byte(once), TTL: time.Hour}}
				if _, err := h.Commit(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
			}
			h.sql(change)
			h.open()
			_, a := h.Answer(t.Context(), run, "a")
			_, b := h.Answer(t.Context(), run, "b")
			if a == nil && b == nil {
				t.Error("both were answered")
			}
		})
	}
}

// S24.13: a record that was deleted does not come back, and while a server runs no older copy of any record counts.
func TestOlderCopiesAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.put(people, store.Absent, "one")
	h.sql(`CREATE TABLE kept AS SELECT * FROM records`)
	h.open()
	if _, err := h.Commit(t.Context(), store.Batch{Deletes: []store.Check{{Key: people, Version: 1}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Get(t.Context(), people); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	h.close()
	h.open()
	if _, err := h.Get(t.Context(), people); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted, after a restart: %v", err)
	}
	h.sql(`INSERT INTO records SELECT * FROM kept`)
	h.open()
	if _, err := h.Get(t.Context(), people); !errors.As(err, new(*storeseal.RefusedError)) {
		t.Errorf("put back: %v", err)
	}
	if _, err := h.List(t.Context(), store.Query{Namespace: "default", Kind: "person", Limit: 10}); !errors.As(err, new(*storeseal.RefusedError)) {
		t.Errorf("put back, in a list: %v", err)
	}
}

// S24.13: the mark itself is refused when it is gone, cut in the middle or changed, and a frame that was not finished does
// not count.
func TestMarks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.put(people, store.Absent, "one")
	h.put(store.Key{Namespace: "default", Kind: "person", ID: "other"}, store.Absent, "one")
	h.close()
	path := filepath.Join(filepath.Dir(h.path), "seal.mark")
	whole := must[[]byte](t)(os.ReadFile(path))
	flipped := bytes.Clone(whole)
	flipped[30] ^= 1
	second := append(bytes.Clone(whole[:17]), whole[17+41:]...)
	for name, tt := range map[string]struct {
		data []byte
		ok   bool
	}{
		"whole": {whole, true}, "changed": {flipped, false}, "without its first frame": {second, false}, "of another kind": {[]byte("x"), false}, "empty": {nil, false},
		"a frame cut off": {whole[:len(whole)-3], true},
	} {
		if err := os.WriteFile(path, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if mark, err := seal.OpenMark(path, "", h.box); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		} else if err == nil {
			_ = mark.Close()
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.OpenMark(path, "", h.box); !errors.Is(err, seal.ErrNoMark) {
		t.Errorf("removed: %v", err)
	}
}

// S24.14: sealing a store and taking the seal away keeps all data, and refuses data of other programs.
func TestStoresAreSealedAndUnsealed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.put(people, store.Absent, "one")
	h.put(people, 1, "two")
	h.put(storeseal.Marker(), store.Absent, "id")
	h.close()
	export := func(path string) *backup.File {
		file := filepath.Join(t.TempDir(), "copy")
		out := must[*os.File](t)(os.Create(file))
		_, err := sqlitestore.Export(t.Context(), sqlitestore.Config{Path: path}, out)
		if err := errors.Join(err, out.Close()); err != nil {
			t.Fatal(err)
		}
		f := must[*backup.File](t)(backup.Open(file))
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	plain := filepath.Join(t.TempDir(), "plain.db")
	quiet := slog.New(slog.DiscardHandler)
	if err := sqlitestore.Import(t.Context(), sqlitestore.Config{Path: plain, Logger: quiet}, storeseal.Without(export(h.path), h.box.Key("records"))); err != nil {
		t.Fatal(err)
	}
	raw := must[*sqlitestore.Store](t)(sqlitestore.Open(t.Context(), sqlitestore.Config{Path: plain, Logger: quiet}))
	if r, err := raw.Get(t.Context(), people); err != nil || string(r.Data) != "two" || r.Version != 2 {
		t.Errorf("unsealed: %q, %v", r.Data, err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(filepath.Dir(h.path), "again.db")
	if err := sqlitestore.Import(t.Context(), sqlitestore.Config{Path: again, Logger: quiet}, storeseal.With(export(plain), h.box.Key("records"), "id")); err != nil {
		t.Fatal(err)
	}
	h.path = again
	h.open()
	if r, err := h.Get(t.Context(), storeseal.Marker()); err != nil || string(r.Data) != "id" {
		t.Errorf("the marker: %q, %v", r.Data, err)
	}
	if r, err := h.Get(t.Context(), people); err != nil || string(r.Data) != "two" || r.Version != 2 {
		t.Errorf("sealed: %q, %v", r.Data, err)
	}
	if entries, err := h.History(t.Context(), people, 0, 10); err != nil || len(entries) != 2 || string(entries[0].Data) != "one" {
		t.Errorf("sealed history: %v, %v", entries, err)
	}
	h.sql(`UPDATE records SET data = 'x' WHERE key LIKE '%person%'`)
	err := sqlitestore.Import(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "x.db"), Logger: quiet}, storeseal.Without(export(h.path), h.box.Key("records")))
	if !errors.As(err, new(*storeseal.RefusedError)) {
		t.Errorf("it unseals a record of another program: %v", err)
	}
}

// A sealed store keeps the contract of stores.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) *storetest.Storage {
		config := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now}
		var raw *sqlitestore.Store
		open := func(t *testing.T) store.Store {
			if raw != nil {
				if err := raw.Close(); err != nil {
					t.Fatal(err)
				}
			}
			raw = must[*sqlitestore.Store](t)(sqlitestore.Open(context.Background(), config))
			return storeseal.Wrap(raw, storeseal.Config{Key: [32]byte{1}, Exclusive: true, Log: slog.New(slog.DiscardHandler)})
		}
		first := open(t)
		t.Cleanup(func() { _ = raw.Close() })
		return &storetest.Storage{
			Store: first, Reopen: open,
			Keep: func(t *testing.T) func(t *testing.T) store.Store {
				kept := filepath.Join(t.TempDir(), "kept.db")
				db := must[*sql.DB](t)(sql.Open("sqlite", config.Path))
				defer db.Close()
				if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?", kept); err != nil {
					t.Fatal(err)
				}
				return func(t *testing.T) store.Store {
					if err := raw.Close(); err != nil {
						t.Fatal(err)
					}
					if err := os.Rename(kept, config.Path); err != nil {
						t.Fatal(err)
					}
					return open(t)
				}
			},
			Accept: func(t *testing.T) store.Store {
				if err := raw.Close(); err != nil {
					t.Fatal(err)
				}
				if lost, err := sqlitestore.AcceptRollback(t.Context(), config); err != nil || len(lost) != 1 {
					t.Fatalf("accepted %q, %v", lost, err)
				}
				return open(t)
			},
		}
	})
}

// BenchmarkSealed measures the cost of codes.
func BenchmarkSealed(b *testing.B) {
	data := bytes.Repeat([]byte("x"), 4<<10)
	for _, sealed := range []bool{false, true} {
		b.Run(fmt.Sprintf("sealed=%t", sealed), func(b *testing.B) {
			raw, err := sqlitestore.Open(b.Context(), sqlitestore.Config{Path: filepath.Join(b.TempDir(), "store.db"), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer raw.Close()
			st := store.Store(raw)
			if sealed {
				st = storeseal.Wrap(raw, storeseal.Config{Key: [32]byte{1}, Exclusive: true, Log: slog.New(slog.DiscardHandler)})
			}
			if _, err := st.Commit(b.Context(), store.Batch{Puts: []store.Put{{Key: run, Expect: store.Absent, Data: data}}}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := st.Get(b.Context(), run); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
