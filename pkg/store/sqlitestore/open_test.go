package sqlitestore_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// execute runs SQL on a file, as another program would.
func execute(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(text)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOpenRefuses tests that a store which cannot be opened says how to fix it, and
// that it can be opened once it is fixed.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	write := func(content []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name    string
		config  sqlitestore.Config
		prepare func(t *testing.T, path string)
		want    string
	}{
		{"no path", sqlitestore.Config{}, nil, "name the file"},
		{"no folder", sqlitestore.Config{Path: "no/such/folder/store.db"}, nil, "create it first"},
		{"a folder", sqlitestore.Config{Path: "."}, nil, "is a directory"},
		{"too many shards", sqlitestore.Config{Path: "store.db", Shards: 5000}, nil, "choose 1 to 4096"},
		{"negative shards", sqlitestore.Config{Path: "store.db", Shards: -1}, nil, "choose 1 to 4096"},
		{"no database", sqlitestore.Config{Path: "store.db"}, write(bytes.Repeat([]byte("no database "), 500)), "name another path"},
		{"another program's", sqlitestore.Config{Path: "store.db"}, func(t *testing.T, path string) {
			execute(t, path, "CREATE TABLE t (x)")
		}, "another program"},
		{"a newer schema", sqlitestore.Config{Path: "store.db"}, func(t *testing.T, path string) {
			if err := open(t, sqlitestore.Config{Path: path}).Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, path, "PRAGMA user_version = 99")
		}, "has schema 99, which a later build has given it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			config := tt.config
			if config.Path != "" {
				config.Path = filepath.Join(folder, config.Path)
			}
			if tt.prepare != nil {
				tt.prepare(t, config.Path)
			}
			s, err := sqlitestore.Open(t.Context(), config)
			if err == nil {
				_ = s.Close()
				t.Fatalf("opened, without %q", tt.want)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("open answered %q, without %q", err, tt.want)
			}
			if tt.prepare == nil {
				return
			}
			// No lock is left.
			if err := os.Remove(config.Path); err != nil {
				t.Fatal(err)
			}
			open(t, config)
		})
	}
}

func TestOpenTwice(t *testing.T) {
	t.Parallel()
	config := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")}
	first := open(t, config)
	if _, err := sqlitestore.Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("opening twice answered %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, config)
}

func TestShardsStay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	for _, shards := range []int{3, 5, 0} {
		s := open(t, sqlitestore.Config{Path: path, Shards: shards})
		if s.Shards() != 3 {
			t.Errorf("%d shards, created with 3, opened with %d", s.Shards(), shards)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if s.Shards() != sqlitestore.DefaultShards {
		t.Errorf("%d shards when none were asked for", s.Shards())
	}
}

func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space.db", "q?mode=memory&x=1#y.db", "100%25.db", "käse+.db", ":memory:"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, sqlitestore.Config{Path: path})
		if _, err := s.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: victimKey(1)}}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 {
			t.Errorf("%q: the file is not where it should be: %v", name, err)
			continue
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%q can be read by others: %v", name, info.Mode())
		}
		if _, err := open(t, sqlitestore.Config{Path: path}).Get(t.Context(), victimKey(1)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestDamagedFile tests that a file with rotten pages is reported, and that no data is
// made up is answered.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, sqlitestore.Config{Path: path})
	var puts []store.Put
	for i := range 2000 {
		if k := victimKey(i); k.Shard(s.Shards()) == 0 {
			puts = append(puts, store.Put{Key: k, Data: bytes.Repeat([]byte("data"), 100)})
		}
	}
	if _, err := s.Commit(t.Context(), store.Batch{Puts: puts}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(content); i++ {
		content[i] ^= 0x5a
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
	if err == nil || !strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("opening a damaged file answered %v", err)
	}
}
