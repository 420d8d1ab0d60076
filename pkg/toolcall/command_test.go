package toolcall_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// bash is the input of the Bash tool with a line.
func bash(line string) string {
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		panic(err)
	}
	return string(input)
}

// commandCase is one line of testdata/commands.
type commandCase struct {
	place, state, meta, line string
	allow                    bool
	codes                    []string
}

// commandCases reads testdata/commands/*.txt: `state JSON`, `meta JSON` and `codes ...` for the
// lines that follow, then `allow` or `deny`, a tab and a command line, which is a
// Go string when it is in double quotes.
func commandCases(t testing.TB) []commandCase {
	t.Helper()
	files, err := filepath.Glob("testdata/commands/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	var cases []commandCase
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var c commandCase
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			word, rest, _ := strings.Cut(lines.Text(), "\t")
			c.place = file + ":" + strconv.Itoa(n)
			switch {
			case word == "" || word[0] == '#':
				continue
			case word == "state":
				c.state, c.meta = rest, "{}"
				continue
			case word == "meta":
				c.meta = rest
				continue
			case word == "codes":
				c.codes = strings.Fields(rest)
				continue
			case word != "allow" && word != "deny":
				t.Fatalf("%s: %q", c.place, word)
			}
			c.allow, c.line = word == "allow", rest
			if unquoted, err := strconv.Unquote(rest); err == nil && rest[0] == '"' {
				c.line = unquoted
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// TestCommands: S3.3, R1 to R5, line by line.
func TestCommands(t *testing.T) {
	t.Parallel()
	states := map[string]*workflow.Machine{}
	_, run := inState(t, `{}`, `{}`)
	for _, c := range commandCases(t) {
		m := states[c.state+c.meta]
		if m == nil {
			m, _ = inState(t, c.state, c.meta)
			states[c.state+c.meta] = m
		}
		v := decide(m, run, "Bash", bash(c.line))
		switch {
		case c.allow && v.Decision != toolcall.Allow:
			t.Errorf("%s: %q is denied: %s", c.place, c.line, v.Message(m, run))
		case !c.allow && v.Decision == toolcall.Allow:
			t.Errorf("%s: %q is allowed", c.place, c.line)
		case !c.allow && !slices.Contains(c.codes, string(v.Code)):
			t.Errorf("%s: %q is %s, want %s: %s", c.place, c.line, v.Code, c.codes, v.Message(m, run))
		}
	}
}

// TestCommandScope: S3.3. The states and tools of the rules, and the form of a
// shell's input.
func TestCommandScope(t *testing.T) {
	t.Parallel()
	const (
		notListed = toolcall.CodeCommandNotAllowed
		writes    = toolcall.CodeCommandWrites
		env       = toolcall.CodeEnvBlocked
		unparsed  = toolcall.CodeCommandUnparsable
		input     = toolcall.CodeInvalidInput
	)
	const rm, ls, dump = `{"command": "rm x"}`, `{"command": "ls"}`, `{"command": "printenv TOKEN"}`
	for _, c := range []struct {
		state, tool, input string
		code               toolcall.Code
		says               string
	}{
		// allowed_commands, also empty, also without allowed_tools (R2).
		{`{"allowed_tools": ["Bash", "Edit"], "allowed_commands": ["ls"]}`, "Bash", rm, notListed, `"rm x"`},
		{`{"allowed_tools": ["Bash", "Edit"], "allowed_commands": ["ls"]}`, "Bash", ls, "", ""},
		{`{"allowed_tools": ["Bash", "Edit"], "allowed_commands": []}`, "Bash", ls, notListed, "no command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", rm, notListed, `Allowed commands, each with any further words: "ls"`},
		{`{"allowed_commands": ["ls"]}`, "Read", ``, "", ""},
		// Write detection: allowed_tools with a shell and no tool that writes (R3).
		{`{"allowed_tools": ["Read", "Bash"]}`, "Bash", rm, writes, `"rm x"`},
		{`{"allowed_tools": ["Read", "Bash"]}`, "Bash", ls, "", ""},
		{`{"allowed_tools": ["Read", "Bash"]}`, "Read", ``, "", ""},
		{`{"allowed_tools": ["Bash", "Edit"], "disallowed_tools": ["Edit"]}`, "Bash", rm, writes, ""},
		{`{"allowed_tools": ["Bash", "edit_x"]}`, "Bash", rm, writes, ""},
		{`{"allowed_tools": ["Ba*"]}`, "Bash", rm, writes, ""},
		{`{"allowed_tools": ["Bash", "Edit"]}`, "Bash", rm, "", ""},
		{`{"allowed_tools": ["Bash", "Write"]}`, "Bash", rm, "", ""},
		{`{"allowed_tools": ["Bash", "MultiEdit"]}`, "Bash", rm, "", ""},
		{`{"allowed_tools": ["Bash", "apply_patch"]}`, "Bash", rm, "", ""},
		{`{"allowed_tools": ["Bash", "Notebook*"]}`, "Bash", rm, "", ""},
		{`{"allowed_tools": ["*"]}`, "Bash", rm, "", ""},
		{`{}`, "Bash", rm, "", ""},
		// blocked_env and its other name (R4), with and without the other rules.
		{`{"blocked_env": ["TOKEN"]}`, "Bash", dump, env, `"TOKEN"`},
		{`{"deny_env": ["TOKEN"]}`, "Bash", dump, env, `"TOKEN"`},
		{`{"blocked_env": []}`, "Bash", dump, "", ""},
		{`{"blocked_env": ["TOKEN"]}`, "Bash", rm, "", ""},
		{`{"blocked_env": ["TOKEN"]}`, "Read", ``, "", ""},
		{`{"allowed_tools": ["Bash"], "blocked_env": ["TOKEN"]}`, "Bash", rm, writes, ""},
		{`{"allowed_tools": ["Bash"], "blocked_env": ["TOKEN"]}`, "Bash", dump, env, ""},
		{`{"allowed_commands": ["printenv"], "blocked_env": ["TOKEN"]}`, "Bash", dump, env, ""},
		{`{"allowed_commands": ["ls"], "blocked_env": ["TOKEN"]}`, "Bash", dump, notListed, ""},
		// The variables that the state sets are not set by a loop.
		{`{"allowed_commands": ["ls"], "env_overrides": {"kubeconfig": "x"}}`, "Bash", `{"command": "for kubeconfig in y; do ls; done"}`, notListed, "kubeconfig"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "for kubeconfig in y; do ls; done"}`, "", ""},
		// The shell tool that the state names, and shells by other names.
		{`{"allowed_tools": ["run_it", "Bash", "Edit"], "allowed_commands": ["ls"], "allowed_commands_tool": "run_it"}`, "run_it", rm, notListed, ""},
		{`{"allowed_tools": ["run_it", "Bash", "Edit"], "allowed_commands": ["ls"], "allowed_commands_tool": "run_it"}`, "Bash", rm, notListed, ""},
		{`{"allowed_commands": ["ls"]}`, "bash", rm, notListed, ""},
		{`{"allowed_commands": ["ls"]}`, "run_shell_command", rm, notListed, ""},
		{`{"allowed_commands": ["ls"]}`, "RunInTerminal", rm, notListed, ""},
		{`{"allowed_commands": ["ls"]}`, "mcp__desktop__execute_command", rm, notListed, ""},
		{`{"allowed_commands": ["ls"]}`, "mcp__desktop__execute_command", ls, "", ""},
		{`{"allowed_commands": ["ls"]}`, "mcp__db__execute", rm, notListed, ""},
		// Shells of other languages.
		{`{"allowed_commands": ["ls"]}`, "powershell", ls, unparsed, "not written for bash"},
		{`{"allowed_commands": ["ls"]}`, "zsh", ls, unparsed, "not written for bash"},
		{`{}`, "powershell", rm, "", ""},
		// The gate comes first (S3 order).
		{`{"allowed_tools": ["Read"], "allowed_commands": ["ls"]}`, "Bash", rm, toolcall.CodeToolNotAllowed, ""},
		{`{"disallowed_tools": ["Bash"], "allowed_commands": ["ls"]}`, "Bash", `{}`, toolcall.CodeToolDisallowed, ""},
		// An input that is not a command line.
		{`{"allowed_commands": ["ls"]}`, "Bash", ``, input, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{}`, input, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"cmd": "ls"}`, "", ""},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"cmd": "rm x"}`, notListed, ""},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"cmd": "rm x", "command": "ls"}`, input, ""},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": ["ls"]}`, input, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": ["bash", "-lc", "ls"]}`, input, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": {"x": 1}}`, input, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": null}`, input, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "command": "rm"}`, input, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `"ls"`, input, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls"`, input, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"Command": "ls"}`, input, "command"},
		// Members next to the line: harmless keys, and those that change the program that runs.
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "description": "x", "timeout": 1000, "run_in_background": true}`, "", ""},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "description": null}`, "", ""},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "dangerouslyDisableSandbox": false}`, "", ""},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "dangerouslyDisableSandbox": true}`, input, "dangerouslyDisableSandbox"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "env": {"LD_PRELOAD": "./x.so"}}`, input, `"env"`},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "shell": "zsh"}`, input, `"shell"`},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "stdin": "x"}`, input, `"stdin"`},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "timeout": "1"}`, input, `"timeout"`},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "description": {"env": 1}}`, input, `"description"`},
		{`{"blocked_env": ["X"]}`, "Bash", `{"command": "ls", "env": {}}`, input, `"env"`},
		{`{"allowed_tools": ["Bash"]}`, "Bash", `{"command": "ls", "env": {}}`, input, `"env"`},
		{`{}`, "Bash", `{"command": "ls", "env": {}}`, "", ""},
		// Another folder is a cd before the line.
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "workdir": "."}`, "", ""},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "workdir": "sub"}`, notListed, "cd -- sub"},
		{`{"allowed_commands": ["ls", "cd"]}`, "Bash", `{"command": "ls", "workdir": "sub"}`, "", ""},
		{`{"allowed_commands": ["ls", "@inert"]}`, "Bash", `{"command": "ls", "cwd": "a b'; rm x"}`, "", ""},
		{`{"allowed_tools": ["Bash"]}`, "Bash", `{"command": "ls", "directory": "/x"}`, "", ""},
		{`{"blocked_env": ["X"]}`, "Bash", `{"command": "cat environ", "cwd": "/proc/self"}`, env, ""},
		{`{"allowed_commands": ["ls", "cd"]}`, "Bash", `{"command": "ls", "cwd": 1}`, input, `"cwd"`},
	} {
		m, run := inState(t, c.state, `{}`)
		v := decide(m, run, c.tool, c.input)
		t.Logf("%s: %s %s", c.state, c.tool, c.input)
		want(t, m, run, v, c.code)
		if message := v.Message(m, run); !strings.Contains(message, c.says) {
			t.Errorf("the denial does not say %q: %s", c.says, message)
		}
	}
}

