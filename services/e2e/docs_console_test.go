package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// transcript runs the commands of a block, each by itself, and compares their
// output with the block. A person reads the documents: the commands have a
// terminal, without input.
func (d *guide) transcript(t *testing.T, _, body string) {
	d.replay(t, body, func(command string) string {
		run := exec.CommandContext(within(t), "bash", "-c", command)
		run.Dir, run.Env, run.Stdin = d.folder, consoleEnv(t), terminal(t)
		got, err := run.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(got)
	})
}

// session runs the commands of a block in the document's one shell, next to the
// document's one server, which is that of the shell's folder.
func (d *guide) session(t *testing.T, _, body string) {
	if d.shell == nil {
		data, err := datadir.Of(d.folder)
		if err != nil {
			t.Fatal(err)
		}
		up := &together{shape: shape{name: "up"}, data: data}
		up.restart(t)
		if err := data.Claim(d.folder); err != nil { // as a server does that starts in the folder
			t.Fatal(err)
		}
		d.shell = startShell(t, d.folder)
	}
	d.replay(t, body, func(command string) string { return d.shell.run(t, command) })
}

// replay runs the commands of a block and compares their output with it.
func (d *guide) replay(t *testing.T, body string, run func(command string) string) {
	t.Helper()
	blocks := strings.Split("\n"+body, "\n$ ")
	if strings.TrimSpace(blocks[0]) != "" || len(blocks) < 2 {
		t.Errorf("%s: a transcript begins with a command, after \"$ \":\n%s", d.name, body)
	}
	for _, block := range blocks[1:] {
		command, shown := cutCommand(block)
		if got := run(command); !shows(lines(shown), lines(got)) {
			t.Errorf("%s: $ %s\nis shown as\n%s\nand prints\n%s", d.name, command, shown, got)
		}
	}
}

// cutCommand splits a command from the output that is shown after it. As a shell
// shows it, the further lines of a command stand after "> ".
func cutCommand(block string) (command, shown string) {
	command, shown, _ = strings.Cut(block, "\n")
	for strings.HasPrefix(shown, "> ") {
		line, rest, _ := strings.Cut(shown[len("> "):], "\n")
		command, shown = command+"\n"+line, rest
	}
	return command, shown
}

// consoleEnv is a reader's environment: the built commands, and no settings.
func consoleEnv(t *testing.T) []string {
	return append(cleanEnv(), "PATH="+filepath.Dir(binary(t, "interlock"))+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// shell is a bash that runs one command after the other.
type shell struct {
	in   io.Writer
	out  *bufio.Reader
	kill func() error // with all that it runs
}

func startShell(t *testing.T, folder string) *shell {
	t.Helper()
	cmd := exec.Command("bash")
	cmd.Dir, cmd.Env = folder, consoleEnv(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in := must[io.WriteCloser](t)(cmd.StdinPipe())
	out, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = write, write, []*os.File{terminal(t)} // as file descriptor 3
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	t.Cleanup(func() {
		_ = kill()
		_ = cmd.Wait() // it was killed
		out.Close()
	})
	return &shell{in: in, out: bufio.NewReader(out), kill: kill}
}

// run returns the output of a command.
func (s *shell) run(t *testing.T, command string) string {
	t.Helper()
	defer time.AfterFunc(patience, func() { _ = s.kill() }).Stop()
	const end = "--- end of output ---"
	if _, err := fmt.Fprintf(s.in, "{ %s\n} <&3\necho; echo '%s'\n", command, end); err != nil {
		t.Fatalf("$ %s: %v", command, err)
	}
	var printed strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		switch {
		case strings.TrimSuffix(line, "\n") == end:
			return printed.String()
		case err != nil:
			t.Fatalf("$ %s: the shell ended or took too long (%v) after\n%s", command, err, printed.String())
		}
		printed.WriteString(line)
	}
}

// lines are those of a text, without the blank ones at its end, and the blanks at
// theirs.
func lines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// shows reports that lines of output are those that are shown, where "..." stands
// for any number of lines, and within a line for any text.
func shows(shown, output []string) bool {
	switch {
	case len(shown) == 0:
		return len(output) == 0
	case strings.TrimSpace(shown[0]) == "...":
		return shows(shown[1:], output) || len(output) > 0 && shows(shown, output[1:])
	default:
		return len(output) > 0 && showsLine(shown[0], output[0]) && shows(shown[1:], output[1:])
	}
}

func showsLine(shown, output string) bool {
	parts := strings.Split(shown, "...")
	rest, ok := strings.CutPrefix(output, parts[0])
	for i, part := range parts[1:] {
		switch {
		case !ok:
			return false
		case i == len(parts)-2:
			return strings.HasSuffix(rest, part)
		}
		_, rest, ok = strings.Cut(rest, part)
	}
	return ok && rest == ""
}

func TestShows(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		shown, output string
		want          bool
	}{
		{"", "", true},
		{"a\nb", "a\nb\n", true},
		{"a\n b", "a  \n b ", true},
		{"a", "a\nb", false},
		{"a\nb", "a", false},
		{"a", "b", false},
		{"a", "ab", false},
		{"a\n...", "a", true},
		{"...\nc", "a\nb\nc", true},
		{"a\n  ...\nc", "a\nb\nb\nc", true},
		{"a\n...\nc", "a\nb", false},
		{"...", "", true},
		{"", "a", false},
		{"id x_... done", "id x_17 done", true},
		{"id x_... done", "id x_17 failed", false},
		{"id x_... done", "the id x_17 done", false},
		{"...done", "all done", true},
		{"all...", "all", true},
		{"a...a", "a", false},
		{"1...2...3", "1-2-2-3", true},
		{"1...2...3", "1-3", false},
		{"1...2...3", "1-2-3-", false},
	} {
		if got := shows(lines(row.shown), lines(row.output)); got != row.want {
			t.Errorf("%q shows %q: %t", row.shown, row.output, got)
		}
	}
}

func TestCutCommand(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ block, command, shown string }{
		{"ls\na\nb\n", "ls", "a\nb\n"},
		{"ls \\\n>   -l\na\n> b\n", "ls \\\n  -l", "a\n> b\n"},
		{"ls", "ls", ""},
		{"ls '\n> ", "ls '\n", ""},
	} {
		if command, shown := cutCommand(row.block); command != row.command || shown != row.shown {
			t.Errorf("%q: command %q, shown %q", row.block, command, shown)
		}
	}
}
