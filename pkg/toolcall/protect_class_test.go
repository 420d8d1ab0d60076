package toolcall_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestProtectedInTexts: S13.2: names inside of texts, keys and patterns, and the files of
// processes, by tools that are no shells.
func TestProtectedInTexts(t *testing.T) {
	t.Parallel()
	inside := places
	inside.Data = []string{"/work/repo/.interlock"}
	for _, tc := range []struct{ tool, input string }{
		{"Read", `{"file_path": "/proc/1/environ"}`},
		{"Read", `{"file_path": "/proc/self/mem"}`},
		{"Read", `{"file_path": "/proc/12/fd/3"}`},
		{"Read", `{"file_path": "/proc/12/root/etc/passwd"}`},
		{"Read", `{"file_path": "/proc/12/cwd/x"}`},
		{"Read", `{"file_path": "../../proc/1/environ"}`},
		{"Grep", `{"pattern": "x", "path": "/proc/1/environ"}`},
		{"Grep", `{"pattern": "x", "path": "/proc/self/task/2/environ"}`},
		{"mcp__fs__read_file", `{"path": "file:///proc/1/environ"}`},
		{"mcp__fs__read_file", `{"path": "/proc/[0-9]*/environ"}`},
		{"mcp__py__execute_python", `{"code": "open('.interlock/tokens.json').read()"}`},
		{"mcp__py__execute_python", `{"code": "open('/proc/1/environ').read()"}`},
		{"mcp__py__execute_python", `{"code": "a\nopen(\"\\x2einterlock/tokens.json\")"}`},
		{"mcp__py__execute_python", `{"code": "os.path.join('.interlock', 'tokens.json')"}`},
		{"mcp__py__execute_python", `{"code": "glob.glob('.i*/tokens.json')"}`},
		{"mcp__py__execute_python", `{"code": "open('.claude/settings.json','w')"}`},
		{"mcp__sh__execute", `{"command": "cat .interlock/tokens.json"}`},
		{"mcp__db__query", `{"sql": "ATTACH '.interlock/interlock.db' AS x"}`},
		{"mcp__x__y", `{"files": "a.txt,.interlock/tokens.json"}`},
		{"mcp__x__y", `{".interlock/tokens.json": true}`},
		{"mcp__x__y", `{"a": [{"b": {"c/.interlock": 1}}]}`},
		{"WebFetch", `{"url": "file:///work/repo/%2einterlock/tokens.json"}`},
		{"mcp__web__get", `{"url": "http://localhost/@fs/.interlock/tokens.json?x"}`},
		{"mcp__b__navigate", `{"url": "view-source:file:///w/%252einterlock/x"}`},
		{"Grep", `{"pattern": "ilk", "glob": "*.json"}`},
		{"Grep", `{"pattern": "ilk", "glob": "{.interlock,x}/tokens.json"}`},
		{"Grep", `{"pattern": "ilk", "glob": ".[!a]nterlock/tokens.json"}`},
		{"Grep", `{"pattern": "ilk", "glob": "*.key"}`},
		{"Grep", `{"pattern": "ilk", "glob": "*.{js,json}"}`},
		{"Grep", `{"pattern": "ilk", "glob": "@(.interlock)/*"}`},
		{"Grep", `{"pattern": "ilk", "type": "json"}`},
		{"Grep", `{"pattern": "ilk", "path": "..", "glob": "tok*"}`},
		{"Glob", `{"pattern": "**/*.json"}`},
		{"Glob", `{"pattern": ".[^a]nterlock/tokens.json"}`},
	} {
		call := toolcall.Call{Tool: tc.tool, Input: []byte(tc.input), Places: inside}
		if code, why := toolcall.SelfProtected(nil, nil, call); code != toolcall.CodeSelfProtected {
			t.Errorf("%s %s: %q %s", tc.tool, tc.input, code, why)
		}
	}
	for _, tc := range []struct{ tool, input string }{
		{"TodoWrite", `{"todos": [{"content": "ignore .interlock/tokens.json", "status": "pending"}]}`},
		{"WebSearch", `{"query": ".interlock/tokens.json"}`},
		{"Grep", `{"pattern": "\\.interlock/", "path": "src"}`},
		{"Grep", `{"pattern": "x", "glob": "*.go"}`},
		{"Grep", `{"pattern": "x", "glob": "*.{ts,tsx}"}`},
		{"Grep", `{"pattern": "x", "glob": "*.json", "path": "src"}`},
		{"Glob", `{"pattern": "src/[a-z]*.go"}`},
		{"Read", `{"file_path": "/proc/cpuinfo"}`},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "/proc/1/environ .interlock/x"}`},
		{"mcp__py__execute_python", `{"code": "print(1)"}`},
	} {
		call := toolcall.Call{Tool: tc.tool, Input: []byte(tc.input), Places: inside}
		if code, why := toolcall.SelfProtected(nil, nil, call); code != "" {
			t.Errorf("passes %s %s: %q %s", tc.tool, tc.input, code, why)
		}
	}
}

// TestProse: S13.2: words that no program reads as a path name no file; the same words
// where one does are names.
func TestProse(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`git commit -m "ignore .interlock"`, "git commit -am 'ignore .interlock/'", "git commit --message='x .interlock'", "echo .interlock >> .gitignore",
		"grep --exclude-dir=.interlock -r x src", "tar --exclude=.interlock -cf /tmp/x.tar src", "git add -A && git commit -m 'ignore .interlock'",
		"git commit -m \"$(cat <<'EOF'\nignore .interlock\nEOF\n)\"", "cat > README.md <<'EOF'\nsee .interlock\nEOF",
		"cat > x.py <<'EOF'\nprint(1)\nEOF\npython x.py",
	} {
		if code, why := toolcall.SelfProtected(nil, nil, lineCall(line)); code != "" {
			t.Errorf("%s: %q %s", line, code, why)
		}
	}
	for _, line := range []string{
		"echo .interlock | xargs cat", "git commit -F .interlock/tokens.json", "tar --exclude=x .interlock", "echo .interlock/tokens.json; cat $_",
		"echo() { cat \"$@\"; }; echo .interlock/tokens.json", "echo .interlock/tokens.json | git add --pathspec-from-file=-", "echo $(cat .interlock/x)",
		"printf -v D .interlock; cat $D/*", "cat $(echo .interlock)/x", "echo x > .interlock/tokens.json", "echo .interlock; cat .interlock/x",
		"for f in $(echo .interlock); do cat $f/x; done", "git commit -m \"$(cat .interlock/tokens.json)\"", "echo .interlock/*", "cat <<< .interlock",
		"cat > x.py <<'EOF'\nopen('.interlock/tokens.json')\nEOF\npython x.py", "cat > x.sh <<'EOF'\n$a approval\nEOF\nsh x.sh", "echo 'cat .interlock/x' | sh",
	} {
		if code, _ := toolcall.SelfProtected(nil, nil, lineCall(line)); code != toolcall.CodeSelfProtected {
			t.Errorf("%s: %q", line, code)
		}
	}
}