// TestProgramsOfWorkspace: R3. The absolute path of a program in the workspace is code
// of the workspace.
func TestProgramsOfWorkspace(t *testing.T) {
	t.Parallel()
	m, run := inState(t, `{"allowed_tools": ["Bash"]}`, `{}`)
	strict, _ := inState(t, `{"allowed_tools": ["Bash"], "opaque_commands": "deny"}`, `{}`)
	for _, c := range []struct {
		workspace, line string
		code            toolcall.Code
	}{
		{"/home/u/ws", "/home/u/ws/run.sh", ""},
		{"/home/u/ws", "/home/u/ws/bin/../sub/run x", ""},
		{"/home/u/ws", "/home/u/ws/../run.sh", toolcall.CodeCommandUnknown},
		{"/home/u/ws", "/home/u/ws2/run.sh", toolcall.CodeCommandUnknown},
		{"/home/u/ws", "run.sh", toolcall.CodeCommandUnknown},
		{"", "/home/u/ws/run.sh", toolcall.CodeCommandUnknown},
		{"/", "/usr/bin/sd", toolcall.CodeCommandUnknown},
		{"/usr", "/usr/bin/sd", toolcall.CodeCommandUnknown},
	} {
		run.Workspace = c.workspace
		if v := decide(m, run, "Bash", bash(c.line)); v.Code != c.code {
			t.Errorf("%q in %q: %q, want %q", c.line, c.workspace, v.Code, c.code)
		}
		if v := decide(strict, run, "Bash", bash(c.line)); v.Decision == toolcall.Allow {
			t.Errorf("%q in %q is allowed where opaque programs are not", c.line, c.workspace)
		}
	}
}

