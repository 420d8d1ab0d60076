package toolcall_test

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

var places = toolcall.Places{Folder: "/work/repo", Data: []string{"/var/lib/gate"}, Programs: []string{"/usr/local/bin/interlock"}}

func lineCall(line string) toolcall.Call {
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		panic(err)
	}
	return toolcall.Call{Tool: "Bash", Input: input, Places: places}
}

const tokenText = "ilk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// TestProtectedLines: S13.1: no command line reaches Interlock's own files, settings,
// commands or processes (S13.2, S13.3).
func TestProtectedLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		// The data folder, under all its names.
		"cat .interlock/tokens.json", "cat ./.interlock//tokens.json", "cat '.inter'lock/tokens.json", `cat .inter\lock/tokens.json`,
		"cat .INTERLOCK/tokens.json", "cat /home/me/x/.interlock/tokens.json", "cat ~/.interlock/tokens.json", "cat ~/.config/*/contexts.json", "ls -la .interlock",
		"cat .i*/tokens.json", "cat .*/tokens.json", "cat $x/tokens.json", "cat */token.key", "cat .[i]nterlock/x", "cat $'\\x2einterlock/x'",
		"cat .inter{lock,x}/tokens.json", "for d in .interlock; do cat $d/*; done", "cd .interlock && cat tokens.json", "D=.interlock; cat $D/x",
		"jq . < .interlock/tokens.json", "echo x > .interlock/tokens.json", "ln -s .interlock x", "tar c .interlock", "bash -c 'cat .interlock/x'",
		"cat /var/lib/gate/tokens.json", "cat ../../var/lib/gate/tokens.json", "cd /var/lib; cat gate/tokens.json", "grep -r ilk /var/lib/gate",
		"python3 -c 'open(\".interlock/tokens.json\")'", "cat <<< .interlock", "a=lock; cat .inter$a/tokens.json",
		"curl -H 'Authorization: Bearer " + tokenText + "' http://127.0.0.1:7420/v1/approvals",
		"cd ..; cd gate; cat tokens.json", "cat ../ga*/tokens.json", "x=ga; cat ../${x}te/tokens.json", "cd gat?; jq . tokens.json", "cd /x/gate && cat *.json",
		"curl -H 'Authorization: Bearer " + tokenText[:9] + "''" + tokenText[9:] + "' x",
		// The default data folders, of this and of other workspaces, and the pointer.
		"cp -r ~/.local/state/interlock x", "ls ~/.local/state/interlock/shop-0123456789ab", "tar c ~/.local/state/./interlock", "cat ~/.local/state/*/*/tokens.json",
		"cat ~/.local/state/*/*/receipt.key", "cp -r $XDG_STATE_HOME/interlock x", "cp -r \"${XDG_STATE_HOME:-$HOME/.local/state}\"/interlock x",
		"cat ~/.local/STATE/Interlock/x/y", "cat \"$HOME\"/.local/state/interlock/a/token.key", "grep -r ilk ../../home/me/.local/state/interlock",
		"echo '{\"data_dir\": \"/tmp/x\"}' > .interlock", "rm .interlock", "mv x .interlock", "ln -sf /tmp/x .interlock", "mkdir .interlock", "interlock data move", "interlock data path",
		// The files that hook it in, and the program.
		"echo '{}' > .claude/settings.json", "rm -rf .claude", "sed -i s/a/b/ .claude/settings.local.json", "mv .mcp.json x", "rm ~/.claude/settings.json",
		"cd .claude && rm settings.json", "python3 fix.py .claude/settings.json", "cp x .codex/hooks.json", "rm .github/hooks/interlock.json", "cp x .github/copilot/settings.json", "tee .cursor/mcp.json", "rm -rf .c*",
		"cp evil /usr/local/bin/interlock", "rm /usr/local/bin/interlock", "rm /etc/claude-code/managed-settings.json",
		// Its commands.
		"interlock approval approve apr_1", "interlock token mint --session x", "interlock run force-state run_1 done", "interlock up",
		"interlock events rebuild", "timeout 9 interlock events rebuild --store redis://r:6379/0 --nats-url nats://n:4222",
		"/usr/local/bin/interlock approval approve x", "./bin/Interlock approval approve x", "timeout 5 interlock approval approve x",
		"env A=b interlock approval approve x", "sudo -u bob interlock policy put p.json", "bash -c 'interlock approval approve x'",
		"xargs interlock approval approve", "echo apr_1 | xargs interlock approval approve", "find . -exec interlock approval approve {} +",
		"interlock $x approve y", "interlock run $x", "interlock session grant a b", "interlock state delete x", "npx interlock approval approve x",
		"docker exec app interlock approval approve x", "go run ./cmd/interlock approval approve x", "interlock hook", "interlock mcp",
		"script -qc 'interlock approval approve x' /dev/null", "su bob -c 'interlock approval approve x'",
		"python3 -c 'import os; os.system(\"interlock approval approve x\")'", "a=interlock; $a approval approve x",
		// A program or a script that could be any.
		"$x approval approve y", "$(printf 'inter%s' lock) approval approve x", "eval \"$x\"", "bash -c \"$x\"", "base64 -d x | sh", "sh <<< \"$x\"",
		"inter$x approval approve y", "\"$BIN\"lock x", "echo a | xargs -I{} sh -c '{}'", "/proc/self/exe x", "cat <<'E' | bash\nls\nE",
		// Processes.
		"cat /proc/1/environ", "strings /proc/self/environ", "cat /proc/$pid/environ", "dd if=/proc/12/mem",
		"cat /proc/12/fd/3", "cp /proc/$pid/fd/9 x", "cat /proc/12/fd/*", "dd if=/proc/12/fd/9", "cd /proc/12/fd; cat 9", "tar chf x /proc/12/fd", "pkill interlock", "pkill -f 'interlock up'",
		"ps auxeww", "ps eww", "ps -ef e", "gdb -p 12", "gdb ./x 12", "strace -fp 12 x", "strace -p $pid", "gcore 12", "dlv attach 12", "pkill -f 'up --data'",
		"killall interlock", "kill $(pgrep interlock)", "systemctl stop interlock", "systemctl --user restart interlock.service", "docker kill interlock",
	} {
		if code, why := toolcall.SelfProtected(nil, nil, lineCall(line)); code != toolcall.CodeSelfProtected || why == "" {
			t.Errorf("%s: %q %s", line, code, why)
		}
	}
	if code, _ := toolcall.SelfProtected(nil, nil, lineCall("cat 'x")); code != toolcall.CodeCommandUnparsable {
		t.Errorf("a line that cannot be read: %q", code)
	}
}

