package backup_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
)

var (
	at   = time.Date(2026, 11, 23, 12, 0, 0, 123_456_000, time.UTC)
	key  = store.Key{Namespace: "test", Kind: "run", ID: "a/b"}
	log  = store.Key{Namespace: "test", Kind: "decisions", ID: "a/b"}
	head = backup.Head{
		ID: "bak_1", Store: "redis", Format: 1, Program: "v1", Shards: 8, Eras: []string{"A", "B"}, Floor: 7,
	}
)

// items are one of each kind, with all fields.
func items() []backup.Item {
	return []backup.Item{
		&backup.Record{Key: key, Version: 3, Data: []byte("data"), Labels: map[string]string{"b": "2", "a": ""}, Updated: at},
		&backup.Record{Key: log, Version: 1 << 60, Deleted: true},
		&backup.History{Key: log, First: 2, Entries: []store.HistoryEntry{
			{Version: 2, At: at, Data: []byte{0, 1}}, {Version: 3, At: at},
		}},
		&backup.Counters{
			Owner: key, Plain: map[string]int64{"n": 1, "m": -1},
			Windows: []backup.Window{{Name: "w", Span: time.Hour, Units: []backup.Units{
				{At: at, N: 2}, {At: at.Add(1000), N: 1 << 50},
			}}},
		},
		&backup.Answer{
			Owner: key, Name: "once", Hash: []byte("hash"), Digest: "d", Answer: []byte("yes"), Entry: log, Version: 2,
			Expires: at,
		},
		&backup.Timer{
			Timer:   store.Timer{TimerID: store.TimerID{Key: key, Name: "due"}, Due: at.Add(789), Data: []byte("x")},
			Cleared: true,
		},
		&backup.Event{OutboxEntry: store.OutboxEntry{
			Shard: 3, Seq: 9, Era: "A", ID: "id", Subject: "s", Payload: []byte("p"), Entry: log, Version: 2,
		}},
		&backup.Shard{Shard: 3, Seq: 9},
	}
}

