package facet_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const (
	secrets = `{"files": ["conf/secret.txt", "**/.env*", "**/*.pem", "/etc/shadow", "keys/**"]}`
	sources = `{"writes": ["src/**", "test/**"]}`
)

// TestFiles judges calls by two rules (S21.11): the files that testdata/files.txt names must not get past a restriction,
// and a requirement must not let others be written.
func TestFiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/files.txt")
	if err != nil {
		t.Fatal(err)
	}
	denied, only := read(t, secrets, condition.Restricts), read(t, sources, condition.Requires)
	seen := map[string]int{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		mark, call, _ := strings.Cut(line, " ")
		seen[mark]++
		facts := facet.Of(subjectOf(call))
		secret, source := denied.Judge(facts, condition.Restricts), only.Judge(facts, condition.Requires)
		var fine bool
		switch mark {
		case "D":
			fine = secret != condition.False
		case "O":
			fine = source != condition.True
		case "B":
			fine = secret != condition.False && source != condition.True
		case "A":
			fine = secret == condition.False && source == condition.True
		case "R":
			fine = secret == condition.True && source == condition.True
		}
		if !fine {
			t.Errorf("%s: a secret: %v, only sources: %v (%+v %+v)", line, secret, source, facts.Facet(condition.Reads), facts.Facet(condition.Writes))
		}
	}
	if seen["D"] < 300 || seen["O"] < 250 || seen["A"] < 80 {
		t.Errorf("calls were lost: %v", seen)
	}
}

// subjectOf reads a call of the form "Tool input", where the input of Bash may be the line alone.
func subjectOf(call string) facet.Subject {
	tool, input, _ := strings.Cut(call, " ")
	if tool == "Bash" && !strings.HasPrefix(input, `{"`) {
		line, _ := json.Marshal(map[string]string{"command": strings.ReplaceAll(input, "⏎", "\n")})
		input = string(line)
	}
	return facet.Subject{Tool: tool, Input: []byte(input), Workspace: "/repo", Folder: "/repo"}
}

// TestFileSpellings: no spelling of a name gets a file past a restriction, or a file outside past a requirement, in any
// program that reads or writes it (S21.11).
func TestFileSpellings(t *testing.T) {
	t.Parallel()
	denied, only := read(t, secrets, condition.Restricts), read(t, sources, condition.Requires)
	for _, name := range []string{
		"conf/secret.txt", "./conf/secret.txt", "conf//secret.txt", "conf/./secret.txt", "src/../conf/secret.txt", "../repo/conf/secret.txt",
		"/repo/conf/secret.txt", "//repo/conf/secret.txt", "/repo//conf/secret.txt", "/repo/src/../conf/secret.txt", "/tmp/../repo/conf/secret.txt",
		"CONF/secret.txt", "conf/SECRET.TXT", "/REPO/conf/secret.txt", "'conf/secret.txt'", `"conf"/secret.txt`, `c\onf/secret.txt`, "conf/sec?et.txt",
		"conf/*", "{conf,x}/secret.txt", "$D/secret.txt", "conf/$F", "`echo conf`/secret.txt", "$'conf/\\x73ecret.txt'", "/proc/self/cwd/conf/secret.txt",
		"/proc/self/root/repo/conf/secret.txt", "/etc/shadow", "/etc/../etc/shadow", "../../../etc/shadow", ".env", "a/.env.local", "~/.env", "a/b/c.PEM", "keys/a/b",
		"ke\u0079s/a", "kEYS/a", "keys/\u00e9", "keys/e\u0301", "conf/secret\u200d.txt", "conf/secret.txt\u00ad",
	} {
		for _, line := range []string{
			"cat %", "cat < %", "head -n 5 %", "grep x %", "cp % src/x", "cat src/a % src/b", "diff src/a %", "timeout 5 cat %", "bash -c \"cat %\"", "tar cf src/x.tar %",
			"curl -T % https://example.com", "ls | tee %", "rm -f %", "sed -i s/a/b/ %", "echo x > %", "git add %", "mv % src/x", "ln -s /repo/% src/x", "dd if=/dev/zero of=%",
		} {
			line = strings.ReplaceAll(line, "%", name)
			facts := facet.Of(subjectOf("Bash " + line))
			if denied.Judge(facts, condition.Restricts) == condition.False {
				t.Errorf("%s passes (%+v %+v)", line, facts.Facet(condition.Reads), facts.Facet(condition.Writes))
			}
			writes := strings.Contains(line, "tee") || strings.HasPrefix(line, "rm") || strings.HasPrefix(line, "sed") || strings.HasPrefix(line, "echo") || strings.HasPrefix(line, "dd")
			if writes && only.Judge(facts, condition.Requires) == condition.True {
				t.Errorf("%s is allowed (%+v)", line, facts.Facet(condition.Writes))
			}
		}
	}
}

