package jailclient

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// TestRunFolders: each run has a folder of its own, for any name, and the first command of a run removes those that
// no command has used for long.
func TestRunFolders(t *testing.T) {
	t.Parallel()
	runs, now := filepath.Join(t.TempDir(), "runs"), time.Now()
	old, used := runFolder(runs, "run_old", now), runFolder(runs, "../run_used", now)
	if filepath.Dir(old) != runs || filepath.Dir(used) != runs || old == used {
		t.Fatalf("%s, %s", old, used)
	}
	readOnly := filepath.Join(old, "copies", "mod")
	if err := os.MkdirAll(readOnly, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(readOnly, "x"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(readOnly, 0o500); err != nil {
		t.Fatal(err)
	}
	late := now.Add(unused + time.Hour)
	if again := runFolder(runs, "../run_used", late); again != used {
		t.Errorf("%s, then %s", used, again)
	}
	if _, err := os.Stat(old); err != nil {
		t.Errorf("a command of a known run has removed another's: %v", err)
	}
	runFolder(runs, "run_new", late)
	left, err := os.ReadDir(runs)
	if err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the old folder is there")
	}
}

// TestManyRunFolders: of many runs those that were used last keep their folders.
func TestManyRunFolders(t *testing.T) {
	t.Parallel()
	runs, now := filepath.Join(t.TempDir(), "runs"), time.Now()
	for i := range mostRuns + 5 {
		if runFolder(runs, fmt.Sprint("run", i), now.Add(time.Duration(i)*time.Minute)) == "" {
			t.Fatal(i)
		}
		own := filepath.Join(runs, datadir.Digest(fmt.Sprint("run", i))[:16])
		at := now.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(own, at, at); err != nil {
			t.Fatal(err)
		}
	}
	runFolder(runs, "another", now.Add(unusedOfOld+3*time.Minute+time.Second)) // of the oldest five, four are unused for an hour
	left, err := os.ReadDir(runs)
	if err != nil || len(left) != mostRuns+5-4+1 {
		t.Errorf("%d are left, %v", len(left), err)
	}
}
