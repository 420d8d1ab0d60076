package facet_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
)

// TestWorkspaceOfAnAgent: an absolute pattern restricts the files of a workspace that is in its folder, or holds it (S21.11): which folder the
// workspace is may be what an agent says. An allowance is not wider for it.
func TestWorkspaceOfAnAgent(t *testing.T) {
	t.Parallel()
	rule := read(t, `{"files": ["/etc/**", "/w/proj/.env"]}`, condition.Restricts)
	only := read(t, `{"files": ["/etc/**"]}`, condition.Requires)
	for _, row := range []struct {
		workspace, call string
		want            condition.Truth
	}{
		{"/", "cat /etc/passwd", condition.True},
		{"/", "cat etc/passwd", condition.True},
		{"/", "cd /etc && cat passwd", condition.True},
		{"/", "grep -r x .", condition.True},
		{"/etc", "cat passwd", condition.True},
		{"/etc/", "cat /etc/passwd", condition.True},
		{"/etc/ssl/..", "cat /etc/passwd", condition.True},
		{"//", "cat /etc/passwd", condition.True},
		{"/w/proj", "cat .env", condition.True},
		{"/w/proj", "cat /w/proj/.env", condition.True},
		{"/w/proj", "cp -r . /tmp/x", condition.True},
		{"/w", "cat proj/.env", condition.True},
		{"/w/proj", "cat src/.env", condition.False},
		{"/w/proj", "cat etc/passwd", condition.False},
		{"/", "cat w/x", condition.False},
	} {
		of := subjectOf("Bash " + row.call)
		of.Workspace, of.Folder = row.workspace, row.workspace
		if got := rule.Judge(facet.Of(of), condition.Restricts); got != row.want {
			t.Errorf("%s in %s: %v, want %v", row.call, row.workspace, got, row.want)
		}
		if row.workspace != "/w" && only.Judge(facet.Of(of), condition.Requires) == condition.True {
			t.Errorf("%s in %s: is allowed by an absolute pattern", row.call, row.workspace)
		}
	}
}

// TestGitOptions has options of git that read or write files (S21.11), among other letters, by their beginnings, and behind others.
func TestGitOptions(t *testing.T) {
	t.Parallel()
	rule := read(t, `{"files": ["/etc/**", "conf/secret.txt"]}`, condition.Restricts)
	judge := func(line string) condition.Truth {
		return rule.Judge(facet.Of(subjectOf("Bash git "+line)), condition.Restricts)
	}
	for line := range strings.Lines(`commit --fi /etc/x
commit --fil=/etc/x
commit -qF /etc/x
commit -saF/etc/x
commit -sF/etc/x
commit -st conf/secret.txt
commit --templ=/etc/x
commit --pathspec-fr=/etc/x -m x
commit conf/secret.txt
commit -i conf/secret.txt
commit -mm conf/secret.txt
commit -qam x
commit -sv -m x
tag -aF /etc/x v1
tag -afF/etc/x v1
tag --fil=/etc/x v1
config --fil=/etc/x -l
config -lf /etc/x
config -lzf/etc/x
config --globa a.b c
status -sv
status --verb
grep -nf /etc/x -- src
grep -hf/etc/x -- src
grep --no-ind x /etc
archive --add-fi=/etc/x HEAD -- src
archive --outp=conf/secret.txt HEAD src
init --templ /etc x
init --separ=conf
push --exe=x origin
push --repo=/etc/x
fetch --upload-p=x origin
show HEAD^{/x:y}
diff /dev/null /etc/passwd
diff --stat -U3
diff --stat --unified=2
diff --stat -wp
diff --stat -zp
diff --numstat -W
show --stat --dd
log -zp
log -3p
log -qp
log --dd
stash list -p
stash list -1 --patch
restore --staged --work conf/secret.txt
restore --staged --wor conf/secret.txt
restore -S -qW conf/secret.txt
restore --staged --pathspec-fr=x
rebase -ix x HEAD
`) {
		if line = strings.TrimSuffix(line, "\n"); judge(line) == condition.False {
			t.Errorf("git %s: touches no secret", line)
		}
	}
	for line := range strings.Lines(`commit -m x
commit -qm x
commit -mFix
commit -m x --author "A <a@b>"
commit --message=Fix
commit -m Fix --no-verify
status -sb
status -uno --short
log --oneline -5
log -n 3 --stat --format=%an
log --graph --decorate --all --since=yesterday
diff --stat
diff --name-only HEAD~1
diff -w -- src/a.go
show HEAD:src/a.go
show HEAD@{1}:src/a.go
tag -a v1 -m Fix
branch -vv
config --get user.name
config user.name
fetch origin
push -u origin HEAD
stash list
restore --staged src/a.go
grep -n x -- src/a.go
`) {
		if line = strings.TrimSuffix(line, "\n"); judge(line) != condition.False {
			t.Errorf("git %s: %v, but it touches no secret", line, judge(line))
		}
	}
}