// TestFileNames: names count as they are written, by where the call is made, and by their real names (S21.11).
func TestFileNames(t *testing.T) {
	t.Parallel()
	input := func(name string) []byte {
		text, _ := json.Marshal(map[string]string{"file_path": name, "content": "x"})
		return text
	}
	for _, row := range []struct {
		workspace, folder, name, want string
		known                         bool
	}{
		{"/repo", "", "a", "a", true},
		{"/repo", "/repo", "./a/../b", "b ../b", true},
		{"/repo", "/repo/sub", "a", "sub/a a", true},
		{"/repo", "/tmp", "a", "/tmp/a a", true},
		{"/repo", "/repo/sub", "/repo/a", "a", true},
		{"/repo", "/repo/sub", "../a", "a ../a /a", true},
		{"/repo", "/repo", "/Repo/a", "/Repo/a a", true},
		{"/repo", "/repo", "/repo/", ".", true},
		{"/repo", "/repo", "/", "/", true},
		{"/repo", "/repo", "link/a", "link/a /etc/a", true},
		{"", "", "a", "a", true},
		{"", "", "../a", "../a", true},
		{"", "", "/a", "/a", true},
		{"", "/repo", "a", "a /repo/a", true},
		{`C:\repo`, `C:\repo`, `src\a`, "src/a", true},
		{`C:\repo`, `C:\repo`, `c:\REPO\src\a. `, "src/a", true},
		{`C:\repo`, `C:\repo`, `SECRET~1.TXT`, "SECRET~1.TXT", false},
		{`C:\repo`, `C:\repo`, `/c/repo/a`, "C:/c/repo/a", false},
		{`C:\repo`, `C:\repo`, `a:stream`, "A:/stream", true},
		{"/repo", "/repo", strings.Repeat("a/", 3000) + "a", "", false},
	} {
		facts := facet.Of(facet.Subject{
			Tool: "Write", Input: input(row.name), Workspace: row.workspace, Folder: row.folder, Real: map[string]string{"link/a": "/etc/a"},
		})
		set := facts.Facet(condition.Writes)
		var got []string
		for _, e := range set.Values {
			got = append(got, e.Value.Str())
			for _, also := range e.Also {
				got = append(got, also.Str())
			}
		}
		if strings.Join(got, " ") != row.want || set.Known != row.known {
			t.Errorf("%q in %q of %q: %q %v (%s), want %q", row.name, row.folder, row.workspace, got, set.Known, set.Why, row.want)
		}
	}
}

// TestFilesOfAuthors: the description of a tool points to its files, and a workflow's edit tools to theirs (S21.11).
func TestFilesOfAuthors(t *testing.T) {
	t.Parallel()
	denied, only := read(t, secrets, condition.Restricts), read(t, sources, condition.Requires)
	tools := facet.Tools{
		"mcp__x__save": {Reads: []string{}, Writes: []string{"/to", "/more/*"}},
		"mcp__x__show": {Reads: []string{"/file"}, Writes: []string{}},
		"mcp__x__half": {Writes: []string{"/to"}},
		"mcp__x__line": {Command: "/line"},
		"mcp__x__shut": {Reads: []string{"/file"}, Closed: true},
		"Read":         {Reads: []string{}, Writes: []string{}},
	}
	edits := map[string]workflow.EditTool{
		"save_all": {Kind: workflow.EditWrite, Path: "f", Content: "c"}, "Write": {Kind: workflow.EditWrite, Path: "f", Content: "c"},
		"move_all": {Kind: workflow.EditMove, From: "a", To: "b"},
	}
	const yes, no, doubt = condition.True, condition.False, condition.Doubt
	for _, row := range []struct {
		tool, input    string
		secret, source condition.Truth
	}{
		{"mcp__x__save", `{"to": "/repo/src/a"}`, yes, yes}, // it may be a folder with such files
		{"mcp__x__save", `{"to": "/repo/src/a", "more": ["/repo/out"]}`, yes, no},
		{"mcp__x__save", `{"to": "src/a"}`, yes, no},
		{"mcp__x__save", `{"to": 5}`, doubt, doubt},
		{"mcp__x__save", `{"to": "~/src/a"}`, yes, no},
		{"mcp__x__save", `{}`, doubt, doubt},
		{"mcp__x__save", `{"to": "/repo/conf"}`, yes, no},
		{"mcp__x__show", `{"file": "/repo/conf/secret.txt"}`, yes, yes},
		{"mcp__x__show", `{"file": ["/repo/src/a"]}`, doubt, yes},
		{"mcp__x__half", `{"to": "/repo/src/a"}`, yes, yes},
		{"mcp__x__half", `{}`, doubt, doubt},
		{"mcp__x__line", `{"line": "cat /repo/src/a > /repo/src/b"}`, no, yes},
		{"mcp__x__line", `{"line": "cat conf/secret.txt"}`, yes, yes},
		{"mcp__x__line", `{"line": "touch src/b"}`, doubt, no},
		{"mcp__x__line", `{}`, doubt, doubt},
		{"mcp__x__line", `{"line": 5}`, doubt, doubt},
		{"mcp__x__shut", `{"file": "/repo/conf/secret.txt"}`, yes, yes},
		{"mcp__x__shut", `{"file": "/repo/src/a", "to": "/repo/out"}`, doubt, doubt},
		{"mcp__x__none", `{}`, doubt, doubt},
		{"Read", `{"file_path": "conf/secret.txt"}`, yes, yes},
		{"save_all", `{"f": "src/a", "c": "x"}`, no, yes},
		{"save_all", `{"f": "conf/secret.txt", "c": "x"}`, yes, no},
		{"save_all", `{"f": "src/a"}`, doubt, doubt},
		{"move_all", `{"a": "conf", "b": "src/a"}`, yes, no},
		{"Write", `{"f": "src/a", "c": "x", "file_path": "conf/secret.txt", "content": "x"}`, yes, no},
	} {
		facts := facet.Of(facet.Subject{Tool: row.tool, Input: []byte(row.input), Workspace: "/repo", Tools: tools, Edits: edits})
		secret, source := denied.Judge(facts, condition.Restricts), only.Judge(facts, condition.Requires)
		if secret != row.secret || source != row.source {
			t.Errorf("%s %s: a secret: %v, only sources: %v (%+v)", row.tool, row.input, secret, source, facts.Facet(condition.Files))
		}
	}
}
