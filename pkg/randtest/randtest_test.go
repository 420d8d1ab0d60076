package randtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestDrawsAreFixed: the draws follow from one seed alone.
func TestDrawsAreFixed(t *testing.T) {
	t.Parallel()
	var drawn [2][]int
	for i := range drawn {
		randtest.Check(t, func(t *rapid.T) { drawn[i] = append(drawn[i], rapid.Int().Draw(t, "number")) })
		random := randtest.New(t, 7)
		drawn[i] = append(drawn[i], random.Int(), random.Int())
	}
	if len(drawn[0]) < 100 || !slices.Equal(drawn[0], drawn[1]) {
		t.Errorf("%d and %d numbers were drawn, and not the same", len(drawn[0]), len(drawn[1]))
	}
	if randtest.New(t, 7).Int() == randtest.New(t, 8).Int() {
		t.Error("two streams are the same")
	}
}

// loose matches draws without a fixed seed.
var loose = regexp.MustCompile(`rapid\.(Make)?Check\(|\brand\.New\(|\brand\.((Int|Uint|Float|Perm|Shuffle)[A-Za-z0-9]*|N)\(|"testing/quick"`)

// TestOnlySeededDraws: no test of the project draws from elsewhere. Which port a server
// of a test has does not depend on its seed.
func TestOnlySeededDraws(t *testing.T) {
	t.Parallel()
	exempt := []string{"pkg/randtest", "pkg/internal/randtest", "pkg/store/redisstore/redistest", "services/e2e/bench"}
	found := 0
	for _, module := range []string{"pkg", "services"} {
		root := filepath.Join("../..", module)
		if _, err := os.Stat(root); err != nil {
			continue // the module stands alone
		}
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
			test := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(folder, "test")
			if err != nil || entry.IsDir() || !test || filepath.Ext(path) != ".go" || slices.Contains(exempt, folder) {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found += strings.Count(string(text), "randtest.")
			for _, call := range loose.FindAllString(string(text), -1) {
				t.Errorf("%s has %s: draw with randtest", path, call)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 50 {
		t.Errorf("only %d draws were found: this test looks in the wrong place", found)
	}
}
