package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// TestNames: full names always; plain ones only while nobody else has or had them.
func TestNames(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	fs := backendServer(t, "read_file", "both", "get_state", "statewright_pause", "mcp__git__log", "odd name")
	git := backendServer(t, "log", "both")
	s := server(t, p, func(c *Config) { c.Upstreams = []Upstream{fs.as("fs"), git.as("git")} })
	session := overStdio(t, s, "2025-11-25", nil)
	want := []string{
		"log", "mcp__fs__both", "mcp__fs__get_state", "mcp__fs__mcp__git__log", "mcp__fs__read_file", "mcp__fs__statewright_pause",
		"mcp__git__both", "mcp__git__log", "read_file",
	}
	if got := toolNames(t, session); !slices.Equal(got, want) {
		t.Errorf("listed %v\nwant   %v", got, want)
	}
	// Own tools are never shadowed, and a full name is that server's tool.
	wantOK(t, call(t, session, "get_state", `{}`), "Phase: testing")
	wantOK(t, call(t, session, "mcp__git__log", `{}`), "log {}")
	if slices.Contains(fs.called(), "mcp__git__log") {
		t.Error("another server's tool answered under a full name")
	}
	_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "both"})
	if err == nil || !strings.Contains(err.Error(), "call mcp__fs__both or mcp__git__both") {
		t.Errorf("err = %v", err)
	}
	// The schema is passed on as it is.
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Name == "mcp__fs__read_file" {
			if raw, _ := json.Marshal(tool.InputSchema); string(raw) != `{"properties":{"path":{"type":"string","x-kept":[1,2]}},"type":"object"}` {
				t.Errorf("schema: %s", raw)
			}
		}
	}
	// A name that another server offers later belongs to nobody, for good.
	git.add("read_file", nil)
	eventually(t, "the plain name is gone", func() bool { return !slices.Contains(toolNames(t, session), "read_file") })
	git.srv.RemoveTools("read_file")
	eventually(t, "git's tool is gone", func() bool { return !slices.Contains(toolNames(t, session), "mcp__git__read_file") })
	if slices.Contains(toolNames(t, session), "read_file") {
		t.Error("the plain name came back")
	}
}

// TestOtherName: neither name of a tool is a way round what is said of the other.
func TestOtherName(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		state planeState
		tool  string
		code  string // empty: allowed
	}{
		{"only the full name is allowed", planeState{restricted: true, allowed: []string{"mcp__fs__write_file"}}, "write_file", "TOOL_NOT_ALLOWED"},
		{"only the plain name is allowed", planeState{restricted: true, allowed: []string{"write_file"}}, "mcp__fs__write_file", "TOOL_NOT_ALLOWED"},
		{"the plain name is allowed", planeState{restricted: true, allowed: []string{"write_file"}}, "write_file", ""},
		{"the full name is disallowed", planeState{disallowed: []string{"mcp__fs__write_file"}}, "write_file", "TOOL_DISALLOWED"},
		{"the server is disallowed", planeState{disallowed: []string{"mcp__fs__*"}}, "write_file", "TOOL_DISALLOWED"},
		{"the plain name is disallowed", planeState{disallowed: []string{"write_file"}}, "mcp__fs__write_file", "TOOL_DISALLOWED"},
		{"another is disallowed", planeState{disallowed: []string{"mcp__git__write_file"}}, "write_file", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.states["testing"] = row.state
			p.start("s1")
			fs := backendServer(t, "write_file")
			s := server(t, p, func(c *Config) { c.Upstreams = []Upstream{fs.as("fs")} })
			session := overStdio(t, s, "2026-07-28", nil)
			result := call(t, session, row.tool, `{}`)
			if row.code == "" {
				wantOK(t, result)
				return
			}
			wantRefused(t, result, row.code)
			if len(fs.called()) != 0 {
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
	p.states["deploying"] = planeState{disallowed: []string{"mcp__fs__write_file"}}
	run := p.start("s1")
	fs := backendServer(t, "write_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []Upstream{fs.as("fs")} })
	session := overStdio(t, s, "2026-07-28", nil)
	p.mu.Lock()
	var once sync.Once
	p.onGet = func(*enginev1.Run) { once.Do(func() { p.enterState(run, "deploying") }) }
	p.mu.Unlock()
	wantRefused(t, call(t, session, "write_file", `{}`), "TOOL_DISALLOWED")
	if len(fs.called()) != 0 {
		t.Error("the upstream was called")
	}
	// The call that had been admitted is accounted for, as not made.
	if last := p.lastReport(); last == nil || last.GetOk() {
		t.Errorf("report: %v", last)
	}
}
