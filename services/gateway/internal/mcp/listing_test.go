package mcp

import (
	"context"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// TestListing: older clients see what the state allows and hear of changes;
// stateless ones see everything, always.
func TestListing(t *testing.T) {
	t.Parallel()
	p := newPlane()
	fs := backendServer(t, "read_file", "write_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []Upstream{fs.as("fs")} })
	url := endpoint(t, s) + "?session=s1"
	changed := make(chan struct{}, 100)
	older := overHTTP(t, url, "2025-06-18", &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	}, nil)
	newer := overHTTP(t, url, "2026-07-28", nil, nil)
	everything := []string{"mcp__fs__read_file", "mcp__fs__write_file", "read_file", "write_file"}
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
	// The run moves behind our back: the next decision tells.
	p.move("run_1", "testing")
	wantRefused(t, call(t, newer, "mcp__fs__write_file", `{}`), "TOOL_NOT_ALLOWED")
	hear()
	want(older, "mcp__fs__read_file")
	// A report tells too.
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
	fs.add("delete_file", nil)
	hear()
	want(older, append([]string{"delete_file", "mcp__fs__delete_file"}, everything...)...)
}

// TestStatelessListen: listeners of the stateless protocol hear of new upstream
// tools, and only of those.
func TestStatelessListen(t *testing.T) {
	t.Parallel()
	p := newPlane()
	fs := backendServer(t, "read_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []Upstream{fs.as("fs")} })
	changed := make(chan struct{}, 100)
	session := overHTTP(t, endpoint(t, s)+"?session=s1", "2026-07-28", &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	}, nil)
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy"}`))
	fs.add("write_file", nil)
	eventually(t, "the new tool is listed", func() bool { return slices.Contains(toolNames(t, session), "write_file") })
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatal("no list_changed")
	}
}
