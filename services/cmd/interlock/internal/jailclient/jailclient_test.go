//go:build unix

package jailclient

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
)

// TestParse: only lines that hooks write are run early.
func TestParse(t *testing.T) {
	t.Parallel()
	whole := []string{"--data-dir", "/d", "--run", "r", "--call", "c", "--", "echo -- x"}
	c := FromEnv(func(string) string { return "" })
	if !c.Parse(whole) || c.Server.Data != "/d" || c.Run != "r" || c.ID != "c" || c.Line != "echo -- x" {
		t.Errorf("%+v", c)
	}
	for _, args := range [][]string{
		nil,
		{"--"},
		{"--", "ls"},
		whole[:6], whole[:7], append(whole[:8:8], "more"),
		{"--run", "r", "--", "ls"},
		{"--call", "c", "--", "ls"},
		append([]string{"--run", "r2"}, whole...), append([]string{"--token", "t"}, whole...), append([]string{"run"}, whole...), append([]string{"--run=r"}, whole[4:]...),
		{"show", "--run", "r"},
		{"--help"},
	} {
		c := FromEnv(func(string) string { return "" })
		if c.Parse(args) {
			t.Errorf("%q: %+v", args, c)
		}
	}
	// Settings that come with a workspace can set variables: they do not lead to another server.
	c = FromEnv(func(name string) string { return map[string]string{"INTERLOCK_HTTP_SERVER": "http://evil"}[name] })
	if !c.Parse(whole) || c.Server.Server != "" {
		t.Errorf("%+v", c)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for want, w := range map[int]jail.Witness{
		0: {}, 3: {ExitStatus: 3}, 128 + 9: {ExitStatus: -1, Signal: "SIGKILL"}, 128 + 15: {ExitStatus: -1, Signal: "TERM"},
	} {
		if got := Status(&w); got != want {
			t.Errorf("%+v: %d", w, got)
		}
	}
	if got := Status(&jail.Witness{ExitStatus: -1, Signal: "?"}); got != 137 {
		t.Errorf("an unknown signal: %d", got)
	}
}

// TestChangesFolder: only lines that may change the folder hand it out.
func TestChangesFolder(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"cd x": true, "cd": true, "a && cd x": true, "(cd x; ls)": true, "pushd x": true, "a\ncd x": true, "popd;ls": true,
		"ls": false, "abcd x": false, "cdrecord": false, "echo ./cd": false, "x-cd": false, "": false,
	} {
		if got := changesFolder.MatchString(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestWritesFolder: only the end of a line that Claude Code starts names the file.
func TestWritesFolder(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"eval 'x' < /dev/null && pwd -P >| /tmp/claude-1a2b-cwd":          "/tmp/claude-1a2b-cwd",
		"eval 'x' && pwd -P >| '/tmp/claude-x-cwd'":                       "/tmp/claude-x-cwd",
		"eval 'x' && pwd -P >| /etc/passwd":                               "",
		"eval '&& pwd -P >| /tmp/claude-x-cwd' && true":                   "",
		"eval 'x' && pwd -P >| /tmp/claude-x-cwd; rm":                     "",
		"eval 'x' && pwd -P >| /tmp/claude-x/../../etc/claude-cwd/passwd": "",
		"ls": "",
	} {
		got := ""
		if found := writesFolder.FindStringSubmatch(line); len(found) > 1 {
			got = found[1]
		}
		if got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// TestTemporary: the words of an agent at the end of a line name no file of another place.
func TestTemporary(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"tmp/claude-1000", "home"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"tmp/link": "home", "short": "tmp"} {
		if err := os.Symlink(filepath.Join(root, to), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]bool{
		"tmp/claude-a-cwd": true, "tmp/claude-1000/claude-a-cwd": true, "short/claude-a-cwd": true,
		"home/claude-a-cwd": false, "tmp/link/claude-a-cwd": false, "tmp/../home/claude-a-cwd": false, "tmp/missing/claude-a-cwd": false, "tmpx/claude-a-cwd": false,
	} {
		if got := temporary(root+"/"+file, []string{root + "/tmp", root + "/short", "", "/"}); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
	if temporary("claude-a-cwd", []string{"/tmp", "."}) {
		t.Error("a relative file")
	}
}

// TestHandOut: a folder counts when it is one of the workspace, and no link is followed to the file.
func TestHandOut(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace, sub := filepath.Join(root, "ws"), filepath.Join(root, "ws", "sub")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(workspace, "out")); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "claude-link-cwd")
	if err := os.Symlink(filepath.Join(root, "victim"), link); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ file, says, want string }{
		"a folder":      {says: sub + "\n", want: sub + "\n"},
		"the workspace": {says: workspace + "\n", want: workspace + "\n"},
		"outside":       {says: root + "\n"},
		"next to it":    {says: workspace + "-2\n"},
		"by a link":     {says: workspace + "/out\n"},
		"by dots":       {says: workspace + "/sub/../..\n"},
		"half of it":    {says: sub},
		"two":           {says: sub + "\n" + sub + "\n"},
		"nothing":       {},
		"a link":        {file: link, says: sub + "\n"},
	} {
		file := tc.file
		if file == "" {
			file = filepath.Join(root, "claude-"+strings.ReplaceAll(name, " ", "")+"-cwd")
		}
		note, end, err := handOut(file, workspace)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `printf %s "$1" >&3`, "sh", tc.says)
		cmd.ExtraFiles = []*os.File{note}
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		end()
		if got, _ := os.ReadFile(file); string(got) != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
