package jailer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
	_ "github.com/interlock-run/interlock/services/internal/jailer/stage/first" // as the program does
)

// BenchmarkRun measures a command by itself, and in a jail of each level, with the profile that a state
// which only reads compiles to.
func BenchmarkRun(b *testing.B) {
	dir, home := b.TempDir(), b.TempDir()
	for _, name := range []string{".cache/go-build", "go/pkg/mod", ".npm", ".ssh", ".aws", ".config/gh"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("bare", func(b *testing.B) {
		best(b, func() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		})
	})
	for _, readOnly := range []bool{true, false} {
		p := jail.Compile(jail.Rules{}, jail.Command{ReadOnly: readOnly, Workspace: dir, Folder: dir})
		for _, level := range []jail.Level{jail.Files, jail.Scoped, jail.Full} {
			b.Run(fmt.Sprintf("%s/level%d", p.Writes, level), func(b *testing.B) {
				caches := filepath.Join(b.TempDir(), "caches")
				b.Cleanup(func() {
					if err := jailer.RemoveCaches(caches); err != nil {
						b.Error(err)
					}
				})
				best(b, func() {
					w, err := jailer.Run(b.Context(), &jailer.Command{
						Argv: []string{"/bin/true"}, Env: os.Environ(), Profile: &p, Machine: jail.Machine{Home: home}, Caches: caches, Highest: level,
					})
					if err != nil || !w.OK() {
						b.Fatal(w, err)
					}
				})
			})
		}
	}
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
