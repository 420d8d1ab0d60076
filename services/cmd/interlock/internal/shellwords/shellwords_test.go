package shellwords

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func FuzzWords(f *testing.F) {
	f.Add("/opt/my tools/interlock", "it's", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, s := range []string{a, b, c} {
			if strings.ToValidUTF8(s, "") != s {
				t.Skip() // not text
			}
		}
		want := []string{a, b, c}
		if got := Split(Join(want)); !gocmp.Equal(got, want) {
			t.Errorf("%q became %q", want, got)
		}
	})
}
