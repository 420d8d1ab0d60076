package mcp

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	ours := []string{"PATH=/bin", "TOKEN=ours", "INTERLOCK_TOKEN=x", "Interlock_Server=x", "DB=ours", "DBX=kept", "EMPTY="}
	upstream := Upstream{Env: map[string]string{"TOKEN": "configured", "MODE": "a=b"}}
	for _, row := range []struct {
		name string
		run  *enginev1.Run
		want string
	}{
		{"no run", nil, "DB=ours DBX=kept EMPTY= MODE=a=b PATH=/bin TOKEN=configured"},
		{"a state without rules", &enginev1.Run{Status: enginev1.RunStatus_RUN_STATUS_RUNNING}, "DB=ours DBX=kept EMPTY= MODE=a=b PATH=/bin TOKEN=configured"},
		{
			"blocked, whoever has set it", &enginev1.Run{Status: enginev1.RunStatus_RUN_STATUS_RUNNING, BlockedEnv: []string{"DB", "TOKEN", "NEVER_SET"}},
			"DBX=kept EMPTY= MODE=a=b PATH=/bin",
		},
		{
			"overridden", &enginev1.Run{
				Status:       enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL,
				EnvOverrides: []*enginev1.EnvVar{{Name: "DB", Value: "staging"}, {Name: "TOKEN", Value: ""}, {Name: "NEW", Value: "1"}},
			},
			"DB=staging DBX=kept EMPTY= MODE=a=b NEW=1 PATH=/bin TOKEN=",
		},
		{
			"both: blocked", &enginev1.Run{
				Status: enginev1.RunStatus_RUN_STATUS_RUNNING, BlockedEnv: []string{"DB"}, EnvOverrides: []*enginev1.EnvVar{{Name: "DB", Value: "staging"}},
			},
			"DBX=kept EMPTY= MODE=a=b PATH=/bin TOKEN=configured",
		},
		{
			"nothing is enforced", &enginev1.Run{Status: enginev1.RunStatus_RUN_STATUS_COMPLETED, BlockedEnv: []string{"DB"}},
			"DB=ours DBX=kept EMPTY= MODE=a=b PATH=/bin TOKEN=configured",
		},
	} {
		if got := strings.Join(upstream.environment(ours, row.run), " "); got != row.want {
			t.Errorf("%s: %s\nwant %s", row.name, got, row.want)
		}
	}
}

// envServer is an edge over one real process, in states that demand different
// environments.
func envServer(t *testing.T, mode string) (*plane, *Server, *sdk.ClientSession) {
	t.Helper()
	t.Setenv("PROD_DB_URL", "secret-url")
	p := newPlane()
	p.states["testing"] = planeState{events: map[string]string{"GO": "deploying"}}
	p.states["deploying"] = planeState{
		blocked: []string{"PROD_DB_URL", "NOT_SET"}, overrides: map[string]string{"NODE_ENV": "staging"}, events: map[string]string{"DONE": "complete"},
	}
	p.start("s1")
	s := server(t, p, func(c *Config) { c.Upstreams = []Upstream{child(t, mode)} })
	return p, s, overStdio(t, s, "2025-11-25", nil)
}

// TestStateEnvironment: the process that a state's calls reach has the environment
// that the state demands (S3.4), and only then another one.
func TestStateEnvironment(t *testing.T) {
	p, s, session := envServer(t, "plain")
	pid := func() int { t.Helper(); return number(t, call(t, session, "pid", `{}`)) }
	wantEnv := func(has, lacks []string) {
		t.Helper()
		env := strings.Split(textOf(call(t, session, "env", `{}`)), "\n")
		for _, entry := range has {
			if !slices.Contains(env, entry) {
				t.Errorf("the environment lacks %s", entry)
			}
		}
		for _, name := range lacks {
			if slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") }) {
				t.Errorf("the environment has %s", name)
			}
		}
	}
	first := pid()
	wantEnv([]string{"PROD_DB_URL=secret-url", "MINE=yes"}, []string{"NODE_ENV"})
	p.move("run_1", "deploying")
	wantEnv([]string{"NODE_ENV=staging", "MINE=yes"}, []string{"PROD_DB_URL", "INTERLOCK_TOKEN"})
	second := pid()
	if second == first || alive(first) {
		t.Errorf("the process is %d, was %d, which runs: %v", second, first, alive(first))
	}
	// Another state that demands the same, and calls in it, leave it alone.
	p.states["again"] = p.states["deploying"]
	p.move("run_1", "again")
	if third := pid(); third != second {
		t.Error("it was restarted for the same environment")
	}
	// A crash brings back the environment of the state.
	call(t, session, "mcp__child__crash", `{}`)
	eventually(t, "the server is back", func() bool { return !call(t, session, "pid", `{}`).IsError })
	wantEnv([]string{"NODE_ENV=staging"}, []string{"PROD_DB_URL"})
	// Sessions that share a server do not change it for each other.
	shared := overHTTP(t, endpoint(t, s)+"?session=s1", "2025-11-25", nil, nil)
	fourth := pid()
	p.move("run_1", "testing")
	if n := number(t, call(t, shared, "pid", `{}`)); n != fourth {
		t.Error("a call over HTTP has restarted the server")
	}
	// At the end nothing is enforced.
	p.move("run_1", "complete")
	wantEnv([]string{"PROD_DB_URL=secret-url"}, []string{"NODE_ENV"})
}

