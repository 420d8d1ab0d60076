package condition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// trick is a rule that denies, one that allows, and inputs that a server could read as the call that the rule is there to stop.
type trick struct {
	deny, allow string
	inputs      []string
}

var tricks = []trick{
	// An amount above 100.
	{`{"/amount": {"gt": 100}}`, `{"/amount": {"gte": 0, "lte": 100}}`, []string{
		`{"amount": 101}`, `{"amount": "101"}`, `{"amount": " 101"}`, `{"amount": "1e9"}`, `{"amount": [101]}`, `{"amount": {"value": 101}}`,
		`{"amount": true}`, `{"amount": null}`, `{}`, `{"Amount": 101}`, `{"amount": 1, "Amount": 101}`, `{"AMOUNT": 101, "amount": 1}`,
		`{"amount": 1, "amount": 101}`, `{"amount": 101, "amount": 1}`, `{"amount": 1, "am\u006funt": 101}`, `{"amount": 1, "amount\u0000": 101}`,
		`{"amount": 1, " amount": 101}`, `{"amount": 1, "amount\u200b": 101}`, `{"amount": 1, "\u0430mount": 101}`, `{"amount": 1, "\uff41mount": 101}`,
		`{"amount": 1e2000}`, `{"amount": 100.0000000000000000001}`, `{"amount": 1e3}`, `{"amount": 1000000E-3}`, `{"amount": "0x65"}`, `{"amount": "١٠١"}`,
		`{"amount": "{\"value\": 101}"}`, `{"input": {"amount": 101}}`, `[{"amount": 101}]`, `{"amount": 1}{"amount": 101}`, `{"amount": 1} x`,
		`{"amount": 1, /* "amount": 101 */}`, `{"amount": 101,}`, `{'amount': 101}`, `{"amount": 0101}`, `{"amount": .101e3}`, `{"amount": NaN}`, "\ufeff{\"amount\": 101}",
	}},
	// A price above 50 in one of the items.
	{`{"/items/*/price": {"gt": 50}}`, `{"/items/*/price": {"lte": 50}}`, []string{
		`{"items": [{"price": 51}]}`, `{"items": [{"price": 1}, {"price": 51}]}`, `{"items": [{"price": 1}, {"Price": 51}]}`, `{"items": [{"price": 1}, {"price": "51"}]}`,
		`{"items": [{"price": 1}, {}]}`, `{"items": [{"price": 1}, null]}`, `{"items": [{"price": 1}, [{"price": 51}]]}`, `{"items": {"price": 51}}`,
		`{"items": {"0": {"price": 51}}}`, `{"items": "[{\"price\": 51}]"}`, `{"items": [{"price": 1}, "{\"price\": 51}"]}`, `{"items": null}`, `{"items": 51}`, `{}`,
		`{"items": [{"price": 1}], "Items": [{"price": 51}]}`, `{"items": [{"price": 1}], "items": [{"price": 51}]}`, `{"items": [{"price": 1, "price": 51}]}`,
		`{"items": [{"price": [51]}]}`, `{"items": [` + strings.Repeat(`{"price": 1}, `, 256) + `{"price": 51}]}`, `{"items": [{"price": true}]}`,
	}},
	// A role other than reader.
	{`{"/role": {"neq": "reader"}}`, `{"/role": "reader"}`, []string{
		`{"role": "admin"}`, `{"role": "Reader"}`, `{"role": "reader "}`, `{"role": "reader\u0000"}`, `{"role": "re\u200bader"}`, `{"role": "re\u0430der"}`,
		`{"role": ["reader", "admin"]}`, `{"role": ["admin"]}`, `{"role": {"name": "admin"}}`, `{"role": "reader,admin"}`, `{"role": "reader;admin"}`, `{"role": 1}`,
		`{"role": null}`, `{"role": true}`, `{}`, `{"Role": "admin"}`, `{"role": "reader", "ROLE": "admin"}`, `{"role": "reader", "role": "admin"}`,
		`{"role": "reader", "role ": "admin"}`, `{"role": "reader", "ro\u200dle": "admin"}`, `{"role": "*"}`, `{"role": "read\u0065r\n"}`, `{"role": "\"reader\""}`,
	}},
	// A recipient outside of the firm.
	{`{"not": {"/to/*": {"like": "*@example.com"}}}`, `{"/to/*": ["a@example.com", "b@example.com"]}`, []string{
		`{"to": ["eve@evil.org"]}`, `{"to": ["a@example.com", "eve@evil.org"]}`, `{"to": "eve@evil.org"}`, `{"to": "a@example.com"}`, `{"to": []}`, `{"to": null}`, `{}`,
		`{"to": [["eve@evil.org"]]}`, `{"to": [{"email": "eve@evil.org"}]}`, `{"to": "[\"eve@evil.org\"]"}`, `{"to": ["a@example.com"], "To": ["eve@evil.org"]}`,
		`{"to": ["a@example.com"], "TO": "eve@evil.org"}`, `{"to": ["a@example.com"], "to": ["eve@evil.org"]}`, `{"to": ["a@example.com.evil.org"]}`,
		`{"to": ["a@example.com, eve@evil.org"]}`, `{"to": ["a@example.com", 1]}`, `{"to": ["a@example.com", null]}`, `{"to": ["A@EXAMPLE.ORG"]}`, `{"to": {"0": "eve@evil.org"}}`,
	}},
	// A flag that must stay off.
	{`{"/force": true}`, `{"/force": false}`, []string{
		`{"force": true}`, `{"force": "true"}`, `{"force": 1}`, `{"force": "yes"}`, `{"force": [true]}`, `{"force": {}}`, `{"force": null}`, `{}`, `{"Force": true}`,
		`{"force": false, "Force": true}`, `{"force": false, "force": true}`, `{"force": false, "f\u006frce": true}`, `{"force": false, "force_": true}`,
		`{"force": false, "--force": true}`, `{"force": "false"}`, `{"force": 0}`, `{"force": "1"}`, `{"force": "on"}`,
	}},
	// A nested option: {"options": {"delete": ...}} must not be there.
	{`{"/options/delete": {"exists": true}}`, `{"/options/delete": {"not_exists": true}}`, []string{
		`{"options": {"delete": true}}`, `{"options": {"delete": false}}`, `{"options": {"Delete": true}}`, `{"options": "{\"delete\": true}"}`, `{"options": "delete=true"}`,
		`{"options": [{"delete": true}]}`, `{"Options": {"delete": true}}`, `{"options": {}, "OPTIONS": {"delete": true}}`, `{"options": {"delete ": 1}}`,
		`{"options": {}, "options": {"delete": true}}`, `{"options": {"d\u0435lete": 1}}`, `{"options": {"delete\u0000": 1}}`, `{"options": {"de_lete": 1}}`,
	}},
	// A word anywhere.
	{`{"anywhere": {"like": "*DROP*"}}`, `{"/q": {"like": "SELECT *"}}`, []string{
		`{"q": "DROP"}`, `{"x": {"y": ["DROP"]}}`, `{"DROP": 1}`, `{"q": "{\"a\": \"DR\\u004fP\"}"}`, `{"q": "[\"[\\\"DROP\\\"]\"]"}`, `{"q": "{\"DR\\u004fP\": 1}"}`,
		`{"q": "DR\u004fP"}`, `{"q": "\u0044ROP", "q": "x"}`, `{"q": "{\"a\": 1, \"a\": \"DR\\u004fP\"}"}`, `{"q": "x DROP", "p": "x"}`, `{"q": ["x", {"z": "xDROPx"}]}`,
	}},
}

