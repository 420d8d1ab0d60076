package toolcall_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestAgainstBash makes thousands of lines, plain and hostile, and runs under real
// bash those that are allowed: no line that R2 allows may look for a program that
// is not listed, none that R3 allows may change a file, and none that R4 allows may
// show the value of the blocked variable.
func TestAgainstBash(t *testing.T) {
	t.Parallel()
	reading, run := inState(t, `{"allowed_tools": ["Read", "Bash"]}`, `{}`)
	writing, _ := inState(t, `{"allowed_tools": ["Bash", "Edit"], "blocked_env": ["CANARY"]}`, `{}`)
	g := newLineMaker(t, commandCases(t))
	listed, _ := inState(t, `{"allowed_commands": ["ls", "cat", "head -n", "env", "sh -c", "find", "xargs", "timeout", "sed -n"]}`, `{}`)
	var reads, hides, lists []string
	// The cases as they are, but for opaque programs, which may write.
	strict, _ := inState(t, `{"allowed_tools": ["Bash"], "opaque_commands": "deny"}`, `{}`)
	for range randtest.Size(200, 2000) {
		if line := g.of(g.seeds...); allows(strict, run, line) {
			reads = append(reads, line)
		}
	}
	made := randtest.Size(1000, 50_000)
	for i := range made {
		g.few = i%3 == 0
		line := g.line()
		// Code that python runs is not judged, and it is the machine's.
		if allows(reading, run, line) && (!strings.Contains(line, "python") || allows(strict, run, line)) {
			reads = append(reads, line)
		}
		if allows(writing, run, line) {
			hides = append(hides, line)
		}
		if allows(listed, run, line) {
			lists = append(lists, line)
		}
	}
	t.Logf("of %d lines, R2 allows %d, R3 %d and R4 %d", made, len(lists), len(reads), len(hides))
	if len(reads) < made/50 || len(hides) < made/50 {
		t.Fatal("too few lines are allowed to tell anything")
	}
	for _, c := range []struct {
		rule, what string
		lines      []string
		bad        func(*sandbox, []string) bool
		programs   string
	}{
		{"R2", "runs another program", lists, (*sandbox).missed, "ls cat head env sh find xargs timeout sed"},
		{"R3", "changes files", reads, (*sandbox).changed, programs},
		{"R4", "shows the variable", hides, (*sandbox).shown, programs},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			b := newSandbox(t, strings.Fields(c.programs)...)
			if !b.changed([]string{": > pwn"}) || !b.shown([]string{"echo $CANARY"}) || !b.missed([]string{"no-such-program"}) {
				t.Fatal("the sandbox sees nothing")
			}
			for _, line := range b.culprits(c.lines, c.bad) {
				t.Errorf("allowed, and %s: %q", c.what, line)
			}
		})
	}
}

func allows(m *workflow.Machine, run *workflow.View, line string) bool {
	return decide(m, run, "Bash", bash(line)).Decision == toolcall.Allow
}

// canary is the value of the blocked variable. Text of the lines never has it.
const canary = "k7Qx93canary"

// sandbox runs lines in a throw-away folder, with an environment of its own, and, where
// the system lets it, where no other place can be written, seen or reached.
type sandbox struct {
	t    *testing.T
	bash string
	path string
	dir  string
	// apart is the command that sets the lines apart; none where that is refused.
	apart []string
}

// culprits runs lines in batches, and those of a bad batch one by one.
func (b *sandbox) culprits(lines []string, bad func(*sandbox, []string) bool) []string {
	const batch = 64
	var found []string
	for len(lines) > 0 {
		n := min(batch, len(lines))
		if bad(b, lines[:n]) {
			for i := range n {
				if bad(b, lines[i:i+1]) {
					found = append(found, lines[i])
				}
			}
		}
		lines = lines[n:]
	}
	return found
}

// changed reports that running the lines changes the tree.
func (b *sandbox) changed(lines []string) bool {
	b.fresh()
	before := b.snapshot()
	b.run(lines)
	return b.snapshot() != before
}

// shown reports that running the lines shows the canary, or writes it.
func (b *sandbox) shown(lines []string) bool {
	b.fresh()
	if strings.Contains(b.run(lines), canary) {
		return true
	}
	found := false
	b.walk(func(path string, _ fs.FileInfo) {
		content, _ := os.ReadFile(path)
		found = found || bytes.Contains(content, []byte(canary))
	})
	return found
}

