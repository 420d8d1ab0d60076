package jailertest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// corpusFolder is where a pen has the testdata of pkg/toolcall.
const corpusFolder = "/opt/lines"

// shards are how many pens share a corpus.
const shards = 2

// lineLimits bound a line of a corpus.
var lineLimits = jail.Limits{Processes: 256, MemoryMB: 2048, WallSeconds: 6, OutputBytes: 1 << 20, ScratchMB: 256}

// tally counts the results of lines.
type tally struct{ lines, started, ok, failed, limited, notThere, outcomes int }

func (t tally) String() string {
	return fmt.Sprintf("%d lines, %d started: %d with status 0, %d with another (%d without the program), %d ended by a limit; %d with an outcome outside",
		t.lines, t.started, t.ok, t.failed, t.notThere, t.limited, t.outcomes)
}

// corpus runs lines in a reading state, and compares all of the pen before and after each.
func corpus(t *testing.T, lines []string) {
	s := startServices(t)
	makeWorld(t)
	gitWorkspace(t)
	s.listen()
	s.endWatcher()
	s.startWatcher()
	var n tally
	before := s.state()
	for _, line := range lines {
		if n.lines++; len(line) > 100_000 || strings.Contains(line, "\x00") {
			continue
		}
		j := job{
			Argv: shell(line), Env: []string{"WATCHED=" + strconv.Itoa(s.watcher.Process.Pid)}, Caches: cacheFolder,
			Profile: reading.profile(jail.Full, lineLimits),
		}
		r := run(t, j, patience)
		found := s.outcomes(reading, before, r)
		switch {
		case r.Error != "":
			found = append(found, r.Error)
		case r.Late:
			found = append(found, "was not ended")
		case r.Witness.Stopped != "":
			n.started, n.limited = n.started+1, n.limited+1
		case r.Witness.OK():
			n.started, n.ok = n.started+1, n.ok+1
		default:
			n.started, n.failed = n.started+1, n.failed+1
			if r.Witness.ExitStatus == 127 {
				n.notThere++
			}
		}
		if len(found) > 0 {
			n.outcomes++
			for _, what := range found[:min(len(found), 5)] {
				t.Errorf("%.300q: %s", line, what)
			}
			makeWorld(t)
			gitWorkspace(t)
			s.listen()
			s.endWatcher()
			s.startWatcher()
			before = s.state()
		}
	}
	if n.started == 0 {
		t.Error("no line has started")
	}
	t.Log(n)
}

// gitWorkspace makes the workspace a repository with a commit.
func gitWorkspace(t *testing.T) {
	t.Helper()
	for name, content := range map[string]string{
		"package.json": `{"name":"demo","scripts":{"test":"node -e 1"}}`, "go.mod": "module demo\n", "main.go": "package main\n\nfunc main() {}\n",
		"tests/test_main.py": "def test_main():\n    assert True\n", "setup.py": "from setuptools import setup\nsetup(name='demo')\n",
		"reproduce_issue.py": "print('x')\n",
	} {
		name = filepath.Join(workspace, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
	must(t, os.RemoveAll(workspace+"/.git"))
	for _, line := range []string{"git init -q", "git add -A .", "git -c user.name=a -c user.email=a@example.com commit -qm first"} {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = workspace
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
}

// inShards runs a test in as many pens as there are shards, with the lines of each.
func inShards(t *testing.T, lines func(*testing.T) []string, sample int) {
	data, err := filepath.Abs("../../../../pkg/toolcall/testdata")
	must(t, err)
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			if !(pen{UID: user, Tools: []bind{{From: data, To: corpusFolder}}}).in(t) {
				return
			}
			var mine []string
			for i, line := range lines(t) {
				if !full() && i%sample != 0 {
					continue
				}
				if i/max(1, map[bool]int{true: 1, false: sample}[full()])%shards == shard {
					mine = append(mine, line)
				}
			}
			corpus(t, mine)
		})
	}
}

// TestGTFOBins runs programs that start shells, run commands or write files by their options.
func TestGTFOBins(t *testing.T) {
	inShards(t, func(t *testing.T) (lines []string) {
		for line := range strings.Lines(readFile(t, corpusFolder+"/gtfobins.txt")) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				lines = append(lines, line)
			}
		}
		return lines
	}, 60)
}

// TestAgentLines runs lines of coding agents: those of AGENT_LINES (see CONTRIBUTING.md), or of the manual.
func TestAgentLines(t *testing.T) {
	inShards(t, func(t *testing.T) (lines []string) {
		if name := os.Getenv("AGENT_LINES"); name != "" {
			return gzipped(t, name)
		}
		for line := range strings.Lines(readFile(t, corpusFolder+"/commands/manual.txt") + readFile(t, corpusFolder+"/commands/read_only.txt")) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, "allow "), "deny "))
			}
		}
		return lines
	}, 150)
}

// TestDrawnLines runs lines that are drawn from a grammar of bash.
func TestDrawnLines(t *testing.T) {
	inShards(t, func(*testing.T) (lines []string) {
		for i := range 2000 {
			g := grammar{randtest.New(t, uint64(i))}
			lines = append(lines, g.list(3))
		}
		return lines
	}, 100)
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	must(t, err)
	return string(data)
}

