//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/background"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// atOnce is how many tests run at a time. Scripts wait for servers, streams and leases most
// of their time, and each has its own servers.
const atOnce = "8"

// TestMain lets the test binary be interlock itself, in processes of its own, and behind, an MCP
// server whose tool has the description of its argument; names of further tools may follow.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil { // the default: a flag given to go test counts
		panic(err)
	}
	testscript.Main(m, map[string]func(){"interlock": main, "behind": behind})
}

func behind() {
	server := mcp.NewServer(&mcp.Implementation{Name: "behind", Version: "1"}, nil)
	for _, name := range append([]string{"fetch"}, os.Args[2:]...) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: os.Args[1]},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{}, nil, nil
			})
	}
	if os.Args[1] == "Follows links." {
		type link struct {
			URL     string         `json:"url"`
			Options map[string]any `json:"options,omitempty"`
		}
		mcp.AddTool(server, &mcp.Tool{Name: "follow"}, func(context.Context, *mcp.CallToolRequest, link) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	_ = server.Run(context.Background(), &mcp.StdioTransport{}) // until its client goes
}

// builtFolder is a folder with an interlock that is built without -race, from the cache
// that `make demo` fills. The test binary starts many times slower with -race, and scripts
// start hundreds.
func builtFolder(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-gcflags", "all=-l -dwarf=false", "-o", filepath.Join(dir, "interlock"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build interlock: %v\n%s", err, out)
	}
	return dir
}

// memoryFolder is a folder for the files of scripts, in memory where the system has that: each
// commit of a server waits for the disk otherwise. It is "" where the system has not.
func memoryFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "interlock-")
	if err != nil {
		return ""
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// patience is how long anything that scripts wait for may take. A look at a file or at a
// server costs little and is repeated soon; running a command costs more.
const (
	patience  = 2 * time.Minute
	soon      = 5 * time.Millisecond
	untilTick = 100 * time.Millisecond
)

// TestScripts replays testdata/script. In addition to testscript's own commands:
//
//	code N CMD...      run a command that ends with N
//	ready DIR          wait until the server with that data folder serves, and set DATA to the
//	                   folder, HTTP, GRPC, NATS, and to their tokens AGENT, OPERATOR, APPROVER
//	                   and OBSERVER
//	term DIR           send SIGTERM to the server with that data folder
//	get NAME REGEXP    set a variable to what REGEXP's group matches in stdout
//	clean [stderr]     write the last output to the file out, with ids and times replaced
//	redis NAME ARG...  start a Redis, and set NAME to its address
//	busy NAME          set NAME to an address in use
//	holds FILE REGEXP  wait until a file, maybe of a program that runs, has a match
//	until REGEXP CMD.. run a command again until its output has a match
//	helps COMMAND...   a command's --help has its usage and examples
//	sql FILE STATEMENT change the file of a store behind its back
//	gone FILE          wait until there are none of the processes whose ids a file has
//
// ROOT is the folder of the project.
func TestScripts(t *testing.T) {
	t.Parallel()
	built := builtFolder(t)
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: scripts(t), WorkdirRoot: memoryFolder(t), UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_PROXY", "*")
			env.Setenv("ROOT", root)
			env.Setenv("INTERLOCK_PRESENCE", "none")                                        // scripts need tokens of operators and approvers
			env.Setenv("XDG_STATE_HOME", filepath.Join(filepath.Dir(env.WorkDir), "state")) // outside of the workspace
			env.Defer(func() { stopAll(filepath.Join(filepath.Dir(env.WorkDir), "state"), env.WorkDir) })
			env.Setenv("PATH", built+string(os.PathListSeparator)+env.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "ready": ready, "get": get, "term": term, "clean": clean, "holds": holds, "gone": gone, "until": until, "helps": helps, "sql": statement,
			"redis": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], redistest.Start(t, args[1:]...).Addr())
			},
			"busy": func(ts *testscript.TestScript, _ bool, args []string) {
				lis, err := net.Listen("tcp", "127.0.0.1:0")
				ts.Check(err)
				ts.Defer(func() { lis.Close() })
				ts.Setenv(args[0], lis.Addr().String())
			},
		},
	})
}

// stopAll ends the servers that a script has left in the background, by its folder.
func stopAll(state, work string) {
	folders, _ := filepath.Glob(filepath.Join(state, "interlock", "*"))
	for _, folder := range folders {
		// The name of another script may begin as this one's does.
		if data := datadir.Dir(folder); strings.HasPrefix(data.Workspace()+"/", work+"/") {
			_, _ = background.Stop(context.Background(), data)
		}
	}
}

// scripts are the files to replay: with go test -short, those that start no server.
func scripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatalf("scripts: %d found: %v", len(all), err)
	}
	if !testing.Short() {
		return all
	}
	return slices.DeleteFunc(all, func(file string) bool {
		text, err := os.ReadFile(file)
		return err != nil || startsServer.Match(text)
	})
}