// missed reports that running the lines looks for a program that is not there.
func (b *sandbox) missed(lines []string) bool {
	b.fresh()
	out := strings.ReplaceAll(b.run(lines), "COPROC: command not found", "") // bash 5.2 names it wrongly in $(coproc x)
	return strings.Contains(out, "not found") || strings.Contains(out, "failed to run command")
}

// fresh makes the tree again.
func (b *sandbox) fresh() {
	b.t.Helper()
	b.dir = b.t.TempDir()
	for name, content := range map[string]string{
		"tree/a.txt": "b 2\na 1\nc 3\n", "tree/b.txt": "x\ny\n", "tree/src/m.py": "print(1)\n", "tree/src/n.go": "package n\n",
		"tree/data.json": `{"a": [1, 2], "env": 3}`, "tree/-x.txt": "odd\n", "home/.keep": "", "tree/list.txt": "a.txt\nb.txt\n",
		"tree/a.csv": "1,2\n3,4\n",
	} {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			b.t.Fatal(err)
		}
	}
}

// programs are those that the lines may find, besides bash's own. Programs that
// are opaque to the rules are not among them.
const programs = `ls cat head tail wc grep egrep fgrep sort uniq cut tr tee shuf nl od tac comm diff find xargs xxd split csplit stat dd sed awk gawk
	mawk jq tar gzip gunzip env printenv ps date test [ basename dirname seq envsubst tree perl python3 git expr join paste base64 truncate
	install ln make file column fmt ptx numfmt factor touch rm cp mv mkdir sh bash dash nice nohup timeout setsid stdbuf time ionice setpriv
	chrt taskset prlimit flock script chmod sleep true false pwd echo printf id rev strings cmp expand fold readlink realpath`

// driver runs each line of a folder, with limits.
const driver = `ulimit -t 2 -f 2048 -v 2000000 2>/dev/null
for f in "$1"/lines/*; do
  line=$(/bin/cat "$f"; printf x)
  line=${line%x}
  cd "$1/tree" || exit 1
  /usr/bin/timeout -k 1 0.6 "$2" -c "$line" < /dev/null
done
wait`

func (b *sandbox) run(lines []string) string {
	b.t.Helper()
	folder := filepath.Join(b.dir, "lines")
	if err := os.Mkdir(folder, 0o777); err != nil {
		b.t.Fatal(err)
	}
	for i, line := range lines {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%04d", i)), []byte(line), 0o666); err != nil {
			b.t.Fatal(err)
		}
	}
	var args []string
	if len(b.apart) > 0 {
		args = append(slices.Clone(b.apart), b.dir)
	}
	args = append(args, b.bash, "-c", driver, "driver", b.dir, b.bash)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = []string{"PATH=" + b.path, "HOME=" + filepath.Join(b.dir, "home"), "CANARY=" + canary, "SAFE=s", "LANG=C"}
	out, err := cmd.CombinedOutput()
	if len(b.apart) > 0 && err != nil && cmd.ProcessState.ExitCode() == 70 {
		b.t.Fatalf("the sandbox does not close: %s", out)
	}
	return string(out)
}

// apart gives a command namespaces of its own: processes, network and mounts, all of
// them read-only but the folder.
const apart = `find=$PATH; PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount --bind "$1" "$1" || exit 70
while read -r _ at _; do
  case "$at" in /proc*|"$1") ;; *) mount -o remount,bind,ro "$at" 2>/dev/null;; esac
done < /proc/self/mounts
if (: > "${1%/*}/escaped") 2>/dev/null; then echo 'the sandbox is open' >&2; exit 70; fi
shift
PATH=$find exec "$@"`

// newSandbox makes a folder with the programs alone.
func newSandbox(t *testing.T, programs ...string) *sandbox {
	t.Helper()
	b := &sandbox{t: t, path: t.TempDir()}
	for _, name := range append(programs, "bash") {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if name == "bash" {
			b.bash = path
		}
		_ = os.Symlink(path, filepath.Join(b.path, name))
	}
	if b.bash == "" {
		t.Fatal("bash is needed")
	}
	b.dir = t.TempDir()
	unshare := []string{"unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", b.bash, "-c", apart, "apart"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], b.dir, "true")...).CombinedOutput(); err != nil {
		t.Logf("no namespaces here (%v: %s): lines run in a folder alone", err, out)
		return b
	}
	b.apart = unshare
	return b
}

func (b *sandbox) walk(visit func(path string, info fs.FileInfo)) {
	for _, root := range []string{"tree", "home"} {
		_ = filepath.Walk(filepath.Join(b.dir, root), func(path string, info fs.FileInfo, err error) error {
			if err == nil {
				visit(path, info)
			}
			return nil
		})
	}
}

