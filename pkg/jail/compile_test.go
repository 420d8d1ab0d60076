package jail_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestDefaults: S20.4. A state without a tool that edits keeps the workspace and the network from a command.
func TestDefaults(t *testing.T) {
	t.Parallel()
	reading := jail.Compile(jail.Rules{}, jail.Command{Level: jail.Full, ReadOnly: true, Workspace: "/repo"})
	editing := jail.Compile(jail.Rules{}, jail.Command{Level: jail.Full, Workspace: "/repo"})
	if reading.Writes != jail.WritesDiscard || reading.Network != jail.NetworkNone || len(reading.Write) > 0 {
		t.Errorf("reading: %+v", reading)
	}
	if editing.Writes != jail.WritesAllow || editing.Network != jail.NetworkOpen {
		t.Errorf("editing: %+v", editing)
	}
	for name, p := range map[string]jail.Profile{"reading": reading, "editing": editing} {
		if p.Version != 1 || p.Level != jail.Full || p.Background || p.Limits.Processes == 0 {
			t.Errorf("%s: %+v", name, p)
		}
		for _, file := range []string{".git/hooks", ".git/config", ".envrc", ".claude", ".codex", ".cursor", ".gemini", ".mcp.json", ".github/hooks", ".vscode/tasks.json", ".husky", ".interlock", "~/.bashrc"} {
			if !slices.Contains(p.Protect, file) {
				t.Errorf("%s does not protect %s", name, file)
			}
		}
		for _, file := range []string{"~/.ssh", "~/.aws", "~/.kube", "~/.config/gh", "~/.netrc", "~/.npmrc", "~/.gnupg", "/run/docker.sock", "/etc/shadow", "~/.mozilla"} {
			if !slices.Contains(p.Hide, file) {
				t.Errorf("%s does not hide %s", name, file)
			}
		}
		for _, variable := range []string{"GH_TOKEN", "gh_token", "AWS_ACCESS_KEY_ID", "MY_SECRET_KEY", "PGPASSWORD", "OPENAI_API_KEY", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "INTERLOCK_TOKEN", "KUBECONFIG"} {
			if p.Keeps(variable) {
				t.Errorf("%s keeps %s", name, variable)
			}
		}
		for _, variable := range []string{"PATH", "HOME", "LANG", "GOCACHE", "TOKENIZERS_PARALLELISM", "CI", "NODE_ENV", "LD_PRELOAD"} {
			if !p.Keeps(variable) {
				t.Errorf("%s removes %s", name, variable)
			}
		}
	}
}

// TestRules: S20.1. The rules are in the profile, and blocked variables are never lent.
func TestRules(t *testing.T) {
	t.Parallel()
	meta := jail.Rules{Level: jail.Scoped, Read: []string{"~/.aws"}, Hosts: []string{"Example.com"}, Limits: jail.Limits{Processes: 10, WallSeconds: 60}}
	state := jail.Rules{
		Level: jail.Files, Writes: jail.WritesDeny, Write: []string{"~/out/", "build"}, Caches: []string{"target"}, Hosts: []string{"go.dev"},
		Lend: []string{"GH_TOKEN", "NPM_TOKEN"}, Background: true, Limits: jail.Limits{Processes: 20},
	}
	p := jail.Compile(meta.With(state), jail.Command{
		Level: jail.Full, ReadOnly: true, Workspace: "/repo", Folder: "/repo/a", DropEnv: []string{"GH_*", "LANG"}, SetEnv: map[string]string{"A": "1"},
	})
	for what, ok := range map[string]bool{
		"level": p.Level == jail.Full, "writes": p.Writes == jail.WritesDeny, "network": p.Network == jail.NetworkHosts,
		"hosts": slices.Equal(p.Hosts, []string{"example.com", "go.dev"}), "write": slices.Equal(p.Write, []string{"build", "~/out"}),
		"caches": slices.Contains(p.Caches, "target") && slices.Contains(p.Caches, "~/.cache"), "read": !slices.Contains(p.Hide, "~/.aws"),
		"lend": slices.Equal(p.Lend, []string{"NPM_TOKEN"}), "blocked": !p.Keeps("LANG") && !p.Keeps("GH_TOKEN"), "set": p.SetEnv["A"] == "1",
		"background": p.Background, "limits": p.Limits == jail.Limits{Processes: 20, WallSeconds: 60}, "folder": p.Folder == "/repo/a",
		"demand": meta.With(state).Level == jail.Scoped, "none": meta.With(jail.Rules{Hosts: []string{}}).Hosts != nil && len(meta.With(jail.Rules{Hosts: []string{}}).Hosts) == 0,
	} {
		if !ok {
			t.Errorf("%s: %s", what, p.JSON())
		}
	}
	for hosts, want := range map[string]jail.Network{"*": jail.NetworkOpen, "*:443": jail.NetworkHosts, "a.example": jail.NetworkHosts} {
		if p := jail.Compile(jail.Rules{Hosts: []string{hosts}}, jail.Command{ReadOnly: true}); p.Network != want {
			t.Errorf("%s: %s", hosts, p.Network)
		}
	}
	if p := jail.Compile(jail.Rules{Hosts: []string{}}, jail.Command{}); p.Network != jail.NetworkNone {
		t.Errorf("no hosts: %s", p.Network)
	}
}

