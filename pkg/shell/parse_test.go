package shell_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/shell"
)

// TestWords: R2. What a word is after quote removal, and when that is not known.
func TestWords(t *testing.T) {
	t.Parallel()
	const u = string(shell.Unknown)
	place := func(source string) int { // of the word's command among those of the line
		return strings.Count(source, "ls")
	}
	for source, text := range map[string]string{
		`a`: "a", `'a b'`: "a b", `"a b"`: "a b", `a\ b`: "a b", `\rm`: "rm", `r\m`: "rm", `r""m`: "rm", `''`: "", `""`: "",
		"r\\\nm": "rm", `$'rm'`: "rm", `$'\x72m'`: "rm", `$'\162m'`: "rm", `$'\u0072m'`: "rm", `$'a\tb'`: "a\tb", `$'\''`: "'", `$'\q'`: `\q`, `$'\x'`: `\x`,
		"r\\\\\\\nm": `r\m`, "\"\\\\\\\nm\"": `\m`,
		`"\$x"`: "$x", `"\q"`: `\q`, `"a\"b"`: `a"b`, `"\\"`: `\`, `'\'`: `\`, `a'b'"c"d`: "abcd", `{}`: "{}", `{a}`: "{a}", `{`: "{", `a{b`: "a{b", `@{1}`: "@{1}",
		`[`: "[", `a[`: "a[", `a\*`: "a*", `'*'`: "*", `"~"`: "~", `a~`: "a~", `-`: "-", `a#b`: "a#b", `a=b`: "a=b",
		`a:~`: "a:~", `--a=~`: "--a=~", `'a'=~`: "a=~", `a\=~`: "a=~", `a=\:~`: "a=:~", `a="~"`: "a=~", `a=":"~`: "a=:~", `a=x~`: "a=x~", `a-b=~`: "a-b=~",
		`$x`: u, `"$x"`: u, `a$x`: "a" + u, `${x}b`: u + "b", `$(ls)`: u, "`ls`": u, `$((1))`: u, `<(ls)`: u, `$"rm"`: u + "rm",
		`*`: u, `a*`: "a" + u, `a?b`: "a" + u + "b", `[ab]c`: u + "c", `[a-z][0-9]x`: u + "x", `~`: u, `~/x`: u + "/x", `{a,b}`: u, `x{1..3}y`: "x" + u + "y", `{rm,-rf}`: u,
		`$'\e'`: u, `$'\x{72}m'`: u,
		`a=~`: "a=" + u, `a+=~/x`: "a+=" + u + "/x", `a[1]=~`: "a" + u + "=" + u, `a=x:~`: "a=x:" + u, `a='x':~`: "a=x:" + u, `a=$x:~`: "a=" + u + ":" + u,
		`a=~:~/b`: "a=" + u + ":" + u + "/b",
	} {
		plan, err := shell.Parse("echo " + source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		got := plan.Commands[place(source)].Words
		if len(got) != 2 || got[1].Text != text || got[1].Static == strings.Contains(text, u) {
			t.Errorf("%s is %q, want %q", source, got[1:], text)
		}
	}
}

// TestWordsAgainstBash: a word that is called static is what bash makes of it.
func TestWordsAgainstBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("bash is needed: ", err)
	}
	piece := rapid.SampledFrom([]string{
		"a", "b", "-", "=", "'", `"`, `\`, "$", "{", "}", ",", "..", "[", "]", "*", "?", "~", "!", "#", "%", "x", "n", "t", "0", "1", "7", "u", "U", "'a'", `"b"`, `$'`, `$"`, "\\\n", "\\'", `\"`,
		"@", "^", ":", "/", "+", "é", "☃",
	})
	static := 0
	randtest.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(t, "pieces"), "")
		line := "printf '%s|' " + source
		plan, err := shell.Parse(line)
		if err != nil || len(plan.Commands) != 1 || len(plan.Findings) > 0 {
			return
		}
		var want []string
		for _, w := range plan.Commands[0].Words[2:] {
			if !w.Static {
				return
			}
			want = append(want, w.Text+"|")
		}
		if len(want) == 0 {
			return
		}
		static++
		out, err := exec.Command(bash, "-c", line).CombinedOutput()
		if err != nil || string(out) != strings.Join(want, "") {
			t.Fatalf("%q is %q to bash (%v), want %q", line, out, err, want)
		}
	})
	if static < 10 {
		t.Fatal("too few static words to tell anything")
	}
}

