package jailertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
)

// project is a small project of one kind, and how its tests are run.
type project struct {
	name string
	// needs are programs; a machine that misses one skips the project.
	needs []string
	files map[string]string
	line  string
	// says is the output of the first run, again that of the second one, and never is text that it does not print.
	says, again, never string
	// caches are declared as those of the workflow.
	caches []string
	// slow is true where only make jail-test runs it.
	slow bool
	// reads is true where the tests do not write into the workspace.
	reads bool
}

// projects are those of the ten kinds.
var projects = []project{
	{
		name: "go", slow: true, needs: []string{"go"}, line: "CGO_ENABLED=0 go test ./...", says: "ok", again: "(cached)",
		files: map[string]string{
			"go.mod": "module demo\n\ngo 1.22\n", "add.go": "package demo\n\nfunc Add(a, b int) int { return a + b }\n",
			"add_test.go": "package demo\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}\n",
		}, reads: true,
	},
	{
		name: "npm", needs: []string{"npm", "node"}, line: "npm test", says: "pass 1",
		files: map[string]string{
			"package.json": `{"name":"demo","version":"1.0.0","scripts":{"test":"node --test && echo built > out.txt"}}`,
			"add.test.js":  "const test = require('node:test'); const fs = require('fs');\ntest('adds', () => { fs.writeFileSync('made.txt', 'x'); if (1 + 2 !== 3) throw 1; });\n",
		},
	},
	{
		name: "pytest", needs: []string{"python3"}, line: "PYTHONPATH=/opt/pytest python3 -m pytest", says: "2 passed", again: "2 passed",
		files: map[string]string{
			"add.py":            "def add(a, b):\n    return a + b\n",
			"tests/test_a.py":   "from add import add\n\ndef test_add(tmp_path):\n    (tmp_path / 'x').write_text('x')\n    assert add(1, 2) == 3\n",
			"tests/test_b.py":   "def test_files():\n    open('made.txt', 'w').write('x')\n    assert open('made.txt').read() == 'x'\n",
			"pyproject.toml":    "[tool.pytest.ini_options]\npythonpath = ['.']\n",
			"src/__init__.py":   "",
			"tests/__init__.py": "",
		},
	},
	{
		name: "unittest", line: "python3 -m unittest -v", says: "OK", again: "OK", needs: []string{"python3"},
		files: map[string]string{"test_x.py": "import unittest, tempfile\n\nclass T(unittest.TestCase):\n    def test_x(self):\n        with tempfile.NamedTemporaryFile() as f:\n            f.write(b'x')\n"},
		reads: true,
	},
	{
		name: "cargo", needs: []string{"cargo"}, line: "cargo test --offline", says: "1 passed", again: "1 passed", never: "Compiling", caches: []string{"target"},
		files: map[string]string{
			"Cargo.toml": "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
			"src/lib.rs": "pub fn add(a: u32, b: u32) -> u32 { a + b }\n\n#[test]\nfn adds() { assert_eq!(add(1, 2), 3); }\n",
		},
	},
	{
		name: "make and C", needs: []string{"make", "gcc"}, line: "make test", says: "passed", again: "passed", never: "cc -c", caches: []string{"build"},
		files: map[string]string{
			"Makefile": "test: build/t\n\t./build/t\nbuild/t: build/t.o\n\tcc -o $@ $<\nbuild/t.o: t.c\n\tmkdir -p build; cc -c -o $@ $<\n",
			"t.c":      "#include <stdio.h>\nint main(void) { puts(\"passed\"); return 0; }\n",
		},
	},
	{
		name: "cmake and C++", slow: true, needs: []string{"cmake", "g++"}, line: "cmake -S . -B out >/dev/null && cmake --build out && ctest --test-dir out", says: "100% tests passed",
		files: map[string]string{
			"CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(demo CXX)\nenable_testing()\nadd_executable(t t.cpp)\nadd_test(NAME t COMMAND t)\n",
			"t.cpp":          "int main() { return 0; }\n",
		},
	},
	{
		name: "java", needs: []string{"javac", "java"}, line: "mkdir -p classes && javac -d classes A.java && java -ea -cp classes A", says: "passed",
		files: map[string]string{"A.java": "public class A { public static void main(String[] a) { assert 1 + 2 == 3; System.out.println(\"passed\"); } }\n"},
	},
	{
		name: "maven", slow: true, needs: []string{"mvn"}, line: "mvn -o -q -B validate && echo passed", says: "passed",
		files: map[string]string{"pom.xml": "<project><modelVersion>4.0.0</modelVersion><groupId>d</groupId><artifactId>d</artifactId><version>1</version></project>\n"}, reads: true,
	},
	{
		name: "perl", needs: []string{"prove"}, line: "prove -v", says: "Result: PASS", reads: true,
		files: map[string]string{"t/a.t": "use Test::More tests => 1;\nuse File::Temp 'tempfile';\nmy ($f) = tempfile();\nok(-e fileno($f) ? 1 : 1, 'temp');\n"},
	},
	{
		name: "sqlite", needs: []string{"sqlite3"}, line: "sqlite3 test.db < schema.sql && sqlite3 test.db 'select sum(n) from t'", says: "3",
		files: map[string]string{"schema.sql": "create table t(n);\ninsert into t values (1), (2);\n"},
	},
	{
		name: "git", needs: []string{"git"}, says: "1 file changed",
		line:  "git add -A && git -c user.name=a -c user.email=a@example.com commit -qm wip --no-verify && git checkout -qb other && echo x >> a.txt && git diff --stat && git stash -q && git log --oneline",
		files: map[string]string{"a.txt": "a\n"},
	},
	{
		name: "bash", line: "bash test.sh", says: "passed", needs: []string{"bash"},
		files: map[string]string{"test.sh": "set -e\nd=$(mktemp -d)\ntrap 'rm -rf \"$d\"' EXIT\ncat > \"$d/x\" <<END\nx\nEND\n[ \"$(cat \"$d/x\")\" = x ]\nmkdir -p out; tar czf out/x.tgz -C \"$d\" x\ntar tzf out/x.tgz | grep -q x && echo passed\n"},
	},
}

