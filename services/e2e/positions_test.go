package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// position is a machine with workspaces, and no server.
type position struct {
	t     *testing.T
	home  string // with everything
	state string // with the data folders
	agent string

	program string
}

// run runs interlock in a folder of the machine, and returns its output; how it ends does not count.
func (p *position) run(dir string, args ...string) string {
	p.t.Helper()
	run := exec.CommandContext(within(p.t), p.program, args...)
	run.Dir, run.Env = p.at(dir), append(cleanEnv(), "XDG_STATE_HOME="+p.state, "HOME="+p.home)
	out, _ := run.CombinedOutput()
	return string(out)
}

func (p *position) at(dir string) string { return filepath.Join(p.home, dir) }

func (p *position) init(dir string, args ...string) string {
	p.t.Helper()
	return p.run(dir, append([]string{"init", p.agent, "--yes"}, args...)...)
}

// says checks the output of a command.
func (p *position) says(out string, words ...string) {
	p.t.Helper()
	for _, word := range words {
		if wanted, not := strings.CutPrefix(word, "!"); strings.Contains(out, wanted) == not {
			p.t.Errorf("want %q in:\n%s", word, out)
		}
	}
}

// files are all files and folders below a folder.
func (p *position) files(dir string) (names []string) {
	p.t.Helper()
	err := filepath.WalkDir(p.at(dir), func(path string, _ fs.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(path, p.at(dir)))
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
	return names
}

// unchanged checks that a folder has the same files as before.
func (p *position) unchanged(dir string, before []string) {
	p.t.Helper()
	if now := p.files(dir); !slices.Equal(now, before) {
		p.t.Errorf("%s has %q, and had %q", dir, now, before)
	}
}

// TestPositions: S13.13. In every position of a workspace, init names the set-up above it, doctor finds that its hooks are those of another
// workspace, and --undo removes all files of init.
func TestPositions(t *testing.T) {
	t.Parallel()
	const elsewhere = "FAIL  the hooks use the data folder"
	for name, walk := range map[string]func(p *position){
		"same": func(p *position) {
			before := p.files("w")
			p.says(p.init("w"), "written", "!is set up, too")
			p.says(p.init("w"), ": no change")
			p.says(p.run("w", "doctor"), "!"+elsewhere)
			p.says(p.init("w", "--undo"), "taken out")
			p.unchanged("w", before)
			p.unchanged("state/interlock", []string{""})
		},
		"with files of others": func(p *position) {
			for _, folder := range []string{".claude", ".codex"} {
				if err := os.MkdirAll(p.at("w/"+folder+"/mine"), 0o700); err != nil {
					p.t.Fatal(err)
				}
			}
			before := p.files("w")
			p.init("w")
			p.init("w", "--undo")
			p.unchanged("w", before)
		},
		"child": func(p *position) {
			p.init("w")
			parent, before := p.files("w"), p.files("w/child")
			p.says(p.init("w/child"), "note: "+p.at("w")+" is set up, too")
			p.says(p.run("w/child", "doctor"), "!"+elsewhere)
			p.init("w/child", "--undo")
			p.unchanged("w/child", before)
			p.unchanged("w", parent)
		},
		"parent": func(p *position) {
			before := p.files("w")
			p.init("w/child")
			child := p.files("w/child")
			p.says(p.init("w"), "written", "!is set up, too")
			p.says(p.run("w", "doctor"), "!"+elsewhere)
			p.init("w", "--undo")
			p.unchanged("w/child", child)
			p.init("w/child", "--undo")
			p.unchanged("w", before)
		},
		"copy": func(p *position) {
			before := p.files("w")
			p.init("w")
			if err := os.CopyFS(p.at("copy"), os.DirFS(p.at("w"))); err != nil {
				p.t.Fatal(err)
			}
			p.says(p.run("copy", "doctor"), elsewhere, "this is a copy")
			p.says(p.run("w", "doctor"), "!"+elsewhere)
			original := p.files("w")
			p.says(p.init("copy"), "remove the file")
			p.says(p.init("copy", "--undo"), "taken out")
			p.says(strings.Join(p.files("copy"), "\n"), "!interlock", "!settings", "!hooks", "!.mcp.json")
			p.unchanged("w", original)
			p.says(p.init("copy"), "written")
			p.says(p.run("copy", "doctor"), "!"+elsewhere)
			p.init("w", "--undo")
			p.unchanged("w", before)
		},
		"meant for the other's server": func(p *position) {
			p.init("w")
			other := strings.TrimSpace(p.run("w", "data", "path"))
			p.says(p.init("v", "--data-dir", other), "written")
			p.says(p.run("v", "doctor"), "!"+elsewhere)
		},
		"moved": func(p *position) {
			p.init("w")
			if err := os.Rename(p.at("w"), p.at("store")); err != nil {
				p.t.Fatal(err)
			}
			p.says(p.run("store", "doctor"), elsewhere, "which is gone", "interlock data move")
			out := p.run("store", "data", "move")
			p.says(out, "moved", "names another data folder", "run `interlock init "+p.agent)
			p.says(p.run("store", "doctor"), "which is gone")
			_, command, _ := strings.Cut(out, "run `interlock ")
			command, _, _ = strings.Cut(command, "`")
			p.says(p.run("store", append(strings.Fields(strings.ReplaceAll(command, "'", "")), "--yes")...), "written")
			p.says(p.run("store", "doctor"), "!"+elsewhere)
			p.says(p.run("store", "data", "move"), "no move is needed", "!names another")
			p.init("store", "--undo")
			p.says(strings.Join(p.files("store"), "\n"), "!interlock", "!settings", "!hooks", "!.mcp.json")
		},
		"symlinked": func(p *position) {
			before := p.files("w")
			if err := os.Symlink(p.at("w"), p.at("link")); err != nil {
				p.t.Fatal(err)
			}
			p.says(p.init("link"), "written")
			p.says(p.run("w", "doctor"), "!"+elsewhere, "!no record shows")
			p.says(p.run(".", "doctor", p.at("link")), "!"+elsewhere, "!no record shows")
			p.says(p.init("w"), ": no change")
			p.init("link", "--undo")
			p.unchanged("w", before)
		},
	} {
		for _, agent := range []string{"claude-code", "codex"} {
			t.Run(name+", "+agent, func(t *testing.T) {
				t.Parallel()
				home := must[string](t)(filepath.EvalSymlinks(t.TempDir()))
				p := &position{t: t, home: home, state: filepath.Join(home, "state"), agent: agent, program: binary(t, "interlock")}
				for _, folder := range []string{"w/child", "v", "state/interlock"} {
					if err := os.MkdirAll(p.at(folder), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				walk(p)
			})
		}
	}
}
