package toolcall_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func lineInput(t *testing.T, line string) []byte {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	return input
}

// S9.6, R2: the pattern of a lease is an entry of allowed_commands, and a doubtful line
// does not match it.
func TestLeasePatternOfCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{"git push *", "git push origin main", true},
		{"git push *", "git push", false},
		{"git push", "git push", true},
		{"git push", "git push origin main", true},
		{"git push", "git pushx", false},
		{"git push *", "git pull origin", false},
		{"git push *", "git push origin a && git push origin b", false},
		{"git push *", "git push origin a 2>&1", true},
		{"git push *", "git push origin a >/dev/null 2>&1", true},
		{"git push *", "git push origin a &>/dev/null", true},
		{"git push *", "git push origin a </dev/null", false},
		{"git push *", "git push origin a 3>/dev/null", false},
		{"git push *", "git push origin a 0>&1", false},
		{"git push *", "git push origin a >&$FD", false},
		{"git push *", "git push origin a 2>&-", false},
		{"git push *", "while git push origin a; do git push origin b; done", false},
		{"git push *", "for x in 1 2 3; do git push origin a; done", false},
		{"git push *", "until git push origin a; do :; done", false},
		{"git push *", "if git push origin a; then git push origin b; fi", false},
		{"git push *", "while git push origin a; do git push origin a; done", false},
		{"git push *", "git push origin a; git push origin b", false},
		{"git push *", "git push origin a\ngit push origin b", false},
		{"git push *", "git push origin a || git push origin b", false},
		{"git push *", "git push origin a | git push origin b", false},
		{"git push *", "git push origin a &", false},
		{"git push *", "coproc git push origin a", false},
		{"git push *", "(git push origin a)", false},
		{"git push *", "{ git push origin a; }", false},
		{"git push *", "! git push origin a", false},
		{"git push *", "time git push origin a", false},
		{"git push *", "f() { git push origin a; }", false},
		{"git push", "git push <(git push)", false},
		{"git push", "git push `git push`", false},
		{"git push", "git push origin ${x:-$(git push)}", false},
		{"psql -d app", "psql -d app", true},
		{"psql -d app", "psql -d app --csv 2>&1", true},
		{"psql -d app", "psql -d app <<< 'drop table x'", false},
		{"psql -d app", "psql -d app < drop.sql", false},
		{"psql -d app", "psql -d app 0<drop.sql", false},
		{"psql -d app", "psql -d app <&3", false},
		{"psql -d app", "psql -d app <> drop.sql", false},
		{"psql -d app", "psql -d app << EOF\ndrop table x\nEOF", false},
		{"psql -d app", "psql -d app <<-EOF\ndrop table x\nEOF", false},
		{"psql -d app", "<<< 'drop table x' psql -d app", false},
		{"psql -d app", "{ psql -d app; } <<< 'drop table x'", false},
		{"psql -d app", "psql -d app < <(psql -d app)", false},
		{"psql -d app", "psql -d app -c 'drop table x'", false},
		{"psql -d app", "psql -d app -tc 'drop table x'", false},
		{"psql -d app", "psql -d app --comm='drop table x'", false},
		{"psql -d app", "psql -d app -f drop.sql", false},
		{"psql -d app -c", "psql -d app -c 'select 1'", true},
		{"sqlite3 app.db", "sqlite3 app.db 'drop table x'", false},
		{"kubectl apply -f *", "kubectl apply -f a.yaml", true},
		{"kubectl apply -f *", "kubectl apply -f - <<< 'kind: Secret'", false},
		{"kubectl apply -f *", "kubectl apply -f - < a.yaml", false},
		{"kubectl apply -f *", "kubectl apply -f - <<EOF\nkind: Secret\nEOF", false},
		{"git push *", "git push origin a; rm -rf /", false},
		{"git push *", "rm -rf / | git push origin", false},
		{"git push *", "git push $(rm x)", false},
		{"git push", "git push $(rm x)", false},
		{"git push *", "git push $BRANCH", false},
		{"git push *", "git push origin > out", false},
		{"git push *", "git push origin a >> ~/.bashrc", false},
		{"git push *", "FOO=1 git push origin", false},
		{"git push *", "GIT_SSH_COMMAND=evil git push origin", false},
		{"git push *", "export GIT_SSH_COMMAND=evil; git push origin", false},
		{"git push *", "sh -c 'git push origin'", false},
		{"git push *", "", false},
		{"git push *", "git push 'unclosed", false},
		{"git push *", "cd x && git push origin", false},
		{"npm run build", "npm run build", true},
	} {
		p, err := toolcall.NewLeaseRule(nil, "Bash", c.pattern, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(nil, toolcall.Call{Tool: "Bash", Input: lineInput(t, c.line)}, ""); got != c.want {
			t.Errorf("%q, %q: %t", c.pattern, c.line, got)
		}
	}
	p, err := toolcall.NewLeaseRule(nil, "Bash", "git push", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Match(nil, toolcall.Call{Tool: "Bash", Input: []byte(`{"command":"git push","run_in_background":false,"description":"d"}`)}, "") {
		t.Error("a call that waits for its end does not match")
	}
	for _, call := range []toolcall.Call{
		{Tool: "Bash"},
		{Tool: "Bash", Input: []byte(`{}`)},
		{Tool: "Bash", Input: []byte(`{"command":"git push","env":{"A":"b"}}`)},
		{Tool: "Bash", Input: []byte(`{"command":"git push","cwd":"/elsewhere"}`)},
		{Tool: "Bash", Input: []byte(`{"command":"git push","run_in_background":true}`)},
		{Tool: "run_shell_command", Input: []byte(`{"command":"git push","is_background":true}`)},
		{Tool: "runInTerminal", Input: []byte(`{"command":"git push","isBackground":true}`)},
		{Tool: "Bash", Input: []byte(`{"command":"git push","background":true}`)},
		{Tool: "Bash", Input: []byte(`{"command":"git push","runInBackground":true}`)},
		{Tool: "Bash", Input: []byte(`{"command":"git push","run_in_background":false,"run_in_background":true}`)},
		{Tool: "Bash", Input: []byte(`{"command":"git push","persistent":true}`)},
		{Tool: "exec_command", Input: []byte(`{"cmd":"git push","yield_time_ms":1}`)},
		{Tool: "Monitor", Input: []byte(`{"command":"git push"}`)},
		{Tool: "powershell", Input: lineInput(t, "git push")},
		{Tool: "Write", Input: []byte(`{"command":"git push"}`)},
	} {
		if p.Match(nil, call, "") {
			t.Errorf("it matches %s %s", call.Tool, call.Input)
		}
	}
	for _, pattern := range []string{"@inert", "*", "* push", "g?t push", "[g]it push", " ", ""} {
		if _, err := toolcall.NewLeaseRule(nil, "Bash", pattern, nil); err == nil {
			t.Errorf("%q names a program", pattern)
		}
	}
}

// withFacts returns a call with its facts.
func withFacts(tool, input string) toolcall.Call {
	return toolcall.Call{Tool: tool, Input: []byte(input), Facts: facet.Of(facet.Subject{Tool: tool, Input: []byte(input)})}
}

// TestLeaseOnly: S9.6, S21.16: the condition of a lease must hold for a call, and what it does not name is as in the call that
// was asked about.
func TestLeaseOnly(t *testing.T) {
	t.Parallel()
	const (
		file   = `{"path":"docs/a.md","content":"x"}`
		refund = `{"amount":100,"currency":"usd"}`
		mail   = `{"to":["a@example.com"],"subject":"s"}`
		items  = `{"items":[{"id":1,"price":10,"currency":"eur"},{"id":1,"price":20,"currency":"eur"}],"note":"n"}`
	)
	for _, c := range []struct {
		only, asked, input string
		want               bool
	}{
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, file, true},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{ "content": "x", "path": "docs/b.md" }`, true},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md","content":"y"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/c.md","content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/../docs/b.md","content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/../../etc/cron.d/x","content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"./docs/b.md","content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md\u0000","content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/B.md","content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":["docs/b.md"],"content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":{"docs/b.md":1},"content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":null,"content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"content":"x"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, ``, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md","content":"x","path2":"/etc/passwd"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md","content":"x","Path":"/etc/passwd"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md","content":"x","path":"/etc/passwd"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md","content":"x","p\u0061th":"/etc/passwd"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md","content":"x","p\u0430th":"/etc/passwd"}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md","content":"x","overwrite":true}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md","content":"x","x":null}`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `{"path":"docs/b.md","content":"x"`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `[1]`, false},
		{`{"/path":["docs/a.md","docs/b.md"]}`, file, `"{\"path\":\"docs/b.md\",\"content\":\"x\"}"`, false},
		{`{"/path":["docs/a.md"],"/content":{"exists":true}}`, file, `{"path":"docs/a.md","content":"../ % \u0000"}`, true},
		{`{"/path":["docs/a.md"],"/content":{"exists":true}}`, file, `{"path":"docs/a.md","content":{"any":1}}`, true},
		{`{"/path":["docs/a.md"],"/content":{"exists":true}}`, file, `{"path":"docs/a.md","content":null}`, false},
		{`{"/path":["docs/a.md"],"/content":{"exists":true}}`, file, `{"path":"docs/a.md"}`, false},
		{`{"/path":["docs/a.md"],"/content":{"exists":true}}`, file, `{"path":"docs/a.md","content":"y","CONTENT":"z"}`, false},
		{`{"/path":["docs/a.md"],"/content":{"length":{"lte":3}}}`, file, `{"path":"docs/a.md","content":"yyy"}`, true},
		{`{"/path":["docs/a.md"],"/content":{"length":{"lte":3}}}`, file, `{"path":"docs/a.md","content":"yyyy"}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":99.5,"currency":"usd"}`, true},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":1e2,"currency":"usd"}`, true},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":1000000,"currency":"usd"}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":1e9,"currency":"usd"}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":100.00000000000000001,"currency":"usd"}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":-5,"currency":"usd"}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":"50","currency":"usd"}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":[50],"currency":"usd"}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":50,"currency":"jpy"}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":50}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":50,"currency":"usd","amount_cents":900000}`, false},
		{`{"/amount":{"gte":1,"lte":100}}`, refund, `{"amount":50,"Amount":900000,"currency":"usd"}`, false},
		{`{"/currency":"usd"}`, refund, `{"amount":101,"currency":"usd"}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":["b@example.com"],"subject":"s"}`, true},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":["b@example.com","a@example.com"],"subject":"s"}`, true},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":["eve@evil.org","a@example.com"],"subject":"s"}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":["a@example.com","eve@evil.org"],"subject":"s"}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":["a@example.com,eve@evil.org"],"subject":"s"}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":["A@example.com"],"subject":"s"}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":"a@example.com","subject":"s"}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":[],"subject":"s"}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":[["a@example.com"]],"subject":"s"}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":["a@example.com"],"subject":"s","bcc":["eve@evil.org"]}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"bcc":["eve@evil.org"],"to":["a@example.com"],"subject":"s"}`, false},
		{`{"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":["a@example.com"],"subject":"t"}`, false},
		{`{"/to":{"count":1},"/to/*":["a@example.com","b@example.com"]}`, mail, `{"to":["a@example.com","b@example.com"],"subject":"s"}`, false},
		{`{"/to/0":["a@example.com","b@example.com"]}`, mail, `{"to":["b@example.com"],"subject":"s"}`, true},
		{`{"/to/0":["a@example.com","b@example.com"]}`, mail, `{"to":["b@example.com","eve@evil.org"],"subject":"s"}`, false},
		{`{"/items/*/price":{"lte":50}}`, items, `{"items":[{"id":1,"price":50,"currency":"eur"}],"note":"n"}`, true},
		{`{"/items/*/price":{"lte":50}}`, items, `{"items":[{"id":1,"price":5,"currency":"eur"},{"id":1,"price":6,"currency":"eur"},{"id":1,"price":7,"currency":"eur"}],"note":"n"}`, true},
		{`{"/items/*/price":{"lte":50}}`, items, `{"items":[{"id":1,"price":5,"currency":"eur"},{"id":1,"price":51,"currency":"eur"}],"note":"n"}`, false},
		{`{"/items/*/price":{"lte":50}}`, items, `{"items":[{"id":1,"price":5,"currency":"eur"},{"id":2,"price":5,"currency":"eur"}],"note":"n"}`, false},
		{`{"/items/*/price":{"lte":50}}`, items, `{"items":[{"id":1,"price":5,"currency":"usd"}],"note":"n"}`, false},
		{`{"/items/*/price":{"lte":50}}`, items, `{"items":[{"id":1,"price":5,"currency":"eur","quantity":900}],"note":"n"}`, false},
		{`{"/items/*/price":{"lte":50}}`, items, `{"items":[{"id":1,"currency":"eur"}],"note":"n"}`, false},
		{`{"/items/*/price":{"lte":50}}`, items, `{"items":{"id":1,"price":5,"currency":"eur"},"note":"n"}`, false},
		{`{"/items/*/price":{"lte":50}}`, items, `{"items":[{"id":1,"price":5,"currency":"eur"},9],"note":"n"}`, false},
		{`{"/user/name":["ann","bob"]}`, `{"user":{"name":"ann","role":"reader"}}`, `{"user":{"name":"bob","role":"reader"}}`, true},
		{`{"/user/name":["ann","bob"]}`, `{"user":{"name":"ann","role":"reader"}}`, `{"user":{"name":"bob","role":"admin"}}`, false},
		{`{"/user/name":["ann","bob"]}`, `{"user":{"name":"ann","role":"reader"}}`, `{"user":{"name":"bob"}}`, false},
		{`{"/user/name":["ann","bob"]}`, `{"user":{"name":"ann","role":"reader"}}`, `{"user":"bob"}`, false},
		{`{"/user/name":["ann","bob"]}`, `{"user":{"name":"ann","role":"reader"}}`, `{"user":"{\"name\":\"bob\",\"role\":\"reader\"}"}`, false},
		{`{"any":[{"/path":"docs/a.md"},{"/path":"docs/b.md"}]}`, file, `{"path":"docs/b.md","content":"x"}`, true},
		{`{"any":[{"/path":"docs/a.md"},{"/path":"docs/b.md"}]}`, file, `{"path":"docs/b.md","content":"z"}`, false},
		{`{"all":[{"/path":{"exists":true}},{"/content":"x"}]}`, file, `{"path":"/etc/passwd","content":"x"}`, true}, // as the approver has said
		{`{"all":[{"/path":{"exists":true}},{"/content":"x"}]}`, file, `{"path":"/etc/passwd","content":"y"}`, false},
		{`{"/mode":{"or":"w","in":["w"]}}`, file, file, true},
		{`{"/mode":{"or":"w","in":["w"]}}`, file, `{"path":"docs/a.md","content":"x","mode":"w"}`, true},
		{`{"/mode":{"or":"w","in":["w"]}}`, file, `{"path":"docs/a.md","content":"x","mode":"a"}`, false},
		{`{"writes":["docs/**"],"/path":{"exists":true}}`, file, file, false}, // nobody has described the tool
	} {
		rule, err := toolcall.NewLeaseRule(nil, "mcp__fs__write", "", []byte(c.only))
		if err != nil {
			t.Errorf("%s: %v", c.only, err)
			continue
		}
		rest := rule.Rest([]byte(c.asked))
		if got := rule.Match(nil, withFacts("mcp__fs__write", c.input), rest); got != c.want {
			t.Errorf("%s, asked %s, %s: %t", c.only, c.asked, c.input, got)
		}
		if rule.Match(nil, toolcall.Call{Tool: "mcp__fs__write", Input: []byte(c.input)}, rest) || rule.Match(nil, withFacts("mcp__fs__write", c.input), "") {
			t.Errorf("%s, %s: it matches without facts or without the rest", c.only, c.input)
		}
	}
}

