package condition_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// keyed are literals and values of some keys.
var keyed = map[string]struct{ literals, values []string }{
	"writes": {
		[]string{"src/**", "src/*", "src", "**/.env", "/etc/**", "**", "SRC/a", "é*", "src/?", "/**", "*"},
		[]string{"src", "src/a", "SRC/a", "src/a/b", ".env", "src/.env", "/etc/passwd", "/etc", "/", ".", "..", "../x", "../.env", "e\u0301a", "a\u0000", "C:x", "éa"},
	},
	"host": {
		[]string{"a.org", "*.a.org", "*.b.a.org", "b.org", "*", "10.0.0.1"},
		[]string{"a.org", "x.a.org", "b.a.org", "x.b.a.org", "b.org", "10.0.0.1", "127.1", "A_B"},
	},
	"git.refs":   {[]string{"refs/heads/a", "refs/heads/**", "refs/tags/*", "*"}, []string{"refs/heads/a", "refs/heads/a/b", "refs/tags/v1", "HEAD", "refs/x..y"}},
	"git.remote": {[]string{"a", "a*", "*b", "?b", "hr.pay", "b*"}, []string{"a", "ab", "b", "hr.pay", "bb"}},
	"scheme":     {[]string{"http", "https", "git"}, []string{"http", "https", "git", "x"}},
	"port":       {[]string{"80", "443"}, []string{"80", "443", "443.00000000000000000001"}},
	"recipients": {[]string{"a@a.org", "*@a.org", "*@b.org"}, []string{"a@a.org", "A@a.org", "b@a.org", "x@b.org", "a%b@a.org"}},
	"ip":         {[]string{"10.0.0.0/8", "private", "1.2.3.4"}, []string{"10.1.1.1", "1.2.3.4", "::ffff:10.0.0.1"}},
	"/p":         {[]string{"a", "a*", "*b", "?b", "a?b", "*"}, []string{"a", "ab", "b", "abb", "bb", "5", "null"}},
	"/p/*":       {[]string{"a", "a*", "*b", "?b", "a?b", "*"}, []string{"a", "ab", "b", "abb", "bb", "5", "null"}},
}

// drawSingle draws a comparison of a key, with one operator.
func drawSingle(r *rand.Rand, key string) condition.Comparison {
	of := func(options ...string) string { return options[r.IntN(len(options))] }
	literal := func() string {
		text := of(keyed[key].literals...)
		if key == "port" {
			return text
		}
		return document.StringValue(text).String()
	}
	for {
		matcher := fmt.Sprintf(`"in": [%s]`, literal())
		if r.IntN(2) == 0 {
			matcher = fmt.Sprintf(`"in": [%s, %s]`, literal(), literal())
		}
		if key[0] == '/' || r.IntN(4) == 0 {
			matcher = fmt.Sprintf(`%q: %s`, of("like", "eq", "neq"), literal())
		}
		if r.IntN(3) == 0 && key != "/p" {
			matcher += `, "each": "` + of("every", "some") + `"`
		}
		if r.IntN(8) == 0 {
			matcher += `, "exists": true`
		}
		v, _ := document.Parse(fmt.Appendf(nil, `{%q: {%s}}`, key, matcher), document.Limits{})
		var report document.Report
		if c := condition.Read(&report, v, nil, condition.Use{}); c != nil {
			return comparisonsOf(c)[0]
		}
	}
}

// drawSet draws a set of a facet, with readings, values that may not be there, and folders.
func drawSet(r *rand.Rand, key string) (condition.Set, string) {
	valueOf := func() document.Value {
		text := keyed[key].values[r.IntN(len(keyed[key].values))]
		if key == "port" || text == "5" || text == "null" {
			v, _ := document.Parse([]byte(text), document.Limits{})
			return v
		}
		return document.StringValue(text)
	}
	set := condition.Set{Known: r.IntN(6) > 0}
	var list []document.Value
	for range r.IntN(4) {
		e := condition.Element{Value: valueOf(), Unsure: r.IntN(6) == 0, Below: key == "writes" && r.IntN(3) == 0}
		list = append(list, e.Value)
		if r.IntN(4) == 0 {
			e.Also = append(e.Also, valueOf())
		}
		if name := e.Value.Str(); key == "writes" && name != "" && name[0] != '/' && name[0] != '.' && r.IntN(2) == 0 {
			e.Full = append(e.Full, document.StringValue("//etc/"+name))
		}
		set.Values = append(set.Values, e)
	}
	input := document.ObjectValue([]document.Member{{Name: "p", Value: valueOf()}})
	if key == "/p/*" {
		input = document.ObjectValue([]document.Member{{Name: "p", Value: document.ArrayValue(list)}})
	}
	return set, input.String()
}

// TestExcludes: of two comparisons that exclude each other, no call makes both hold, and one that refutes another
// is never true where that is not false (S21.20).
func TestExcludes(t *testing.T) {
	t.Parallel()
	r := randtest.New(t, 5)
	excluded, refuted := map[string]int{}, map[string]int{}
	for range randtest.Size(8_000, 500_000) {
		for key := range keyed {
			a, b := drawSingle(r, key), drawSingle(r, key)
			s, u := condition.Stance(r.IntN(4)), condition.Stance(r.IntN(4))
			excludes, refutes := a.Excludes(s, b, u), a.Refutes(s, b, u)
			if !excludes && !refutes {
				continue
			}
			for range 5 {
				set, input := drawSet(r, key)
				on := call{input: input, facets: map[condition.Facet]condition.Set{condition.Facet(key): set}}
				x, y := a.Judge(on, s), b.Judge(on, u)
				if excludes && x == yes && y == yes || refutes && x == yes && y != no {
					t.Fatalf("%s, %s in stance %d is %v, and %s in stance %d is %v: %+v, %s; excludes: %t, refutes: %t", key, a.Text(), s, x, b.Text(), u, y, set, input, excludes, refutes)
				}
				if excludes && x == yes {
					excluded[key]++
				}
				if refutes && x == yes {
					refuted[key]++
				}
			}
		}
	}
	for _, key := range []string{"writes", "host", "git.refs", "git.remote", "scheme", "/p", "/p/*"} {
		if excluded[key] < 20 || refuted[key] < 20 {
			t.Errorf("%s: %d are excluded, %d are refuted: the draws show too little", key, excluded[key], refuted[key])
		}
	}
}
