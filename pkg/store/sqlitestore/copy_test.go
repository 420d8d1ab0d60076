package sqlitestore_test

import (
	"bufio"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

func TestCopies(t *testing.T) {
	t.Parallel()
	storetest.RunCopies(t, func(t *testing.T, clock *storetest.Clock) *storetest.Copies {
		config := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now}
		of := &storetest.Copies{Store: open(t, config), Export: export(config)}
		of.Import, of.Open = target(t, clock)
		return of
	})
}

// export backs a file up.
func export(config sqlitestore.Config) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		err := backup.Create(path, func(out *bufio.Writer) error {
			_, err := sqlitestore.Export(t.Context(), config, out)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// target is a file to restore into.
func target(t *testing.T, clock *storetest.Clock) (
	restore func(*testing.T, backup.Source) error, reopen func(*testing.T) store.Store,
) {
	config := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "restored.db"), Clock: clock.Now}
	var last *sqlitestore.Store
	done := func(t *testing.T) {
		t.Helper()
		if last != nil {
			if err := last.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	restore = func(t *testing.T, from backup.Source) error {
		t.Helper()
		done(t)
		return sqlitestore.Import(t.Context(), config, from)
	}
	return restore, func(t *testing.T) store.Store {
		t.Helper()
		done(t)
		last = open(t, config)
		return last
	}
}
