package jailertest

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/jail"
)

// protectAttempts change, in a state that edits, files of the workspace that run later.
func protectAttempts() []attempt {
	all := []attempt{
		{name: "a hook of git", line: `echo evil > .git/hooks/pre-commit`},
		{name: "a new hook of git", line: `echo evil > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout`},
		{name: "no hooks of git", line: `rm -rf .git/hooks`},
		{name: "hooks of git, renamed", line: `mv .git/hooks .git/h2; mkdir .git/hooks; echo evil > .git/hooks/pre-commit`},
		{name: "hooks of git by a link", line: `rm -rf .git/hooks; ln -s ../src .git/hooks`},
		{name: "git renamed", line: `mv .git g2; cp -r g2 .git; echo evil > .git/hooks/pre-commit`},
		{name: "git removed", line: `rm -rf .git; git init -q; git config core.fsmonitor evil`},
		{name: "git copied over", line: `cp -r .git g2; echo evil > g2/hooks/pre-commit; cp -rf g2/. .git/`},
		{name: "git exchanged", py: `
import shutil
shutil.copytree(".git", "g2"); open("g2/hooks/pre-commit", "w").write("evil")
call(316, -100, b"/srv/ws/.git", -100, b"/srv/ws/g2", 2)`},
		{name: "hooks of git exchanged", py: `
os.mkdir("h2"); open("h2/pre-commit", "w").write("evil")
call(316, -100, b"/srv/ws/.git/hooks", -100, b"/srv/ws/h2", 2)`},
		{name: "git by a link", line: `mv .git g2; ln -s g2 .git; echo evil > g2/hooks/pre-commit`},
		{name: "git by a file", line: `cp -r .git g2; rm -rf .git; echo 'gitdir: g2' > .git; echo evil > g2/hooks/pre-commit`},
		{name: "settings of git", line: `git config core.fsmonitor evil`},
		{name: "settings of git, hooks", line: `git config core.hooksPath src`},
		{name: "settings of git, appended", line: `printf '[core]\n\tpager = evil\n' >> .git/config`},
		{name: "settings of git, replaced", line: `cp .git/config c; echo '[alias]' >> c; mv -f c .git/config`},
		{name: "settings of git, by a lock", line: `cp .git/config .git/config.lock; echo '[alias]' >> .git/config.lock; mv -f .git/config.lock .git/config`},
		{name: "settings of git, by a hard link", line: `ln .git/config c; echo '[alias]' >> c`},
		{name: "settings of git, by a new folder", line: `cp -r .git other; echo '[alias]' >> other/config; echo ../other > .git/commondir`},
		{name: "settings of git, elsewhere", as: editing, line: `git config --worktree core.pager evil 2>/dev/null; echo evil > .git/info/attributes`},
		{name: "envrc", line: `echo evil >> .envrc`},
		{name: "envrc, replaced", line: `echo evil > e; mv -f e .envrc`},
		{name: "envrc, by a link", line: `rm -f .envrc; ln -s src/a.txt .envrc`},
		{name: "envrc, in the workspace by sed", line: `sed -i '$a evil' .envrc`},
		{name: "envrc, by truncation", py: `os.truncate(".envrc", 0)`},
		{name: "envrc, by a map", py: `
m = mmap.mmap(os.open(".envrc", os.O_RDWR), 3); m[0:3] = b"xxx"`},
		{name: "tasks of an editor", line: `echo '{"tasks":[]}' > .vscode/tasks.json`},
		{name: "tasks of an editor, renamed", line: `mv .vscode v; mkdir .vscode; echo '{"tasks":[]}' > .vscode/tasks.json`},
		{name: "hooks of husky", line: `echo evil > .husky/pre-commit`},
		{name: "settings of the agent", line: `echo '{"hooks":{}}' > .claude/settings.json`},
		{name: "local settings of the agent", line: `rm -f .claude/settings.local.json`},
		{name: "settings of the agent, renamed", line: `mv .claude c; mkdir .claude; echo '{}x' > .claude/settings.json`},
		{name: "servers of the agent", line: `echo '{"mcpServers":{}}' > .mcp.json`},
		{name: "servers of the agent, removed", line: `rm -f .mcp.json`},
		{name: "all protected files", line: `rm -rf .[a-z]*`},
		{name: "all protected files by git", line: `git clean -fdxq; git stash -uq 2>/dev/null; rm -rf .claude .vscode .envrc`},
		{name: "the workspace emptied", line: `find . -mindepth 1 -delete`},
		{name: "the workspace's modes", line: `chmod -R 777 .claude .vscode .envrc .git/hooks .git/config`},
		{name: "protected by a race", line: `
(for i in $(seq 200); do mv .vscode v; mkdir .vscode; echo evil > .vscode/tasks.json; rm -rf .vscode; mv v .vscode; done) 2>/dev/null &
for i in $(seq 200); do echo evil > .vscode/tasks.json; done 2>/dev/null; wait; true`},
		{name: "protected by a folder's descriptor", py: `
fd = os.open(".git", os.O_RDONLY)
os.rename("hooks", "h2", src_dir_fd=fd, dst_dir_fd=fd); os.mkdir("hooks", dir_fd=fd); os.open("hooks/pre-commit", os.O_CREAT | os.O_WRONLY, dir_fd=fd)`},
		{name: "protected by /proc/self/root", line: `echo evil > /proc/self/root/srv/ws/.envrc`},
		{name: "protected by the parent's root", line: `echo evil > /proc/$PPID/root/srv/ws/.envrc; echo evil > /proc/$WATCHED/root/srv/ws/.envrc`},
		{name: "protected by an open descriptor", py: `
fd = os.open("/proc/self/fd/5/srv/ws/.envrc", os.O_WRONLY | os.O_APPEND); os.write(fd, b"evil")`},
		{name: "protected in other letters", line: `echo evil > .ENVRC; mv .ENVRC .envrc`},
		{name: "a dangling protected link", line: `ln -s /srv/ws/src/a.txt .cursor; true`},
	}
	for _, name := range []string{
		".cursor/hooks.json", ".cursor/mcp.json", ".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json", ".idea/workspace.xml",
		".devcontainer/devcontainer.json", ".vscode/launch.json", ".claude/agents/x.md", ".claude/commands/x.md", ".claude/skills/x/SKILL.md",
		".husky/post-merge",
	} {
		all = append(all, attempt{name: "new " + name, line: fmt.Sprintf("mkdir -p %[1]s && rmdir %[1]s; echo evil > %[1]s", name)})
	}
	for i := range all {
		all[i].as = editing
		all[i].name = "protected: " + all[i].name
	}
	return all
}