// TestTricks: no input makes a rule miss the call that it is there to stop. One that denies is true or in doubt, and one that
// allows is false or in doubt (S21.3, S21.4).
func TestTricks(t *testing.T) {
	t.Parallel()
	n := 0
	for _, row := range tricks {
		deny, allow := read(t, row.deny, condition.Restricts), read(t, row.allow, condition.Allows)
		only, unless := read(t, `{"not": `+row.allow+`}`, condition.Restricts), condition.Clause{Unless: allow}
		for _, input := range row.inputs {
			n++
			holdTrick(t, input, call{input: input}, deny, allow)
			if only.Judge(call{input: input}, condition.Restricts) == no || unless.Applies(call{input: input}, condition.Restricts) == no {
				t.Errorf("deny unless %s misses %s", row.allow, input)
			}
		}
	}
	if n < 130 {
		t.Errorf("%d tricks", n)
	}
}

func holdTrick(t *testing.T, what string, on call, deny, allow *condition.Condition) {
	t.Helper()
	if deny.Judge(on, condition.Restricts) == no {
		t.Errorf("deny %s misses %s; %+v", deny.Value(), what, deny.Explain(on, condition.Restricts))
	}
	if allow.Judge(on, condition.Allows) == yes {
		t.Errorf("allow %s takes %s; %+v", allow.Value(), what, allow.Explain(on, condition.Allows))
	}
}

