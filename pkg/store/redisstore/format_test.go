package redisstore_test

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	storetest.RunFormats(t, false, func(t *testing.T) func(storetest.Program) (store.Store, error) {
		config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
		return func(p storetest.Program) (store.Store, error) { return redisstore.Open(t.Context(), config.As(p)) }
	})
}

// A program that runs while a later one raises the format makes no changes from that moment
// on, and soon refuses everything.
func TestRaisedWhileInUse(t *testing.T) {
	t.Parallel()
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t)}
	earlier := open(t, config.As(storetest.Program{Version: "v1", Formats: store.Formats{Oldest: 1, Newest: 1}}))
	key := store.Key{Namespace: "test", Kind: "run", ID: "a"}
	if _, err := earlier.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: key, Data: []byte("x")}}}); err != nil {
		t.Fatal(err)
	}
	lease, err := earlier.AcquireLease(t.Context(), key, "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	later := open(t, config.As(storetest.Program{Version: "v2", Formats: store.Formats{Oldest: 2, Newest: 2}}))
	if _, err := earlier.RenewLease(t.Context(), lease, time.Hour); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a lease is renewed, %v", err)
	}
	_, err = earlier.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: key, Expect: 1, Data: []byte("mixed")}}})
	var refused *store.FormatError
	if !errors.As(err, &refused) || refused.Format != 2 || refused.Program != "v2" {
		t.Errorf("a commit answered %v", err)
	}
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a commit may have been applied: %v", err)
	}
	waitFor(t, func() bool { return errors.As(earlier.Ping(t.Context()), &refused) })
	if _, err := earlier.Get(t.Context(), key); !errors.As(err, &refused) {
		t.Errorf("a read answered %v", err)
	}
	record, err := later.Get(t.Context(), key)
	if err != nil || record.Version != 1 {
		t.Errorf("%+v, %v", record, err)
	}
	next := store.Batch{Puts: []store.Put{{Key: key, Expect: 1, Data: []byte("next")}}}
	if _, err := later.Commit(t.Context(), next); err != nil {
		t.Error(err)
	}
}

// A program that is idle notices it too.
func TestRaisedWhileIdle(t *testing.T) {
	t.Parallel()
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t)}
	earlier := open(t, config.As(storetest.Program{Version: "v1", Formats: store.Formats{Oldest: 1, Newest: 1}}))
	open(t, config.As(storetest.Program{Version: "v2", Formats: store.Formats{Oldest: 2, Newest: 2}}))
	var refused *store.FormatError
	waitFor(t, func() bool { return errors.As(earlier.Ping(t.Context()), &refused) })
}
