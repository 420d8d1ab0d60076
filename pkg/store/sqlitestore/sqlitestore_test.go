package sqlitestore_test

import (
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

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) *storetest.Storage {
		config := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now}
		s := open(t, config)
		return &storetest.Storage{
			Store: s,
			Reopen: func(t *testing.T) store.Store {
				if err := s.Close(); err != nil {
					t.Fatalf("close: %v", err)
				}
				s = open(t, config)
				return s
			},
		}
	})
}
