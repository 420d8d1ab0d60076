package jailer_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// S20.8: a command leads git to no other settings by a file in the place of .git: a person's git would run their programs.
func TestPointersOfGit(t *testing.T) {
	t.Parallel()
	const linked = "gitdir: /srv/repository/.git/worktrees/w\n"
	for _, level := range []jail.Level{jail.Full, jail.Scoped} {
		for name, tc := range map[string]struct {
			before []string
			line   string
			want   string // of .git; empty for none
		}{
			"a file":                   {nil, `echo "gitdir: r" > .git`, ""},
			"a link":                   {nil, `mkdir r; ln -s r .git`, ""},
			"of a linked worktree":     {[]string{".git", linked}, `echo "gitdir: r" > .git`, linked},
			"replaced":                 {[]string{".git", linked}, `echo "gitdir: r" > x; mv -f x .git`, linked},
			"removed":                  {[]string{".git", linked}, `rm -f .git; mkdir .git; echo evil > .git/config`, linked},
			"by a link":                {[]string{".git", linked}, `mkdir r; rm -f .git; ln -s r .git`, linked},
			"of a file for a folder":   {nil, `echo x > .vscode; echo "gitdir: r" > .git`, ""},
			"of what is there as well": {[]string{"a.txt", "a"}, `cp a.txt .git`, ""},
		} {
			dir := workspace(t, tc.before...)
			p := jail.Compile(jail.Rules{}, jail.Command{Workspace: dir, Folder: dir, Level: jail.Files})
			jailed(t, &p, "exec 2>/dev/null; "+tc.line, func(c *jailer.Command) { c.Highest = level })
			got, err := os.ReadFile(filepath.Join(dir, ".git"))
			if string(got) != tc.want || tc.want == "" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s at level %d: %q, %v", name, level, got, err)
			}
		}
	}
}