// TestLent: S20.7. The author's programs have their own credentials, and no others.
func TestLent(t *testing.T) {
	t.Parallel()
	for program, own := range map[string]struct{ file, variable string }{
		"git": {"~/.ssh", "SSH_AUTH_SOCK"}, "gh": {"~/.config/gh", "GH_TOKEN"}, "kubectl": {"~/.kube", "KUBECONFIG"}, "aws": {"~/.aws", "AWS_SESSION_TOKEN"},
		"npm": {"~/.npmrc", "NPM_TOKEN"}, "docker": {"/run/docker.sock", "DOCKER_HOST"}, "ssh": {"~/.ssh", "SSH_AUTH_SOCK"}, "vault": {"~/.vault-token", "VAULT_TOKEN"},
	} {
		p := jail.Compile(jail.Rules{}, jail.Command{ReadOnly: true, Reaches: true, Programs: []string{program}})
		none := jail.Compile(jail.Rules{}, jail.Command{ReadOnly: true})
		if slices.Contains(p.Hide, own.file) || !p.Keeps(own.variable) || p.Network != jail.NetworkOpen {
			t.Errorf("%s lacks its credentials: %s", program, p.JSON())
		}
		if !slices.Contains(none.Hide, own.file) || none.Keeps(own.variable) {
			t.Errorf("the credentials of %s are lent to any line", program)
		}
		if slices.Contains(p.Hide, "~/.mozilla") == false || p.Keeps("INTERLOCK_TOKEN") || p.Keeps("OPENAI_API_KEY") {
			t.Errorf("%s has more than its own: %s", program, p.JSON())
		}
	}
	blocked := jail.Compile(jail.Rules{}, jail.Command{Programs: []string{"gh"}, DropEnv: []string{"GH_TOKEN"}})
	if blocked.Keeps("GH_TOKEN") {
		t.Error("a blocked variable is lent")
	}
}

// TestChosenWrites: S20.4. Programs of the author's list write, and git commit changes the repository alone.
func TestChosenWrites(t *testing.T) {
	t.Parallel()
	if p := jail.Compile(jail.Rules{Writes: jail.WritesDeny}, jail.Command{ReadOnly: true, Writes: true}); p.Writes != jail.WritesAllow || p.Network != jail.NetworkNone {
		t.Errorf("%s", p.JSON())
	}
	p := jail.Compile(jail.Rules{}, jail.Command{ReadOnly: true, Repository: true, Workspace: "/repo"})
	if p.Writes != jail.WritesDiscard || !slices.Equal(p.Write, []string{".git"}) || !slices.Contains(p.Protect, ".git/hooks") || p.MayChange("/repo") {
		t.Errorf("%s", p.JSON())
	}
}

// TestProtectionLifted: S20.8. Naming a protected file lifts that, but never for files that hook Interlock in.
func TestProtectionLifted(t *testing.T) {
	t.Parallel()
	p := jail.Compile(jail.Rules{Write: []string{".git/hooks/", ".claude", "~/.bashrc"}}, jail.Command{})
	if slices.Contains(p.Protect, ".git/hooks") || slices.Contains(p.Protect, "~/.bashrc") || !slices.Contains(p.Protect, ".claude") || !slices.Contains(p.Protect, ".git/config") {
		t.Errorf("%s", p.JSON())
	}
}

// drawn rules and calls.
func drawRules(t *rapid.T, name string) jail.Rules {
	texts := func(what string, from ...string) []string {
		list := rapid.SliceOfN(rapid.SampledFrom(from), 0, 3).Draw(t, name+what)
		if len(list) == 0 && rapid.Bool().Draw(t, name+what+"Nil") {
			return nil
		}
		return list
	}
	return jail.Rules{
		Level:  jail.Level(rapid.IntRange(0, 3).Draw(t, name+"level")),
		Writes: rapid.SampledFrom([]jail.Writes{"", jail.WritesDeny, jail.WritesDiscard}).Draw(t, name+"writes"),
		Read:   texts("read", "~/.ssh", "~/.aws/", "/run/docker.sock", "/usr"), Write: texts("write", "build", "~/out", ".git/hooks", ".claude", "/srv/x/"),
		Caches: texts("caches", "target", "~/.cache/foo"), Hosts: texts("hosts", "*", "a.example", "B.example:8443"), Lend: texts("lend", "GH_TOKEN", "LANG"),
		Background: rapid.Bool().Draw(t, name+"background"),
		Limits:     jail.Limits{Processes: rapid.IntRange(0, 9).Draw(t, name+"processes"), WallSeconds: rapid.Int64Range(0, 9).Draw(t, name+"wall")},
	}
}