// gzipped reads a gzipped file of JSON lines {"line": ...}.
func gzipped(t *testing.T, name string) (lines []string) {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	read := bufio.NewScanner(z)
	read.Buffer(nil, 1<<22)
	for read.Scan() {
		var c struct{ Line string }
		must(t, json.Unmarshal(read.Bytes(), &c))
		lines = append(lines, c.Line)
	}
	must(t, read.Err())
	return lines
}

// grammar draws lines of bash that write, read, signal and connect.
type grammar struct{ *rand.Rand }

func (g grammar) of(choices ...string) string { return choices[g.IntN(len(choices))] }

// path is a file of a pen, by one of its spellings.
func (g grammar) path() string {
	name := g.of(outside+"/canary.txt", outside+"/new", outside+"/dir/deep.txt", home+"/.bashrc", home+"/.ssh/id_ed25519", home+"/notes.txt",
		dataFolder+"/tokens.json", "/tmp/canary", "/dev/shm/canary", "/var/tmp/canary", "main.py", "src/a.txt", ".git/config", ".envrc", "link-file",
		"link-out/canary.txt", "hard.txt", "/etc/passwd", "/run/docker.sock", "new.txt", "../new", "/proc/$PPID/environ")
	switch g.IntN(6) {
	case 0:
		return "$(echo " + name + ")"
	case 1:
		return `"${x:-` + name + `}"`
	case 2:
		if strings.HasPrefix(name, "/") {
			return "/proc/self/root" + name
		}
	case 3:
		return "./" + name
	}
	return name
}

func (g grammar) word() string {
	return g.of("x", "1", "$RANDOM", "'a b'", `"$HOME"`, "{a,b}", "~", "*", "$(id -u)", "$((1+2))", "-n", "--", "`pwd`", "$'\\n'", "${#x}")
}

func (g grammar) simple() string {
	p, q := g.path(), g.path()
	return g.of(
		"cat "+p, "rm -f "+p, "rm -rf "+p, "mv "+p+" "+q, "cp "+p+" "+q, "ln "+p+" "+q, "ln -sf "+p+" "+q, "touch "+p, "mkdir -p "+p, "chmod 777 "+p,
		"tee "+p, "truncate -s 0 "+p, "dd if="+p+" of="+q+" status=none", "sed -i s/a/b/ "+p, "head -c 9 "+p, "echo "+g.word(), "printf %s "+g.word(),
		"kill $WATCHED", "kill -STOP $PPID", "pkill -f canary-process", "exec 3<>/dev/tcp/127.0.0.1/18080", "echo x > /dev/udp/192.0.2.10/53",
		"sleep 0.01", "true", "false", "cd "+p, "cd "+g.of("/", "/tmp", outside, "src", "-"), "test -e "+p, "read x < "+p, "x="+g.word(), "export x="+p,
		"git init -q "+p, "tar cf "+p+" src", "find "+p+" -delete", "python3 -c 'open(\"'"+p+"'\", \"w\")'", "eval 'rm -f "+p+"'", "setsid sleep 30",
		"trap 'rm -f "+outside+"/canary.txt' EXIT", "mkfifo "+p, "unshare -r rm -f "+p, "exec 9>"+p,
	)
}

func (g grammar) redirect() string {
	return g.of("", "", "", " > "+g.path(), " >> "+g.path(), " < "+g.path(), " 2>"+g.path(), " &> "+g.path(), " >| "+g.path(), " <> "+g.path(), " 2>&1", " <<< "+g.word(),
		" <<E\n"+g.word()+"\nE\n")
}

func (g grammar) command(depth int) string {
	if depth <= 0 {
		return g.simple() + g.redirect()
	}
	switch g.IntN(11) {
	case 0:
		return "( " + g.list(depth-1) + "\n)" + g.redirect()
	case 1:
		return "{ " + g.list(depth-1) + "\n}" + g.redirect()
	case 2:
		return "if " + g.list(depth-1) + "\nthen " + g.list(depth-1) + "\nelse " + g.list(depth-1) + "\nfi"
	case 3:
		return "for i in 1 2 " + g.word() + "; do " + g.list(depth-1) + "\ndone"
	case 4:
		return "while " + g.simple() + "\ndo " + g.list(depth-1) + "\nbreak; done" + g.redirect()
	case 5:
		return "case " + g.word() + " in x) " + g.list(depth-1) + "\n;; *) " + g.list(depth-1) + "\n;; esac"
	case 6:
		return "f() { " + g.list(depth-1) + "\n}; f"
	case 7:
		return "echo $(" + g.list(depth-1) + "\n)"
	case 8:
		return "cat <(" + g.list(depth-1) + "\n)"
	case 9:
		return "bash -c " + "\"$(cat <<'EOT'\n" + g.list(depth-1) + "\nEOT\n)\""
	}
	return g.simple() + g.redirect()
}

func (g grammar) list(depth int) string {
	line := g.command(depth)
	for range g.IntN(3) {
		line += g.of("; ", " && ", " || ", " | ", " & ", "\n") + g.command(depth-1)
	}
	return line
}
