package mcp

import (
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// TestOwnNames: no upstream takes a name of Interlock's own tools, or passes for
// another upstream.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	fs := upstreamtest.NewBackend(t, "read_file", "get_state", "statewright_pause", "mcp__git__log")
	git := upstreamtest.NewBackend(t, "log")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs"), git.As("git")} })
	session := overStdio(t, s, "2025-11-25", nil)
	want := []string{
		"log", "mcp__fs__get_state", "mcp__fs__mcp__git__log", "mcp__fs__read_file", "mcp__fs__statewright_pause", "mcp__git__log",
	}
	if got := toolNames(t, session); !slices.Equal(got, want) {
		t.Errorf("listed %v\nwant   %v", got, want)
	}
	wantOK(t, call(t, session, "get_state", `{}`), "Phase: testing")
	wantOK(t, call(t, session, "mcp__git__log", `{}`), "log {}")
	if slices.Contains(fs.Called(), "mcp__git__log") {
		t.Error("another server's tool answered under a full name")
	}
	for name, want := range map[string]string{"nothing": "tools/list names the tools", "statewright_pause": "unknown tool"} {
		if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOtherName: a rule about one name of a tool cannot be avoided by the other name.
func TestOtherName(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		state planeState
		tool  string
		code  string // empty: allowed
	}{
		{"only the full name is allowed", planeState{restricted: true, allowed: []string{"mcp__fs__put"}}, "put", "TOOL_NOT_ALLOWED"},
		{"only the plain name is allowed", planeState{restricted: true, allowed: []string{"put"}}, "mcp__fs__put", "TOOL_NOT_ALLOWED"},
		{"the plain name is allowed", planeState{restricted: true, allowed: []string{"put"}}, "put", ""},
		{"the full name is disallowed", planeState{disallowed: []string{"mcp__fs__put"}}, "put", "TOOL_DISALLOWED"},
		{"the server is disallowed", planeState{disallowed: []string{"mcp__fs__*"}}, "put", "TOOL_DISALLOWED"},
		{"the plain name is disallowed", planeState{disallowed: []string{"put"}}, "mcp__fs__put", "TOOL_DISALLOWED"},
		{"another is disallowed", planeState{disallowed: []string{"mcp__git__put"}}, "put", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.states["testing"] = row.state
			p.start("s1")
			fs := upstreamtest.NewBackend(t, "put")
			s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
			session := overStdio(t, s, "2026-07-28", nil)
			result := call(t, session, row.tool, `{}`)
			if row.code == "" {
				wantOK(t, result)
				return
			}
			wantRefused(t, result, row.code)
			if len(fs.Called()) != 0 {
				t.Error("the upstream was called")
			}
		})
	}
}

// TestOtherNameRace: the state that disallows the other name begins between the
// look at the run and the decision.
func TestOtherNameRace(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.states["deploying"] = planeState{disallowed: []string{"mcp__fs__put"}}
	run := p.start("s1")
	fs := upstreamtest.NewBackend(t, "put")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	session := overStdio(t, s, "2026-07-28", nil)
	p.mu.Lock()
	var once sync.Once
	p.onGet = func(*enginev1.Run) { once.Do(func() { p.enterState(run, "deploying") }) }
	p.mu.Unlock()
	wantRefused(t, call(t, session, "put", `{}`), "TOOL_DISALLOWED")
	if len(fs.Called()) != 0 {
		t.Error("the upstream was called")
	}
	// The call that had been admitted is accounted for, as not made.
	if last := p.lastReport(); last == nil || last.GetOk() {
		t.Errorf("report: %v", last)
	}
}
