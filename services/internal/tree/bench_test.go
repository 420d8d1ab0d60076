package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// benchRules are those of an ordinary project.
const benchRules = "*.o\n*.pyc\n__pycache__/\nnode_modules/\n/build/\n/dist\n.env\n.env.*\n!.env.example\n*.log\n.DS_Store\n.idea/\n*.swp\n" +
	"coverage*\n/target/\n**/tmp/*\ndocs/_build/\n*.egg-info/\n.venv/\nvendor/**/testdata\n*.test\n*.out\n.cache\n"

// plant makes a repository of n tracked files of about 2 KB, 20 in each folder, and 5 ignored ones in each tenth.
func plant(tb testing.TB, dir string, n int) {
	tb.Helper()
	write(tb, filepath.Join(dir, ".gitignore"), benchRules)
	content := make([]byte, 2000)
	var index strings.Builder // of a content that is not stored
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("pkg%d/sub%d/part%d/source_file_%d.go", i/4000, i/200%20, i/20%10, i))
		copy(content, name)
		if i%20 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				tb.Fatal(err)
			}
			if i%200 == 0 {
				for j := range 5 {
					write(tb, filepath.Join(filepath.Dir(name), fmt.Sprintf("%d.o", j)), "x")
				}
			}
		}
		if err := os.WriteFile(name, content[:1000+i%2000/2], 0o644); err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&index, "100644 %040d\t%s\n", 1, name[len(dir)+1:])
	}
	git(tb, dir, "init", "-q")
	if _, err := tryGit(tb, dir, index.String(), "update-index", "--index-info"); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkDigest measures digests of repositories: cold without a cache, warm with one, again from memory,
// and warm after one file has changed.
func BenchmarkDigest(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 50_000, 200_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if testing.Short() && n > 10_000 {
				b.Skip("-short")
			}
			dir, cache := b.TempDir(), filepath.Join(b.TempDir(), "cache")
			plant(b, dir, n)
			time.Sleep(2 * time.Second) // files written just now are read again
			b.Run("cold", func(b *testing.B) {
				for b.Loop() {
					take(b, dir, "")
				}
			})
			s := take(b, dir, cache)
			b.Run("warm", func(b *testing.B) {
				b.ReportAllocs()
				shortest := time.Hour // other work on the machine makes no time shorter
				for b.Loop() {
					start := time.Now()
					take(b, dir, cache)
					shortest = min(shortest, time.Since(start))
				}
				b.ReportMetric(float64(shortest)/float64(time.Millisecond), "best-ms")
			})
			b.Run("again", func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Again(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("one-changed", func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					write(b, filepath.Join(dir, "pkg0/sub0/part0/source_file_1.go"), fmt.Sprint(i))
					take(b, dir, cache)
				}
			})
		})
	}
}
