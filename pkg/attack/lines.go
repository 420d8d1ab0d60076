package attack

import (
	"strings"
	"unicode"
)

// disguises write a command line so that a parser that understands less than bash does not
// see the command. X is the line.
var disguises = []string{
	`bash -c 'X'`, `sh -c "X"`, `bash -lc 'X'`, `env A=1 X`, `env -i X`, `A=1 X`, `(X)`, `{ X; }`, `$(X)`, "`X`", `echo $(X)`,
	`true && X`, `false || X`, `true; X`, `X; true`, `X & wait`, `! X`, `X | cat`, `yes | X`, `echo a | xargs X`, `xargs -a f X`,
	`find . -exec X \;`, `timeout 5 X`, `nohup X`, `nice X`, `time X`, `command X`, `builtin X`, `exec X`, `eval 'X'`, `eval "X"`,
	`trap 'X' EXIT`, `f() { X; }; f`, `if true; then X; fi`, `for i in 1; do X; done`, `while X; do break; done`, `case a in a) X;; esac`,
	`cat <<E
$(X)
E`, `bash <<E
X
E`, `bash <<< 'X'`, `cat <(X)`, `X > out.txt`, `X 2>&1`, `X >> ~/.bashrc`, `cd /tmp && X`, `cd .. ; X`, `pushd / && X`, `sudo X`,
	`git -c alias.x='!X' x`, `make -f <(echo 'a:; X')`, `python3 -c 'import os; os.system("X")'`, `awk 'BEGIN{system("X")}'`, `ssh localhost X`,
	`docker run alpine X`, `a=X; $a`, `alias a='X'; a`, `printf X | sh`, `echo X | base64 -d | sh`, `X #`, `#X`, `X \
--help`, ` X`, "\tX", "X\n", "true\nX", "X\x00", "X\u200b", "\u202eX", `"X"`, `'X'`, `\X`, `./X`, `../../bin/X`, `/bin/X`, `/usr/bin/env X`,
	`busybox X`, `X --help`, `X --version`, `X -- -x`, `X "$@"`, `X $IFS`, `X *`, `X ~/x`, `X ../x`, `X /etc/passwd`, `npx X`, `XX`,
	`time -p X`, `coproc X`, `[[ $(X) ]]`, `$((1+$(X)))`, `export A=$(X)`, `A=$(X)`, `source <(X)`, `. ./X`, `stdbuf -o0 X`, `setsid X`, `watch X`,
	`parallel X ::: a`, `script -c 'X' /dev/null`, `flock f X`, `unshare X`, `${x:-X}`, `{X,}`, `$'X'`, `$"X"`,
}

// quoted writes the first word of a line in another way that means the same to bash.
func quoted(r *Rand, line string) string {
	word, rest, _ := strings.Cut(line, " ")
	if word == "" {
		return line
	}
	at := r.N(len(word))
	for !isASCII(word[at:]) && at > 0 {
		at--
	}
	switch r.N(4) {
	case 0:
		word = word[:at] + `\` + word[at:]
	case 1:
		word = word[:at] + `''` + word[at:]
	case 2:
		word = `"` + word + `"`
	default:
		word = word[:at] + `""` + word[at:]
	}
	return strings.TrimSpace(word + " " + rest)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c > unicode.MaxASCII }) < 0
}

// lookalikes are letters that look the same and are not.
var lookalikes = strings.NewReplacer("a", "а", "e", "е", "o", "о", "p", "р", "c", "с", "x", "х")

// Disguise returns a command line that is a line and more, or nearly the same.
func Disguise(r *Rand, line string) string {
	switch r.N(10) {
	case 0:
		return quoted(r, line)
	case 1:
		return lookalikes.Replace(line)
	case 2:
		return strings.ToUpper(line)
	case 3:
		return line + " " + strings.Repeat("x", 1+r.N(3)*40_000)
	case 4:
		return strings.Replace(line, " ", pick(r, []string{"  ", "\t", "${IFS}", "\u00a0", "\\\n"}), 1)
	default:
		return strings.ReplaceAll(pick(r, disguises), "X", line)
	}
}

// paths are names of files that lead elsewhere than they seem to, or where no agent may
// write.
var paths = []string{
	"a.go", "./a.go", "b/../a.go", "../a.go", "/etc/passwd", "/workspace/../etc/x", "/workspace/a.go", "a.go/", "a.go\x00.md", "a\u200b.go",
	".interlock/tokens", "x/.interlock/store.db", ".claude/settings.json", ".mcp.json", "link/a.go", "~/.bashrc", "$HOME/x", "A.GO", "а.go", "", "/dev/stdout",
	"/proc/self/environ", "node_modules/.bin/x", ".git/hooks/pre-commit", strings.Repeat("d/", 600) + "x",
}