// TestCommandDenialsTeach: a denial names its subject and the possible acts,
// and repeats no text that a terminal would obey.
func TestCommandDenialsTeach(t *testing.T) {
	t.Parallel()
	many := make([]string, 60)
	for i := range many {
		many[i] = `"cmd` + strconv.Itoa(i) + `"`
	}
	for _, c := range []struct {
		state, line string
		says        []string
	}{
		{`{"allowed_commands": ["pytest", "npm test"]}`, "pytest; npm install x", []string{`"npm install x"`, `"pytest", "npm test"`}},
		{`{"allowed_commands": ["pytest"]}`, "CI=1 pytest", []string{"assignment", `"CI=1 pytest"`}},
		{`{"allowed_commands": ["npm test"]}`, "npm $X", []string{"npm …", "known only when the line runs"}},
		{`{"allowed_commands": [` + strings.Join(many, ", ") + `]}`, "ls", []string{`"cmd0"`, "and 36 more"}},
		{`{"allowed_tools": ["Bash"]}`, "ls; rm -rf src", []string{`"rm -rf src"`, "changes files", "only read"}},
		{`{"allowed_tools": ["Bash"]}`, "ls > out.txt", []string{`"out.txt"`, "redirects"}},
		{`{"allowed_tools": ["Bash"]}`, `sort "$f"`, []string{"--"}},
		{`{"allowed_tools": ["Bash"]}`, "ls; /opt/x/sd a b f", []string{`"sd" is not known to leave files alone`, "allowed_commands", "meta.commands"}},
		{`{"allowed_tools": ["Bash"], "opaque_commands": "deny"}`, "ls; ./x.sh", []string{"code of the workspace", `"./x.sh"`, `"opaque_commands": "deny"`}},
		{`{"blocked_env": ["DB_URL"]}`, "echo $DB_URL", []string{`"DB_URL"`, "blocked"}},
		{`{"blocked_env": ["DB_URL"]}`, "env", []string{"whole environment"}},
		{`{"blocked_env": ["DB_URL"]}`, "echo 'x", []string{"does not parse", "1:6"}},
		{`{"blocked_env": ["DB_URL"]}`, "ls \u202e", []string{"U+202E"}},
	} {
		m, run := inState(t, c.state, `{}`)
		message := decide(m, run, "Bash", bash(c.line)).Message(m, run)
		for _, part := range c.says {
			if !strings.Contains(message, part) {
				t.Errorf("%q: the denial does not say %q: %s", c.line, part, message)
			}
		}
	}
	m, run := inState(t, `{"allowed_commands": ["ls"]}`, `{}`)
	message := decide(m, run, "Bash", bash("rm '\x1b[31m"+strings.Repeat("x", 5000)+"'")).Message(m, run)
	if strings.Contains(message, "\x1b") || len(message) > 1000 {
		t.Errorf("a message of %d bytes repeats the line: %q", len(message), message[:200])
	}
}