// TestTricksOfFacets does the work of TestTricks for values of facets.
func TestTricksOfFacets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		facet       condition.Facet
		deny, allow string
		values      []string
	}{
		{condition.Writes, `{"writes": ["**/.env*"]}`, `{"writes": ["src/**"]}`, []string{
			".env", "a/.env.local", "/home/x/.env", "../.env", "a/.ENV", ".Env", "src/a\x00/.env", "../../x/.env",
		}},
		{condition.Writes, `{"writes": ["/etc/**"]}`, `{"writes": ["src/**"]}`, []string{
			"/etc/passwd", "/etc/cron.d/x", "../../etc/passwd", "../etc/passwd", "/ETC/passwd", "src/\x00",
		}},
		{condition.Host, `{"not": {"host": ["docs.example", "*.docs.example"]}}`, `{"host": ["docs.example", "*.docs.example"]}`, []string{
			"evil.org", "docs.example.evil.org", "evildocs.example", "docs.example.", "DOCS.EXAMPLE", "docs.example:80", "docs.example@evil.org", "user@docs.example",
			".docs.example", "a..docs.example", "docs.example/x", "docs.example\\@evil.org", "docs。example", "ｄocs.example", "d%6fcs.example", "", " docs.example",
			"docs.example\n", "-x.docs.example", "x-.docs.example", "2130706433", "127.1", "0x7f.1", "017700000001", "[::1]", "::1%eth0", "xn--docs.example.", "docs.exam\u200bple",
		}},
		{condition.IP, `{"ip": {"within": ["private", "loopback", "link-local"]}}`, `{"ip": {"within": ["8.8.8.0/24"]}}`, []string{
			"10.0.0.1", "127.0.0.1", "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "169.254.169.254", "0.0.0.0", "::", "::1", "fe80::1", "fe80::1%eth0", "fd00::1",
			"192.168.0.1", "172.31.255.255", "100.100.100.200", "", "localhost", "10.0.0.01", "10.0.0.1/8", " 10.0.0.1",
		}},
		{condition.Recipients, `{"not": {"recipients": ["*@example.com"]}}`, `{"recipients": ["*@example.com"]}`, []string{
			"eve@evil.org", "a@example.com@evil.org", "a%evil.org@example.com", "a!evil.org@example.com", "a@example.com.evil.org", "a@sub.example.com", "a@example.com, b@evil.org",
			"a@example.com;b@evil.org", "<eve@evil.org> a@example.com", "\"a@evil.org\"@example.com", "a@example.com.", "a@[127.0.0.1]", "a@example。com", "@evil.org:a@example.com",
			"example.com", "@example.com", "a@", "", "a b@example.com", "a\n@example.com", ".a@example.com", "a..b@example.com", "a@exаmple.com", "a@example.com\x00",
		}},
		{condition.GitRefs, `{"git.refs": ["refs/heads/main"]}`, `{"git.refs": ["refs/heads/agent/**"]}`, []string{
			"refs/heads/main", "main", "heads/main", "HEAD", "refs/heads/agent/../main", "refs//heads/main", "refs/heads/*", "+refs/heads/main", "refs/heads/main:refs/heads/x",
			"", "refs/heads/ma?n", "refs/heads/main~1", "refs/heads/main^0",
		}},
		{condition.URLPath, `{"path": ["/admin", "/admin/*"]}`, `{"path": ["/public/*"]}`, []string{
			"/admin", "/admin/x", "/public/../admin", "/public/./../admin", "//admin", "/%61dmin", "/public/%2e%2e/admin", "/public/..;/admin", "\\admin", "/public\\..\\admin", "admin",
			"", "/admin?x", "/public/x/../../admin/..", "/public/..", "/public/\u2025/admin", "/admin/.", "/public/..%00/admin",
		}},
		{condition.Command, `{"command": {"like": "git push *"}}`, `{"command": ["git status", "ls"]}`, []string{
			"git push origin main", "git push --force", "git \uFFFD", "\uFFFD", "git push \uFFFD", "git push  origin", "git \uFFFD origin",
		}},
		{condition.SQLKinds, `{"sql.kinds": ["delete", "ddl"]}`, `{"sql.kinds": ["select"]}`, []string{"delete", "ddl"}},
	} {
		deny, allow := read(t, row.deny, condition.Restricts), read(t, row.allow, condition.Allows)
		for _, v := range row.values {
			harmless := harmlessOf[row.facet]
			for i, elements := range [][]condition.Element{
				{element(v)}, {element(harmless), element(v)}, {element(v), element(harmless)}, {element(harmless, v)}, {element(v, harmless)}, {unsure(element(v)), element(harmless)},
			} {
				on := call{facets: map[condition.Facet]condition.Set{row.facet: {Known: true, Values: elements}}}
				holdTrick(t, fmt.Sprintf("%q in form %d", v, i), on, deny, allow)
			}
		}
		partial := call{facets: map[condition.Facet]condition.Set{row.facet: {Values: []condition.Element{element(harmlessOf[row.facet])}}}}
		holdTrick(t, "a list that is not complete", partial, deny, allow)
	}
}

