package jail

import (
	"slices"
	"strings"
	"testing"
)

// S20.8: git's own settings in the configuration of a repository are kept, and those that name a program are not.
func TestHarmlessGitConfig(t *testing.T) {
	t.Parallel()
	const plain = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n" +
		"[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n" +
		"[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n" +
		"[submodule]\n\tactive = .\n[submodule \"a/b\"]\n\turl = ../b.git\n\tactive = true\n"
	for text, want := range map[string]string{
		"":           "",
		"# a note\n": "# a note\n",
		plain:        plain,
		"[user]\n\tname = A B\n\temail = a@example.com\n":               "[user]\n\tname = A B\n\temail = a@example.com\n",
		"[core]\n\tfsmonitor = evil\n\tbare = false\n":                  "[core]\n\tbare = false\n",
		"[core]\n\tbare = false\\\n\tfsmonitor = evil\n":                "[core]\n",
		"[core] fsmonitor = evil\n":                                     "",
		"[core]\n\tFSMonitor=evil\n":                                    "[core]\n",
		"[core]\n\tbare\n":                                              "[core]\n",
		"[core]\r\n\tbare = false\r\n":                                  "",
		"\ufeff[core]\n\tbare = false\n":                                "",
		"[core]\n\tbare = \"a\n[core]\nfsmonitor=evil\"\n":              "[core]\n[core]\n",
		"[core]\n\tbare = false # [core] fsmonitor = evil\n":            "[core]\n",
		"[core \"x\"]\n\tbare = false\n":                                "",
		"[core.x]\n\tbare = false\n":                                    "",
		"[include]\n\tpath = /srv/evil\n":                               "",
		"[includeIf \"gitdir:/\"]\n\tpath = /srv/evil\n":                "",
		"[filter \"x\"]\n\tclean = evil\n":                              "",
		"[diff \"x\"]\n\ttextconv = evil\n":                             "",
		"[alias]\n\tst = !evil\n":                                       "",
		"[credential]\n\thelper = !evil\n":                              "",
		"[extensions]\n\tworktreeConfig = true\n":                       "[extensions]\n",
		"[extensions]\n\tobjectformat = sha256\n":                       "[extensions]\n\tobjectformat = sha256\n",
		"[remote \"x\"]\n\tuploadpack = evil\n\tvcs = evil\n":           "[remote \"x\"]\n",
		"[remote \"x\"]\n\turl = ext::evil\n\turl = -oProxyCommand=x\n": "[remote \"x\"]\n",
		"[remote \"x\\\"]\"]\n\turl = x\n":                              "",
		"[submodule \"x\"]\n\tupdate = !evil\n":                         "[submodule \"x\"]\n",
		"[core]\n\tworktree = /\n\tsshCommand = evil\n\thooksPath = x\n\tpager = evil\n\teditor = evil\n\taskPass = x\n": "[core]\n",
		"\tfsmonitor = evil\n[core]\n":  "[core]\n",
		"[core]\n[other]\n\tbare = x\n": "[core]\n",
	} {
		got := HarmlessGitConfig(text)
		if got != want {
			t.Errorf("of %q is kept %q, want %q", text, got, want)
		}
		if again := HarmlessGitConfig(got); again != got {
			t.Errorf("of %q is kept %q, and of that %q", text, got, again)
		}
	}
}

func TestGitPointer(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"gitdir: ../.git/modules/x\n": "../.git/modules/x", "gitdir: /srv/x": "/srv/x", "gitdir: a/../../b\n": "", "gitdir:x\n": "",
		"gitdir: x\nmore\n": "", "": "", "gitdir: \n": "",
	} {
		got, ok := GitPointer(content)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q leads to %q, %v", content, got, ok)
		}
	}
}

// S20.8: files that are protected in the workspace's own folder are protected in folders below, and explained there.
func TestBelow(t *testing.T) {
	t.Parallel()
	p := Compile(Rules{Write: []string{"kept/.git", "kept/.envrc"}}, Command{Workspace: "/srv/ws", Folder: "/srv/ws"})
	for _, name := range []string{".envrc", ".vscode/tasks.json", ".claude", ".mcp.json", ".husky", ".idea", ".git"} {
		if !slices.Contains(p.Below, name) {
			t.Errorf("%s is not in %v", name, p.Below)
		}
	}
	for name, held := range map[string]bool{
		"sub/.envrc": true, "a/b/.claude/settings.json": true, "sub/.git/config": true, "sub/.git/hooks/pre-commit": true, "sub/.git": true,
		"sub/.git/HEAD": false, "sub/.vscode/tasks.json": true, "sub/.vscode/notes.txt": false, "sub/a.txt": false, "kept/.git/config": false, "kept/.envrc": false,
		"kept/.vscode/tasks.json": true,
	} {
		if why := p.Why(name); strings.Contains(why, "put back") != held {
			t.Errorf("%s: %s", name, why)
		}
	}
	if err := CheckWrite("sub/.claude"); err == nil {
		t.Error("a rule lets commands change what hooks Interlock in")
	}
	if err := CheckWrite("sub/.git"); err != nil {
		t.Error(err)
	}
}
