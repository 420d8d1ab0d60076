package pathglob_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestMeetIsComplete: of any two patterns, where a name matches both, in any case, they meet (S21.20).
func TestMeetIsComplete(t *testing.T) {
	t.Parallel()
	r := randtest.New(t, 3)
	patterns := []string{"a", "A", "b", "*", "a*", "*b", "a*b", "**", "?", "[a-b]", "{a,b}", "é", "e*", "*e", "a?", `\*`, "[!a]*", "{a,c*}b", "k"}
	parts := []string{"a", "b", "ab", "aab", "B", "c", "cb", "é", "e\u0301", "e", "*", "", "ae", "\u212a", "k"}
	meets, apart := 0, 0
	for range randtest.Size(3_000, 100_000) {
		g, h := drawGlob(r, patterns), drawGlob(r, patterns)
		met, ok := g.Meet(h)
		if ok {
			meets++
		} else {
			apart++
		}
		plain := !strings.ContainsAny(g.String()+h.String(), `?[\`) && !strings.Contains(g.String()+h.String(), "é")
		if ok && plain && (!g.MatchFold(met) || !h.MatchFold(met)) {
			t.Fatalf("%s and %s meet in %q, which is not of both", g, h, met)
		}
		if back, same := h.Meet(g); same != ok {
			t.Fatalf("%s and %s meet in %q, and the other way round in %q", g, h, met, back)
		}
		for range 40 {
			var name []string
			for range 1 + r.IntN(3) {
				name = append(name, parts[r.IntN(len(parts))])
			}
			joined := strings.Join(name, "/")
			if !ok && g.MatchFold(joined) && h.MatchFold(joined) {
				t.Fatalf("%s and %s both match %q, and are said not to meet", g, h, joined)
			}
			if g.CoversBelow(joined) && h.MayMatchBelow(joined) && !ok {
				if _, folder := g.Folders().Meet(h); !folder {
					t.Fatalf("%s covers all below %q, which %s may match below, and they are said not to meet", g, joined, h)
				}
			}
		}
	}
	if meets < 300 || apart < 300 {
		t.Errorf("%d meet, and %d do not: the draws show too little", meets, apart)
	}
}

func drawGlob(r *rand.Rand, patterns []string) pathglob.Glob {
	for {
		var parts []string
		for range 1 + r.IntN(3) {
			parts = append(parts, patterns[r.IntN(len(patterns))])
		}
		if g, err := pathglob.Compile(strings.Join(parts, "/")); err == nil {
			return g
		}
	}
}

// TestMeet names what patterns have in common (S21.20).
func TestMeet(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		a, b, want string
		ok         bool
	}{
		{"src/**", "**/*.go", "src/.go", true},
		{"src/**", "test/**", "", false},
		{"src/**", "SRC/a", "src/a", true},
		{"src/*", "src/a/b", "", false},
		{"**/.env*", "src/**", "src/.env", true},
		{"{src,test}/**", "test/a", "test/a", true},
		{"a/**/b", "a/b", "a/b", true},
		{"a/**/b", "a/c", "", false},
		{"src/**", "src", "", false},
	} {
		got, ok := must(t, row.a).Meet(must(t, row.b))
		if got != row.want || ok != row.ok {
			t.Errorf("%s and %s: %q, %t, want %q, %t", row.a, row.b, got, ok, row.want, row.ok)
		}
	}
}

func must(t *testing.T, pattern string) pathglob.Glob {
	t.Helper()
	g, err := pathglob.Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