// TestEnvironmentWaitsForCalls: calls under way finish before their server is
// started anew, and those that come then wait.
func TestEnvironmentWaitsForCalls(t *testing.T) {
	p, _, session := envServer(t, "plain")
	file := filepath.Join(t.TempDir(), "go on")
	slow := later(t, session, "linger", `{"file":"`+filepath.ToSlash(file)+`"}`)
	eventually(t, "the call is under way", func() bool { _, err := os.Stat(file + ".waiting"); return err == nil })
	p.move("run_1", "deploying")
	var rest []<-chan *sdk.CallToolResult
	for range 5 {
		rest = append(rest, later(t, session, "env", `{}`))
	}
	eventually(t, "they are all admitted", func() bool { checks, _ := p.counts(); return checks == 6 })
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantOK(t, <-slow, "lingered")
	for _, answer := range rest {
		result := <-answer
		wantOK(t, result, "NODE_ENV=staging")
		if strings.Contains(textOf(result), "secret-url") {
			t.Error("a blocked variable is there")
		}
	}
}

// TestEnvironmentRefused: when the server cannot be started as the state demands,
// the call is not made.
func TestEnvironmentRefused(t *testing.T) {
	p, _, session := envServer(t, "fails when staging")
	wantOK(t, call(t, session, "pid", `{}`))
	p.move("run_1", "deploying")
	wantRefused(t, call(t, session, "pid", `{}`), "UPSTREAM_FAILED",
		"the server child is not available with the environment of state deploying, so pid was not called", "exit status 4")
	if last := p.lastReport(); last.GetOk() {
		t.Errorf("report: %v", last)
	}
	p.move("run_1", "testing")
	eventually(t, "it is back in the other environment", func() bool { return !call(t, session, "pid", `{}`).IsError })
	// What would make the server run other code is not passed on.
	before := number(t, call(t, session, "pid", `{}`))
	p.states["evil"] = planeState{overrides: map[string]string{"LD_PRELOAD": "/tmp/evil.so"}}
	p.move("run_1", "evil")
	wantRefused(t, call(t, session, "pid", `{}`), "UPSTREAM_FAILED", "the state evil sets LD_PRELOAD, which decides what code a server runs")
	p.move("run_1", "testing")
	if after := number(t, call(t, session, "pid", `{}`)); after != before {
		t.Error("it was restarted")
	}
}

// TestDemand: while a call is under way, nobody gets the server started anew.
func TestDemand(t *testing.T) {
	t.Parallel()
	u := newUpstream(Upstream{Name: "x"}, Config{Logger: slog.Default()}, nil, nil)
	before := u.demanded()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	u.count(1)
	if err := u.demand(gone, environment{"A=1"}); err == nil || !slices.Equal(u.demanded(), before) || len(u.renew) != 0 {
		t.Errorf("err = %v, demanded %v", err, u.demanded())
	}
	u.count(-1)
	if err := u.demand(gone, environment{"A=1"}); err != nil || !slices.Equal(u.demanded(), environment{"A=1"}) || len(u.renew) != 1 {
		t.Errorf("err = %v, demanded %v", err, u.demanded())
	}
	// Until it is started, there is nothing to call.
	if _, err := u.connected(gone); !errors.Is(err, errNotReady) {
		t.Errorf("err = %v", err)
	}
}