// harmlessOf has a value of each facet that the rules of TestTricksOfFacets let pass.
var harmlessOf = map[condition.Facet]string{
	condition.Writes: "src/a.go", condition.Host: "docs.example", condition.IP: "8.8.8.8", condition.Recipients: "a@example.com",
	condition.GitRefs: "refs/heads/agent/x", condition.URLPath: "/public/x", condition.Command: "ls -l", condition.SQLKinds: "select",
}

// TestHarmlessPass: the rules of TestTricksOfFacets do not deny everything.
func TestHarmlessPass(t *testing.T) {
	t.Parallel()
	for f, v := range harmlessOf {
		on := call{facets: map[condition.Facet]condition.Set{f: {Known: true, Values: []condition.Element{element(v)}}}}
		if f == condition.Command {
			v = "ls"
		}
		text := document.StringValue(v).String()
		if got := read(t, fmt.Sprintf(`{%q: %s}`, f, text), condition.Allows).Judge(on, condition.Allows); got != yes {
			t.Errorf("%s %s: %v", f, v, got)
		}
	}
	judgeAll(t, []on{
		{`{"/amount": {"gt": 100}}`, `{"amount": 100}`, no, no},
		{`{"/items/*/price": {"gt": 50}}`, `{"items": [{"price": 50}]}`, no, no},
		{`{"/role": {"neq": "reader"}}`, `{"role": "reader"}`, no, no},
		{`{"/force": true}`, `{"force": false}`, no, no},
		{`{"/options/delete": {"exists": true}}`, `{"options": {}}`, no, no},
	}, nil)
}
