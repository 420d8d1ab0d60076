package redisstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// put writes the next version of a record.
func put(id string, expect int64, data string) store.Batch {
	return store.Batch{Puts: []store.Put{{Key: key(id), Expect: expect, Data: []byte(data)}}}
}

func until(t *testing.T, is func() bool) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(2 * time.Minute); !is(); <-poll.C {
		if time.Now().After(end) {
			t.Fatal("it never happened")
		}
	}
}

// setBack starts a server again from a copy of its files.
func setBack(t *testing.T, server *redistest.Server, dir string) (back func()) {
	t.Helper()
	files, kept := filepath.Join(dir, "appendonlydir"), filepath.Join(t.TempDir(), "kept")
	if err := os.CopyFS(kept, os.DirFS(files)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		server.Kill()
		if err := errors.Join(os.RemoveAll(files), os.CopyFS(files, os.DirFS(kept)), server.Restart()); err != nil {
			t.Fatal(err)
		}
	}
}

// A server comes back from an older file, and a replica with another history, that has
// seen less of it, writes on until it has as many versions.
func TestOlderFileUnderReplicas(t *testing.T) {
	t.Parallel()
	for name, goOn := range map[string]bool{"refused": false, "continued": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server, err := redistest.Launch(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Kill)
			config := redisstore.Config{URL: server.URL(), Prefix: "il", ContinueAfterRollback: goOn}
			saw, blind := open(t, config), open(t, config)
			commit(t, blind, put("a", 0, "kept"))
			back := setBack(t, server, dir)
			commit(t, saw, put("a", 1, "lost"))
			work, leave, err := saw.Gate().Enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer leave()
			forgot := make(chan struct{})
			saw.Gate().OnTurn(func() { close(forgot) })
			back()
			// The one that has seen less cannot know.
			until(t, func() bool {
				_, err := blind.Commit(t.Context(), put("a", 1, "new"))
				return err == nil || errors.Is(err, store.ErrConflict)
			})
			if _, err := saw.Commit(work, put("a", 2, "decided on what is lost")); err == nil {
				t.Error("a commit on a lost version was applied at an equal one")
			}
			stores := []*redisstore.Store{saw, blind}
			if !goOn {
				var gone *store.RolledBackError
				until(t, func() bool { return errors.As(saw.Ping(t.Context()), &gone) })
				until(t, func() bool { return errors.As(blind.Ping(t.Context()), &gone) })
				late := open(t, config)
				if err := late.Ping(t.Context()); !errors.As(err, &gone) {
					t.Errorf("a process that starts now: %v", err)
				}
				stores = append(stores, late)
				lost, err := redisstore.AcceptRollback(t.Context(), config)
				if err != nil || len(lost) != 1 {
					t.Fatalf("accepted %q, %v", lost, err)
				}
			}
			select {
			case <-work.Done():
			case <-time.After(2 * time.Minute):
				t.Fatal("work continues that has seen what is lost")
			}
			leave()
			<-forgot
			for _, s := range stores {
				until(t, func() bool { return s.Ping(t.Context()) == nil })
				record, err := s.Get(t.Context(), key("a"))
				if err != nil || record.Version != 2 || string(record.Data) != "new" {
					t.Errorf("version %d, %q, %v", record.Version, record.Data, err)
				}
			}
			commit(t, saw, put("a", 2, "newer"))
		})
	}
}

// A server that starts again with all its data has lost none; but cached values
// are dropped, because a loss could not be seen.
func TestRestartLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, redisstore.Config{URL: server.URL()})
	commit(t, s, put("a", 0, "1"))
	forgot := make(chan struct{})
	s.Gate().OnTurn(func() { close(forgot) })
	server.Kill()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	<-forgot
	until(t, func() bool { _, err := s.Commit(context.Background(), put("a", 1, "2")); return err == nil })
}

func commit(t *testing.T, s *redisstore.Store, batch store.Batch) {
	t.Helper()
	if _, err := s.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// Work that does not heed its context, as it commits on a replaced server, does not keep
// the store from turning for longer than that commit takes.
func TestWorkThatOutlivesItsContextDoesNotBlockTheTurn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, redisstore.Config{URL: server.URL()})
	commit(t, s, put("a", 0, "1"))
	work, leave, err := s.Gate().Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		_, err := s.Commit(context.WithoutCancel(work), put("a", 1, "2"))
		return errors.Is(err, store.ErrTurned)
	})
	leave()
	until(t, func() bool { _, err := s.Commit(t.Context(), put("a", 1, "2")); return err == nil })
}