// ends adds an outcome where a command had to be ended from outside.
func ends(also func(result) string) func(result) []string {
	return func(r result) (found []string) {
		if r.Late {
			found = append(found, fmt.Sprintf("took %s", r.Took))
		}
		if also != nil && r.Witness != nil {
			if why := also(r); why != "" {
				found = append(found, why)
			}
		}
		return found
	}
}

// stopped wants the witness to name a limit.
func stopped(r result) string {
	if r.Witness.Stopped == "" && r.Witness.OK() {
		return fmt.Sprintf("no limit has ended it: %+v", r.Witness)
	}
	return ""
}

// limitAttempts use more than they may.
var limitAttempts = []attempt{
	{name: "limit: forks", limits: jail.Limits{Processes: 64, WallSeconds: 3}, vain: "it would end the pen", py: `
n = 0
while n < 3000:
    try:
        if os.fork() == 0: time.sleep(600); os._exit(0)
        n += 1
    except OSError: break
won("started %d" % n, n >= 2000)`, check: ends(nil)},
	{
		name: "limit: a fork bomb", least: jail.Full, limits: jail.Limits{Processes: 100, WallSeconds: 2}, vain: "it would end the pen",
		line: `f() { f | f & }; f; sleep 6000`, check: ends(nil),
	},
	{name: "limit: memory", limits: jail.Limits{MemoryMB: 256, WallSeconds: 10}, vain: "it would end the pen", py: `
d = []
for i in range(20): d.append(bytearray(64 << 20))
won("has it")`, check: ends(nil)},
	{
		name: "limit: processor", limits: jail.Limits{CPUSeconds: 1, WallSeconds: 15}, vain: "it has no limit",
		line: `while :; do :; done`, check: ends(stopped),
	},
	{name: "limit: time", limits: jail.Limits{WallSeconds: 1}, vain: "it has no limit", line: `sleep 600`, check: ends(stopped)},
	{
		name: "limit: time, with signals ignored", limits: jail.Limits{WallSeconds: 1}, vain: "it has no limit",
		line: `trap '' TERM INT HUP; while :; do sleep 1; done`, check: ends(stopped),
	},
	{name: "limit: time, stopped", limits: jail.Limits{WallSeconds: 1}, vain: "it has no limit", line: `kill -STOP $$`, check: ends(stopped)},
	{
		name: "limit: output", limits: jail.Limits{OutputBytes: 1 << 20, WallSeconds: 10}, vain: "it has no limit", line: `yes`,
		check: ends(func(r result) string {
			if r.Bytes > 2<<20 {
				return fmt.Sprintf("%d bytes have passed", r.Bytes)
			}
			return stopped(r)
		}),
	},
	{
		name: "limit: output of children", limits: jail.Limits{OutputBytes: 1 << 20, WallSeconds: 10}, vain: "it has no limit",
		line: `yes & yes >&2 & wait`, check: ends(stopped),
	},
	{
		name: "limit: disk", limits: jail.Limits{ScratchMB: 64, WallSeconds: 15}, vain: "it has no limit",
		line: `for d in . /dev/shm; do head -c 200M /dev/zero > $d/big 2>/dev/null && [ $(stat -c %s $d/big) -ge 209715200 ] && echo ESCAPED $d; done; true`,
	},
	{
		name: "limit: disk, by what is kept for the run", limits: jail.Limits{ScratchMB: 64, KeptMB: 64, WallSeconds: 15}, vain: "it has no limit",
		line: `head -c 200M /dev/zero >$TMPDIR/big; sleep 600`, check: ends(stopped),
	},
	{
		name: "limit: disk, by files without a name", limits: jail.Limits{ScratchMB: 64, KeptMB: 64, WallSeconds: 15}, vain: "it has no limit",
		line: `exec 3>$TMPDIR/big; head -c 200M /dev/zero >&3; head -c 200M /dev/zero >$TMPDIR/big2; rm $TMPDIR/big; sleep 600`, check: ends(stopped),
	},
	{
		name: "limit: files", limits: jail.Limits{ScratchMB: 64, WallSeconds: 15}, vain: "it has no limit",
		py: `
n = 0
try:
    for n in range(400000): os.close(os.open("f%d" % n, os.O_CREAT))
except OSError: pass
won("made %d files" % n, n > 390000)`,
	},
	{name: "limit: output is held by a child", line: `sleep 600 & exit 0`, vain: "it is waited for", check: ends(nil)},
	{name: "limit: output is held by a stopped child", line: `(kill -STOP $BASHPID; sleep 600) & exit 0`, vain: "it is waited for", check: ends(nil)},
	{name: "limit: dead children", vain: "they end with it", limits: jail.Limits{Processes: 200, WallSeconds: 5}, py: `
for i in range(150):
    if os.fork() == 0: os._exit(0)`},
	{name: "status: a failure is none that has passed", line: `exit 3`, vain: "harmless", check: func(r result) []string {
		if r.Witness == nil || r.Witness.ExitStatus != 3 || r.Witness.OK() {
			return []string{fmt.Sprintf("the witness is %+v %s", r.Witness, r.Error)}
		}
		return nil
	}},
	{name: "status: a signal is none that has passed", line: `kill -9 $$`, vain: "harmless", check: func(r result) []string {
		if r.Witness == nil || r.Witness.OK() || r.Witness.Signal == "" {
			return []string{fmt.Sprintf("the witness is %+v %s", r.Witness, r.Error)}
		}
		return nil
	}},
	{name: "status: output passes as it is", line: `printf 'out\n'; printf 'err\n' >&2`, vain: "harmless", check: func(r result) []string {
		if !strings.Contains(r.Output, "out\n") || !strings.Contains(r.Output, "err\n") || r.Witness == nil || !r.Witness.OK() {
			return []string{fmt.Sprintf("output %q, witness %+v %s", r.Output, r.Witness, r.Error)}
		}
		return nil
	}},
}