// TestRefused: R1.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"NUL": "py\x00test", "CR": "ls\r", "CRLF": "ls\r\nrm x", "escape": "ls \x1b[0m", "bidi": "ls \u202e", "zero width": "ls\u200b", "BOM": "\ufeffls",
		"line separator": "ls\u2028rm", "filler": "ls \u3164", "not UTF-8": "ls \xff", "too long": strings.Repeat("x", shell.MaxBytes+1),
		"quote": `echo "x`, "here-document": "cat <<E\nx", "paren": "ls )", "operator": "ls | | ls", "keyword": "fi", "time !": "time ! ls",
		"continued $":     "echo $\\\n{HOME}",
		"continued <":     "cat <\\\n(ls)",
		"nested":          strings.Repeat("$(", 200) + "ls" + strings.Repeat(")", 200),
		"nested groups":   strings.Repeat("{ ", 200) + "ls" + strings.Repeat("; }", 200),
		"nested numbers":  "echo $((" + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + "))",
		"nested scripts":  nestedScripts(12),
		"nested wrappers": strings.Repeat("nice ", 40) + "ls",
		"too many":        strings.Repeat("ls;", 5000),
	} {
		if plan, err := shell.Parse(line); err == nil && !hidden(plan) {
			t.Errorf("%s: %.60q is parsed", name, line)
		}
	}
	for _, line := range []string{"", "# x", "echo é ☃ 🎉", "ls \\\n  -l", strings.Repeat("x", shell.MaxBytes), strings.Repeat("ls; ", 1000), strings.Repeat("(", 40) + "ls" + strings.Repeat(")", 40)} {
		if strings.HasPrefix(line, "((") {
			line = strings.ReplaceAll(line, "(", "( ")
		}
		if _, err := shell.Parse(line); err != nil {
			t.Errorf("%.60q: %v", line, err)
		}
	}
}

func hidden(plan *shell.Plan) bool {
	return slices.ContainsFunc(plan.Findings, func(f shell.Finding) bool { return f.Kind == shell.Hidden })
}

// nestedScripts quotes a script for a shell in a script for a shell, to a depth.
func nestedScripts(depth int) string {
	script := "rm x"
	for range depth {
		script = "sh -c '" + strings.ReplaceAll(script, "'", `'\''`) + "'"
	}
	return script
}