var startsServer = regexp.MustCompile(`(?m)interlock (up|demo)|^redis `)

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N CMD...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// eventually polls a condition at every tick.
func eventually(ts *testscript.TestScript, every time.Duration, what string, done func() bool) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			ts.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func helps(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("interlock", append(args, "--help")...))
	path := strings.Join(args, " ")
	for _, want := range []string{"Usage: interlock " + path, "\nExamples:\n  interlock " + path} {
		if text := ts.ReadFile("stdout"); !strings.Contains(text, want) {
			ts.Fatalf("the help of %s has no %q:\n%s", path, want, text)
		}
	}
}

func ready(ts *testscript.TestScript, _ bool, args []string) {
	eventually(ts, soon, "the server of "+args[0]+" serves", func() bool {
		dir, err := datadirAt(ts, args[0])
		if err != nil {
			return false
		}
		e, err := dir.ReadEndpoints()
		if err != nil || e.HTTP == "" {
			return false
		}
		resp, err := http.Get(e.HTTP + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		ts.Setenv("DATA", string(dir))
		ts.Setenv("HTTP", e.HTTP)
		ts.Setenv("GRPC", e.GRPC)
		ts.Setenv("NATS", e.NATS)
		ts.Setenv("NATS_ADDRESS", strings.TrimPrefix(e.NATS, "nats://"))
		for _, role := range auth.Roles() {
			token, err := auth.FileToken(dir.Local(), role)
			if role.Local() {
				ts.Check(err)
			}
			ts.Setenv(strings.ToUpper(string(role)), token)
		}
		return resp.StatusCode == http.StatusOK
	})
}

// datadirAt returns the data folder that a path names; the pointer of a workspace is followed
// without its checks, which do not know the script's environment.
func datadirAt(ts *testscript.TestScript, name string) (datadir.Dir, error) {
	path := ts.MkAbs(name)
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return datadir.Dir(path), err
	}
	var pointer struct {
		DataDir datadir.Dir `json:"data_dir"`
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &pointer)
	}
	return pointer.DataDir, err
}

func term(ts *testscript.TestScript, _ bool, args []string) {
	dir, err := datadirAt(ts, args[0])
	ts.Check(err)
	e, err := dir.ReadEndpoints()
	ts.Check(err)
	if e.PID == 0 {
		ts.Fatalf("no server")
	}
	ts.Check(syscall.Kill(e.PID, syscall.SIGTERM))
}

func holds(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[1])
	eventually(ts, soon, args[0]+" has "+args[1], func() bool {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && want.Match(text)
	})
}

func statement(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	result, err := db.Exec(args[1])
	ts.Check(err)
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		ts.Fatalf("%d rows are changed: %v", n, err)
	}
}

func until(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[0])
	eventually(ts, untilTick, strings.Join(args[1:], " ")+" says "+args[0], func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && want.MatchString(ts.ReadFile("stdout"))
	})
}

func gone(ts *testscript.TestScript, _ bool, args []string) {
	for _, field := range strings.Fields(ts.ReadFile(args[0])) {
		pid, err := strconv.Atoi(field)
		ts.Check(err)
		eventually(ts, soon, "process "+field+" is gone", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ") // no parent waits for it
		})
	}
}

func get(ts *testscript.TestScript, _ bool, args []string) {
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) != 2 {
		ts.Fatalf("no match of %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// volatile matches text that differs from run to run; the same length keeps columns.
var volatile = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b(run|call|evt|schema|wfstate|ses|task|exec|apr)_[0-9a-z]{26}\b`), "${1}_xxxxxxxxxxxxxxxxxxxxxxxxxx"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2000-01-01T00:00:00Z"},
}

func clean(ts *testscript.TestScript, _ bool, args []string) {
	from := "stdout"
	if len(args) > 0 {
		from = args[0]
	}
	text := strings.ReplaceAll(ts.ReadFile(from), ts.Getenv("WORK"), "$WORK")
	for _, v := range volatile {
		text = v.re.ReplaceAllString(text, v.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(text), 0o600))
}

// TestScriptsCoverEveryCommand: a command without a transcript is a defect.
func TestScriptsCoverEveryCommand(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	var out bytes.Buffer
	if got := run(t.Context(), []string{"completion", "bash"}, console.Streams{Out: &out, Err: &out}); got != exitDone {
		t.Fatalf("exit %d: %s", got, &out)
	}
	paths := 0
	lines := bufio.NewScanner(&out)
	for lines.Scan() {
		var path string
		if n, _ := fmt.Sscanf(strings.NewReplacer("'", "", " ", "_").Replace(strings.TrimSpace(lines.Text())), "%s", &path); n != 1 {
			continue
		}
		path, _, isPath := strings.Cut(path, ")_at=")
		if !isPath {
			continue
		}
		paths++
		if command := "interlock " + strings.ReplaceAll(path, "_", " "); !strings.Contains(all.String(), command) {
			t.Errorf("no script runs %q", command)
		}
	}
	if paths < 20 {
		t.Errorf("only %d commands were looked for", paths)
	}
}
