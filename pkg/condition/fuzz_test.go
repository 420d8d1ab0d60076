package condition_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// FuzzCondition: any text is a condition or has a problem; a condition judges any input, its leaves give its result, and where the
// input cannot be read, it is as before or in doubt (S21.2).
func FuzzCondition(f *testing.F) {
	for _, row := range tricks {
		f.Add(row.deny, row.inputs[0])
		f.Add(row.allow, row.inputs[len(row.inputs)-1])
	}
	f.Add(`{"any": [{"/a/*/b": {"or": 1, "each": "some", "lte": 2}}, {"not": {"host": ["*.a.com"]}}]}`, `{"a": [{"b": 1e2}, {}]}`)
	f.Add(`{"/a": {"count": {"gte": 1}, "contains": "x"}, "time": {"neq": "work"}}`, `{"a": ["x"]}`)
	f.Fuzz(func(t *testing.T, text, input string) {
		v, problem := document.Parse([]byte(text), document.Limits{})
		if problem != nil {
			return
		}
		for _, stance := range []condition.Stance{condition.Restricts, condition.Allows} {
			var report document.Report
			c := condition.Read(&report, v, nil, condition.Use{Stance: stance, Windows: []string{"work", "freeze"}})
			if (c == nil) != report.HasErrors() {
				t.Fatalf("%s: %v with %v", text, c, report.Problems())
			}
			if c == nil {
				continue
			}
			on := call{input: input, facets: map[condition.Facet]condition.Set{condition.Host: condition.KnownSet("x.a.com", "b.org"), condition.Time: condition.KnownSet("work")}}
			was := c.Judge(on, stance)
			for _, leaf := range c.Explain(on, stance) {
				if (leaf.Result == doubt) != (leaf.Why != "") {
					t.Fatalf("%+v", leaf)
				}
			}
			on.input = "x"
			if now := c.Judge(on, stance); now != was && now != doubt {
				t.Fatalf("%s of %s: %v, and %v when it cannot be read", text, input, was, now)
			}
		}
	})
}

// FuzzURL: a URL that is read has the host that net/url finds, in its plain form, and it is read again from its parts (S21.5).
func FuzzURL(f *testing.F) {
	for _, text := range oddURLs {
		f.Add(text)
	}
	f.Add("https://Example.com.:8443/a?b#c")
	f.Add("ssh://git@[::FFFF:10.0.0.1]:22/a")
	f.Fuzz(func(t *testing.T, text string) {
		u, ok, why := condition.ReadURL(text)
		if ok != (why == "") {
			t.Fatalf("%q: %+v, %s", text, u, why)
		}
		if !ok {
			return
		}
		if host, plain := condition.ReadHost(u.Host); !plain || host != u.Host || u.Port < 1 || u.Port > 65535 || u.Path[0] != '/' {
			t.Fatalf("%q: %+v", text, u)
		}
		other, err := url.Parse(text)
		if err != nil {
			return
		}
		host := strings.TrimSuffix(strings.ToLower(other.Hostname()), ".")
		if a, err := netip.ParseAddr(host); err == nil {
			host = a.String()
		}
		if host != u.Host || other.Scheme != u.Scheme {
			t.Fatalf("%q: %+v, and %q for net/url", text, u, host)
		}
	})
}
