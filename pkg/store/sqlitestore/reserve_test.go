package sqlitestore

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
)

// A full disk takes the reserve, and the store is not ready until it has one again and the
// last commit did not fail.
func TestReserve(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	path := s.path + ".reserve"
	if info, err := os.Stat(path); err != nil || info.Size() != reserveSize {
		t.Fatalf("no reserve: %v", err)
	}
	inWriter(t, s, func(w *writer) error { return w.conn.exec("PRAGMA max_page_count = 100") })
	if _, err := s.Commit(t.Context(), createBatch(1, 1<<20)); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("a commit that does not fit answered %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the reserve was not given up: %v", err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrBroken) {
		t.Errorf("ready with a full disk: %v", err)
	}
	// The folder takes no reserve: a folder of that name is in its place.
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700), os.Mkdir(path+"/x", 0o700)); err != nil {
		t.Fatal(err)
	}
	s.writer.reserve.free()
	inWriter(t, s, func(w *writer) error { return w.conn.exec("PRAGMA max_page_count = 100000") })
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("ready without a reserve: %v", err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// On a full disk, a request that the reserve has room for succeeds.
func TestReserveIsSpent(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	tries := 0
	inWriter(t, s, func(w *writer) error {
		if tries++; tries == 1 {
			return fail("writing", w.conn.exec("PRAGMA max_page_count = 1; CREATE TABLE x (y); CREATE TABLE z (y)"))
		}
		return w.conn.exec("PRAGMA max_page_count = 100000")
	})
	if tries != 2 {
		t.Errorf("tried %d times", tries)
	}
}