// tools binds the tool chain of Rust, which is in the home of the machine's user.
func tools() (binds []bind) {
	out, err := exec.Command("rustc", "--print", "sysroot").Output()
	if err == nil {
		binds = append(binds, bind{From: strings.TrimSpace(string(out)), To: "/opt/cargo"})
	}
	return binds
}

// TestProjects builds and tests projects in a state that reads, twice, and in one whose writes are denied.
func TestProjects(t *testing.T) {
	side(t)
	p := pen{UID: user, Tools: nil}
	if os.Getenv(modeVar) != modeTest {
		p.Tools = tools()
	}
	if !p.in(t) {
		return
	}
	s := startServices(t)
	for _, p := range projects {
		t.Run(p.name, func(t *testing.T) {
			if !full() && p.slow {
				t.Skip("takes longer; make jail-test runs it")
			}
			for _, name := range p.needs {
				if _, err := exec.LookPath(name); err != nil {
					t.Skipf("%s is not on this machine", name)
				}
			}
			s.project(t, p)
		})
	}
}

// project runs one project in each of the states.
func (s *services) project(t *testing.T, p project) {
	makeWorld(t)
	s.listen()
	s.endWatcher()
	s.startWatcher()
	for name, content := range p.files {
		name = filepath.Join(workspace, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
	must(t, os.RemoveAll(workspace+"/.git"))
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir = workspace
	must(t, cmd.Run())
	call := jail.Command{ReadOnly: true, Workspace: workspace, Folder: workspace}
	limits := jail.Limits{Processes: 512, WallSeconds: 240}
	before := s.state()
	in := func(name string, rules jail.Rules) result {
		rules.Level, rules.Caches, rules.Limits = jail.Full, p.caches, limits
		profile := jail.Compile(rules, call)
		r := run(t, job{
			Argv: shell(p.line), Profile: &profile, Caches: cacheFolder,
			Env: []string{"WATCHED=" + strconv.Itoa(s.watcher.Process.Pid)},
		}, 250*time.Second)
		for _, what := range s.outcomes(reading, before, r) {
			t.Errorf("%s: %s", name, what)
		}
		if r.Error != "" || r.Witness == nil {
			t.Fatalf("%s: %s\n%s", name, r.Error, r.Output)
		}
		t.Logf("%s: status %d in %s, tried %d files", name, r.Witness.ExitStatus, r.Took.Round(10*time.Millisecond), len(r.Witness.Tried))
		return r
	}
	first := in("the first time", jail.Rules{})
	if !first.Witness.OK() || !strings.Contains(first.Output, p.says) {
		t.Errorf("the first time: %+v\n%s", first.Witness, first.Output)
	}
	if !p.reads && p.caches == nil && len(first.Witness.Tried) == 0 {
		t.Error("the witness names no file that was tried")
	}
	second := in("the second time", jail.Rules{})
	if !second.Witness.OK() || !strings.Contains(second.Output, p.again) || p.never != "" && strings.Contains(second.Output, p.never) {
		t.Errorf("the second time: %+v\n%s", second.Witness, second.Output)
	}
	denied := in("where writes are denied", jail.Rules{Writes: jail.WritesDeny})
	if p.reads || p.caches != nil {
		return
	}
	if denied.Witness.OK() {
		t.Errorf("nothing fails where writes are denied:\n%s", denied.Output)
	}
}
