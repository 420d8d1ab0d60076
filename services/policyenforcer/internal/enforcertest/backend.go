package enforcertest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

// sqlite is a store in a file, which belongs to one process: all replicas share it.
type sqlite struct {
	path string
	st   store.Store
}

// NewSQLite returns an empty store in a file.
func NewSQLite(t *testing.T) Backend {
	t.Helper()
	return &sqlite{path: filepath.Join(t.TempDir(), "store.db")}
}

func (b *sqlite) Open(t *testing.T, clock *storetest.Clock) store.Store {
	t.Helper()
	if b.st != nil {
		return b.st
	}
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: b.path, Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	b.st = st
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// redis is a store on the shared server.
type redis struct{ url, prefix string }

func newRedis(t *testing.T) Backend {
	t.Helper()
	return &redis{url: redistest.Shared(t).URL(), prefix: redistest.Prefix()}
}

func (b *redis) Open(t *testing.T, clock *storetest.Clock) store.Store {
	t.Helper()
	st, err := redisstore.Open(context.Background(), redisstore.Config{
		URL: b.url, Prefix: b.prefix, Clock: clock.Now, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}