// TestLeaseOnlyRefuses: S21.16: a lease compares texts of the input exactly, and says how to write it otherwise.
func TestLeaseOnlyRefuses(t *testing.T) {
	t.Parallel()
	for only, want := range map[string]string{
		`{"/path":{"like":"docs/*"}}`:                              `writes`,
		`{"/path":{"contains":"docs/"}}`:                           `writes`,
		`{"/path":{"neq":"/etc/passwd"}}`:                          `list the values`,
		`{"/path":{"gte":"docs/","lt":"docs0"}}`:                   `list the values`,
		`{"not":{"/path":["/etc/passwd"]}}`:                        `list the values`,
		`{"all":[{"any":[{"not":{"not":{"/p":{"like":"x*"}}}}]}]}`: `list the values`,
		`{"anywhere":{"contains":"x"}}`:                            `anywhere`,
		`{"time":"work"}`:                                          `windows`,
		`{"amount":{"lte":1}}`:                                     `/amount`,
		`{"/amount":1*}`:                                           `not JSON`,
		`{"/a":1,"/a":2}`:                                          `not JSON`,
		`{}`:                                                       `empty`,
		`[]`:                                                       `object`,
		`"/path"`:                                                  `object`,
		``:                                                         `"only"`,
	} {
		if _, err := toolcall.NewLeaseRule(nil, "mcp__fs__write", "", []byte(only)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", only, err, want)
		}
	}
	if _, err := toolcall.NewLeaseRule(nil, "mcp__fs__write", `{"path":"docs/*"}`, []byte(`{"/path":"a"}`)); err == nil || !strings.Contains(err.Error(), "only") {
		t.Errorf("a pattern of an input: %v", err)
	}
	if _, err := toolcall.NewLeaseRule(nil, "Bash", "", []byte(`{"git.verb":"push"}`)); err == nil || !strings.Contains(err.Error(), "pattern") {
		t.Errorf("a shell without a pattern: %v", err)
	}
}