func drawCall(t *rapid.T) jail.Command {
	return jail.Command{
		Level: jail.Level(rapid.IntRange(0, 3).Draw(t, "callLevel")), ReadOnly: rapid.Bool().Draw(t, "readOnly"), Writes: rapid.Bool().Draw(t, "callWrites"),
		Reaches: rapid.Bool().Draw(t, "reaches"), Repository: rapid.Bool().Draw(t, "repository"), Workspace: "/repo",
		DropEnv:  rapid.SliceOfN(rapid.SampledFrom([]string{"GH_TOKEN", "LANG", "X"}), 0, 2).Draw(t, "drop"),
		Programs: rapid.SliceOfN(rapid.SampledFrom([]string{"git", "gh", "npm", "ls"}), 0, 2).Draw(t, "programs"),
	}
}

// TestCompileIsCanonical: the order and the repetition of rules have no effect, and inputs are left alone.
func TestCompileIsCanonical(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		rules, call := drawRules(t, ""), drawCall(t)
		first := jail.Compile(rules, call)
		for _, list := range []*[]string{&rules.Read, &rules.Write, &rules.Caches, &rules.Hosts, &rules.Lend, &call.DropEnv, &call.Programs} {
			turned := slices.Clone(*list)
			slices.Reverse(turned)
			turned = append(turned, turned...) // an empty list stays one
			*list = turned
		}
		if second := jail.Compile(rules, call); first.Digest() != second.Digest() {
			t.Fatalf("%s\n%s", first.JSON(), second.JSON())
		}
	})
}

// TestRestrictionsNeverLoosen: S20.2. A state without grants of its own has no more than its workflow
// gives, and no added restriction ever adds a permission.
func TestRestrictionsNeverLoosen(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		meta, call := drawRules(t, ""), drawCall(t)
		before := jail.Compile(meta, call)
		check := func(what string, rules jail.Rules, call jail.Command) {
			after := jail.Compile(rules, call)
			if gained := after.Gained(&before); len(gained) > 0 {
				t.Fatalf("%s: %v", what, gained)
			}
		}
		check("nothing", meta.With(jail.Rules{}), call)
		check("a level", meta.With(jail.Rules{Level: jail.Full}), call)
		check("a low level", meta.With(jail.Rules{Level: jail.Files}), call)
		check("deny", meta.With(jail.Rules{Writes: jail.WritesDeny}), call)
		check("no hosts", meta.With(jail.Rules{Hosts: []string{}}), call)
		blocked := call
		blocked.DropEnv = append(slices.Clone(call.DropEnv), "GH_TOKEN", "PATH")
		check("a blocked variable", meta, blocked)
		reading := call
		reading.ReadOnly = true
		if !call.Repository { // only in a state that reads it is a grant
			check("no tool that edits", meta, reading)
		}
		fewer := call
		fewer.Programs, fewer.Writes, fewer.Reaches, fewer.Repository = nil, false, false, false
		check("no program", meta, fewer)
		for i := range meta.Write {
			less := meta
			less.Write = slices.Delete(slices.Clone(meta.Write), i, i+1)
			check("less to write", less, call)
		}
		for i := range meta.Read {
			less := meta
			less.Read = slices.Delete(slices.Clone(meta.Read), i, i+1)
			check("less to read", less, call)
		}
	})
}

// TestGained: each grant is described in words.
func TestGained(t *testing.T) {
	t.Parallel()
	call := jail.Command{Level: jail.Scoped, ReadOnly: true}
	before := jail.Compile(jail.Rules{Writes: jail.WritesDeny, Limits: jail.Limits{WallSeconds: 1}}, call)
	after := jail.Compile(jail.Rules{
		Read: []string{"~/.aws"}, Write: []string{"out", ".husky"}, Caches: []string{"target"}, Hosts: []string{"a.example"}, Lend: []string{"GH_TOKEN"}, Background: true,
	}, jail.Command{Level: jail.Files, ReadOnly: true})
	got := strings.Join(after.Gained(&before), "\n")
	for _, want := range []string{
		"a jail of level 1, and it was 2", "are discarded", "commands write out", "commands write a copy of target", "commands read ~/.aws", ".husky is no longer protected",
		"commands reach a.example", "the variable GH_TOKEN is lent", "outlive", "no limit wall_seconds, and it was 1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if lost := before.Gained(&after); len(lost) > 0 {
		t.Errorf("%v", lost)
	}
}