// BenchmarkDecideCommand is a line as agents write them. Goal: at most 15 us.
func BenchmarkDecideCommand(b *testing.B) {
	const line = `{"command": "cd x && pytest -q 2>&1 | tail -5"}`
	for name, state := range map[string]string{
		"listed":  `{"allowed_commands": ["cd", "pytest", "tail"]}`,
		"reading": `{"allowed_tools": ["Bash"]}`,
		"blocked": `{"blocked_env": ["TOKEN"]}`,
	} {
		m, run := inState(b, state, `{}`)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := decide(m, run, "Bash", line); v.Decision != toolcall.Allow {
					b.Fatal(v)
				}
			}
		})
	}
}

// commandStates are states in which each of the rules applies.
var commandStates = map[string]string{
	"R2": `{"allowed_commands": ["ls", "cat", "npm test", "env", "find", "sh", "xargs"]}`,
	"R3": `{"allowed_tools": ["Read", "Bash"]}`,
	"R4": `{"blocked_env": ["DB_URL", "API_KEY"]}`,
}

// independent reports lines without effects on later ones: no variables, no
// options of the shell, and no open construct at the end.
func independent(line string) bool {
	return !strings.ContainsAny(line, "$=#&\n\\") && !strings.Contains(line, "<<") && strings.TrimSpace(line) != "" &&
		!strings.Contains(line, "((") && !strings.Contains(line, "read") && !strings.Contains(line, "let") && !strings.Contains(line, ">") && !strings.Contains(line, ".sh")
}