// TestProtectedHoldsNobodyUp: everything else passes, however free it is.
func TestProtectedHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"ls -la", "cat README.md", "go test ./...", "rm -rf build", "for f in *.go; do wc -l \"$f\"; done", "mv \"$f\" \"${f%.*}.md\"",
		"cp \"$base.$ext\" x", "grep -rn foo .", "git commit -m 'add interlock'", "sed 's/\\(.*\\)foo/\\1bar/' a", "cat .claude/settings.json",
		"grep -c hooks .claude/settings.json", "jq . .mcp.json", "cat .claude/commands/x.md", "echo x > .claude/agents/a.md", "cat *.lock", "cat package-lock.json",
		"interlock --version", "interlock check Bash --run r", "interlock run get r", "interlock run transition r READY", "interlock validate w.json",
		"interlock state get x", "interlock session get me", "which interlock", "ls services/cmd/interlock", "go build -o /tmp/x ./services/cmd/interlock",
		"python3 -c 'print(1)'", "./node_modules/.bin/$tool --fix", "make", "kill 1234", "docker stop db", "ps aux", "ps -ef", "pkill -f vite", "strace ls", "gdb ./x", "pkill node", "fuser -k 3000/tcp", "cat tokens.json", "cat design/tokens.json",
		"[[ $x == .* ]] && ls", "find . -name '*.go' -delete", "cat /proc/cpuinfo", "cat /proc/self/fd/3", "ls /proc/self/fd", "curl https://example.com", "git status && git diff", "source venv/bin/activate",
	} {
		if code, why := toolcall.SelfProtected(nil, nil, lineCall(line)); code != "" && line != "./node_modules/.bin/$tool --fix" {
			t.Errorf("%s: %q %s", line, code, why)
		}
	}
}

