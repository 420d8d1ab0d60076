package jailer_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// S20.8: entries of `write` and `caches` in a folder that commands write mean the file at this place. A link that a command has laid
// there leads to no other file, and shows no hidden one.
func TestEntriesThatAreLinks(t *testing.T) {
	t.Parallel()
	const inHome, inData, hidden = "~/docs", "{data}/tokens", "~/.gnupg/private-keys-v1.d"
	for _, level := range []jail.Level{jail.Full, jail.Scoped, jail.Files} {
		for name, tc := range map[string]struct {
			rules  jail.Rules
			lays   string // a link of the workspace
			target string
			reads  bool
		}{
			"write, to the home":                         {jail.Rules{Write: []string{"out"}}, "out", "~", false},
			"write, to a folder of the home":             {jail.Rules{Write: []string{"out"}}, "out", inHome, false},
			"write, to what is hidden":                   {jail.Rules{Write: []string{"out"}}, "out", hidden, false},
			"write, to the data folder":                  {jail.Rules{Write: []string{"out"}}, "out", inData, false},
			"write, by a folder around it":               {jail.Rules{Write: []string{"a/b/out"}}, "a/b", "~", false},
			"caches, to what is hidden":                  {jail.Rules{Caches: []string{"target"}}, "target", hidden, false},
			"caches, to the data folder":                 {jail.Rules{Caches: []string{"target"}}, "target", inData, false},
			"caches, to a folder around what is hidden":  {jail.Rules{Caches: []string{"target"}}, "target", "~", false},
			"caches, in a state that reads":              {jail.Rules{Caches: []string{"target"}}, "target", hidden, true},
			"write, in a state that reads":               {jail.Rules{Write: []string{"out"}}, "out", "~", true},
			"write of a folder in another one, a link":   {jail.Rules{Write: []string{"/srv-of-test", "/srv-of-test/out"}}, "srv/out", "~", false},
			"write of a file that is a link, in a state": {jail.Rules{Write: []string{"out"}}, "out", "~/docs/a.txt", true},
		} {
			root := workspace(t, "w/docs.txt", "x", "srv/x", "x", "home/docs/a.txt", "mine", "home/.gnupg/private-keys-v1.d/key", "SECRET", "data/tokens/token", "SECRET", "home/out/x", "mine")
			dir, home, data := filepath.Join(root, "w"), filepath.Join(root, "home"), filepath.Join(root, "data")
			place := strings.NewReplacer("~", home, "{data}", data)
			at := filepath.Join(dir, tc.lays)
			if rest, outside := strings.CutPrefix(tc.lays, "srv/"); outside {
				at = filepath.Join(root, "srv", rest)
			}
			for i, entry := range tc.rules.Write {
				tc.rules.Write[i] = strings.Replace(entry, "/srv-of-test", filepath.Join(root, "srv"), 1)
			}
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(place.Replace(tc.target), at); err != nil {
				t.Fatal(err)
			}
			p := jail.Compile(tc.rules, jail.Command{Workspace: dir, Folder: dir, Level: jail.Files, ReadOnly: tc.reads})
			line := place.Replace(`for f in ~/.gnupg/private-keys-v1.d ~/.gnupg {data}/tokens {data} ~ ~/docs ` + at + `; do cat $f/key $f/token; echo evil >$f/evil; echo evil >$f/a.txt; done; echo evil >` + at)
			out, started := tryJailed(t, &p, "exec 2>/dev/null; "+line+"; true", func(c *jailer.Command) {
				c.Highest, c.Machine = level, jail.Machine{Home: home, DataFolder: data}
			})
			if strings.Contains(out, "SECRET") {
				t.Errorf("%s, at level %d: reads %q (%v)", name, level, out, started)
			}
			if changed := evil(t, home, data); len(changed) > 0 {
				t.Errorf("%s, at level %d: writes %q (%v)", name, level, changed, started)
			}
		}
	}
}

