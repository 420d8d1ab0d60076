package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	storetest.RunFormats(t, true, func(t *testing.T) func(storetest.Program) (store.Store, error) {
		config := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")}
		return func(p storetest.Program) (store.Store, error) { return sqlitestore.Open(t.Context(), config.As(p)) }
	})
}

// Files of before the format was recorded are of the first one.
func TestUnstampedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	content, err := os.ReadFile("testdata/schema4.sql")
	if err != nil {
		t.Fatal(err)
	}
	execute(t, path, string(content))
	s := open(t, sqlitestore.Config{Path: path, Program: "it's v1"})
	record, err := s.Get(t.Context(), victimKey(1))
	if err != nil || string(record.Data) != "kept" || record.Version != 2 {
		t.Errorf("%+v, %v", record, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	earlier := storetest.Program{Formats: store.Formats{Oldest: 0, Newest: 0}}
	_, err = sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path}.As(earlier))
	if err == nil || !strings.Contains(err.Error(), "format 1, which Interlock it's v1 has given it") {
		t.Errorf("the file is stamped: %v", err)
	}
}

// raiserVariable names the file whose format a process raises that will be killed.
const raiserVariable = "SQLITESTORE_TEST_RAISER"

func raiser(path string) {
	_, err := sqlitestore.Open(context.Background(), sqlitestore.Config{Path: path}.Endless())
	fmt.Println("the step ended:", err)
	os.Exit(1)
}

// TestKilledWhileRaised kills a process when a step has written much of its data: the file is
// as it was, and is raised by the next one.
func TestKilledWhileRaised(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, sqlitestore.Config{Path: path})
	batch := store.Batch{Puts: []store.Put{{Key: victimKey(1), Data: []byte("x")}}}
	if _, err := s.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), raiserVariable+"="+path)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		poll := time.NewTicker(5 * time.Millisecond)
		for size := int64(0); size < 4<<20; <-poll.C {
			if info, err := os.Stat(path + "-wal"); err == nil {
				size = info.Size()
			}
		}
		poll.Stop()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	later := storetest.Program{Version: "v2", Formats: store.Formats{Oldest: 2, Newest: 2}}
	raised := sqlitestore.Config{Path: path}.As(later)
	record, err := open(t, raised).Get(t.Context(), victimKey(1))
	if err != nil || string(record.Data) != "x+2" {
		t.Errorf("%+v, %v", record, err)
	}
}