// TestLeaseOfLinesOnly: S21.16: next to a pattern of commands, the condition must hold too.
func TestLeaseOfLinesOnly(t *testing.T) {
	t.Parallel()
	rule, err := toolcall.NewLeaseRule(nil, "Bash", "git push *", []byte(`{"git.refs":["refs/heads/agent/**"],"git.force":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{
		"git push origin HEAD:refs/heads/agent/a":         true,
		"git push origin HEAD:refs/heads/main":            false,
		"git push --force origin HEAD:refs/heads/agent/a": false,
		"git push origin": false,
		"git push origin HEAD:refs/heads/agent/a; rm -rf x":            false,
		"git push origin HEAD:refs/heads/agent/a HEAD:refs/heads/main": false,
		"git push origin HEAD:refs/heads/agent/../main":                false,
		"git pull origin HEAD:refs/heads/agent/a":                      false,
		"git push origin HEAD:refs/heads/agent/$X":                     false,
	} {
		call := withFacts("Bash", string(lineInput(t, line)))
		if got := rule.Match(nil, call, ""); got != want {
			t.Errorf("%s: %t (%s)", line, got, rule.Against(call))
		}
	}
	if against := rule.Against(withFacts("Bash", string(lineInput(t, "git push origin HEAD:refs/heads/main")))); !strings.Contains(against, "git.refs must be") {
		t.Errorf("it does not say what is against it: %s", against)
	}
}

// TestLeaseOfOwnShell: a state may name a tool that runs command lines, which no condition alone covers.
func TestLeaseOfOwnShell(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a",
		"states": {"a": {"allowed_commands": ["ls"], "allowed_commands_tool": "mcp__fs__write", "on": {"X": "z"}}, "z": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	state := workflow.Compile(def, 1).State("a")
	rule, err := toolcall.NewLeaseRule(nil, "mcp__fs__write", "", []byte(`{"/command":{"exists":true}}`))
	call := withFacts("mcp__fs__write", string(lineInput(t, "rm x")))
	if err != nil || !rule.Match(nil, call, rule.Rest(call.Input)) || rule.Match(state, call, rule.Rest(call.Input)) {
		t.Errorf("a condition on inputs covers a command line: %v", err)
	}
}

// TestLeaseOnlyFiles: S21.16: a pattern of files knows names that lead elsewhere, and covers no member that the condition does not name.
func TestLeaseOnlyFiles(t *testing.T) {
	t.Parallel()
	rule, err := toolcall.NewLeaseRule(nil, "Write", "", []byte(`{"writes":["docs/**"],"/file_path":{"exists":true},"/content":{"exists":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	rest := rule.Rest([]byte(`{"file_path":"docs/a.md","content":"x"}`))
	for input, want := range map[string]bool{
		`{"file_path":"docs/b.md","content":"y"}`:                   true,
		`{"content":"../ \\ %","file_path":"./docs//c/d.md"}`:       true,
		`{"file_path":"docs/../etc/x","content":"y"}`:               false,
		`{"file_path":"docs/a/../../x","content":"y"}`:              false,
		`{"file_path":"../docs/x","content":"y"}`:                   false,
		`{"file_path":"/etc/passwd","content":"y"}`:                 false,
		`{"file_path":"/docs/x","content":"y"}`:                     false,
		`{"file_path":"~/docs/x","content":"y"}`:                    false,
		`{"file_path":"DOCS/x","content":"y"}`:                      false,
		`{"file_path":"docs\u2215..\u2215x","content":"y"}`:         false,
		`{"file_path":"docs/a\u0000","content":"y"}`:                false,
		`{"file_path":"docs/..\\..\\x","content":"y"}`:              false,
		`{"file_path":"src/docs/x","content":"y"}`:                  false,
		`{"file_path":["docs/x"],"content":"y"}`:                    false,
		`{"file_path":"docs/x","content":"y","path":"/etc/passwd"}`: false,
		`{"file_path":"docs/x","content":"y","file_path2":"x"}`:     false,
		`{"file_path":"docs/x","content":"y","FILE_PATH":"/etc/x"}`: false,
		`{"file_path":"docs/x","file_path":"/etc/x","content":"y"}`: false,
		`{"filePath":"docs/x","content":"y"}`:                       false,
		`{"file_path":"docs/x"}`:                                    false,
	} {
		if got := rule.Match(nil, withFacts("Write", input), rest); got != want {
			t.Errorf("%s: %t (%s)", input, got, rule.Against(withFacts("Write", input)))
		}
	}
}
