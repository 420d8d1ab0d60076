package below

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
)

func names(lifted ...string) *Names {
	p := jail.Compile(jail.Rules{}, jail.Command{Workspace: "/srv/ws"})
	return NewNames(p.Below, lifted, true)
}

func write(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func take(tb testing.TB, dir string, before *Snapshot) *Snapshot {
	tb.Helper()
	s, err := Take(dir, names(), before)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestRecord: a record gives the snapshot that was saved, and a broken, foreign or open one gives none.
func TestRecord(t *testing.T) {
	t.Parallel()
	dir, record := t.TempDir(), filepath.Join(t.TempDir(), "record")
	write(t, filepath.Join(dir, "a/.envrc"), "a\n")
	write(t, filepath.Join(dir, "b/.git/config"), "[core]\n")
	s := take(t, dir, nil)
	if err := s.Save(record); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(record, dir, names())
	if err != nil || loaded == nil {
		t.Fatal(loaded, err)
	}
	after, err := loaded.Again()
	if err != nil || len(Changes(loaded, after)) > 0 {
		t.Errorf("%v, %v", Changes(loaded, after), err)
	}
	if got, err := Load(record, t.TempDir(), names()); err == nil {
		t.Errorf("of another folder: %v", got)
	}
	if got, err := Load(record, dir, names("a/.envrc")); err == nil {
		t.Errorf("of other names: %v", got)
	}
	if got, err := Load(record+"x", dir, names()); got != nil || err != nil {
		t.Errorf("without a record: %v, %v", got, err)
	}
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range [][]byte{{}, data[:len(data)-1], append(slices.Clone(data[:60]), data[61:]...)} {
		if err := os.WriteFile(record, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Load(record, dir, names()); err == nil {
			t.Errorf("of a broken record: %v", got)
		}
	}
}

// TestAgain: a walk that knows the last one has the same result as one without it.
func TestAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a/b/c/x.txt"), "x")
	write(t, filepath.Join(dir, "deploy/hooks/run"), "x")
	write(t, filepath.Join(dir, "sub/.git/hooks/pre-push"), "x")
	before := take(t, dir, nil)
	for i, change := range []func(){
		func() { write(t, filepath.Join(dir, "a/b/c/.envrc"), "x") },
		func() { write(t, filepath.Join(dir, "a/b/c/.envrc"), "y") },
		func() {
			write(t, filepath.Join(dir, "deploy/HEAD"), "x")
			write(t, filepath.Join(dir, "deploy/commondir"), "x")
		},
		func() { write(t, filepath.Join(dir, "sub/.git/hooks/pre-commit"), "x") },
		func() { _ = os.Rename(filepath.Join(dir, "a/b"), filepath.Join(dir, "b")) },
		func() { _ = os.RemoveAll(filepath.Join(dir, "sub")) },
		func() { _ = os.Remove(filepath.Join(dir, "deploy/HEAD")) },
	} {
		change()
		next, fresh := take(t, dir, before), take(t, dir, nil)
		if got, want := settings(next), settings(fresh); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
		before = next
	}
}

func settings(s *Snapshot) (all []string) {
	for _, f := range s.folders {
		all = append(all, fmt.Sprint(f.path, "/ ", f.state, f.marks))
		for _, i := range f.items {
			all = append(all, fmt.Sprint(f.path, "/", i.name, " ", i.content, i.large))
		}
	}
	return all
}

// BenchmarkAgain measures the walk at the end of a command: of 50,000 files in 2,500 folders, of which some are settings.
func BenchmarkAgain(b *testing.B) {
	dir, record := b.TempDir(), filepath.Join(b.TempDir(), "record")
	for i := range 50_000 {
		write(b, filepath.Join(dir, fmt.Sprintf("pkg%d/sub%d/part%d/source_file_%d.go", i/4000, i/200%20, i/20%10, i)), "x")
	}
	for i := range 20 {
		write(b, filepath.Join(dir, fmt.Sprintf("node_modules/m%d/.vscode/settings.json", i)), "{}")
		write(b, filepath.Join(dir, fmt.Sprintf("node_modules/m%d/.git/config", i)), "[core]\n")
	}
	time.Sleep(2500 * time.Millisecond) // recently written files are looked at again
	s := take(b, dir, nil)
	b.Run("first", func(b *testing.B) {
		best(b, func() { take(b, dir, nil) })
	})
	if err := s.Save(record); err != nil {
		b.Fatal(err)
	}
	b.Run("start", func(b *testing.B) { // with the record of the last command, and one of this
		best(b, func() {
			last, err := Load(record, dir, names())
			if err != nil {
				b.Fatal(err)
			}
			if err := take(b, dir, last).Save(record); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("end", func(b *testing.B) {
		best(b, func() {
			after, err := s.Again()
			if err != nil || len(Changes(s, after)) > 0 {
				b.Fatal(err)
			}
		})
	})
}

// best measures f, and reports the shortest time as well: other work on the machine makes no time shorter.
func best(b *testing.B, f func()) {
	shortest := time.Hour
	for b.Loop() {
		start := time.Now()
		f()
		shortest = min(shortest, time.Since(start))
	}
	b.ReportMetric(float64(shortest)/float64(time.Millisecond), "best-ms")
}
