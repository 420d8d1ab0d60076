package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// TestOlderDataFolder: S19.3: an older copy of a whole data folder is not used until a person accepts it, where
// it is the default one of a workspace; a new folder in the place of one that was removed is used.
func TestOlderDataFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root, err := datadir.Root()
	if err != nil {
		t.Fatal(err)
	}
	for folder, noticed := range map[string]bool{filepath.Join(string(root), "shop-1a2b"): true, filepath.Join(t.TempDir(), "data"): false} {
		data := datadir.Dir(folder)
		cfg := StoreConfig{Path: data.Database(), Logger: slog.New(slog.DiscardHandler)}
		run := func() (lost error) {
			t.Helper()
			if err := data.Make(); err != nil {
				t.Fatal(err)
			}
			st, err := OpenStore(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, lost = st.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: store.Key{Namespace: "n", Kind: "k", ID: "i"}, Expect: store.AnyVersion, Data: []byte("x")}}})
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			return lost
		}
		for range 2 {
			if err := run(); err != nil {
				t.Fatal(err)
			}
		}
		older := folder + ".older"
		if err := os.CopyFS(older, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		if err := run(); err != nil {
			t.Fatal(err)
		}
		back := func() {
			t.Helper()
			if err := errors.Join(os.RemoveAll(folder), os.Rename(older, folder)); err != nil {
				t.Fatal(err)
			}
		}
		back()
		for range 2 {
			if lost, gone := run(), (*store.RolledBackError)(nil); errors.As(lost, &gone) != noticed {
				t.Errorf("%s: an older copy answers %v", folder, lost)
			}
		}
		if lost, err := AcceptRollback(t.Context(), cfg); err != nil || (len(lost) == 1) != noticed {
			t.Errorf("%s: accepting it answers %q, %v", folder, lost, err)
		}
		if err := run(); err != nil {
			t.Errorf("%s: once it was accepted: %v", folder, err)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := run(); err != nil {
			t.Errorf("%s: a new folder: %v", folder, err)
		}
	}
}
