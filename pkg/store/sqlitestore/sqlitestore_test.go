package sqlitestore_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

// open opens a store that the test closes in the end.
func open(t testing.TB, config sqlitestore.Config) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), config)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// copyStore copies a file while it is in use.
func copyStore(t *testing.T, path, to string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?", to); err != nil {
		t.Fatal(err)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) *storetest.Storage {
		config := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now}
		s := open(t, config)
		reopen := func(t *testing.T) store.Store {
			if err := s.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			s = open(t, config)
			return s
		}
		return &storetest.Storage{
			Store:  s,
			Reopen: reopen,
			Keep: func(t *testing.T) func(t *testing.T) store.Store {
				kept := filepath.Join(t.TempDir(), "kept.db")
				copyStore(t, config.Path, kept)
				return func(t *testing.T) store.Store {
					if err := s.Close(); err != nil {
						t.Fatalf("close: %v", err)
					}
					if err := os.Rename(kept, config.Path); err != nil {
						t.Fatal(err)
					}
					s = open(t, config)
					return s
				}
			},
			Accept: func(t *testing.T) store.Store {
				if err := s.Close(); err != nil {
					t.Fatalf("close: %v", err)
				}
				if lost, err := sqlitestore.AcceptRollback(t.Context(), config); err != nil || len(lost) != 1 {
					t.Fatalf("accepted %q, %v", lost, err)
				}
				return reopen(t)
			},
		}
	})
}