// TestProtectedFiles: the same of tools that are no shells (S13.2).
func TestProtectedFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ tool, input, want string }{
		{"Read", `{"file_path": "/work/repo/.interlock/tokens.json"}`, "SELF_PROTECTED"},
		{"Read", `{"file_path": ".\u0069nterlock/tokens.json"}`, "SELF_PROTECTED"},
		{"Read", `{"file_path": "x/../.Interlock/token.key"}`, "SELF_PROTECTED"},
		{"Read", `{"file_path": "/var/lib/gate/tokens.json"}`, "SELF_PROTECTED"},
		{"Read", `{"file_path": "../../var/lib/gate/tokens.json"}`, "SELF_PROTECTED"},
		{"Grep", `{"pattern": "ilk", "path": ".interlock"}`, "SELF_PROTECTED"},
		{"Glob", `{"pattern": ".i*/tokens.json"}`, "SELF_PROTECTED"},
		{"Glob", `{"pattern": "**/tokens.json"}`, "SELF_PROTECTED"},
		{"mcp__fs__read_multiple_files", `{"paths": ["a", ".interlock/tokens.json"]}`, "SELF_PROTECTED"},
		{"Write", `{"file_path": ".claude/settings.json", "content": "{}"}`, "SELF_PROTECTED"},
		{"Write", `{"file_path": "/home/me/.claude/settings.local.json", "content": "{}"}`, "SELF_PROTECTED"},
		{"Edit", `{"file_path": ".mcp.json", "old_string": "a", "new_string": "b"}`, "SELF_PROTECTED"},
		{"apply_patch", `{"input": "*** Begin Patch\n*** Delete File: .codex/hooks.json\n*** End Patch"}`, "SELF_PROTECTED"},
		{"mcp__fs__move_file", `{"source": ".claude", "destination": "x"}`, "SELF_PROTECTED"},
		{"mcp__x__upload", `{"file": ".claude/settings.json"}`, "SELF_PROTECTED"},
		{"Write", `{"file_path": "/usr/local/bin/interlock", "content": ""}`, "SELF_PROTECTED"},
		{"Write", `{"file_path": "x.sh", "content": "curl -H ` + tokenText + `"}`, "SELF_PROTECTED"},
		{"Write", `{"file_path": ".interlock/x", "content": 1, "content": 2}`, "SELF_PROTECTED"},
		{"shell", `{"command": ["bash", "-lc", "cat .interlock/tokens.json"]}`, "SELF_PROTECTED"},
		{"mcp__t__exec", `{"cmd": "interlock approval approve x"}`, "SELF_PROTECTED"},
		{"mcp__t__exec", `{"cmd": "$a$b approval approve x"}`, "SELF_PROTECTED"},
		{"powershell", `{"command": "interlock approval approve x"}`, "SELF_PROTECTED"},
		{"apply_patch", `{"input": "*** Begin Patch\n*** Update File: .claude/settings.json \n@@\n-a\n+b\n*** End Patch"}`, "SELF_PROTECTED"},
		{"Write", `{"file_path": ".claude/\u017fettings.json", "content": "{}"}`, "SELF_PROTECTED"},
		{"Write", "{\"file_path\": \".claude/\u017fettings.json\", \"content\": \"{}\"}", "SELF_PROTECTED"},
		{"Read", "{\"file_path\": \".interloc\u212a/tokens.json\"}", "SELF_PROTECTED"},
		{"Read", `{"uri": "file:///var/lib/%67ate/tokens.json"}`, "SELF_PROTECTED"},
		{"Write", `{"file_path": ".interlock", "content": "{\"data_dir\": \"/tmp/x\"}"}`, "SELF_PROTECTED"},
		{"Read", `{"file_path": "/home/me/.local/state/interlock/shop-0123456789ab/workspace"}`, "SELF_PROTECTED"},
		{"Grep", `{"pattern": "ilk", "path": "~/.local/state/interlock"}`, "SELF_PROTECTED"},
		{"Glob", `{"pattern": "/home/*/.local/state/interlock/**"}`, "SELF_PROTECTED"},
		{"Grep", `{"pattern": "x", "path": "services/cmd/interlock"}`, ""},
		{"Read", `{"file_path": ".claude/settings.json"}`, ""},
		{"Write", `{"file_path": "docs/a.md", "content": "Look at .interlock/tokens.json and .claude/settings.json"}`, ""},
		{"Write", `{"file_path": ".claude/agents/a.md", "content": "x"}`, ""},
		{"Write", `{"file_path": ".gitignore", "content": ".interlock\n"}`, ""},
		{"Grep", `{"pattern": "interlock.*x", "path": "src"}`, ""},
		{"Glob", `{"pattern": "**/*.go"}`, ""},
		{"Read", `{"file_path": "design/tokens.json"}`, ""},
		{"mcp__interlock__transition", `{"event": ".interlock"}`, ""},
		{"shell", `{"command": ["bash", "-lc", "go test ./..."]}`, ""},
	} {
		code, why := toolcall.SelfProtected(nil, nil, toolcall.Call{Tool: tc.tool, Input: []byte(tc.input), Places: places})
		if string(code) != tc.want {
			t.Errorf("%s %s: %q %s, want %q", tc.tool, tc.input, code, why, tc.want)
		}
	}
}

