package jailertest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// ranMark is made by the program that settings of an attempt name.
const ranMark = outside + "/ran"

// belowAttempts make, in a state that edits, settings in folders of the workspace that a person's git runs.
func belowAttempts() (all []attempt) {
	for name, line := range map[string]string{
		"fsmonitor of a repository":           `git -C sub config core.fsmonitor $E`,
		"fsmonitor, appended":                 `printf '[core]\n\tfsmonitor = %s\n' $E >> sub/.git/config`,
		"fsmonitor, replaced":                 `cp sub/.git/config c; printf '[core]\n\tfsmonitor = %s\n' $E >> c; mv -f c sub/.git/config`,
		"fsmonitor, by a hard link":           `ln sub/.git/config c; printf '[core]\n\tfsmonitor = %s\n' $E >> c`,
		"fsmonitor of a new repository":       `git init -q new; git -C new config core.fsmonitor $E`,
		"fsmonitor of a submodule":            `git init -q new; git -C new config core.fsmonitor $E; git -C new -c user.name=a -c user.email=a@x commit -q --allow-empty -m x; git add new`,
		"fsmonitor in an ignored folder":      `mkdir build; git init -q build/new; git -C build/new config core.fsmonitor $E`,
		"fsmonitor, deep":                     `d=$(printf 'd/%.0s' $(seq 100)); mkdir -p $d; git init -q $d; git -C $d config core.fsmonitor $E`,
		"fsmonitor, by a pointer":             `git init -q --separate-git-dir=store new; git -C new config core.fsmonitor $E`,
		"fsmonitor, by a pointer into git":    `mkdir x; cp -r sub/.git .git/y; git config -f .git/y/config core.fsmonitor $E; echo gitdir: ../.git/y > x/.git`,
		"fsmonitor, by a pointer to the temp": `mkdir x; T=$(readlink -f ${TMPDIR:-/tmp}); cp -r sub/.git $T/y; git config -f $T/y/config core.fsmonitor $E; echo gitdir: $T/y > x/.git`,
		"fsmonitor, by a link":                `git init -q new; git -C new config core.fsmonitor $E; mv new/.git new/g; ln -s g new/.git`,
		"fsmonitor, by a common folder":       `cp -r sub/.git c; git config -f c/config core.fsmonitor $E; echo ../../c > sub/.git/commondir`,
		"fsmonitor, by an include":            `printf '[core]\nfsmonitor = %s\n' $E > x; git -C sub config include.path ../../x`,
		"fsmonitor of a worktree":             `git -C sub config extensions.worktreeConfig true; git -C sub config --worktree core.fsmonitor $E`,
		"fsmonitor without a folder .git":     `git init -q --bare x; git -C x config core.fsmonitor $E; git -C x config core.bare false; git -C x config core.worktree ..`,
		"fsmonitor of a moved repository":     `mv sub moved; git -C moved config core.fsmonitor $E`,
		"fsmonitor of a copied repository":    `cp -r sub copied; git -C copied config core.fsmonitor $E`,
		"fsmonitor in a closed folder":        `git init -q new/new; git -C new/new config core.fsmonitor $E; chmod 0311 new`,
		"a filter":                            `cd sub; git config filter.x.clean $E; echo '* filter=x' > .gitattributes; echo b > a.txt; git add a.txt; git config filter.x.clean "$E; cat"; echo c > a.txt`,
		"a hook":                              `mkdir -p sub/.git/hooks; cp $E sub/.git/hooks/pre-commit`,
		"a hook of a new repository":          `git init -q new; mkdir -p new/.git/hooks; cp $E new/.git/hooks/pre-commit`,
		"hooks by a link":                     `mkdir h; cp $E h/pre-commit; rm -rf sub/.git/hooks; ln -s ../../h sub/.git/hooks`,
		"hooks by a setting":                  `mkdir h; cp $E h/pre-commit; git -C sub config core.hooksPath ../h`,
		"direnv":                              `echo evil > pkg/.envrc`,
		"direnv, new":                         `mkdir -p a/b; echo evil > a/b/.envrc`,
		"tasks of an editor":                  `echo evil > pkg/.vscode/tasks.json`,
		"tasks of an editor, new":             `mkdir -p a/.vscode; echo evil > a/.vscode/tasks.json`,
		"settings of the agent":               `echo evil > pkg/.claude/settings.json`,
		"settings of the agent, new":          `mkdir -p a/.claude; echo evil > a/.claude/settings.local.json`,
		"servers of the agent":                `echo evil > pkg/.mcp.json`,
		"hooks of husky":                      `mkdir -p a/.husky; echo evil > a/.husky/pre-commit`,
		"a project of an editor":              `mkdir -p a/.idea; echo evil > a/.idea/workspace.xml`,
	} {
		all = append(all, attempt{
			name: "below: " + name, as: editing, check: lookBelow,
			line: `E=$PWD/prog; printf '#!/bin/sh\necho ran > ` + ranMark + `\ncat\n' > $E; chmod +x $E; ` + line,
		})
	}
	slices.SortFunc(all, func(a, b attempt) int { return strings.Compare(a.name, b.name) })
	return all
}

// lookBelow has a person's git look at each repository below the workspace, and reads the settings of others.
func lookBelow(result) (found []string) {
	cmd := exec.Command("sh", "-c", `chmod -R u+rwX . 2>/dev/null
find . -mindepth 2 \( -name .git -o -name HEAD \) ! -path '*/logs/*' -printf '%h\n' | sort -u | while read -r d; do
	(cd "$d" && { git status; git diff; git -c user.name=a -c user.email=a@x commit --allow-empty -m x; } </dev/null >/dev/null 2>&1); done
find . -mindepth 2 -path '*/.*' -type f ! -path '*/.git/*' -exec grep -lx evil {} +; true`)
	cmd.Dir = workspace
	cmd.Env = []string{"PATH=" + penPath, "HOME=" + home}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return []string{err.Error()}
	}
	for name := range strings.Lines(string(out)) {
		found = append(found, fmt.Sprintf("a program obeys %s", strings.TrimSpace(name)))
	}
	if _, err := os.Stat(ranMark); err == nil {
		found = append(found, "a person's git has run the program")
	}
	return found
}