// TestWhatRuns: R2. The commands of a line, in order, and those that others run.
func TestWhatRuns(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"a b; c | d && e || f & g":                        {"a b", "c", "d", "e", "f", "g"},
		"if a; then b; elif c; then d; else e; fi":        {"a", "b", "c", "d", "e"},
		"while a; do b; done; until c; do d; done":        {"a", "b", "c", "d"},
		"for x in $(a); do b; done":                       {"a", "b"},
		"case $(a) in $(b)) c;; esac":                     {"a", "b", "c"},
		"f() { a; }":                                      {"f()", "a"},
		"(a); { b; }; ! c; time d; coproc e":              {"a", "b", "c", "d", "e"},
		"x=1; y=2 a":                                      {"x=1", "y=2 a"},
		"a $(b) `c` <(d) \"$(e)\" ${x:-$(f)} $((1+$(g)))": {"b", "c", "d", "e", "f", "g", "a … … … … … …"},
		"a <<< $(b) > $(c)":                               {"b", "c", "a"},
		"a <<E\n$(b)\nE":                                  {"b", "a"},
		"a <<'E'\n$(b)\nE":                                {"a"},
		"[[ -f x ]] && a":                                 {"a"},
		"[[ -n $x ]]":                                     {"[[ …"},
		"(( 1 + 2 ))":                                     nil,
		"export x=1 y":                                    {"export x=1 y"},
		"env A=1 b c":                                     {"env A=1 b c", "b c"},
		"timeout 5 nice -n 3 a b":                         {"timeout 5 nice -n 3 a b", "nice -n 3 a b", "a b"},
		"sh -c 'a; b'":                                    {"sh -c a; b", "a", "b", "a", "b"}, // as bash and as a plain shell
		"bash -c 'a; b' x":                                {"bash -c a; b x", "a", "b"},
		"eval 'a b' c":                                    {"eval a b c", "a b c"},
		"trap 'a' EXIT":                                   {"trap a EXIT", "a"},
		"find . -exec a {} \\; -exec b {} +":              {"find . -exec a {} ; -exec b {} +", "a …", "b …"},
		"xargs -n 1 a b":                                  {"xargs -n 1 a b", "a b …"},
		"xargs -I{} a x{}":                                {"xargs -I{} a x{}", "a x…"},
		"sudo -u x A=1 b":                                 {"sudo -u x A=1 b", "b"},
		"watch -n 1 'a | b'":                              {"watch -n 1 a | b", "a", "b", "a", "b"},
		"command a; builtin b; exec c":                    {"command a", "a", "builtin b", "b", "exec c", "c"},
		"command -v a":                                    {"command -v a"},
		"alias a='b c'":                                   {"alias a=b c", "b c …"},
		"sed '1e a b' f":                                  {"sed 1e a b f", "a b", "a b"},
		"git submodule foreach a":                         {"git submodule foreach a", "a", "a"},
		"npx a b; npm exec -- c; uv run d":                {"npx a b", "a b", "npm exec -- c", "c", "uv run d", "d"},
		"busybox a b":                                     {"busybox a b", "a b"},
		"> f":                                             {">"},
		"# nothing":                                       nil,
		"a \\\n b":                                        {"a b"},
		"function f { a; }; [[ $(b) ]]; for ((;;)); do c; done": {"f()", "a", "b", "[[ …", "c"},
	} {
		plan, err := shell.Parse(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		var got []string
		for _, c := range plan.Commands {
			got = append(got, c.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q runs %q, want %q", line, got, want)
		}
	}
}

// TestReads: R4. The variables that a line reads.
func TestReads(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"echo $A ${B} \"$C\" ${#D} ${E:-$F} ${G[1]} ${H:0:1}": "A B C D E F G H",
		"echo '$A' \\$B \"\\$C\" D":                           "",
		"echo $((A + b)) ${x[I]}; (( J ))":                    "A I J b x",
		"[[ -v A && $B -gt C ]]":                              "A B C",
		"test -v A":                                           "A",
		"printenv A B":                                        "A B",
		"declare -p A; export B; unset C":                     "A",
		"echo ${!P*} ${!Q@}":                                  "",
		"sh -c 'echo $A'; eval 'echo $B'":                     "A B",
		"envsubst '$A ${B}'":                                  "A B",
		"A=1 b; C=$D e":                                       "D",
		"docker run -e A -e B=1 x":                            "A",
		"cat <<E\n$A\nE":                                      "A",
		"cat <<'E'\n$A\nE":                                    "",
	} {
		plan, err := shell.Parse(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		slices.Sort(plan.Reads)
		if got := strings.Join(plan.Reads, " "); got != want {
			t.Errorf("%q reads %q, want %q", line, got, want)
		}
	}
}

// TestSets: R2. The variables that a line sets without a command that shows it.
func TestSets(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"for a in x; do :; done": "a", "select b in x; do :; done": "b", ": ${c:=x} ${d=y}": "c d", "echo $((e = 1)); ((f++))": "e f",
		"exec {g}>/dev/null": "g", "coproc h { :; }": "h", "for ((i = 0; i < 3; i++)); do :; done": "i",
		"x=1; read y; export z=1; printf -v w x": "",
	} {
		plan, err := shell.Parse(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		if got := strings.Join(plan.Sets, " "); got != want {
			t.Errorf("%q sets %q, want %q", line, got, want)
		}
	}
}

// FuzzParse: whatever a line is, the parser answers, and the places that findings
// name exist.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		"a && b", "sh -c 'a'", "find . -exec a {} \\;", "env -S 'a b'", "sed 's/a/b/w f'", "awk '{print > \"f\"}'", "x=1; echo $((x))", "cat <<E\n$(a)\nE", "tar xf a",
		"git -c a=b log", "xargs -I{} sh -c {}", "declare -A m; m[a]=1", "[[ $x =~ a(b) ]]", "echo {a,b}*[c]~", "trap 'a' EXIT", "alias a=b", "flock 9 -c a", "python -m x",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		plan, err := shell.Parse(line)
		if err != nil {
			return
		}
		for _, found := range plan.Findings {
			if found.Kind == 0 || found.What == "" || found.Command >= len(plan.Commands) ||
				found.Command >= 0 && (found.Word < 0 || found.Word >= len(plan.Commands[found.Command].Words)) {
				t.Fatalf("%q: a finding is nowhere: %+v", line, found)
			}
		}
		for _, c := range plan.Commands {
			if c.Assigns > len(c.Words) || len(c.Words) == 0 {
				t.Fatalf("%q: a command without words: %+v", line, c)
			}
		}
	})
}

// BenchmarkParse is a line as agents write them. Goal, with the decision: 15 us.
func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := shell.Parse("cd x && pytest -q 2>&1 | tail -5"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseHostile are lines of 64 KiB that cost most. Goal: 50 ms each.
func BenchmarkParseHostile(b *testing.B) {
	for _, unit := range []string{"(", "$((", "$[", "a[", "{ ", "`", "$a", "> a ", "ls;", "[ $a ];", "sh -c 'x';", "nice ", "find . -exec ", "a=$b b=$a;", "[", "${a:-"} {
		line := strings.Repeat(unit, shell.MaxBytes/len(unit))
		b.Run(unit, func(b *testing.B) {
			for b.Loop() {
				_, _ = shell.Parse(line)
			}
		})
	}
}