// TestEnvironmentRace: a call that is admitted in one state never reaches a server
// that is prepared for another.
func TestEnvironmentRace(t *testing.T) {
	p, _, session := envServer(t, "plain")
	// The state changes between the look at it and the decision.
	p.mu.Lock()
	var once sync.Once
	p.onGet = func(run *enginev1.Run) { once.Do(func() { p.enterState(run, "deploying") }) }
	p.mu.Unlock()
	wantOK(t, call(t, session, "env", `{}`), "NODE_ENV=staging")
	// It changes again before the second look.
	p.mu.Lock()
	var first, second sync.Once
	p.enterState(p.runs["run_1"], "testing")
	p.onGet = func(run *enginev1.Run) { first.Do(func() { p.enterState(run, "deploying") }) }
	p.onCheck = func(_ context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		res, err := p.judge(in)
		second.Do(func() { p.enterState(p.runs["run_1"], "testing") })
		return res, err
	}
	p.mu.Unlock()
	wantRefused(t, call(t, session, "env", `{}`), "POLICY_UNAVAILABLE", "the state changed while the call was judged; make it again")
	if last := p.lastReport(); last.GetOk() {
		t.Errorf("report: %v", last)
	}
	wantOK(t, call(t, session, "env", `{}`), "PROD_DB_URL=secret-url")
}

func TestLoadsCode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"LD_PRELOAD": true, "ld_library_path": true, "NODE_OPTIONS": true, "PATH": true, "PYTHONPATH": true, "BASH_ENV": true, "GIT_SSH_COMMAND": true,
		"NODE_ENV": false, "DATABASE_URL": false, "KUBECONFIG": false, "CI": false, "OLD_PATH": false, "": false,
	} {
		if got := loadsCode(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRealNames: a link does not hide which file a call has changed (S3.8, S4.1).
func TestRealNames(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(base, "real"), filepath.Join(base, "link")
	for _, dir := range []string{"real/pb/hooks", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"real/pb/hooks/a.js", "real/plain.js", "elsewhere/x.js"} {
		if err := os.WriteFile(filepath.Join(base, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{
		"link": "real", "real/short.js": "pb/hooks/a.js", "real/h": "pb/hooks", "real/out.js": "../elsewhere/x.js", "real/loop.js": "loop.js",
	} {
		if err := os.Symlink(to, filepath.Join(base, from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct{ workspace, tool, input, want string }{
		{real, "write_file", `{"path":"plain.js","content":""}`, ""},
		{real, "write_file", `{"path":"short.js","content":""}`, "pb/hooks/a.js"},
		{real, "mcp__fs__write_file", `{"path":"` + real + `/short.js","content":""}`, "pb/hooks/a.js"},
		{link, "write_file", `{"path":"` + link + `/short.js","content":""}`, "pb/hooks/a.js"},
		{link, "write_file", `{"path":"` + real + `/plain.js","content":""}`, "plain.js"},
		{real, "write_file", `{"path":"h/a.js","content":""}`, "pb/hooks/a.js"},
		{real, "move_file", `{"source":"h/gone.js","destination":"plain.js"}`, "pb/hooks/gone.js"},
		{real, "write_file", `{"path":"out.js","content":""}`, base + "/elsewhere/x.js"},
		{real, "write_file", `{"path":"loop.js","content":""}`, ""},
		{real, "write_file", `{"path":"no/such/folder.js","content":""}`, ""},
		{real, "read_file", `{"path":"short.js"}`, ""},
		{real, "write_file", `{"path":7}`, ""},
		{"", "write_file", `{"path":"short.js","content":""}`, ""},
		{base + "/missing", "write_file", `{"path":"short.js","content":""}`, ""},
	} {
		if got := strings.Join(realNames(row.workspace, row.tool, []byte(row.input)), " "); got != row.want {
			t.Errorf("%s of %s in %s: %q, want %q", row.tool, row.input, row.workspace, got, row.want)
		}
	}
}

// TestRealNamesReported with the names that are in the input left to the enforcer.
func TestRealNamesReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "real.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.js", filepath.Join(dir, "link.js")); err != nil {
		t.Fatal(err)
	}
	p, fs, s := noticeServer(t, nil, func(c *Config) { c.Stdio.Workspace = dir })
	session := overStdio(t, s, "2025-11-25", nil)
	call(t, session, "write_file", `{"path":"link.js","content":"x"}`)
	if last := p.lastReport(); !slices.Equal(last.GetFilesChanged(), []string{"real.js"}) {
		t.Errorf("report: %v", last)
	}
	fs.add("write_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true}, nil
	})
	call(t, session, "write_file", `{"path":"link.js","content":"x"}`)
	if last := p.lastReport(); len(last.GetFilesChanged()) != 0 || last.GetOk() {
		t.Errorf("report of a failure: %v", last)
	}
}
