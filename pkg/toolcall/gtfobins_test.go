package toolcall_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestProgramsThatStartOthers: R3. Known ways of harmless looking programs to run a
// shell or to write are denied, also where the state lists the program by its name.
func TestProgramsThatStartOthers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/gtfobins.txt")
	if err != nil {
		t.Fatal(err)
	}
	reading, run := inState(t, `{"allowed_tools": ["Read", "Bash"]}`, `{}`)
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section, _, _ = strings.Cut(title, ":")
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if decide(reading, run, "Bash", bash(line)).Decision == toolcall.Allow {
			t.Errorf("%q is allowed", line)
		}
		program := programOf(t, line)
		if section == "change" || !shell.Knows(program[strings.LastIndexByte(program, '/')+1:]) {
			continue // the author vouches for it
		}
		entries, err := json.Marshal([]string{program, "sh", "/bin/sh", "bash", "cat", "id", "ls", "printf", "xargs", "@inert"})
		if err != nil {
			t.Fatal(err)
		}
		listed, at := inState(t, `{"allowed_tools": ["Bash"], "allowed_commands": `+string(entries)+`}`, `{}`)
		if decide(listed, at, "Bash", bash(line)).Decision == toolcall.Allow {
			t.Errorf("%q is allowed where %q is listed", line, program)
		}
	}
}

// programOf is the name of the first program of a line, as it is written.
func programOf(t *testing.T, line string) string {
	t.Helper()
	plan, err := shell.Parse(line)
	if err != nil || len(plan.Commands) == 0 {
		return ""
	}
	first := plan.Commands[0]
	if first.Assigns >= len(first.Words) || !first.Words[first.Assigns].Static {
		return ""
	}
	return first.Words[first.Assigns].Text
}