// write makes a file.
func write(t *testing.T, path string, all []backup.Item) backup.Tail {
	t.Helper()
	var tail backup.Tail
	err := backup.Create(path, func(out *bufio.Writer) error {
		w, err := backup.NewWriter(out, head)
		if err != nil {
			return err
		}
		for _, item := range all {
			if err := w.Put(item); err != nil {
				return err
			}
		}
		tail, err = w.End(at)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tail
}

func TestFileIsComplete(t *testing.T) {
	t.Parallel()
	for _, item := range items() { // none of the fields is forgotten by the test itself
		complete(t, reflect.ValueOf(item).Elem())
	}
	path := filepath.Join(t.TempDir(), "b")
	tail := write(t, path, items())
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	f, err := backup.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := head
	want.File = backup.FileFormat
	if !reflect.DeepEqual(f.Head, want) || !reflect.DeepEqual(f.Tail, tail) || !f.Tail.At.Equal(at) {
		t.Errorf("%+v, %+v", f.Head, f.Tail)
	}
	var got []backup.Item
	if err := f.Each(func(item backup.Item) error { got = append(got, item); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := items(); !reflect.DeepEqual(got, want) {
		for i := range want {
			if i < len(got) && !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("got  %+v\nwant %+v", got[i], want[i])
			}
		}
		t.Errorf("%d items became %d", len(want), len(got))
	}
}

// complete requires that some item of a kind has each field; deleted records have few.
func complete(t *testing.T, v reflect.Value) {
	t.Helper()
	if v.Type() == reflect.TypeFor[backup.Record]() && v.FieldByName("Deleted").Bool() {
		return
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if v.Field(i).IsZero() && name != "Deleted" && name != "At" {
			t.Errorf("%s.%s is not tested", v.Type(), name)
		}
	}
}

// Changed data is reported.
func TestDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "b")
	write(t, path, items())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := func(content []byte) error {
		t.Helper()
		damaged := filepath.Join(t.TempDir(), "d")
		if err := os.WriteFile(damaged, content, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := backup.Open(damaged)
		if err == nil {
			_ = f.Close()
		}
		return err
	}
	for n := range whole {
		if err := open(whole[:n]); err == nil {
			t.Fatalf("%d of %d bytes are a whole file", n, len(whole))
		} else if n > 8 && !strings.Contains(err.Error(), "cut off") {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
		flipped := bytes.Clone(whole)
		flipped[n] ^= 0x10
		if err := open(flipped); err == nil {
			t.Fatalf("byte %d may be any", n)
		}
	}
	for says, content := range map[string][]byte{
		"not one of": []byte("something else, and longer than the beginning"),
		"checksum":   append(bytes.Clone(whole), 0),
	} {
		if err := open(content); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	// A block that was taken out whole is missed.
	if err := open(without(t, whole)); err == nil || !errors.Is(err, backup.ErrDamaged) {
		t.Errorf("a file without its items: %v", err)
	}
}

// without is a file without its items, of which each block has its checksum.
func without(t *testing.T, whole []byte) []byte {
	t.Helper()
	next := func(at int) int { return at + 8 + int(whole[at]) | int(whole[at+1])<<8 | int(whole[at+2])<<16 }
	items := next(8)
	end := items + 8 + (int(whole[items]) | int(whole[items+1])<<8 | int(whole[items+2])<<16)
	return append(bytes.Clone(whole[:items]), whole[end:]...)
}

func TestCreateIsWholeOrNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a[b*")
	for _, left := range []string{"a[b*.123.part", "a[b*.x.part", "a[b*.1.part.1"} {
		if err := os.WriteFile(filepath.Join(dir, left), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := func() string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, entry := range entries {
			all = append(all, entry.Name())
		}
		return strings.Join(all, " ")
	}
	failed := errors.New("failed")
	if err := backup.Create(path, func(out *bufio.Writer) error {
		fmt.Fprint(out, "begun")
		return failed
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
	if got := names(); got != "a[b*.1.part.1 a[b*.x.part" {
		t.Errorf("after a failure there are %s", got)
	}
	// Another takes the name while the file is written.
	err := backup.Create(path, func(*bufio.Writer) error { return os.WriteFile(path, []byte("other"), 0o600) })
	if err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("the name is taken: %v", err)
	}
	called := false
	if err := backup.Create(path, func(*bufio.Writer) error { called = true; return nil }); err == nil || called {
		t.Errorf("a file was replaced: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "other" {
		t.Errorf("%s, %v", text, err)
	}
	if got := names(); got != "a[b* a[b*.1.part.1 a[b*.x.part" {
		t.Errorf("there are %s", got)
	}
}

// A file of any size is written and read with the memory of a few blocks.
func TestMemoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b")
	record := &backup.Record{Key: key, Version: 1, Data: bytes.Repeat([]byte("x"), 1<<20)}
	most := uint64(0)
	measure := func(n int) {
		if n%16 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	err := backup.Create(path, func(out *bufio.Writer) error {
		w, err := backup.NewWriter(out, head)
		for n := 0; n < 64 && err == nil; n++ {
			measure(n)
			err = w.Put(record)
		}
		if err == nil {
			_, err = w.End(at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := backup.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	if err := f.Each(func(backup.Item) error { n++; measure(n); return nil }); err != nil || n != 64 {
		t.Errorf("%d items, %v", n, err)
	}
	if most > 24<<20 {
		t.Errorf("a file of %d MiB took %d MiB", f.Bytes>>20, most>>20)
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	for format, fits := range map[int]bool{1: false, 2: true, 3: true, 4: false} {
		h := backup.Head{Format: format, Program: "v7"}
		if err := h.Fits(store.Formats{Oldest: 2, Newest: 3}); (err == nil) != fits {
			t.Errorf("format %d: %v", format, err)
		}
	}
}

// No content of a block makes a reader fail otherwise than by an error.
func FuzzItems(f *testing.F) {
	for _, item := range items() {
		f.Add(backup.AppendItem(nil, item))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		item, rest, err := backup.ReadItem(content)
		if err != nil {
			return
		}
		again, left, err := backup.ReadItem(backup.AppendItem(nil, item))
		if err != nil || len(left) > 0 || !reflect.DeepEqual(again, item) || len(rest) >= len(content) {
			t.Errorf("%+v became %+v: %v", item, again, err)
		}
	})
}
