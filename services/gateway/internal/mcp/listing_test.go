package mcp

import (
	"context"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// TestListing: older clients get the tools that the state allows, and notifications of
// changes; stateless ones get all tools, always.
func TestListing(t *testing.T) {
	t.Parallel()
	p := newPlane()
	fs := upstreamtest.NewBackend(t, "read_file", "write_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	url := endpoint(t, s) + "?session=s1"
	changed := make(chan struct{}, 100)
	older := overHTTP(t, url, "2025-06-18", &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	}, nil)
	newer := overHTTP(t, url, "2026-07-28", nil, nil)
	everything := []string{"mcp__fs__read_file", "mcp__fs__write_file"}
	want := func(session *sdk.ClientSession, want ...string) {
		t.Helper()
		if got := toolNames(t, session); !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
	}
	hear := func() {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatal("no list_changed")
		}
	}
	want(older, everything...)
	wantOK(t, call(t, older, "load_workflow", `{"name":"deploy"}`))
	hear()
	want(older, "mcp__fs__read_file")
	want(newer, everything...)
	// Another client of the session moves on.
	wantOK(t, call(t, newer, "transition", `{"event":"TESTED","data":{"test_result":"pass"}}`))
	hear()
	wantOK(t, call(t, newer, "transition", `{"event":"DEPLOY"}`))
	hear()
	want(older, "mcp__fs__write_file")
	want(newer, everything...)
	// The run moves without the edge: the next decision shows it.
	p.move("run_1", "testing")
	wantRefused(t, call(t, newer, "mcp__fs__write_file", `{}`), "TOOL_NOT_ALLOWED")
	hear()
	want(older, "mcp__fs__read_file")
	// A report shows it, too.
	p.mu.Lock()
	p.onReport = func(context.Context, *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
		p.enterState(p.runs["run_1"], "deploying")
		return nil, nil
	}
	p.mu.Unlock()
	wantOK(t, call(t, newer, "mcp__fs__read_file", `{}`))
	hear()
	wantOK(t, call(t, older, "transition", `{"event":"DONE"}`))
	hear()
	want(older, everything...)
	// The upstream changes.
	fs.Add("delete_file", nil)
	hear()
	want(older, append([]string{"mcp__fs__delete_file"}, everything...)...)
}

// TestStatelessListen: listeners of the stateless protocol hear of new upstream
// tools, and only of those.
func TestStatelessListen(t *testing.T) {
	t.Parallel()
	p := newPlane()
	fs := upstreamtest.NewBackend(t, "read_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	changed := make(chan struct{}, 100)
	session := overHTTP(t, endpoint(t, s)+"?session=s1", "2026-07-28", &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	}, nil)
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy"}`))
	fs.Add("write_file", nil)
	eventually(t, "the new tool is listed", func() bool { return slices.Contains(toolNames(t, session), "mcp__fs__write_file") })
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatal("no list_changed")
	}
}

// TestListingByStanding: the list of tools while a run is not simply in a state
// (S2.9, S5.2, S6.2).
func TestListingByStanding(t *testing.T) {
	t.Parallel()
	everything := []string{"mcp__fs__read_file", "mcp__fs__write_file"}
	allowed := []string{"mcp__fs__read_file"}
	for _, row := range []struct {
		name   string
		change func(p *plane, run *enginev1.Run)
		want   []string
	}{
		{"running", func(*plane, *enginev1.Run) {}, allowed},
		{"awaiting approval", func(_ *plane, r *enginev1.Run) { park(r) }, allowed},
		{"waiting", func(_ *plane, r *enginev1.Run) { hold(r) }, nil},
		{"paused", func(_ *plane, r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_PAUSED }, everything},
		{"held", func(_ *plane, r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_HELD }, nil},
		{"completed", func(p *plane, r *enginev1.Run) { p.enterState(r, "complete") }, everything},
		{"cancelled", func(_ *plane, r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_CANCELLED }, nil},
		{"a branch that is over", func(_ *plane, r *enginev1.Run) { r.BranchOver = true }, nil},
		{"a child", func(p *plane, r *enginev1.Run) {
			child := p.startLocked("suite", "")
			p.enterState(child, "deploying")
			r.Child = &enginev1.Invocation{RunId: child.GetRunId()}
			hold(r)
		}, []string{"mcp__fs__write_file"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.start("s1")
			p.change("run_1", func(r *enginev1.Run) { row.change(p, r) })
			fs := upstreamtest.NewBackend(t, "read_file", "write_file")
			s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
			if got := toolNames(t, overStdio(t, s, "2025-06-18", nil)); !slices.Equal(got, row.want) {
				t.Errorf("listed %v, want %v", got, row.want)
			}
		})
	}
}

// TestListingFollows: every way in which a run moves reaches older clients, once
// for each list that they have.
func TestListingFollows(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.debug = true
	p.start("s1")
	fs := upstreamtest.NewBackend(t, "read_file", "write_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	url := endpoint(t, s)
	changed := make(chan struct{}, 100)
	older := overHTTP(t, url+"?session=s1", "2025-06-18", &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	}, nil)
	other := overHTTP(t, url+"?session=s1", "2026-07-28", nil, nil)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a jump", func() { wantOK(t, call(t, other, "force_state", `{"state":"deploying"}`)) }},
		{"a state seen", func() { p.move("run_1", "testing"); wantOK(t, call(t, other, "get_state", `{}`)) }},
		{"a hold, by a denial", func() {
			p.change("run_1", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_HELD })
			wantRefused(t, call(t, other, "mcp__fs__read_file", `{}`), "RUN_NOT_ACTIVE")
		}},
		{"its end, by a call", func() {
			p.change("run_1", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_RUNNING })
			wantOK(t, call(t, other, "mcp__fs__read_file", `{}`))
		}},
		{"a child", func() { p.invoke("run_1"); wantOK(t, call(t, other, "get_status", `{}`)) }},
		{"a subagent's event", func() {
			p.mu.Lock()
			p.drives["s1/a1"], p.bound["s1/a1"] = "run_1", "lint"
			p.mu.Unlock()
			wantOK(t, call(t, other, "transition", `{"event":"TESTED","agent":"a1"}`))
		}},
		{"another run", func() { wantOK(t, call(t, other, "load_workflow", `{"name":"deploy"}`)) }},
		{"a pause", func() { wantOK(t, call(t, other, "pause", `{}`)) }},
		{"the end", func() { wantOK(t, call(t, other, "deactivate", `{}`)) }},
	} {
		toolNames(t, older)
		step.do()
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatalf("%s: no list_changed", step.name)
		}
		// A client that was notified gets no more notifications until its next list.
		wantOK(t, call(t, other, "get_state", `{}`))
	}
	toolNames(t, older)
	wantOK(t, call(t, other, "get_state", `{}`))
	if len(changed) > 0 {
		t.Errorf("%d notifications too many", len(changed))
	}
}
