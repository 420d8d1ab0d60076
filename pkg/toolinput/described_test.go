package toolinput_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/sqlscan"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

func tools(t *testing.T, text string) ([]string, toolinput.Tools, document.Problems) {
	t.Helper()
	v, problem := document.Parse([]byte(`{"tools":`+text+`}`), document.Limits{})
	if problem != nil {
		t.Fatal(text, problem)
	}
	var r document.Report
	names, described := toolinput.ReadTools(document.Fields{Report: &r, Value: v}, 5)
	return names, described, r.Problems()
}

// TestReadTools: descriptions are read as they are written (S21.14).
func TestReadTools(t *testing.T) {
	t.Parallel()
	names, described, problems := tools(t, `{"pay": {"money": {"amount": "/amount", "currency": "=EUR", "unit": "minor"}, "hosts": [], "closed": true},
		"mcp__db__query": {"sql": {"text": "/q", "dialect": "mysql"}}, "Deploy": {}}`)
	if len(problems) > 0 || len(names) != 3 {
		t.Fatal(names, problems)
	}
	pay, query := described["pay"], described["mcp__db__query"]
	if m := pay.Money; m == nil || *m != (toolinput.Amount{Amount: "/amount", Currency: "=EUR", Minor: true}) || !pay.Closed {
		t.Errorf("money: %+v", pay)
	}
	if pay.Hosts == nil || pay.URLs != nil {
		t.Errorf("an empty list says that there are none, and a missing one nothing: %+v", pay)
	}
	if s := query.SQL; s == nil || s.Text != "/q" || s.Dialect != sqlscan.MySQL {
		t.Errorf("sql: %+v", query)
	}
	if names, described, problems := tools(t, `["a", "b"]`); len(names) != 2 || described != nil || len(problems) > 0 {
		t.Errorf("names alone: %v %v %v", names, described, problems)
	}
}

// TestReadToolsTeaches: each mistake has its place and the fix in its text (S21.14).
func TestReadToolsTeaches(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`"x"`:     `/tools: TYPE: "tools" must be a list, not a string; list names of tools, or describe them`,
		`["a b"]`: `/tools/0: NAME`,
		`{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{}}`: `TOO_MANY`,
		`{"":{}}`:                  `EMPTY`,
		`{"a":{"urls":"/url"}}`:    `or [] for a tool that has none`,
		`{"a":{"urls":["url"]}}`:   `begin it with /, such as /url`,
		`{"a":{"urls":["$.url"]}}`: `such as /url`,
		`{"a":{"method":"GET"}}`:   `behind =, such as "=GET"`,
		`{"a":{"method":"=get"}}`:  `write "=GET"`,
		`{"a":{"URLs":["/url"]}}`:  `did you mean "urls"?`,
		`{"a":{"url":["/url"]}}`:   `did you mean "urls"?`,
		`{"a":{"money":{"amount":"/a","currency":"usd","unit":"minor"}}}`: `such as "=USD"`,
		`{"WebFetch":{"hosts":[]}}`:                                       `are known, and cannot be described otherwise`,
		`{"get_state":{"hosts":[]}}`:                                      `are known, and cannot be described otherwise`,
		`{"webfetch":{"hosts":[]}}`:                                       `are known, and cannot be described otherwise`,
	} {
		_, _, problems := tools(t, source)
		if !problems.HasErrors() || !strings.Contains(text(problems), want) {
			t.Errorf("%s: %v, want %s", source, problems, want)
		}
	}
}

// TestCurrencies: units are those of ISO 4217, and unknown where there is none (S21.13).
func TestCurrencies(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"USD": 2, "usd": 2, "JPY": 0, "kwd": 3, "CLF": 4, "XAU": -1, "XXX": -1, "": -1, "US": -1, "uſd": -1, "USD\t": -1} {
		if digits, known := toolinput.MinorDigits(code); known != (want >= 0) || known && digits != want {
			t.Errorf("%q has %d decimals (%v), want %d", code, digits, known, want)
		}
	}
	if !toolinput.MinorDisputed("mga") || toolinput.MinorDisputed("USD") || toolinput.MinorDisputed("") || toolinput.MinorDisputed("USD EUR") {
		t.Error("the disputed currencies are others")
	}
}

func text(problems document.Problems) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.Pointer + ": " + p.Code + ": " + p.Message + "\n")
	}
	return b.String()
}