// evil returns the files below folders that a test's commands have written.
func evil(t *testing.T, folders ...string) (changed []string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), "evil") {
				changed = append(changed, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return changed
}

// S20.8: an entry of `write` above a hidden path gives the command neither its content nor its place, at no level.
func TestWriteAboveHiddenPaths(t *testing.T) {
	t.Parallel()
	for _, level := range []jail.Level{jail.Full, jail.Scoped, jail.Files} {
		for name, write := range map[string]string{"the folder around": "~/.config", "two folders up": "{home}"} {
			home, dir := workspace(t, ".config/gh/hosts.yml", "SECRET", ".config/other", "x"), workspace(t, "a", "a")
			rules := jail.Rules{Write: []string{strings.Replace(write, "{home}", home, 1)}}
			p := jail.Compile(rules, jail.Command{Workspace: dir, Folder: dir, Level: jail.Files})
			out, err := tryJailed(t, &p, `exec 2>/dev/null; cd `+home+`; cat .config/gh/hosts.yml; echo evil >.config/gh/hosts.yml; mkdir -p .ssh .aws .config/glab-cli
				echo evil >.ssh/authorized_keys; echo evil >.netrc; ln -s `+dir+` .docker; echo evil >.config/glab-cli/x; true`,
				func(c *jailer.Command) { c.Highest, c.Machine.Home = level, home })
			if strings.Contains(out, "SECRET") {
				t.Errorf("%s, level %d: reads %q (%v)", name, level, out, err)
			}
			if changed := evil(t, home); len(changed) > 0 {
				t.Errorf("%s, level %d: writes %q (%v)", name, level, changed, err)
			}
			if _, err := os.Lstat(filepath.Join(home, ".docker")); err == nil {
				t.Errorf("%s, level %d: makes a link", name, level)
			}
		}
	}
}

// S20.8: a hidden path that does not exist yet is not made by a command in a workspace around it.
func TestHiddenPathsThatAreMade(t *testing.T) {
	t.Parallel()
	for _, level := range []jail.Level{jail.Full, jail.Scoped, jail.Files} {
		home := workspace(t, "a", "a")
		p := jail.Compile(jail.Rules{}, jail.Command{Workspace: home, Folder: home, Level: jail.Files})
		_, err := tryJailed(t, &p, `exec 2>/dev/null; mkdir -p .ssh .aws; echo evil >.ssh/authorized_keys; echo "credential_process = evil" >.aws/config; echo evil >.netrc; ln -s a .npmrc; true`,
			func(c *jailer.Command) { c.Highest, c.Machine.Home = level, home })
		if changed := evil(t, home); len(changed) > 0 {
			t.Errorf("level %d: %q (%v)", level, changed, err)
		}
	}
}

// S20.8: a cache in another one means the folder at its place in the copy of the run. A link that a command has laid in the copy shows
// no hidden file.
func TestCachesInCaches(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"{home}/.gnupg/private", "{data}/tokens", "../../../.gnupg/private"} {
		home, data, dir := workspace(t, ".cache/tool/deep/x", "x", ".gnupg/private/key", "SECRET"), workspace(t, "tokens/key", "SECRET"), workspace(t, "a", "a")
		caches := filepath.Join(t.TempDir(), "caches")
		t.Cleanup(func() {
			if err := jailer.RemoveCaches(caches); err != nil {
				t.Error(err)
			}
		})
		p := jail.Compile(jail.Rules{Caches: []string{"~/.cache/tool/deep", "target", "target/deps", "target/a/deps"}}, jail.Command{Workspace: dir, Folder: dir, Level: jail.Full, ReadOnly: true})
		in := func(c *jailer.Command) {
			c.Caches, c.Machine = caches, jail.Machine{Home: home, DataFolder: data}
		}
		to = strings.NewReplacer("{home}", home, "{data}", data).Replace(to)
		for _, line := range []string{"mv ~/.cache/tool ~/.cache/old; mkdir ~/.cache/tool; ln -s {to} ~/.cache/tool/deep", "rm -r target; mkdir target; ln -s {to} target/deps", "mv target/a target/b; mkdir target/a; ln -s {to} target/a/deps", "mkdir ~/.cache/t; ln -s {to} ~/.cache/t/deep; mv ~/.cache/tool ~/.cache/t2; mv ~/.cache/t ~/.cache/tool", "true"} {
			line = strings.NewReplacer("~", home, "{to}", to).Replace(line)
			out, err := tryJailed(t, &p, "cat "+home+"/.cache/tool/deep/key target/deps/key target/a/deps/key 2>/dev/null; exec 2>/dev/null; "+line+"; true", in)
			if strings.Contains(out, "SECRET") {
				t.Errorf("to %s: reads %q (%v)", to, out, err)
			}
		}
	}
}