// TestJoinedLines: whether X is allowed after an allowed line is whether X is
// allowed, however they are joined.
func TestJoinedLines(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, c := range commandCases(t) {
		if independent(c.line) {
			lines = append(lines, c.line)
		}
	}
	for name, state := range commandStates {
		m, run := inState(t, state, `{}`)
		allows := func(line string) bool { return decide(m, run, "Bash", bash(line)).Decision == toolcall.Allow }
		var allowed, parsed []string
		for _, line := range lines {
			if allows(line) {
				allowed = append(allowed, line)
			}
			if _, err := shell.Parse(line); err == nil {
				parsed = append(parsed, line)
			}
		}
		if len(allowed) < 5 {
			t.Fatalf("%s allows %d lines alone", name, len(allowed))
		}
		randtest.Check(t, func(t *rapid.T) {
			first, x := rapid.SampledFrom(allowed).Draw(t, "first"), rapid.SampledFrom(parsed).Draw(t, "x")
			form := rapid.SampledFrom([]string{"%s; %s", "%s\n%s", "%s & %s", "{ %s; %s; }", "( %s; %s )", "if %s; then %s; fi", "while %s; do %s; done", "cat <( %s; %s )", "f() { %s; }; %s"}).Draw(t, "form")
			joined := fmt.Sprintf(form, first, x)
			if strings.Contains(form, "cat") && !allows("cat x") || strings.Contains(form, "f()") && name == "R2" {
				return
			}
			if got, want := allows(joined), allows(x); got != want {
				t.Fatalf("%s: %q alone: %t; in %q: %t", name, x, want, joined, got)
			}
		})
	}
}

// TestQuotedWords: the quotes of words have no effect.
func TestQuotedWords(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, c := range commandCases(t) {
		if strings.Trim(c.line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_./:@,+%") == "" && strings.TrimSpace(c.line) != "" && !keyword(c.line) {
			lines = append(lines, c.line)
		}
	}
	for name, state := range commandStates {
		m, run := inState(t, state, `{}`)
		randtest.Check(t, func(t *rapid.T) {
			line := rapid.SampledFrom(lines).Draw(t, "line")
			words := strings.Fields(line)
			for i, word := range words {
				words[i] = requoted(t, word)
			}
			again := strings.Join(words, rapid.SampledFrom([]string{" ", "  ", "\t", " \\\n "}).Draw(t, "blank"))
			plain, quoted := decide(m, run, "Bash", bash(line)), decide(m, run, "Bash", bash(again))
			if plain.Decision != quoted.Decision || plain.Code != quoted.Code {
				t.Fatalf("%s: %q is %s %s, and %q is %s %s", name, line, plain.Decision, plain.Code, again, quoted.Decision, quoted.Code)
			}
		})
	}
}

// keyword reports lines that begin with a word that means something only without
// quotes.
func keyword(line string) bool {
	switch strings.Fields(line)[0] {
	case "time", "coproc", "if", "for", "while", "until", "case", "select", "function", "then", "do", "fi", "done", "let":
		return true
	}
	return false
}

func requoted(t *rapid.T, word string) string {
	at := rapid.IntRange(0, len(word)).Draw(t, "at")
	switch rapid.IntRange(0, 6).Draw(t, "quotes") {
	case 0:
		return "'" + word + "'"
	case 1:
		return `"` + word + `"`
	case 2:
		return word[:at] + `""` + word[at:]
	case 3:
		return word[:at] + "'" + word[at:] + "'"
	case 4:
		var b strings.Builder
		for i := range len(word) {
			fmt.Fprintf(&b, `\x%02x`, word[i])
		}
		return "$'" + b.String() + "'"
	case 5:
		return "\\" + word
	default:
		return word
	}
}

// FuzzCommand: every line gets an answer in every state, and a line that the parser
// cannot read is never allowed.
func FuzzCommand(f *testing.F) {
	for i, c := range commandCases(f) {
		if i%20 == 0 {
			f.Add(c.line)
		}
	}
	states := []string{
		commandStates["R2"], commandStates["R3"], commandStates["R4"],
		`{"allowed_tools": ["Bash"], "allowed_commands": ["@inert", "*test*", "git log", "rm build"], "blocked_env": ["DB_URL"]}`,
	}
	f.Fuzz(func(t *testing.T, line string) {
		plan, err := shell.Parse(line)
		for _, state := range states {
			m, run := inState(t, state, `{}`)
			v := decide(m, run, "Bash", bash(line))
			switch {
			case v.Decision == toolcall.Deny && v.Message(m, run) == "":
				t.Fatalf("%q is denied without a sentence", line)
			case v.Decision == toolcall.Allow && err != nil:
				t.Fatalf("%q does not parse (%v) and is allowed", line, err)
			case v.Decision == toolcall.Allow && strings.Contains(state, "allowed_commands") && plan.Empty:
				t.Fatalf("%q is empty and allowed", line)
			}
		}
	})
}
