package jailer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// nested is a workspace with repositories and settings in folders, and a program that leaves a mark when git runs it.
type nested struct{ dir, mark, evil string }

// plantNested makes it: sub is a repository with a commit, bare.git one without a working tree, and pkg has settings.
func plantNested(t *testing.T) nested {
	t.Helper()
	top := t.TempDir()
	n := nested{filepath.Join(top, "ws"), filepath.Join(top, "mark"), filepath.Join(top, "evil")}
	if err := os.WriteFile(n.evil, []byte("#!/bin/sh\necho ran >> "+n.mark+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	n.outside(t, top, `mkdir ws; cd ws; git init -q .; git init -q sub; git init -q --bare bare.git; echo a > sub/a.txt
git -C sub add a.txt; git -C sub commit -qm a; git -C sub config pull.rebase true; git -C sub config core.pager cat
mkdir -p pkg/.vscode pkg/.claude/agents deploy/hooks; echo mine > pkg/.envrc; echo {} > pkg/.vscode/tasks.json; echo {} > pkg/.claude/settings.json
echo a > pkg/.claude/agents/a.md; echo mine > deploy/config; echo mine > deploy/hooks/run; echo x > pkg/x.txt`)
	return n
}

// outside runs a line as a person does, without a jail.
func (n nested) outside(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(n.env(), "HOME="+filepath.Dir(n.dir))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

func (n nested) env() []string {
	return append(os.Environ(), "EVIL="+n.evil, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_GLOBAL=/dev/null")
}

// look has a person's programs look at each folder, and reports that one has run the program.
func (n nested) look(t *testing.T) bool {
	t.Helper()
	n.outside(t, n.dir, `find . \( -name .git -o -name HEAD \) ! -path '*/logs/*' -printf '%h\0' | sort -zu | xargs -0 -I{} sh -c 'cd "$1" && { git status; git diff; git commit --allow-empty -m x; } >/dev/null 2>&1; true' - {}
find . -mindepth 2 \( -name .envrc -o -name .exrc -o -name hgrc \) -exec grep -lx evil {} + && echo ran >> `+n.mark+`; true`)
	_, err := os.Stat(n.mark)
	return err == nil
}

// inJail runs a line at a level.
func (n nested) inJail(t *testing.T, level jail.Level, rules jail.Rules, line string, change ...func(*jailer.Command)) *jail.Witness {
	t.Helper()
	p := jail.Compile(rules, jail.Command{Workspace: n.dir, Folder: n.dir, Level: jail.Files})
	out, w := jailed(t, &p, line, append(change, func(c *jailer.Command) { c.Highest, c.Env = level, n.env() })...)
	t.Logf("%s: %s%+v", line, out, w)
	return w
}

// hookFunction makes a hook that runs the program.
const hookFunction = `hook() { printf '#!/bin/sh\n%s\n' $EVIL > $1; chmod +x $1; }; `

// belowAttacks make settings in folders of the workspace that a person's programs run.
var belowAttacks = map[string]string{
	"fsmonitor of a new repository":       `git init -q new; git -C new config core.fsmonitor $EVIL`,
	"fsmonitor of a new submodule":        `git init -q new; git -C new commit -q --allow-empty -m x; git -C new config core.fsmonitor $EVIL; git add new`,
	"fsmonitor of a repository":           `git -C sub config core.fsmonitor $EVIL`,
	"a pager":                             `git -C sub config core.fsmonitor $EVIL; git add sub`,
	"a filter":                            `cd sub; git config filter.x.clean "$EVIL; cat"; echo '* filter=x' > .gitattributes; echo b > a.txt`,
	"a text conversion":                   `cd sub; git config diff.x.textconv $EVIL; echo '* diff=x' > .gitattributes; echo b > a.txt`,
	"a program for differences":           `cd sub; git config diff.external $EVIL; echo b > a.txt`,
	"an included configuration":           `cd sub; printf '[core]\nfsmonitor = %s\n' $EVIL > x; git config include.path ../x`,
	"an included configuration, by a new": `git init -q new; cd new; printf '[core]\nfsmonitor = %s\n' $EVIL > x; git config include.path ../x`,
	"a folder of hooks":                   `git init -q new; cd new; mkdir h; hook h/pre-commit; git config core.hooksPath h`,
	"a hook":                              `hook sub/.git/hooks/pre-commit`,
	"a hook of a new repository":          `git init -q new; mkdir -p new/.git/hooks; hook new/.git/hooks/pre-commit`,
	"hooks by a link":                     `git init -q new; rm -rf new/.git/hooks; mkdir h; hook h/pre-commit; ln -s ../../h new/.git/hooks`,
	"a sample by a link":                  `cd sub/.git/hooks; ln -s $EVIL pre-commit`,
	"configuration by a link":             `git init -q new; cp new/.git/config c; git config -f c core.fsmonitor $EVIL; ln -sf ../../c new/.git/config`,
	"configuration appended":              `printf '[core]\n\tfsmonitor = %s\n' $EVIL >> sub/.git/config`,
	"configuration continued":             `printf '[user]\n\tname = a\\\n\n[core]\n\tfsmonitor = %s\n' $EVIL >> sub/.git/config`,
	"configuration on one line":           `git init -q new; printf '[core] fsmonitor = %s\n' $EVIL >> new/.git/config`,
	"configuration in other letters":      `git init -q new; printf '[CORE]\n\tFsMonitor = %s\n' $EVIL >> new/.git/config`,
	"configuration of a worktree":         `git init -q new; cd new; git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $EVIL`,
	"configuration of a worktree, later":  `cd sub; git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $EVIL`,
	"a new repository in an ignored one":  `echo node_modules > .gitignore; mkdir -p node_modules/a/b; git init -q node_modules/a/b; git -C node_modules/a/b config core.fsmonitor $EVIL`,
	"a pointer":                           `git init -q --separate-git-dir=.store new; git -C new config core.fsmonitor $EVIL`,
	"a pointer into git":                  `mkdir x; cp -r .git/. y; mv y .git/y; git config -f .git/y/config core.fsmonitor $EVIL; echo gitdir: ../.git/y > x/.git`,
	"a pointer to objects":                `mkdir x; cp -r sub/.git sub/y; mv sub/y .git/objects/aa; git config -f .git/objects/aa/config core.fsmonitor $EVIL; echo gitdir: ../.git/objects/aa > x/.git`,
	"a pointer by a link":                 `git init -q new; git -C new config core.fsmonitor $EVIL; mv new/.git new/g; ln -s g new/.git`,
	"a pointer in a repository":           `rm -rf sub/.git/hooks; mv sub/.git sub/g; git config -f sub/g/config core.fsmonitor $EVIL; echo gitdir: g > sub/.git`,
	"a common folder":                     `git init -q new; cp -r new/.git c; git config -f c/config core.fsmonitor $EVIL; echo ../../c > new/.git/commondir`,
	"a common folder of a repository":     `cp -r sub/.git c; git config -f c/config core.fsmonitor $EVIL; echo ../../c > sub/.git/commondir`,
	"a repository without a name":         `git init -q --bare x; git -C x config core.fsmonitor $EVIL; git -C x config core.bare false; git -C x config core.worktree ..`,
	"hooks of a repository without name":  `hook bare.git/hooks/pre-commit; git -C bare.git config core.bare false; git -C bare.git config core.worktree ..`,
	"a folder becomes a repository":       `cp -r bare.git/HEAD bare.git/objects bare.git/refs deploy/; printf '[core]\nrepositoryformatversion = 0\nfsmonitor = %s\nworktree = ..\n' $EVIL > deploy/config`,
	"a hook in a folder that becomes one": `cp -r bare.git/HEAD bare.git/objects bare.git/refs deploy/; hook deploy/hooks/pre-commit; printf '[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\n' > deploy/config`,
	"the workspace becomes a repository":  `mkdir a; cd a; cp -r ../bare.git/. .; git config core.fsmonitor $EVIL; git config core.bare false; git config core.worktree .`,
	"a repository in another":             `mkdir -p sub/.git/modules; git init -q sub/.git/modules/m; git -C sub/.git/modules/m config core.fsmonitor $EVIL`,
	"a hook of Mercurial":                 `mkdir -p a/.hg; echo evil > a/.hg/hgrc`,
	"a moved repository":                  `mv sub moved; git -C moved config core.fsmonitor $EVIL`,
	"a copied repository":                 `cp -r sub copied; git -C copied config core.fsmonitor $EVIL`,
	"a repository that is made anew":      `rm -rf sub; git init -q sub; git -C sub config core.fsmonitor $EVIL`,
	"a closed folder":                     `git init -q new/new; git -C new/new config core.fsmonitor $EVIL; chmod 0311 new`,
	"a folder that cannot be entered":     `git init -q new/new; git -C new/new config core.fsmonitor $EVIL; chmod 0 new/new/.git new/new new`,
	"a deep folder":                       `d=$(printf 'd/%.0s' $(seq 400)); mkdir -p $d; git init -q $d; git -C $d config core.fsmonitor $EVIL`,
	"a name with a line break": `d="a
b"; git init -q "$d"; git -C "$d" config core.fsmonitor $EVIL`,
	"an index of many":         `for i in 1 2 3 4 5; do git init -q n$i; git -C n$i config core.fsmonitor $EVIL; git -C n$i commit -q --allow-empty -m x; done; git add .`,
	"a file of direnv":         `echo evil > pkg/.envrc`,
	"a file of direnv, new":    `mkdir -p a/b/c; echo evil > a/b/c/.envrc`,
	"a file of direnv, linked": `mkdir a; echo evil > a/e; ln -s e a/.envrc`,
	"a file of direnv, moved":  `mkdir a; echo evil > e; mv e a/.envrc`,
	"a file of vim, hard link": `mkdir a; echo evil > e; ln e a/.exrc`,
}

// S20.8: at each level, the line's files in folders of the workspace run no program when a person looks at them.
func TestSettingsInFolders(t *testing.T) {
	t.Parallel()
	for name, line := range belowAttacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			real := plantNested(t)
			real.outside(t, real.dir, "("+hookFunction+line+") 2>/dev/null; chmod -R u+rwX .")
			if !real.look(t) && !strings.Contains(name, "made anew") {
				t.Error("without a jail, the attempt does nothing")
			}
			for _, level := range []jail.Level{jail.Full, jail.Scoped, jail.Files} {
				n := plantNested(t)
				w := n.inJail(t, level, jail.Rules{}, hookFunction+line)
				if n.look(t) {
					t.Errorf("at level %d, a person's git has run the program", level)
				}
				if len(w.Tried) == 0 {
					t.Errorf("at level %d, the witness names nothing", level)
				}
				if got := n.outside(t, n.dir, "cat deploy/hooks/run pkg/x.txt; ls"); !strings.HasPrefix(got, "mine\nx\n") {
					t.Errorf("at level %d, files of the user are lost: %s", level, got)
				}
			}
		})
	}
}

// S20.8: the user's settings are as they were, and the work of a line stays.
func TestWorkInFoldersStays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		line  string
		check string // of a person, which prints "yes"
		tried []string
		rules jail.Rules
	}{
		"a clone":            {line: `git clone -q sub cloned`, check: `git -C cloned log --format=tformat:yes; git -C cloned remote get-url origin >/dev/null`},
		"a clone with links": {line: `git clone -q --bare sub c.git; git -C c.git worktree add -q ../w`, check: `git -C w log --format=tformat:yes`},
		"a clone with modules": {
			line:  `M="git -c protocol.file.allow=always"; git init -q m; git -C m commit -q --allow-empty -m m; git init -q top; cd top; $M submodule --quiet add $PWD/../m m; git commit -qm x; cd ..; $M clone -q --recurse-submodules $PWD/top cloned`,
			check: `git -C cloned/m log --format=tformat:yes; cd cloned; git submodule status >/dev/null; git status --porcelain`, tried: []string{"cloned/.git/modules/m/config"}, // core.worktree, which git does not need there
		},
		"a branch": {line: `cd sub; git checkout -q -b b; echo b > a.txt; git commit -qam b`, check: `git -C sub log -1 --format=%s | sed s/b/yes/`},
		"a module": {
			line:  `cd sub; git init -q m; git -C m commit -q --allow-empty -m m; git add m; git submodule -q absorbgitdirs 2>/dev/null; git commit -qm m; true`,
			check: `git -C sub/m log --format=tformat:yes`,
		},
		"a new repository's settings": {
			line: `git init -q new; cd new; git remote add origin https://example.com/x.git; git config core.pager evil; git commit -q --allow-empty -m x`, check: `cd new; test $(git remote) = origin && git log --format=tformat:yes; git config core.pager`,
			tried: []string{"new/.git/config"},
		},
		"settings that were there": {line: `echo x > pkg/.claude/settings.json; rm pkg/.vscode/tasks.json; rm -r pkg/.claude/agents; git -C sub config pull.rebase false`, check: `cd pkg; echo '{}' | cmp - .claude/settings.json && cmp .vscode/tasks.json .claude/settings.json && git -C ../sub config pull.rebase | sed s/true/yes/`, tried: []string{"pkg/.claude/settings.json", "pkg/.vscode/tasks.json", "sub/.git/config"}},
		"a renamed folder": {line: `mv pkg p2; mv sub s2; mv deploy d2`, check: `test "$(cat p2/.envrc d2/config)" = "mine
mine" && test -f p2/.claude/agents/a.md && git -C s2 config pull.rebase | sed s/true/yes/`},
		"a removed folder":            {line: `rm -rf pkg sub`, check: `test -e pkg || test -e sub || echo yes`},
		"a folder that is made anew":  {line: `rm -rf pkg; mkdir pkg2; mkdir pkg; echo x > pkg/x.txt`, check: `cat pkg/x.txt | sed s/x/yes/`},
		"an empty folder of settings": {line: `mkdir -p a/.claude; echo x > a/.claude/settings.json`, check: `test -e a/.claude || echo yes`, tried: []string{"a/.claude/settings.json"}},
		"other files of editors":      {line: `mkdir -p a/.vscode; echo yes > a/.vscode/notes.txt`, check: `cat a/.vscode/notes.txt`},
		"names like them":             {line: `mkdir -p src/hooks; echo yes > src/hooks/use.ts; echo x > src/config; echo x > src/HEAD`, check: `cat src/hooks/use.ts`},
		"a folder that becomes a repository": {
			line: `cp -r bare.git/HEAD bare.git/objects bare.git/refs deploy/`, check: `test "$(cat deploy/config deploy/hooks/run)" = "mine
mine" && ! test -e deploy/HEAD && echo yes`, tried: []string{"deploy/HEAD"},
		},
		"what the author lifts": {
			line: `git -C sub config core.pager evil; echo 'yes' > pkg/.envrc; echo x > pkg/.exrc`, rules: jail.Rules{Write: []string{"sub/.git", "pkg/.envrc"}},
			check: `test $(git -C sub config core.pager) = evil && cat pkg/.envrc`, tried: []string{"pkg/.exrc"},
		},
		"what is the same": {line: `touch pkg/.envrc; cp pkg/.envrc x; cp x pkg/.envrc; chmod 600 pkg/x.txt`, check: `echo yes`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, level := range []jail.Level{jail.Full, jail.Scoped} {
				n := plantNested(t)
				w := n.inJail(t, level, tc.rules, tc.line, func(c *jailer.Command) { c.Trees = filepath.Join(filepath.Dir(n.dir), "data", "trees") })
				got := n.outside(t, n.dir, tc.check+"; true")
				if strings.TrimSpace(strings.Split(got, "\n")[0]) != "yes" || slices.ContainsFunc(tc.tried, func(name string) bool {
					return !slices.ContainsFunc(w.Tried, func(tried string) bool { return tried == name })
				}) ||
					tc.tried == nil && len(w.Tried) > 0 {
					t.Errorf("level %d: %s, tried %q", level, got, w.Tried)
				}
			}
		})
	}
}
