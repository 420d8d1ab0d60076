package shell

import (
	"strings"
	"testing"
)

// TestTables: every line of the tables is read, and can be reached.
func TestTables(t *testing.T) {
	t.Parallel()
	for name, s := range specs() {
		parent, sub, isSub := cutLast(name)
		if !isSub || sub == "--" && specOf(parent) != nil {
			continue
		}
		if program, option, ok := cutLast(parent); ok && strings.HasPrefix(option, "-") {
			parent = program // python -m x
		}
		switch p := specOf(parent); {
		case p == nil:
			t.Errorf("%q has a line, and %q has none", name, parent)
		case !p.sub && !hasModule(p):
			t.Errorf("%q has a line, and %q has no subcommands", name, parent)
		}
		if s.wraps && s.runs > 1 {
			t.Errorf("%q runs its operand %d", name, s.runs)
		}
	}
	for _, name := range []string{"env", "printenv", "envsubst", "sed", "awk", "jq", "yq", "xargs", "tar", "git", "make", "parallel", "script", "flock", "git config"} {
		if specOf(name) == nil {
			t.Errorf("%s has code of its own that needs a line", name)
		}
	}
}

func cutLast(name string) (before, after string, found bool) {
	at := strings.LastIndexByte(name, ' ')
	if at < 0 {
		return name, "", false
	}
	return name[:at], name[at+1:], true
}

func hasModule(s *spec) bool {
	for _, o := range s.options {
		if o.role == roleModule {
			return true
		}
	}
	return false
}

// TestSedPrograms: R3. What a program of sed does; what cannot be read runs.
func TestSedPrograms(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"p": "", "s/a/b/gp; 1,5d": "", "/a/,/b/{p;q}": "", `s/[^/]*$//`: "", "s,a,b,w f": "writes", "w f": "writes", "1,3W f": "writes", "s/a/b/w /dev/stdout": "",
		"e": "runs", "1e ls": "script", "s/a/b/e": "runs", "s/a/b/ge": "runs", "a w f": "", "a\\\nw f": "", "a\nw f": "writes", "i x\nw f": "writes", "#w f": "", "#x\nw f": "writes", ":a;w f": "writes", "b x;w f": "writes",
		"b x w f": "writes", "y/a/b/;w f": "writes", "r f": "", "r f\nw g": "writes", `s/\//x/;w f`: "writes", `s/[/]/x/;w f`: "writes", `s/[\]/x/;w f`: "runs", `s/[]/]/x/`: "runs", `\,a,w f`: "writes", "/a/!w f": "writes",
		"$!N;P;D": "", "0~3p": "", "2,+3p": "", "2,~4w f": "writes", "l 3": "", "q5": "", "{p;{w f\n}}": "writes", "}w f": "writes", "k": "runs", "s/a": "runs", "s/a/b/z": "runs", "p p": "runs", "s\na\nb\n": "runs",
	} {
		e := sedEffects(program)
		got := ""
		switch {
		case e.runs:
			got = "runs"
		case e.writes:
			got = "writes"
		case len(e.script) > 0:
			got = "script"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", program, got, want)
		}
	}
}

// TestAwkPrograms: R3. What a program of awk does.
func TestAwkPrograms(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"{print $1}": "", "$1 > 3": "", "{print > \"f\"}": "writes", "{print $1, $2 >> f}": "writes", "{print ($1 > 2)}": "", "{print(1) > \"f\"}": "writes", "{printf \"%s\", x > 3}": "writes",
		"{print | \"sh\"}": "runs", "{\"ls\" | getline}": "runs", "BEGIN{system(\"ls\")}": "runs", "a || b": "", "/a|b/": "", "{print \"a|b > c\"}": "", "# print > f\n{print}": "", "{print a,\nb > \"f\"}": "writes",
		"{print > \"/dev/stderr\"}": "", "{print > \"/dev/stderr\" \"x\"}": "writes", "{ for (i=0; i<2; i++) print i > \"f\" }": "writes", "{ x = a / b; print > \"f\"; y = c / d }": "writes",
		"BEGIN { if (1) /\"/; print \"x\" > \"f\"; y = \"/\" }": "runs", "/[/\"]/ { print > \"f\" }": "runs", "{ print > \"f\" # \"\n}": "writes", "{ print \"\\\"\" > \"f\" }": "writes", "@load \"x\"": "runs",
		"function f(a) { return a > 1 }": "", "{ a[$1 > 2]++ }": "", "{ print a[1] > \"f\" }": "writes", "{ if (/system/) print }": "",
	} {
		e := awkEffects(program)
		got := ""
		switch {
		case e.runs:
			got = "runs"
		case e.writes:
			got = "writes"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", program, got, want)
		}
	}
}

// TestEnvironmentFiles: R4. What could be the environment of a process.
func TestEnvironmentFiles(t *testing.T) {
	t.Parallel()
	const u = string(Unknown)
	for path, want := range map[string]bool{
		"/proc/self/environ": true, "/proc/" + u + "/environ": true, "//proc/./1/environ": true, "../../proc/self/environ": true, "/proc/self/../1/environ": true, "/proc/self/task/2/environ": true, "/p" + u + "/self/environ": true,
		"/proc/self/e" + u: true, "/proc/self/" + u: true, u + "/environ": true, "/proc/self": true, "/proc": true, "/proc/self/mem": true, "/dev/fd/../environ": true, "/proc/1/fd/3": true, "/proc/12/fd": true, "/proc/" + u + "/fd/3": true, "/proc/12/fd/" + u: true, "/proc/thread-self/fd/1": false, "/proc/12/fdinfo/3": false, "/proc/self/fd/../environ": true, "/proc/sys/../self/environ": true,
		"/proc/cpuinfo": false, "/proc/self/status": false, "/proc/1/cmdline": false, "/proc/self/fd/3": false, "/proc/sys/kernel/pid_max": false, "src/proc/a.go": false, "proc/handler.go": false,
		"environ": false, "src/environ": false, "os.environ": false, "/etc/environment": false, u: false, "src/" + u: false, u + "/" + u: false,
	} {
		if got := mayBeEnvironment(path); got != want {
			t.Errorf("%q: %t, want %t", path, got, want)
		}
	}
}
