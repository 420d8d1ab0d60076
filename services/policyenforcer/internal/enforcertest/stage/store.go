package stage

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// OnBoth runs a test on both stores.
func OnBoth(t *testing.T, test func(t *testing.T, st store.Store)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) (store.Store, error){
		"sqlite": func(t *testing.T) (store.Store, error) {
			return sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
		},
		"redis": func(t *testing.T) (store.Store, error) {
			return redisstore.Open(context.Background(), redisstore.Config{
				URL: redistest.Shared(t).URL(), Prefix: redistest.Prefix(), Logger: slog.New(slog.DiscardHandler),
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			test(t, st)
		})
	}
}

// OnAllStores runs a test on each kind of store.
func OnAllStores(t *testing.T, workflow string, test func(*testing.T, *Stage)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, New(t, workflow))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		st, err := redisstore.Open(t.Context(), redisstore.Config{URL: redistest.Start(t).URL(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		test(t, Of(NewEngineOn(t, st, workflow)))
	})
}
