package hook

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

const prefix = "/usr/bin/interlock jail --data-dir '/my data'"

// S20: only the very line that wrap makes is taken for it.
func TestUnwrap(t *testing.T) {
	t.Parallel()
	for _, how := range []jailing{{}, {shown: true}} {
		for _, line := range []string{
			"ls", "", "echo 'it'\\''s'", "a\nb", "' -- '", "x\n\\builtin exit\n\\exit\ny", "cat <<'EOF'\n'\nEOF", "''", "'", "\\", "é\u2028", "--call", "ls '--' x",
		} {
			wrapped := how.wrap(prefix, "run_1", "it's", line)
			if got, ok := how.unwrapped(prefix, wrapped); !ok || got != line {
				t.Errorf("%+v, %q: %q, %v", how, line, got, ok)
			}
			for _, other := range []string{
				wrapped + " ", " " + wrapped, wrapped + "\n", wrapped + "; ls", strings.Replace(wrapped, "--run", "--run ", 1), strings.Replace(wrapped, "/usr/bin/interlock", "interlock", 1),
				strings.Replace(wrapped, "'run_1'", "run_1", 1), strings.Replace(wrapped, `'\builtin exit'`, "", 1) + "x", "ls; " + wrapped, line,
			} {
				if got, ok := how.unwrapped(prefix, other); ok {
					t.Errorf("%+v: %q is %q", how, other, got)
				}
			}
			if _, ok := how.unwrapped("", wrapped); ok {
				t.Errorf("%q without a program of ours", wrapped)
			}
		}
	}
	if _, ok := (jailing{shown: true}).unwrapped(prefix, jailing{}.wrap(prefix, "r", "c", "ls")); ok {
		t.Error("a line that does not show what runs")
	}
	shown := jailing{shown: true}.wrap(prefix, "r", "c", "ls")
	if _, ok := (jailing{shown: true}).unwrapped(prefix, strings.TrimSuffix(shown, "ls")+"rm"); ok {
		t.Error("a line that shows another one")
	}
}

// S20: a shell gives the jail the line as it was judged, and runs nothing itself, whatever the line is.
func TestShellsRunTheJailAlone(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "dash"} {
		program, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		for _, line := range []string{
			"echo ran", "echo 'ran", "echo \"ran", "}; echo ran; {", "(echo ran", "echo ran <<EOF\nx", "echo $(echo ran", "' ; echo ran ; '", "\\\necho ran",
			"#\necho ran", "exit() { :; }; echo ran", "trap 'echo ran' EXIT", "alias exit=true; echo ran", "set +e\necho ran", "echo a; echo 'b'\necho c",
		} {
			wrapped := jailing{shown: true}.wrap("printf '%s\\0'", "r", "c", line)
			for how, words := range map[string][]string{
				"as it is":   {"-c", wrapped},
				"eval":       {"-c", "eval " + quoted(wrapped) + " < /dev/null && pwd"},
				"an alias":   {"-c", "shopt -s expand_aliases 2>/dev/null; alias exit=true\neval " + quoted(wrapped)},
				"a function": {"-c", "exit() { :; }\neval " + quoted(wrapped)},
			} {
				if how == "a function" && shell == "dash" {
					continue // no function has the name of a special builtin there
				}
				out, err := exec.CommandContext(t.Context(), program, words...).Output()
				want := strings.Join([]string{"--run", "r", "--call", "c", "--", line, ""}, "\x00")
				if err != nil && shell != "dash" || string(out) != want { // dash has the status of the word that it lacks
					t.Errorf("%s, %s: %q: %q, %v", shell, how, line, out, err)
				}
			}
		}
	}
}

// Everything else of an input stays, and a folder in it is entered by the line that was judged.
func TestWithCommand(t *testing.T) {
	t.Parallel()
	got, err := withCommand([]byte(`{"command": "a", "timeout": 5, "run_in_background": true, "x": {"y": [1]}, "cwd": "/w"}`), "b 'c'")
	var args map[string]any
	if err != nil || json.Unmarshal(got, &args) != nil || args["command"] != "b 'c'" || args["timeout"] != 5.0 || args["run_in_background"] != true || args["cwd"] != nil || len(args) != 4 {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{`[]`, `{"command": "a", "command": "b"}`, `{`} {
		if got, err := withCommand([]byte(bad), "b"); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}
