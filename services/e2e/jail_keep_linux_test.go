package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// S20.4: /tmp is a folder of the run, and caches are changed in a copy of the run: later lines see the files of earlier ones.
func TestHookedLinesKeepTheirFolders(t *testing.T) {
	t.Parallel()
	j := startInJails(t)
	for _, c := range []struct{ line, want string }{
		{`python3 -c 'open("/tmp/kept", "w").write("1")'; python3 -c 'open("/var/tmp/kept", "w").write("2")'`, ""},
		{"cat /tmp/kept /var/tmp/kept", "12"},
		{`python3 -c 'import os; d = os.path.expanduser("~/.cache/interlock-e2e"); os.makedirs(d); open(d + "/x", "w").write("3")'`, ""},
		{"cat ~/.cache/interlock-e2e/x", "3"},
	} {
		if status, output := j.run(c.line); status != 0 || strings.TrimSpace(output) != c.want {
			t.Errorf("%s: %d %q", c.line, status, output)
		}
	}
	if runs, err := os.ReadDir(filepath.Join(string(j.u.data), "runs")); err != nil || len(runs) != 1 {
		t.Errorf("%v in the data folder, %v", runs, err)
	}
	if home, err := os.UserHomeDir(); err == nil {
		if _, err := os.Lstat(filepath.Join(home, ".cache/interlock-e2e/x")); err == nil {
			t.Error("the home folder has changed")
		}
	}
}

// S14.9: evidence of a hooked line is of the workspace's files: any change voids it, and a reverted one does not.
func TestHookedLinesGiveEvidenceOfFiles(t *testing.T) {
	t.Parallel()
	j := startInJails(t)
	if status, output := j.run("sh tests.sh"); status != 0 {
		t.Fatalf("%d %s", status, output)
	}
	if e := j.evidence(); len(e) != 1 || !e[0].GetHeld() || !strings.HasPrefix(e[0].GetTree(), "tree:") {
		t.Fatalf("%v", e)
	}
	file := filepath.Join(j.dir, "a.txt")
	before := must[[]byte](t)(os.ReadFile(file))
	for _, c := range []struct {
		text  string
		taken bool
	}{{"changed\n", false}, {string(before), true}} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		moved := must[*enginev1.TransitionRunResponse](t)(j.operator.runs.TransitionRun(within(t), &enginev1.TransitionRunRequest{SessionId: "s", Event: "GO"}))
		if moved.GetAccepted() != c.taken {
			t.Errorf("with %q: %v", c.text, moved)
		}
	}
}

// S20.5: where a jail of level 3 holds a line, the hook refuses only its certain acts on Interlock; without one, also possible ones.
func TestHookedLinesOfUnknownCode(t *testing.T) {
	t.Parallel()
	j := startInJails(t)
	for line, want := range map[string]string{
		"cat >/tmp/x.sh <<EOF\necho script\nEOF\nbash /tmp/x.sh": "script",
		`X=echo; $X named`:           "named",
		`echo 'echo piped' | bash`:   "piped",
		`eval "$(echo echo evaled)"`: "evaled",
	} {
		if status, output := j.run(line); status != 0 || !strings.Contains(output, want) {
			t.Errorf("%s: %d %q", line, status, output)
		}
		if without := j.hookedBy(line, ""); !strings.Contains(without, `"deny"`) {
			t.Errorf("%s without a jail: %s", line, without)
		}
	}
	data := string(j.u.data)
	for _, line := range []string{
		"bash -c 'cat " + data + "/tokens.json'",
		"X=ls; $X; cat " + data + "/tokens.json",
		"cat >/tmp/x.sh <<EOF\nx\nEOF\nbash /tmp/x.sh; interlock run pause r",
	} {
		if wrapped, answer := j.hooked(line); wrapped != "" {
			t.Errorf("%s: %s", line, answer)
		}
	}
}