// S20.8: a folder around a hidden path cannot be renamed, so that it is hidden for the next command as well.
func TestFoldersAroundHiddenPaths(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"renamed": "mv .config c2", "into another": "mkdir x && mv .config x/c2", "up the tree": "mv .config/deep c2", "exchanged": "mkdir x; mv -T --exchange .config x",
	} {
		for _, writes := range []bool{false, true} {
			home := workspace(t, ".config/gh/hosts.yml", "SECRET", ".config/deep/secret/key", "SECRET", ".config/other", "x")
			rules, dir := jail.Rules{}, home
			if writes {
				dir = workspace(t, "a", "a")
				rules.Write = []string{home}
			}
			p := jail.Compile(rules, jail.Command{Workspace: dir, Folder: dir, Level: jail.Full})
			p.Hide = append(p.Hide, "~/.config/deep/secret")
			at := func(c *jailer.Command) { c.Machine.Home = home }
			jailed(t, &p, "exec 2>/dev/null; cd "+home+"; "+line+"; true", at)
			if out, _ := jailed(t, &p, "cd "+home+"; grep -r SECRET . 2>/dev/null", at); strings.Contains(out, "SECRET") {
				t.Errorf("%s (%v): %s", name, writes, out)
			}
		}
	}
}

// S20.2: a command at levels 1 and 2, and one at level 3 with an open network and no scopes of Landlock, reaches no socket of the machine:
// neither a new one, nor by one half of a pair that is not connected for good.
func TestSocketsOfServices(t *testing.T) {
	t.Parallel()
	abstract, named := "\x00interlock-test-"+filepath.Base(t.TempDir()), filepath.Join(t.TempDir(), "log")
	for _, name := range []string{abstract, named} {
		for _, kind := range []int{1, 2} {
			bindSocket(t, name+string(rune('0'+kind)), kind)
		}
	}
	const line = `import socket, sys
for name in sys.argv[1:]:
  name = name.replace("@", "\0", 1) if name[0] == "@" else name
  for kind in (1, 2):
    target = name + str(kind)
    for what, make in (("socket", lambda: socket.socket(socket.AF_UNIX, kind)), ("pair", lambda: socket.socketpair(socket.AF_UNIX, kind)[0]), ("raw", lambda: socket.socketpair(socket.AF_UNIX, 3)[0])):
      try:
        s = make(); s.connect(target); print("REACHED", what, kind, repr(target))
      except OSError as e: print(what, kind, e)
      try:
        s = make(); s.sendto(b"x", target); print("REACHED", what, kind, repr(target))
      except OSError as e: print(what, kind, e)
a, b = socket.socketpair(); a.sendall(b"pairs work"); print(b.recv(20))
`
	dir := workspace(t, "a.py", line)
	for name, tc := range map[string]struct {
		level    jail.Level
		landlock int
		names    []string
		network  jail.Network
	}{
		"level 1":                          {jail.Files, 0, []string{abstract, named}, jail.NetworkOpen},
		"level 2":                          {jail.Scoped, 0, []string{abstract, named}, jail.NetworkOpen},
		"level 3":                          {jail.Full, 0, []string{abstract, named}, jail.NetworkOpen},
		"level 3, Landlock without scopes": {jail.Full, 5, []string{abstract, named}, jail.NetworkOpen},
		"level 3, no Landlock":             {jail.Full, -1, []string{abstract, named}, jail.NetworkOpen},
		"level 3, no network":              {jail.Full, 3, []string{abstract}, jail.NetworkNone},
		"level 1, no network":              {jail.Files, 0, []string{abstract, named}, jail.NetworkNone},
	} {
		p := profile(dir, jail.WritesAllow)
		p.Level, p.Network = jail.Files, tc.network
		var shown []string
		for _, n := range tc.names {
			shown = append(shown, "'"+strings.Replace(n, "\x00", "@", 1)+"'")
		}
		out, _ := jailed(t, p, "python3 a.py "+strings.Join(shown, " "), func(c *jailer.Command) { c.Highest, c.Landlock = tc.level, tc.landlock })
		if strings.Contains(out, "REACHED") {
			t.Errorf("%s: %s", name, out)
		}
		if !strings.Contains(out, "pairs work") {
			t.Errorf("%s: no pairs of sockets: %s", name, out)
		}
	}
}

// tryJailed runs a line of a shell that may be refused, and returns its output.
func tryJailed(t *testing.T, p *jail.Profile, line string, change ...func(*jailer.Command)) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := &jailer.Command{CallID: "call", Argv: []string{"/bin/sh", "-c", line}, Env: slices.Clone(os.Environ()), Dir: p.Workspace, Stdout: out, Stderr: out, Profile: p}
	for _, f := range change {
		f(c)
	}
	_, failed := jailer.Run(t.Context(), c)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

// bindSocket has a socket of a kind listen on a name until the test ends.
func bindSocket(t *testing.T, name string, kind int) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	address := &syscall.SockaddrUnix{Name: strings.Replace(name, "\x00", "@", 1)}
	if err := syscall.Bind(fd, address); err != nil {
		t.Fatal(err)
	}
	if kind == syscall.SOCK_STREAM {
		if err := syscall.Listen(fd, 8); err != nil {
			t.Fatal(err)
		}
	}
}