// TestWordsAndWhy: each list of a profile is in its words, and an entry is explained by its rule and the
// line that would change it.
func TestWordsAndWhy(t *testing.T) {
	t.Parallel()
	p := jail.Compile(jail.Rules{Write: []string{"out"}, Caches: []string{"target"}, Hosts: []string{"go.dev"}, Lend: []string{"NPM_TOKEN"}}, jail.Command{
		Level: jail.Full, ReadOnly: true, Workspace: "/repo", SetEnv: map[string]string{"A": "1"},
	})
	words := strings.Join(p.Words(), "\n")
	for _, want := range []string{"level: 3", "workspace: /repo, writes are discarded", "writable: out", "target", "protected: ", "hidden: ", "network: go.dev", "variables lent: NPM_TOKEN", "variables set: A", "programs end", "processes 4096"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is missing in:\n%s", want, words)
		}
	}
	for entry, want := range map[string]string{
		"~/.ssh/id_ed25519": `hidden, because ~/.ssh holds credentials or leads to a service that acts for the user. To show it: "jail": {"read": ["~/.ssh"]}`,
		"./.claude/x":       "no rule lets a command change it", ".git/hooks/pre-commit": `"write": [".git/hooks"]`, "/repo/.envrc": `"write": [".envrc"]`,
		"out/a": "readable and writable", "/repo/target/x": "is a cache", "src/a.go": `"write": ["src/a.go"]`, "/repo/a.go": `discarded when the command ends`,
		"/etc/passwd": "outside of the workspace", "GH_TOKEN": `"lend": ["GH_TOKEN"]`, "NPM_TOKEN": "is lent", "A": `is "1"`, "PATH": "reaches commands",
		"go.dev": "is reachable", "example.com": `add "example.com" to "hosts"`, "": "name a path",
	} {
		if got := p.Why(entry); !strings.Contains(got, want) {
			t.Errorf("%s: %s", entry, got)
		}
	}
	none := jail.Compile(jail.Rules{Writes: jail.WritesDeny}, jail.Command{ReadOnly: true, Workspace: "/repo"})
	if got := none.Why("example.com"); !strings.Contains(got, `"hosts": ["example.com"]`) {
		t.Error(got)
	}
	if got := none.Why("./a.go"); !strings.Contains(got, `"writes": "deny"`) {
		t.Error(got)
	}
}

// TestCheckPath: texts that are no paths of rules.
func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", " ", "/", "~", "~/", ".", "./", "..", "../x", "a/../../x", "~bob/x", "$HOME/x", "a*", "a[b]", `a\b`, "/proc", "/proc/1", "/dev/shm", "~/../x/.."} {
		if jail.CheckPath(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	for _, name := range []string{"target", "./build", "a/../b", "~/.cache/foo", "/srv/out", "/procedures", "~/x y"} {
		if err := jail.CheckPath(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		p := jail.Compile(jail.Rules{}, jail.Command{Level: jail.Full, ReadOnly: true, Workspace: "/repo"})
		_ = p.Digest()
	}
}

// TestBrief: the sentence names only differences that a program notices.
func TestBrief(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules jail.Rules
		call  jail.Command
		want  string
	}{
		{jail.Rules{}, jail.Command{ReadOnly: true, Workspace: "/w", Level: jail.Full}, "changes of files are discarded when the line ends, there is no network, and programs end with their line."},
		{jail.Rules{}, jail.Command{ReadOnly: true, Workspace: "/w", Level: jail.Scoped}, "changes of files fail, there is no network, and programs end with their line."},
		{jail.Rules{Writes: jail.WritesDeny, Hosts: []string{"a", "b"}}, jail.Command{ReadOnly: true, Workspace: "/w", Level: jail.Full}, "changes of files fail, the network reaches only a, b, and programs end with their line."},
		{jail.Rules{Hosts: []string{"a", "b", "c", "d", "e", "f", "g"}}, jail.Command{Workspace: "/w", Level: jail.Full}, "the network reaches only a, b, c, d, e and 2 more hosts and programs end with their line."},
		{jail.Rules{Hosts: []string{"a"}}, jail.Command{Workspace: "/w", Level: jail.Files}, "there is no network and programs end with their line."},
		{jail.Rules{}, jail.Command{Workspace: "/w", Level: jail.Full}, "programs end with their line."},
		{jail.Rules{Background: true, Hosts: []string{}}, jail.Command{Workspace: "/w", Level: jail.Full}, "there is no network."},
	} {
		p := jail.Compile(c.rules, c.call)
		if got := p.Brief(); got != "Command lines run in a jail: "+c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	p := jail.Compile(jail.Rules{Background: true}, jail.Command{Workspace: "/w", Level: jail.Full})
	if got := p.Brief(); got != "Command lines run in a jail." {
		t.Error(got)
	}
}
