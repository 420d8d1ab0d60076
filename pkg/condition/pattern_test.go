package condition_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestPatterns matches texts of each type of facet with its patterns (S21.5).
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		facet            condition.Facet
		matcher, value   string
		restricts, allow condition.Truth
	}{
		{condition.Host, `"*"`, "a.com", yes, yes},
		{condition.Host, `"*"`, "A.com", doubt, doubt},
		{condition.Host, `"*"`, "10.1", doubt, doubt},
		{condition.Host, `"a.com"`, "a.com", yes, yes},
		{condition.Host, `"A.COM"`, "a.com", yes, yes},
		{condition.Host, `"a.com"`, "b.a.com", no, no},
		{condition.Host, `"*.a.com"`, "b.a.com", yes, yes},
		{condition.Host, `"*.a.com"`, "c.b.a.com", yes, yes},
		{condition.Host, `"*.a.com"`, "a.com", no, no},
		{condition.Host, `"*.a.com"`, "ba.com", no, no},
		{condition.Host, `"*.a.com"`, "b.a.com.evil.org", no, no},
		{condition.Host, `"10.0.0.1"`, "10.0.0.1", yes, yes},
		{condition.Host, `"[::1]"`, "::1", yes, yes},
		{condition.Host, `{"neq": "a.com"}`, "b.com", yes, yes},
		{condition.Host, `{"neq": "a.com"}`, "A.com", doubt, doubt},
		{condition.IP, `"10.0.0.0/8"`, "10.255.255.255", yes, yes},
		{condition.IP, `"10.0.0.0/8"`, "11.0.0.0", no, no},
		{condition.IP, `"10.0.0.1"`, "10.0.0.1", yes, yes},
		{condition.IP, `"10.0.0.1"`, "10.0.0.2", no, no},
		{condition.IP, `"fc00::/7"`, "fd00::1", yes, yes},
		{condition.IP, `"any"`, "8.8.8.8", yes, yes},
		{condition.IP, `"any"`, "2001:db8::1", yes, yes},
		{condition.IP, `"any"`, "a.com", doubt, doubt},
		{condition.IP, `"private"`, "172.32.0.0", no, no},
		{condition.IP, `"multicast"`, "224.0.0.1", yes, yes},
		{condition.IP, `"link-local"`, "169.254.169.254", yes, yes},
		{condition.IP, `["loopback", "private"]`, "127.0.0.53", yes, yes},
		{condition.SQLTables, `"hr.pay_*"`, "hr.pay_2026", yes, yes},
		{condition.SQLTables, `"hr.pay_*"`, "hr.pay", no, no},
		{condition.SQLTables, `"HR.Pay"`, "hr.pay", yes, no},
		{condition.SQLTables, `"hr.pay"`, "HR.Pay", yes, no},
		{condition.SQLTables, `"hr.pay?"`, "hr.payä", yes, yes},
		{condition.SQLTables, `{"like": "*pay*"}`, "hr.pay_2026", yes, yes},
		{condition.SQLTables, `{"contains": "pay*"}`, "hr.pay_2026", no, no},
		{condition.SQLTables, `{"contains": "pay"}`, "hr.pay_2026", yes, yes},
		{condition.GitRefs, `"refs/heads/agent/**"`, "refs/heads/agent/a/b", yes, yes},
		{condition.GitRefs, `"refs/heads/agent/*"`, "refs/heads/agent/a/b", no, no},
		{condition.GitRefs, `"refs/heads/**"`, "refs/tags/v1", no, no},
		{condition.GitRefs, `"**"`, "refs/tags/v1", yes, yes},
		{condition.GitRefs, `"**"`, "HEAD", doubt, doubt},
		{condition.URLPath, `"/api/*"`, "/api/x/y", yes, yes},
		{condition.URLPath, `"/api/*"`, "/apix", no, no},
		{condition.URLPath, `"*"`, "/api/../x", doubt, doubt},
		{condition.URLPath, `"/a"`, "/a", yes, yes},
		{condition.Command, `"git push"`, "git push origin", yes, yes},
		{condition.Command, `"git push"`, "git pushx", no, no},
		{condition.Command, `"git   push"`, "git push", yes, yes},
		{condition.Command, `"git push *"`, "git push", no, no},
		{condition.Recipients, `"*@example.com"`, "a@example.com", yes, yes},
		{condition.Recipients, `"*@example.com"`, "A+b@EXAMPLE.com", yes, yes},
		{condition.Recipients, `"*@example.com"`, "a@mail.example.com", no, no},
		{condition.Recipients, `"ann@example.com"`, "ann@example.com", yes, yes},
		{condition.Recipients, `"ann@example.com"`, "Ann@example.com", yes, no},
		{condition.Recipients, `{"neq": "ann@example.com"}`, "Ann@example.com", yes, no},
		{condition.Recipients, `"ann@example.com"`, "ann@example.com ", doubt, doubt},
		{condition.Scheme, `"https"`, "https", yes, yes},
		{condition.Scheme, `["https", "wss"]`, "http", no, no},
		{condition.Scheme, `{"neq": "https"}`, "http", yes, yes},
		{condition.Method, `{"or": "GET", "in": ["GET"]}`, "POST", no, no},
	} {
		facets := map[condition.Facet]condition.Set{row.facet: condition.KnownSet(row.value)}
		judgeAll(t, []on{{fmt.Sprintf(`{%q: %s}`, row.facet, row.matcher), fmt.Sprintf(`{"value": %q}`, row.value), row.restricts, row.allow}}, facets)
	}
}

// TestLike: like is a regular expression in which * is .* and ? is one character (S21.1).
func TestLike(t *testing.T) {
	t.Parallel()
	matched := 0
	randtest.Check(t, func(r *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab*?ä.\n")), 1, 8, -1).Draw(r, "pattern")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abä.\n*?")), 0, 8, -1).Draw(r, "text")
		expression := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
		want := condition.Of(regexp.MustCompile(`(?s)^` + expression + `\z`).MatchString(text))
		c := read(t, `{"/a": {"like": `+document.StringValue(pattern).String()+`}}`, condition.Allows)
		if got := c.Judge(call{input: `{"a": ` + document.StringValue(text).String() + `}`}, condition.Allows); got != want {
			r.Fatalf("%q of %q: %v, want %v", pattern, text, got, want)
		}
		if want == yes {
			matched++
		}
	})
	if matched == 0 {
		t.Error("no pattern matched")
	}
}
