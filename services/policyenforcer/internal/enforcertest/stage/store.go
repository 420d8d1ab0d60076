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

// Narrow is a store that does not span shards, as a Redis Cluster.
type Narrow struct{ store.Store }

// Spans returns false.
func (Narrow) Spans() bool { return false }

// Probe refuses a batch that spans shards.
func (n Narrow) Probe(ctx context.Context, b store.Batch) error {
	if _, _, err := b.Shard(n.Shards(), false); err != nil {
		return err
	}
	return n.Store.Probe(ctx, b)
}

// Commit refuses a batch that spans shards.
func (n Narrow) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	if _, _, err := b.Shard(n.Shards(), false); err != nil {
		return store.Result{}, err
	}
	return n.Store.Commit(ctx, b)
}

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

// OnAllStores runs a test on each kind of store, and as if one did not span shards.
func OnAllStores(t *testing.T, workflow string, test func(*testing.T, *Stage)) {
	t.Helper()
	OnStores(t, workflow, test)
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

// OnStores runs a test on a store that spans shards and on one that does not.
func OnStores(t *testing.T, workflow string, test func(*testing.T, *Stage)) {
	t.Helper()
	t.Run("spanning", func(t *testing.T) {
		t.Parallel()
		test(t, New(t, workflow))
	})
	t.Run("narrow", func(t *testing.T) {
		t.Parallel()
		s := New(t, workflow)
		s.Store = Narrow{s.Store}
		test(t, s)
	})
}
