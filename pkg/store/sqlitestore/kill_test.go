package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// victimVariable names the file to write to in a process that will be killed.
const victimVariable = "SQLITESTORE_TEST_VICTIM"

// victims is how many writers the process has.
const victims = 16

// victim writes as fast as it can and prints each answered commit, forever.
func victim(path string) {
	s, err := sqlitestore.Open(context.Background(), sqlitestore.Config{Path: path})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	for writer := range victims {
		go func() {
			key := victimKey(writer)
			version := int64(0)
			if record, err := s.Get(context.Background(), key); err == nil {
				version = record.Version
			}
			for {
				result, err := s.Commit(context.Background(), store.Batch{
					Puts:     []store.Put{{Key: key, Expect: version, Data: fmt.Append(nil, version+1), History: fmt.Append(nil, version+1)}},
					Counters: []store.Counter{{Owner: key, Name: "n", Delta: 1, Limit: store.NoLimit}},
					Events:   []store.Event{{Key: key, ID: fmt.Sprintf("%s-%d", key.ID, version+1), Subject: "s"}},
				})
				mu.Lock()
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				version = result.Versions[0]
				fmt.Println("done", writer, version)
				mu.Unlock()
			}
		}()
	}
	select {}
}

func victimKey(writer int) store.Key {
	return store.Key{Namespace: "test", Kind: "run", ID: fmt.Sprintf("writer%d", writer)}
}

// TestKill kills a process amid its commits, again and again: every commit that
// it had answered is there, and none is there by half.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	answered := make([]int64, victims)
	for round := range 4 {
		killAfter(t, path, 150*(round+1), answered)
		s := open(t, sqlitestore.Config{Path: path})
		for writer, version := range answered {
			checkVictim(t, s, writer, version)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
}

// killAfter starts a victim and kills it after some answered commits, which it
// notes in answered.
func killAfter(t *testing.T, path string, commits int, answered []int64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimVariable+"="+path)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	n := 0
	for lines.Scan() {
		var writer int
		var version int64
		if _, err := fmt.Sscanf(lines.Text(), "done %d %d", &writer, &version); err != nil {
			// The last line may be cut off.
			if n < commits {
				t.Errorf("the process says %q", lines.Text())
			}
			continue
		}
		answered[writer] = max(answered[writer], version)
		switch n++; n {
		case commits / 2:
			_, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
			if want := fmt.Sprintf("in use by process %d", cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("opening a file that is in use answered %v, not %q", err, want)
			}
		case commits:
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || n < commits {
		t.Fatalf("the process ended by itself after %d commits: %v", n, err)
	}
}

// checkVictim requires that a writer's record, history, counter and events all
// have the same number of commits, at least as many as were answered.
func checkVictim(t *testing.T, s *sqlitestore.Store, writer int, answered int64) {
	t.Helper()
	key := victimKey(writer)
	var version int64
	if record, err := s.Get(t.Context(), key); err == nil {
		version = record.Version
		if string(record.Data) != fmt.Sprint(version) {
			t.Errorf("%s has data %q at version %d", key, record.Data, version)
		}
	}
	if version < answered {
		t.Errorf("%s is at version %d, %d was answered", key, version, answered)
	}
	history, err := s.History(t.Context(), key, 0, int(version)+1)
	if err != nil || int64(len(history)) != version {
		t.Errorf("%s has %d history entries at version %d, %v", key, len(history), version, err)
	}
	for i, entry := range history {
		if entry.Version != int64(i+1) || string(entry.Data) != fmt.Sprint(i+1) {
			t.Errorf("%s has %q as version %d in place %d of its history", key, entry.Data, entry.Version, i)
		}
	}
	counters, err := s.Counters(t.Context(), key)
	if err != nil || counters["n"] != version {
		t.Errorf("%s has counters %v at version %d, %v", key, counters, version, err)
	}
	shard := key.Shard(s.Shards())
	entries, err := s.Tail(t.Context(), map[int]int64{shard: 0}, 1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	next := int64(1)
	for _, entry := range entries {
		if strings.HasPrefix(entry.ID, key.ID+"-") {
			if want := fmt.Sprintf("%s-%d", key.ID, next); entry.ID != want {
				t.Errorf("event %s comes where %s is next", entry.ID, want)
			}
			next++
		}
	}
	if next-1 != version {
		t.Errorf("%s has %d events at version %d", key, next-1, version)
	}
}