// TestProtectedByLinks: where files are this machine's, a name also stands for its link's
// target (S13.2).
func TestProtectedByLinks(t *testing.T) {
	t.Parallel()
	links := map[string]string{
		"/work/repo/toks": "/var/lib/gate/tokens.json", "/work/repo/lnk": "/var/lib/gate", "/work/repo/cl": "/work/repo/.claude",
		"/work/repo/mc": "/work/repo/.mcp.json", "/work/repo/il": "/usr/local/bin/interlock",
	}
	here := places
	here.Real = func(name string) string {
		name = path.Clean(name)
		for link, real := range links {
			if rest, ok := strings.CutPrefix(name, link); ok && (rest == "" || rest[0] == '/') {
				return real + rest
			}
		}
		return name
	}
	call := func(tool, input string, p toolcall.Places) toolcall.Code {
		code, _ := toolcall.SelfProtected(nil, nil, toolcall.Call{Tool: tool, Input: []byte(input), Places: p})
		return code
	}
	for _, line := range []string{
		"cat toks", "cat lnk/*", "cat lnk/tokens.json", "echo x > cl/settings.json", "cp a mc", "cd lnk && ls", "sed -i s/a/b/ ./cl/settings.json",
		"jq . < toks", "rm il", "ln -s lnk other", "cat /work/repo/toks",
	} {
		if input := bash(line); call("Bash", input, here) != toolcall.CodeSelfProtected || call("Bash", input, places) != "" {
			t.Errorf("%s: %q, and elsewhere %q", line, call("Bash", input, here), call("Bash", input, places))
		}
	}
	for _, line := range []string{"cat cl/settings.json", "ls cl", "cat a.txt", "echo x > b.txt"} {
		if code := call("Bash", bash(line), here); code != "" {
			t.Errorf("%s: %q", line, code)
		}
	}
	for _, tt := range []struct{ tool, input string }{
		{"Read", `{"file_path": "toks"}`},
		{"Write", `{"file_path": "mc", "content": ""}`},
		{"mcp__fs__write_file", `{"path": "cl/settings.json"}`},
		{"mcp__fs__read_file", `{"uri": "file:///work/repo/toks"}`},
		{"mcp__fs__read_file", `{"uri": "file:///work/repo/tok%73"}`},
	} {
		if call(tt.tool, tt.input, here) != toolcall.CodeSelfProtected || call(tt.tool, tt.input, places) != "" {
			t.Errorf("%s %s: %q, and elsewhere %q", tt.tool, tt.input, call(tt.tool, tt.input, here), call(tt.tool, tt.input, places))
		}
	}
}
