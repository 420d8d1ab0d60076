package jailer_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// S20.4: a program in the background ends before a command that may do less than it, and not before one that may do as much.
func TestProgramsThatAreLeft(t *testing.T) {
	t.Parallel()
	rules := jail.Rules{Background: true}
	for _, level := range []jail.Level{jail.Full, jail.Scoped, jail.Files} {
		for name, tc := range map[string]struct {
			rules jail.Rules
			call  jail.Command
			ends  bool
		}{
			"the same state":           {rules, jail.Command{}, false},
			"a state that reads":       {rules, jail.Command{ReadOnly: true}, true},
			"a state with hosts":       {jail.Rules{Background: true, Hosts: []string{"a.example"}}, jail.Command{}, true},
			"a state with none":        {jail.Rules{Background: true, Hosts: []string{}}, jail.Command{}, true},
			"a state without the rule": {jail.Rules{}, jail.Command{}, true},
			"a state that shows more":  {jail.Rules{Background: true, Read: []string{"~/.ssh"}, Write: []string{"~/x"}}, jail.Command{}, false},
		} {
			dir, left := workspace(t, "a", "a"), t.TempDir()
			p := jail.Compile(rules, jail.Command{Workspace: dir, Folder: dir, Level: jail.Files})
			// Programs hold the pipe's other end as long as they live.
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			in := func(c *jailer.Command) { c.Highest, c.Left, c.Note = level, left, write }
			jailed(t, &p, `(setsid sh -c '(sleep 1000 & sleep 1000) & sleep 1000' >/dev/null 2>&1 &) >/dev/null 2>&1; setsid -f sleep 1000 >/dev/null 2>&1; echo >&3`, in)
			write.Close()
			if _, err := read.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			tc.call.Workspace, tc.call.Folder, tc.call.Level = dir, dir, jail.Files
			now := jail.Compile(tc.rules, tc.call)
			if err := jailer.EndLeft(left, &now); err != nil {
				t.Errorf("%s, level %d: %v", name, level, err)
			}
			files, _ := filepath.Glob(filepath.Join(left, "*.json"))
			if (len(files) == 0) != tc.ends {
				t.Errorf("%s, level %d: kept %v", name, level, files)
			}
			if !tc.ends {
				reading := jail.Compile(jail.Rules{}, jail.Command{ReadOnly: true, Workspace: dir})
				if err := jailer.EndLeft(left, &reading); err != nil {
					t.Errorf("%s, level %d: %v", name, level, err)
				}
			}
			if err := read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if n, err := read.Read(make([]byte, 1)); n > 0 || err == nil || os.IsTimeout(err) {
				t.Errorf("%s, level %d: programs live on: %v", name, level, err)
			}
			read.Close()
		}
	}
}
