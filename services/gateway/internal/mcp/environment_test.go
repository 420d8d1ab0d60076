package mcp

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

func number(t *testing.T, result *sdk.CallToolResult) int {
	t.Helper()
	n, err := strconv.Atoi(textOf(result))
	if err != nil {
		t.Fatalf("not a number: %s", textOf(result))
	}
	return n
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
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{upstreamtest.Child(t, mode)} })
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
	if second == first || upstreamtest.Alive(first) {
		t.Errorf("the process is %d, was %d, which runs: %v", second, first, upstreamtest.Alive(first))
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
	// At the end no state is enforced.
	p.move("run_1", "complete")
	wantEnv([]string{"PROD_DB_URL=secret-url"}, []string{"NODE_ENV"})
}

// TestEnvironmentWaitsForCalls: calls under way finish before their server is
// started anew, and those that come then wait.
func TestEnvironmentWaitsForCalls(t *testing.T) {
	p, _, session := envServer(t, "plain")
	file := filepath.Join(t.TempDir(), "two words")
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
	if last := p.lastReport(); last.GetOk() || !last.GetNotExecuted() || last.GetOutcomeUnknown() {
		t.Errorf("report: %v", last)
	}
	p.move("run_1", "testing")
	eventually(t, "it is back in the other environment", func() bool { return !call(t, session, "pid", `{}`).IsError })
	// Variables that would make the server run other code are not passed on.
	before := number(t, call(t, session, "pid", `{}`))
	p.states["evil"] = planeState{overrides: map[string]string{"LD_PRELOAD": "/tmp/evil.so"}}
	p.move("run_1", "evil")
	wantRefused(t, call(t, session, "pid", `{}`), "UPSTREAM_FAILED", "the state evil sets LD_PRELOAD, which selects the code that a server runs")
	p.move("run_1", "testing")
	if after := number(t, call(t, session, "pid", `{}`)); after != before {
		t.Error("it was restarted")
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

// TestFirstCall: a client that calls a tool at once, and never lists any, waits for
// a server that just starts.
func TestFirstCall(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	cfg := p.config()
	cfg.Upstreams, cfg.Stdio = []upstream.Server{upstreamtest.Child(t, "plain")}, caller.Identity{Binding: caller.Binding{SessionID: "s1"}}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	number(t, call(t, overStdio(t, s, "2025-11-25", nil), "pid", `{}`))
}

// TestCrashedUpstream: a call whose server ends in the middle of it has failed, and
// is reported so.
func TestCrashedUpstream(t *testing.T) {
	p, _, session := envServer(t, "plain")
	first := number(t, call(t, session, "pid", `{}`))
	wantRefused(t, call(t, session, "mcp__child__crash", `{}`), "UPSTREAM_FAILED", "broke during mcp__child__crash; its effect is not known")
	if last := p.lastReport(); last.GetOk() {
		t.Error("a crash was reported as a success")
	}
	eventually(t, "the server is back", func() bool { return !call(t, session, "pid", `{}`).IsError })
	if second := number(t, call(t, session, "pid", `{}`)); first == second {
		t.Error("the same process")
	}
}
