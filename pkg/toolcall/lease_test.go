package toolcall_test

import (
	"encoding/json"
	"testing"

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
		p, err := toolcall.NewLeasePattern(nil, "Bash", c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(nil, toolcall.Call{Tool: "Bash", Input: lineInput(t, c.line)}); got != c.want {
			t.Errorf("%q, %q: %t", c.pattern, c.line, got)
		}
	}
	p, err := toolcall.NewLeasePattern(nil, "Bash", "git push")
	if err != nil {
		t.Fatal(err)
	}
	if !p.Match(nil, toolcall.Call{Tool: "Bash", Input: []byte(`{"command":"git push","run_in_background":false,"description":"d"}`)}) {
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
		if p.Match(nil, call) {
			t.Errorf("it matches %s %s", call.Tool, call.Input)
		}
	}
	for _, pattern := range []string{"@inert", "*", "* push", "g?t push", "[g]it push", " ", ""} {
		if _, err := toolcall.NewLeasePattern(nil, "Bash", pattern); err == nil {
			t.Errorf("%q names a program", pattern)
		}
	}
}

// S9.6: of a tool that runs no command lines, the pattern is of its input, member by member, and *
// stays within one text.
func TestLeasePatternOfInputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, input string
		want           bool
	}{
		{`{"path":"docs/*"}`, `{ "path": "docs/a.md" }`, true},
		{`{"path":"docs/*"}`, `{"path":"docs/a/b.md"}`, true},
		{`{"path":"docs/*"}`, `{"path":"./docs/a.md"}`, true},
		{`{"path":"docs/*"}`, `{"path":"docs/./a//b.md"}`, true},
		{`{"path":"docs/*"}`, `{"path":"docs/a..b.md"}`, true},
		{`{"path":"docs/*"}`, `{"path":"docs/ä.md"}`, true},
		{`{"path":"docs/*"}`, `{"path":"src/a.go"}`, false},
		{`{"path":"docs/*"}`, `{"path":"/docs/a"}`, false},
		{`{"path":"docs/*"}`, `{"path":"Docs/a"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/../../../etc/cron.d/x"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a/.."}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/..\\..\\x"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a\\b"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/%2e%2e/x"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/%2e%2e%2fx"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/.. /x"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/.../x"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/\u2024\u2024/x"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/\uff0e\uff0e\uff0fx"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a\u2215b"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a\u0000b"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a\nb"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a\u200b"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/$X"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a","path2":"/etc/passwd"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a","Path":"/etc/passwd"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a","path":"/etc/passwd"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a","x":null}`, false},
		{`{"path":"docs/*"}`, `{"Path":"docs/a"}`, false},
		{`{"path":"docs/*"}`, `{"path":["docs/a"]}`, false},
		{`{"path":"docs/*"}`, `{"path":{"docs/":"a"}}`, false},
		{`{"path":"docs/*"}`, `{}`, false},
		{`{"path":"docs/*.md"}`, `{"path":"docs/a.md"}`, true},
		{`{"path":"docs/*.md"}`, `{"path":"docs/a.md.sh"}`, false},
		{`{"path":"*"}`, `{"path":"../x"}`, false},
		{`{"file_path":"*"}`, `{"file_path":"a/b"}`, true},
		{`{"file_path":"*"}`, `{"file_path":"~/x"}`, false},
		{`{"file_path":"docs/*","content":"*"}`, `{"file_path":"docs/a","content":"x\n../\\%2e \"q\""}`, true},
		{`{"file_path":"docs/*","content":"*"}`, `{"file_path":"docs/a","content":1}`, false},
		{`{"amount":100}`, `{"amount":1e2}`, true},
		{`{"amount":100}`, `{"amount":100.0}`, true},
		{`{"amount":1e2}`, `{"amount":100}`, true},
		{`{"amount":100}`, `{"amount":1000000}`, false},
		{`{"amount":100}`, `{"amount":"100"}`, false},
		{`{"amount":"*"}`, `{"amount":100}`, false},
		{`{"amount":0.1}`, `{"amount":0.1000000000000000055511151231257827}`, false},
		{`{"amount":9007199254740993}`, `{"amount":9007199254740992}`, false},
		{`{"a":true}`, `{"a":true}`, true},
		{`{"a":true}`, `{"a":1}`, false},
		{`{"a":null}`, `{"a":null}`, true},
		{`{"a":null}`, `{}`, false},
		{`{"to":["*@example.com"]}`, `{"to":["a@example.com"]}`, true},
		{`{"to":["*@example.com"]}`, `{"to":["eve@evil.org","a@example.com"]}`, false},
		{`{"to":["*@example.com"]}`, `{"to":["a@example.com","eve@evil.org"]}`, false},
		{`{"to":["*@example.com"]}`, `{"to":["eve@evil.org,a@example.com"]}`, false},
		{`{"to":["*@example.com"]}`, `{"to":["eve@evil.org a@example.com"]}`, false},
		{`{"to":["*@example.com"]}`, `{"to":["eve <x> a@example.com"]}`, false},
		{`{"to":["*@example.com"]}`, `{"to":["eve%evil.org@example.com"]}`, false},
		{`{"to":["*@example.com"]}`, `{"to":["a@Example.com"]}`, false},
		{`{"to":["*@example.com"]}`, `{"to":"a@example.com"}`, false},
		{`{"to":["*@example.com"]}`, `{"to":[]}`, false},
		{`{"a":{"b":[{"c":"x*"}]}}`, `{"a":{"b":[{"c":"xy"}]}}`, true},
		{`{"a":{"b":[{"c":"x*"}]}}`, `{"a":{"b":[{"c":"xy","d":1}]}}`, false},
		{`{"a":{"b":[{"c":"x*"}]}}`, `{"a":{"b":[{"c":"xy"},{"c":"xy"}]}}`, false},
		{`{"a":{"b":[{"c":"x*"}]}}`, `{"a":{"b":[{"c":"xy"}],"e":1}}`, false},
		{`{"url":"https://api.example.com/*"}`, `{"url":"https://api.example.com/v1/x"}`, true},
		{`{"url":"https://api.example.com/*"}`, `{"url":"https://api.example.com/v1/../admin"}`, false},
		{`{"url":"https://api.example.com/*"}`, `{"url":"https://api.example.com.evil.org/"}`, false},
		{`{"url":"https://api.example.com/*"}`, `{"url":"https://api.example.com@evil.org/"}`, false},
		{`{"url":"https://api.example.com/*"}`, `{"url":"http://api.example.com/x"}`, false},
		{`{"url":"https://*.example.com/x"}`, `{"url":"https://a.example.com/x"}`, true},
		{`{"url":"https://*.example.com/x"}`, `{"url":"https://evil.org/.example.com/x"}`, false},
		{`{"url":"https://*.example.com/x"}`, `{"url":"https://evil.org?.example.com/x"}`, false},
		{`{"url":"https://*.example.com/x"}`, `{"url":"https://u@evil.org#.example.com/x"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"a.example.com"}`, true},
		{`{"host":"*.example.com"}`, `{"host":"a.b-1.example.com"}`, true},
		{`{"host":"*.example.com"}`, `{"host":"evil.com/.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"evil.com#.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"evil.com?.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"evil.com:80.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"a@b.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"evil.com%00.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"evil.com;.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"evil.com .example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"evil.com\\.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"https://a.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"https:a.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"//a.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"evil.com,a.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"[::1].example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"\u0435vil.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"evil.com\u0000.example.com"}`, false},
		{`{"host":"*.example.com"}`, `{"host":"a.example.com/x"}`, false},
		{`{"path":"*.example.com/x"}`, `{"path":"a.example.com/x"}`, true},
		{`{"path":"*.example.com/x"}`, `{"path":"evil.org/.example.com/x"}`, false},
		{`{"path":"*.example.com/x"}`, `{"path":"evil.org/a.example.com/x"}`, false},
		{`{"path":"*.example.com/x"}`, `{"path":"evil.org:80/a.example.com/x"}`, false},
		{`{"path":"*.example.com/x"}`, `{"path":"//evil.org/a.example.com/x"}`, false},
		{`{"path":"*.example.com/x"}`, `{"path":"https://evil.org/a.example.com/x"}`, false},
		{`{"path":"*.example.com/x"}`, `{"path":"me@evil.org/a.example.com/x"}`, false},
		{`{"path":"api*.example.com/*"}`, `{"path":"api2.example.com/a/b"}`, true},
		{`{"path":"api*.example.com/*"}`, `{"path":"api.evil.org/.example.com/b"}`, false},
		{`{"file_path":"*/main.go"}`, `{"file_path":"a/b/main.go"}`, true},
		{`{"path":"*.go"}`, `{"path":"a/b.go"}`, true},
		{`{"path":".github/*"}`, `{"path":".github/a/b"}`, true},
		{`{"host":"*.example.com"}`, `{"host":"a.example.com."}`, false},
		{`{"host":"*.example.com"}`, `{"host":"a.example.com.evil.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"a.example.com"}`, true},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com/.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com#.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com?.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com:80.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"a@b.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com%00.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com;.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com .example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com\\.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"https://a.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"https:a.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"//a.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com,a.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"[::1].example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"\u0435vil.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"evil.com\u0000.example.com"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"a.example.com/x"}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"a.example.com."}`, false},
		{`{"domain":"*.example.com"}`, `{"domain":"a.example.com.evil.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"a.example.com"}`, true},
		{`{"url":"*.example.com"}`, `{"url":"evil.com/.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"evil.com#.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"evil.com?.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"evil.com:80.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"a@b.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"evil.com%00.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"evil.com;.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"evil.com .example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"evil.com\\.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"https://a.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"https:a.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"//a.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"evil.com,a.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"[::1].example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"\u0435vil.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"evil.com\u0000.example.com"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"a.example.com/x"}`, false},
		{`{"url":"*.example.com"}`, `{"url":"a.example.com."}`, false},
		{`{"url":"*.example.com"}`, `{"url":"a.example.com.evil.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"a.example.com"}`, true},
		{`{"x":"*.example.com"}`, `{"x":"evil.com/.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"evil.com#.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"evil.com?.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"evil.com:80.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"a@b.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"evil.com%00.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"evil.com;.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"evil.com .example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"evil.com\\.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"https://a.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"https:a.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"//a.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"evil.com,a.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"[::1].example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"\u0435vil.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"evil.com\u0000.example.com"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"a.example.com/x"}`, false},
		{`{"x":"*.example.com"}`, `{"x":"a.example.com."}`, false},
		{`{"x":"*.example.com"}`, `{"x":"a.example.com.evil.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"a.example.com"}`, true},
		{`{"target":"*.example.com"}`, `{"target":"evil.com/.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"evil.com#.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"evil.com?.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"evil.com:80.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"a@b.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"evil.com%00.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"evil.com;.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"evil.com .example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"evil.com\\.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"https://a.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"https:a.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"//a.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"evil.com,a.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"[::1].example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"\u0435vil.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"evil.com\u0000.example.com"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"a.example.com/x"}`, false},
		{`{"target":"*.example.com"}`, `{"target":"a.example.com."}`, false},
		{`{"target":"*.example.com"}`, `{"target":"a.example.com.evil.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@b.example.com"}`, true},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com/.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com#.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com?.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com:80.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com%00.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com;.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com .example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com\\.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@https://a.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@https:a.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@//a.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com,a.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@[::1].example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@\u0435vil.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@evil.com\u0000.example.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@a.example.com/x"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@a.example.com."}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@a.example.com.evil.com"}`, false},
		{`{"to":"*@*.example.com"}`, `{"to":"a@b@c.example.com"}`, false},
		{`{"url":"*.example.com/x"}`, `{"url":"a.example.com/x"}`, true},
		{`{"url":"*.example.com/x"}`, `{"url":"evil.com/.example.com/x"}`, false},
		{`{"url":"*.example.com/x"}`, `{"url":"evil.com#.example.com/x"}`, false},
		{`{"url":"*.example.com/x"}`, `{"url":"evil.com:80.example.com/x"}`, false},
		{`{"url":"*.example.com/x"}`, `{"url":"a@b.example.com/x"}`, false},
		{`{"url":"*.example.com/x"}`, `{"url":"evil.com?.example.com/x"}`, false},
		{`{"url":"*.example.com/x"}`, `{"url":"https://a.example.com/x"}`, false},
		{`{"url":"*.example.com/x"}`, `{"url":"a.example.com"}`, false},
		{`{"url":"*.example.com/x"}`, `{"url":"a.example.com//x/../x"}`, false},
		{`{"x":"*.example.com/x"}`, `{"x":"a.example.com/x"}`, true},
		{`{"x":"*.example.com/x"}`, `{"x":"evil.com/.example.com/x"}`, false},
		{`{"x":"*.example.com/x"}`, `{"x":"evil.com#.example.com/x"}`, false},
		{`{"x":"*.example.com/x"}`, `{"x":"evil.com:80.example.com/x"}`, false},
		{`{"x":"*.example.com/x"}`, `{"x":"a@b.example.com/x"}`, false},
		{`{"x":"*.example.com/x"}`, `{"x":"evil.com?.example.com/x"}`, false},
		{`{"x":"*.example.com/x"}`, `{"x":"https://a.example.com/x"}`, false},
		{`{"x":"*.example.com/x"}`, `{"x":"a.example.com"}`, false},
		{`{"x":"*.example.com/x"}`, `{"x":"a.example.com//x/../x"}`, false},
		{`{"endpoint":"*.example.com/x"}`, `{"endpoint":"a.example.com/x"}`, true},
		{`{"endpoint":"*.example.com/x"}`, `{"endpoint":"evil.com/.example.com/x"}`, false},
		{`{"endpoint":"*.example.com/x"}`, `{"endpoint":"evil.com#.example.com/x"}`, false},
		{`{"endpoint":"*.example.com/x"}`, `{"endpoint":"evil.com:80.example.com/x"}`, false},
		{`{"endpoint":"*.example.com/x"}`, `{"endpoint":"a@b.example.com/x"}`, false},
		{`{"endpoint":"*.example.com/x"}`, `{"endpoint":"evil.com?.example.com/x"}`, false},
		{`{"endpoint":"*.example.com/x"}`, `{"endpoint":"https://a.example.com/x"}`, false},
		{`{"endpoint":"*.example.com/x"}`, `{"endpoint":"a.example.com"}`, false},
		{`{"endpoint":"*.example.com/x"}`, `{"endpoint":"a.example.com//x/../x"}`, false},
		{`{"url":"api.example.com/*"}`, `{"url":"api.example.com/v1/x"}`, true},
		{`{"url":"api.example.com/*"}`, `{"url":"api.example.com.evil.com/x"}`, false},
		{`{"file_path":"*.md"}`, `{"file_path":"docs/a.md"}`, true},
		{`{"env":"staging-*"}`, `{"env":"staging-eu/1"}`, true},
		{`{"host":"*"}`, `{"host":"evil.com%00"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/{a,../b}"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/{..,a}/b"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/{.,.}./x"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/.[.]/x"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/.?/x"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/[.]."}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/\u0060x\u0060"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/{id}.md"}`, true},
		{`{"q":"a?"}`, `{"q":"a?"}`, true},
		{`{"q":"a?"}`, `{"q":"ab"}`, false},
		{`{"q":"a\\*"}`, `{"q":"a*"}`, true},
		{`{"q":"a\\*"}`, `{"q":"ab"}`, false},
		{`{"q":"a*b*c"}`, `{"q":"axxbyyc"}`, true},
		{`{"q":"a*b*c"}`, `{"q":"axxc"}`, false},
		{`{"q":"ab*ba"}`, `{"q":"aba"}`, false},
		{`{}`, ``, true},
		{`{}`, `{"a":1}`, false},
		{`{"a":1}`, `[1]`, false},
		{`{"a":1}`, `{"a":1`, false},
	} {
		p, err := toolcall.NewLeasePattern(nil, "mcp__fs__write", c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := p.Match(nil, toolcall.Call{Tool: "mcp__fs__write", Input: []byte(c.input)}); got != c.want {
			t.Errorf("%s, %s: %t", c.pattern, c.input, got)
		}
	}
	for _, pattern := range []string{
		`*`, ``, `docs/*`, `[1]`, `"*"`, `{"amount":1*}`, `{"a":[?]}`, `{"a":1,"a":2}`, `{"a":1`, `{"path":"docs/../*"}`, `{"path":"a\\..\\b*"}`,
		`{"url":"https://example.com*"}`, `{"url":"https://*"}`, `{"url":"*://example.com/"}`, `{"url":"https://example.*/x"}`,
		`{"url":"api.example.com*"}`, `{"host":"api*"}`, `{"x":"api.example.com*"}`, `{"url":"api.example.*/x"}`, `{"to":"a@example.com*"}`, `{"url":"https://*/@x"}`,
	} {
		if _, err := toolcall.NewLeasePattern(nil, "mcp__fs__write", pattern); err == nil {
			t.Errorf("%s is a pattern", pattern)
		}
	}
	// A state may name a tool that runs command lines.
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a",
		"states": {"a": {"allowed_commands": ["ls"], "allowed_commands_tool": "mcp__fs__write", "on": {"X": "z"}}, "z": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	state := workflow.Compile(def, 1).State("a")
	p, err := toolcall.NewLeasePattern(nil, "mcp__fs__write", `{"command":"*"}`)
	if err != nil || p.Match(state, toolcall.Call{Tool: "mcp__fs__write", Input: lineInput(t, "rm x")}) {
		t.Errorf("a pattern of inputs matches a command line: %v", err)
	}
}