// snapshot is all that R3 protects: names, contents, modes and times.
func (b *sandbox) snapshot() string {
	sum := sha256.New()
	b.walk(func(path string, info fs.FileInfo) {
		content, _ := os.ReadFile(path)
		fmt.Fprintln(sum, path, info.Mode(), info.ModTime().UnixNano(), len(content))
		sum.Write(content)
	})
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// lineMaker makes command lines.
type lineMaker struct {
	*rand.Rand
	seeds []string
	few   bool // make lines of the few commands that the list has
}

func newLineMaker(t *testing.T, cases []commandCase) *lineMaker {
	g := &lineMaker{Rand: randtest.New(t, 2)}
	for _, c := range cases {
		if strings.Contains(c.line, "-lc") || strings.Contains(c.line, "kill") || strings.Contains(c.line, "watch") { // a login shell finds every program
			continue
		}
		if !strings.ContainsAny(c.line, "/~") || strings.Contains(c.line, "/proc") && !strings.Contains(c.line, "..") {
			g.seeds = append(g.seeds, c.line)
		}
	}
	return g
}

func (g *lineMaker) of(options ...string) string { return options[g.IntN(len(options))] }

// line is a made line, or a mutation of one of the cases.
func (g *lineMaker) line() string {
	switch {
	case g.IntN(6) == 0:
		return g.soup()
	case !g.few && g.IntN(3) == 0:
		return g.mutated()
	}
	return g.list(3)
}

// soup is tokens in no order: texts that the parser and bash might read differently.
func (g *lineMaker) soup() string {
	var b strings.Builder
	for range 2 + g.IntN(14) {
		b.WriteString(g.of("$(", ")", "`", `"`, "'", `\`, "\n", "<<E\n", "\nE\n", "<<-E\n", "\tE\n", "<<'E'\n", "${x:-", "${x#", "${x/", "}", "((", "))", "$((", "[[ ", " ]]", "#", " # ", "; ",
			"touch pwn", "touch pwn", "echo ", "cat ", "ls ", "case x in ", "esac", " x) ", ";;", "|", "&", " && ", "$'", `$"`, "a", " ", "{ ", "!", "<(", ">(", "if ", "then ", "fi", "x=", "x=(", "[1]=", "~", "*", "@(",
			"=~", "\\\n", "$", "-", "<", "<<<", " in ", "do ", "done", "for x in ", "while ", "function f ", "f() ", "eval ", "coproc ", "time ", "{a,", "b}", "$x", "\\`", `\"`, `\'`, `\$`, "$[", "]", "a[", "declare ", "let "))
	}
	return b.String()
}

// mutated changes a few bytes of a case or splices two.
func (g *lineMaker) mutated() string {
	line := g.of(g.seeds...)
	for range 1 + g.IntN(3) {
		at := g.IntN(len(line) + 1)
		switch g.IntN(6) {
		case 0:
			line = line[:at] + g.of("'", `"`, "\\", "$", "`", "(", ")", "{", "}", "[", "]", ";", "|", "&", "<", ">", " ", "\n", "#", "!", "*", "=", "-", "x", "1", ",") + line[at:]
		case 1:
			end := min(len(line), at+1+g.IntN(3))
			line = line[:at] + line[end:]
		case 2:
			other := g.of(g.seeds...)
			line = line[:at] + other[g.IntN(len(other)+1):]
		case 3:
			line = line[:at] + g.payload() + line[at:]
		case 4:
			line = line[:at] + g.of(" ", "; ", " | ", " && ", "$(", "`", `"`, "'") + g.payload() + g.of("", ")", "`", `"`, "'") + line[at:]
		default:
			words := strings.Fields(line)
			if len(words) > 1 {
				i, j := g.IntN(len(words)), g.IntN(len(words))
				words[i], words[j] = words[j], words[i]
				line = strings.Join(words, " ")
			}
		}
	}
	return line
}

// payload is the forbidden effect: a file made, or the variable shown.
func (g *lineMaker) payload() string {
	return g.of("touch pwn", ": > pwn", "echo $CANARY", "env", "printenv", "rm a.txt", "echo x >> a.txt", "set", "export -p", "tee pwn",
		"cp a.txt pwn", "mkdir pwn", "${CANARY}", "cat /proc/self/environ", "sed -i s/a/b/ a.txt", "declare -p")
}

// list is commands joined by operators, to a depth.
func (g *lineMaker) list(depth int) string {
	line := g.pipeline(depth)
	for g.IntN(3) == 0 {
		line += g.of("; ", " && ", " || ", "\n", " & ") + g.pipeline(depth)
	}
	return line
}

func (g *lineMaker) pipeline(depth int) string {
	line := g.compound(depth)
	for g.IntN(4) == 0 {
		line += g.of(" | ", " |& ") + g.compound(depth)
	}
	return line
}

func (g *lineMaker) compound(depth int) string {
	if depth == 0 || g.IntN(3) > 0 {
		return g.simple(depth)
	}
	inner := func() string { return g.list(depth - 1) }
	switch g.IntN(12) {
	case 0:
		return "( " + inner() + " )" + g.redirect(depth)
	case 1:
		return "{ " + inner() + "; }" + g.redirect(depth)
	case 2:
		return "if " + inner() + "; then " + inner() + "; fi" + g.redirect(depth)
	case 3:
		return "for v in " + g.words(depth) + "; do " + inner() + "; done" + g.redirect(depth)
	case 4:
		return "while " + inner() + "; do " + inner() + "; break; done"
	case 5:
		return "case " + g.word(depth) + " in " + g.word(depth) + ") " + inner() + ";; *) " + inner() + ";; esac"
	case 6:
		return "f() { " + inner() + "; }; f " + g.words(depth)
	case 7:
		return "[[ " + g.test(depth) + " ]]"
	case 8:
		return "(( " + g.arithmetic(depth) + " ))"
	case 9:
		return "v=" + g.word(depth) + "; " + inner()
	case 10:
		return "for ((i=0; i<" + g.arithmetic(depth) + "; i++)); do " + inner() + "; break; done"
	default:
		return g.of("! ", "time ", "coproc ") + g.simple(depth-1)
	}
}

func (g *lineMaker) test(depth int) string {
	switch g.IntN(5) {
	case 0:
		return g.of("-f ", "-n ", "-v ", "-z ", "-o ") + g.word(depth)
	case 1:
		return g.word(depth) + g.of(" == ", " != ", " =~ ", " < ", " > ") + g.word(depth)
	case 2:
		return g.word(depth) + g.of(" -eq ", " -gt ", " -nt ") + g.word(depth)
	case 3:
		return "-n " + g.word(depth) + g.of(" && ", " || ") + "-n " + g.word(depth)
	default:
		return g.word(depth)
	}
}

func (g *lineMaker) arithmetic(depth int) string {
	return g.of("1", "v", "v + 1", "i++", "a[v]", "a[1]", "$v", "CANARY", "v = 2", "1 ? v : 2", "${#v}", "$(echo 1)", g.word(depth))
}

func (g *lineMaker) redirect(depth int) string {
	if g.IntN(5) > 0 {
		return ""
	}
	return " " + g.of("> /dev/null", "2>&1", "2> /dev/null", "< a.txt", "> pwn", ">> a.txt", "&> pwn", "3> pwn", "<> pwn", ">| pwn", "> "+g.word(depth),
		"<<< "+g.word(depth), ">&2", "< <("+g.list(0)+")", "> >("+g.list(0)+")", "{fd}> pwn", "<<E\n"+g.hereDocument(depth)+"\nE\n", "<<'E'\n"+g.hereDocument(depth)+"\nE\n")
}

func (g *lineMaker) hereDocument(depth int) string {
	return g.of("text", "$v", g.payload(), "$("+g.payload()+")", "${v:-"+g.word(depth)+"}", "\\$("+g.payload()+")", "`"+g.payload()+"`")
}

// simple is a simple command: a reader, something that runs others, or a payload.
func (g *lineMaker) simple(depth int) string {
	redirect := g.redirect(depth)
	if g.few && g.IntN(8) > 0 {
		return g.listed(depth) + redirect
	}
	switch n := g.IntN(20); {
	case n < 9:
		return g.assignment(depth) + g.reader(depth) + redirect
	case n < 13 && depth > 0:
		return g.runner(depth-1) + redirect
	case n < 16:
		return g.builtin(depth) + redirect
	case n < 17:
		return g.quoted(g.payload()) + redirect
	case n < 18:
		return g.words(depth)
	default:
		return g.of("ls", "cat a.txt", "echo hi", "true", "pwd") + redirect
	}
}

// listed is one of the few commands.
func (g *lineMaker) listed(depth int) string {
	w := g.word(depth)
	if depth == 0 {
		return g.of("ls "+w, "cat "+w, "head -n "+w)
	}
	if g.IntN(3) > 0 {
		return g.of("ls "+w, "cat "+w, "head -n "+w, "head -n 1 a.txt", "sed -n "+w+" a.txt", "sed -n "+g.sed()+" a.txt", "find . -name "+w, "ls", "cat a.txt", g.quoted("cat")+" a.txt", "cat $("+g.list(depth-1)+")", "cat ${x:-"+w+"}")
	}
	inner, script := g.simple(depth-1), g.list(depth-1)
	quoted := "'" + strings.ReplaceAll(script, "'", `'\''`) + "'"
	return g.of("env "+inner, "env X=1 "+inner, "env -S "+quoted, "sh -c "+quoted, "sh -c "+quoted+" x "+w, "timeout 1 "+inner, "timeout -k 1 1 "+inner, "find . -maxdepth 0 -exec "+inner+" \\;", "xargs "+inner, "xargs -I{} "+inner,
		"echo x | xargs "+inner, "env "+w+" "+inner, "cat <("+script+")", "cat <<E\n$("+script+")\nE\n", "cat $(( "+g.arithmetic(depth)+" ))", "for x in "+w+"; do cat $(( x )); done")
}

func (g *lineMaker) assignment(depth int) string {
	if g.IntN(6) > 0 {
		return ""
	}
	return g.of("v=", "FOO=", "LC_ALL=", "x=", "PATH=", "PS4=", "IFS=", "CANARY=", "a[1]=", "v+=") + g.word(depth) + g.of(" ", " ", "; ")
}

func (g *lineMaker) reader(depth int) string {
	w := g.word(depth)
	return g.of(
		"ls "+w, "cat "+w, "head -n 1 "+w, "wc -l "+w, "grep -n a "+w, "grep -r a "+w, "sort "+w, "sort -k 1 "+w, "sort -o "+w+" a.txt", "sort --out="+w+" a.txt",
		"uniq "+w, "uniq a.txt "+w, "cut -c1 "+w, "tr a b", "tee "+w, "shuf "+w, "nl "+w, "od -c "+w, "tac "+w, "comm a.txt "+w, "diff a.txt "+w,
		"find "+w, "find . -name "+w, "find . "+g.findAction()+" "+w+" \\;", "find src "+g.findAction()+" "+w, "xxd a.txt "+w, "split "+w, "stat "+w, "dd if="+w, "dd of="+w+" if=a.txt",
		"sed "+g.sed()+" a.txt", "sed -n "+g.sed()+" "+w, "sed -e "+g.sed()+" -e "+g.sed()+" a.txt", "sed "+w+" a.txt", "sed -n "+w+" a.txt",
		"awk "+g.awk()+" a.txt", "awk "+w+" a.txt", "jq "+g.of(".", ".a", "env", "'$ENV.CANARY'", ".env", w)+" data.json", "jq -n "+w,
		"tar cf "+w+" a.txt", "tar tf "+w, "gzip -c "+w, "gzip "+w, "env "+w, "printenv "+w, "ps "+g.of("aux", "e", "-ef", "eww", w), "date "+g.of("", "+%s", "-d "+w),
		"test "+w, "[ "+w+" ]", "[ "+w+" = "+w+" ]", "test -v "+w, "[ -n "+w+" -a "+w+" ]", "basename "+w, "dirname "+w, "seq "+g.of("3", w), "envsubst", "xargs echo", "tree", "perl -ne 'print' a.txt",
		"git --version", "expr "+w+" + 1", "expr 3 \\> "+w, "join a.txt "+w, "paste "+w, "base64 "+w, "csplit a.txt "+w, "truncate -s 0 "+w, "install a.txt "+w, "ln -s a.txt "+w,
		"make -f - "+w, "python3 "+g.of("--version", w), "file "+w, "column -t "+w, "fmt "+w, "ptx a.txt "+w, "numfmt "+w, "factor "+w, "touch --help", "rm --version")
}

func (g *lineMaker) findAction() string {
	return g.of("-print", "-exec cat", "-exec echo {} ", "-delete", "-fprint", "-exec touch pwn", "-exec sh -c", "-name x -o -exec", "-printf %p", "-newer", "-ls", "-fls pwn", "-maxdepth 1 -exec head -n1 {}")
}

func (g *lineMaker) sed() string {
	return g.of("p", "s/a/b/", "'s/a/b/g; p'", "'1,2p'", "'w pwn'", "'s/a/b/w pwn'", "'1e touch pwn'", "'s/.*/touch pwn/e'", "'/a/{p;w pwn'", "'s/[/]/x/;w pwn'", "'s/[]/]/x/;w pwn'",
		"'s/[\\]/x/;w pwn'", "'a\\'", "'y/a/b/;w pwn'", "':a;w pwn'", "'b x;w pwn'", "'r a.txt'", "'s,a,b,w pwn'", "'$!N;P;D'", "'#w pwn'", "'a w pwn'", "'i\\\nw pwn'", "'c x\nw pwn'", "'}w pwn'", "'{p}'",
		"'e'", "'l 3'", "'q'", "'s/a/\\\n/;w pwn'", "'s/a/b/;;w pwn'", "'1!w pwn'", "'1~2w pwn'", "'/a/,+1w pwn'", "'\\,a,w pwn'", "'\\/a/w pwn'", "'s/\\//x/w pwn'", "'0,/a/w pwn'", "-i", "-n", "-s", "--posix p", "-z p")
}

func (g *lineMaker) awk() string {
	return g.of("'{print $1}'", "'$2 > 1'", "'{print > \"pwn\"}'", "'{print $1, $2 > 1}'", "'BEGIN{system(\"touch pwn\")}'", "'{print | \"cat > pwn\"}'", "'{print ($1 > 1)}'", "'/a/ {print}'", "'{ x = $1 / 2; print x > 1 }'",
		"'BEGIN{\"env\" | getline x; print x}'", "'BEGIN{print ENVIRON[\"CANARY\"]}'", "'BEGIN{printf(\"%s\", \"x\") > \"pwn\"}'", "'BEGIN{if (1) /\"/; print \"x\" > \"pwn\"; y = \"/\"}'", "'{print $1\n, $2 > \"pwn\"}'",
		"'{print a /b > \"pwn\"; c/ 1}'", "'BEGIN{x = 4 /2/ 1; print \"y\" > \"pwn\"}'", "'BEGIN { print \"#\" > \"pwn\" }'", "'BEGIN { print \"\\\"\" > \"pwn\" }'", "'length > 1'", "'NR==1, NR > 2'", "'BEGIN{getline < \"a.txt\"; print}'",
		"'BEGIN { for (k in ENVIRON) print ENVIRON[k] }'", "'END{print NR > \"/dev/stderr\"}'", "'{ sub(/[/]/, \"x\"); print > \"pwn\" }'", "'{ if ($1 > 1) print; else print $2 }'", "'function f(x) { print x > \"pwn\" } { f(1) }'", "'BEGIN { close(\"x\"); print \"y\" >\"pwn\" }'")
}

// runner runs something else.
func (g *lineMaker) runner(depth int) string {
	inner, script := g.simple(depth), g.list(depth)
	quoted := "'" + strings.ReplaceAll(script, "'", `'\''`) + "'"
	return g.of(
		"sh -c "+quoted, "bash -c "+quoted, "dash -c "+quoted, "bash -xc "+quoted, "bash -o pipefail -c "+quoted, "sh -c \"$v\"", "bash -c "+quoted+" x y", "eval "+quoted, "eval "+inner, "trap "+quoted+" EXIT",
		"env "+inner, "env -i "+inner, "env X=1 "+inner, "env -u X "+inner, "env -S "+quoted, "env - "+inner, "nice "+inner, "nice -n 1 "+inner, "nohup "+inner, "timeout 1 "+inner, "timeout -k 1 1 "+inner, "setsid "+inner, "stdbuf -oL "+inner,
		"command "+inner, "exec "+inner, "builtin "+inner, "\\time "+inner, "\\time -o pwn "+inner, "xargs "+inner, "xargs -n 1 "+inner, "xargs -I{} "+inner, "echo a.txt | xargs "+inner, "echo a.txt | xargs -I% sh -c "+quoted,
		"find . -maxdepth 0 -exec "+inner+" \\;", "find . -maxdepth 1 -execdir "+inner+" {} +", "ionice "+inner, "setpriv "+inner, "chrt -i 0 "+inner, "taskset 1 "+inner, "prlimit "+inner, "flock pwn "+inner, "script -qc "+quoted+" /dev/null",
		"echo "+quoted+" | sh", "bash <<< "+quoted, "bash <<E\n"+script+"\nE\n", "source <(echo "+quoted+")", ". /dev/stdin <<< "+quoted, "coproc "+inner, "alias q="+quoted, "echo $("+script+")", "echo `"+strings.ReplaceAll(inner, "`", "")+"`", "cat <("+script+")",
		"f() { "+script+"; }; f", "x=$("+script+")", "echo \"${x:-$("+script+")}\"", "echo \"${x:-'$("+script+")'}\"", "echo $(( $("+script+") ))", "printf -v 'a[$("+inner+")]' x", "declare 'a[$("+inner+")]=1'", "v='a[$("+strings.ReplaceAll(inner, "'", "")+")]'; echo $((v))",
		"v='a[$("+strings.ReplaceAll(inner, "'", "")+")]'; [[ v -eq 1 ]]", "v='$("+strings.ReplaceAll(inner, "'", "")+")'; echo ${v@P}", "shopt -s expand_aliases; alias q="+quoted+"\nq", "[[ x == @($("+inner+")) ]]", "shopt -s extglob\necho @($("+inner+"))")
}

func (g *lineMaker) builtin(depth int) string {
	if g.IntN(6) == 0 {
		return g.standing(depth)
	}
	w := g.word(depth)
	return g.of("echo "+w, "printf '%s\\n' "+w, "printf "+w, "printf -v "+w+" x", "read "+w+" < a.txt", "read -r v < a.txt", "unset "+w, "declare "+w, "declare -i v="+w, "declare -p "+w, "declare -n v="+w, "export "+w, "export v="+w,
		"local "+w, "readonly "+w, "typeset "+w, "let "+w, "let v="+w, "let "+g.arithmetic(depth), "set "+w, "set -- "+w, "set -x", "set", "shift", "cd "+w, "pushd .", "type "+w, "command -v "+w, "hash "+w, "hash -p "+w+" ls", "mapfile -t v < a.txt", "mapfile -C "+w+" v < a.txt",
		"getopts a "+w, "compgen -v", "compgen -W "+w, "compgen -e", "wait", "history", "alias", "alias "+w, "enable", "source "+w, "trap "+w+" EXIT", "trap", "umask", "ulimit -a", "declare -A m=([k]="+w+")", "a=("+g.words(depth)+")", "echo ${a["+g.arithmetic(depth)+"]}", "echo ${!v}", "echo ${!v*}", "echo ${v:"+g.arithmetic(depth)+"}",
		"unset 'a["+g.arithmetic(depth)+"]'", "test -v 'a["+g.arithmetic(depth)+"]'", "a["+g.arithmetic(depth)+"]="+w, "exec 3> "+w, "exec 3< a.txt", "v="+w, "v=1", "v=3; echo $((v))", "v+="+w, "caller", "dirs", "times", "help set", "bind -p", "complete", "shopt")
}

// standing is text that works only after other certain text: arrays
// with keys of text, functions, separators of words, the folder.
func (g *lineMaker) standing(depth int) string {
	does := func() string {
		return g.of(g.payload(), "ls $v", `wc -l "$v"`, "cat $v", "sort $v", `sort "$v"`, "echo $*")
	}
	w, k := g.word(depth), g.of("$v", `"$v"`, "a", "$(echo x)", `"$v,1"`, "'$(touch pwn)'", "v", "$1")
	use := g.of("m["+k+"]="+w, "echo ${m["+k+"]}", `echo "${m[`+k+`]:-0}"`, "echo $(( ${m["+k+"]:-0} + 1 ))", "(( m["+k+"]++ ))", "echo $(( m["+k+"] ))", "m+=(["+k+"]=1)", "[[ -v m["+k+"] ]]", "unset m", "unset 'm["+k+"]'", "m=(1)",
		"[[ ${m["+k+"]} -eq 1 ]]", "declare m", "local m", "printf -v 'm["+k+"]' x", "read 'm["+k+"]' < a.txt", "echo ${#m["+k+"]} ${m[@]}", "for v in \"${!m[@]}\"; do echo ${m[$v]}; done", "m["+k+"]=$(( ${m["+k+"]:-0} + 1 ))")
	set := g.of("", "v='a[$(touch pwn)]'; ", "v='$(touch pwn)'; ", "v=1; ", "m=(1 2); ", "f() { "+use+"; }; ", "read -r v < a.txt; ")
	made := g.of("declare -A m; ", "declare -A m=([a]=1); ", "typeset -A m; ", "(declare -A m); ", "declare -A m & ", "f() { declare -A m; }; f; ", "declare -A n m; ", "declare -Ai m; ", "declare -a m; ", "")
	call := g.of("touch", "ls", "g", "cat")
	return g.of(
		set+made+use, made+set+use, set+made+use+"; "+use, made+use+"; f", "g() { "+use+"; }; "+made+set+"g", set+made+"sh -c '"+strings.ReplaceAll(use, "'", "")+"'",
		call+"() { "+does()+"; }; "+call+" pwn", "("+call+"() { ls; }); "+call+" pwn", call+"() { ls; }; unset -f "+call+"; "+call+" pwn", call+" pwn; "+call+"() { ls; }", call+"() { ls; }; sh -c '"+call+" pwn'", call+"() { ls; }; env "+call+" pwn",
		"trap "+call+" EXIT; "+call+"() { ls; }", "IFS=$'\\n'; for v in $(cat list.txt); do "+does()+"; done", "IFS=; v='touch pwn'; $v", "IFS=x; v=touchxpwn; $v", "IFS=' '; cat $v", "IFS="+w+"; echo $v \"$*\"",
		"cd src; ./m.py", "cd "+w+"; ./exe -c 'touch pwn'", "cd /proc/self && ./exe -c 'touch pwn'", "v=/proc/self; cd $v; ./exe -c 'touch pwn'", "cd ..; cd ..; ./proc/self/exe -c 'touch pwn'", "bash -n "+w, "sh -n a.txt "+w,
		"echo '(\\\n'"+g.of(";", "|", " ")+does(), "echo \"(\\\n\" \"$(\\\n"+does()+")\"", "diff "+w+" "+w, "git branch "+w, "git tag "+w)
}

func (g *lineMaker) words(depth int) string {
	words := g.word(depth)
	for g.IntN(2) == 0 {
		words += " " + g.word(depth)
	}
	return words
}

// word is one word, often quoted oddly.
func (g *lineMaker) word(depth int) string {
	if depth < 0 {
		depth = 0
	}
	switch g.IntN(14) {
	case 0, 1, 2:
		return g.of("a.txt", "b.txt", "src", ".", "x", "1", "v", "pwn", "list.txt", "data.json")
	case 3:
		return g.of("-o", "-i", "-n", "-e", "--", "-", "-v", "-p", "-x", "-c", "-exec", "-delete", "-f", "--output=pwn", "-opwn", "--help", "-0", "--in-place")
	case 4:
		return g.of("$v", `"$v"`, "${v}", "${v:-x}", `"${v:-$(touch pwn)}"`, "${v#x}", "${v/a/b}", "${#v}", "${v:0:1}", "${v^^}", "$CANARY", `"$CANARY"`, "${CANARY:+x}", "$HOME", "$1", `"$@"`, "$?", "${!v}", "${v@Q}", "${a[@]}", "${v:=y}", "$SAFE")
	case 5:
		return g.of("*.txt", "?.txt", "[ab].txt", "{a,b}.txt", "{1..3}", "s*", "~", "-*", "*", "/proc/self/env*", "/proc/self/environ")
	case 6:
		if depth > 0 {
			return g.of("$(", "\"$(") + g.list(depth-1) + g.of(")", ")\"")
		}
		return "$(echo x)"
	case 7:
		return g.quoted(g.of("a.txt", "touch", "pwn", "touch pwn", "rm", "env", "CANARY", "-i", "-o", "w pwn"))
	case 8:
		return "$((" + g.arithmetic(0) + "))"
	case 9:
		return g.of(`'a[$(touch pwn)]'`, `'$(touch pwn)'`, `'$CANARY'`, `'-v a[$(touch pwn)]'`, `"a b"`, `''`, `""`, `'x;touch pwn'`, "'`touch pwn`'", `a\;b`, `a\ b`, `$'a\tb'`, `'w pwn'`, `'1e touch pwn'`)
	case 10:
		return g.of("v=", "x=", "-o=", "of=", "if=", "FOO=", "--output=", "a[0]=") + g.of("pwn", "a.txt", "$v", "1", "/dev/null", "'x y'")
	case 11:
		return g.of("touch", "rm", "env", "printenv", "sh", "bash", "sed", "tee", "eval", "ls", "set", "cp")
	case 12:
		return g.of("a", "b", "1", "2", "x.y", "CANARY", "HOME")
	default:
		return g.word(depth-1) + g.word(depth - 1)[:1]
	}
}

// quoted writes text in one of the ways that mean the same to bash.
func (g *lineMaker) quoted(text string) string {
	if !strings.Contains(text, " ") || g.IntN(2) == 0 {
		switch g.IntN(6) {
		case 0:
			return "'" + text + "'"
		case 1:
			return `"` + strings.ReplaceAll(text, "$", "\\$") + `"`
		case 2:
			var b strings.Builder
			for i := range len(text) {
				fmt.Fprintf(&b, `\x%02x`, text[i])
			}
			return "$'" + b.String() + "'"
		case 3:
			at := g.IntN(len(text) + 1)
			return text[:at] + g.of(`""`, "''", "\\\n") + text[at:]
		case 4:
			return "$'" + text + "'"
		}
	}
	return text
}
