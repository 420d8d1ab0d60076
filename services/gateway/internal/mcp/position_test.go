package mcp

import (
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// positionServer serves a tool to the session s1, which drives a run, and counts the reads of runs.
func positionServer(t *testing.T, binding caller.Binding, unbound bool) (*plane, *atomic.Int64, *upstreamtest.Backend, *sdk.ClientSession) {
	t.Helper()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.states["deploying"] = planeState{disallowed: []string{"put"}}
	p.start("s1")
	reads := &atomic.Int64{}
	p.onGet = func(*enginev1.Run) { reads.Add(1) }
	fs := upstreamtest.NewBackend(t, "put")
	s := server(t, p, func(c *Config) {
		c.Upstreams, c.AllowUnbound, c.Stdio.Binding = []upstream.Server{fs.As("fs")}, unbound, binding
	})
	return p, reads, fs, overStdio(t, s, "2025-11-25", nil)
}

// TestPositionsAreRemembered: calls in a run that does not move read it once, and a call after it has moved reads it again.
func TestPositionsAreRemembered(t *testing.T) {
	t.Parallel()
	for _, binding := range []caller.Binding{{SessionID: "s1"}, {RunID: "run_1"}} {
		p, reads, fs, session := positionServer(t, binding, false)
		before := reads.Load()
		for range 5 {
			call(t, session, "mcp__fs__put", `{}`)
		}
		if n := reads.Load() - before; n != 1 || len(fs.Called()) != 5 {
			t.Errorf("%+v: 5 calls took %d reads, and %d reached the server", binding, n, len(fs.Called()))
		}
		p.mu.Lock()
		p.runs["run_1"].Version++
		p.mu.Unlock()
		call(t, session, "mcp__fs__put", `{}`)
		if n := reads.Load() - before; n != 2 || len(fs.Called()) != 6 {
			t.Errorf("%+v: %d reads, and %d calls reached the server", binding, n, len(fs.Called()))
		}
	}
}

// TestOldPositionsLetNothingThrough: a call that is checked by a position from memory is denied where the present one is
// against it: by the tool's other name, or since the session drives no run any more.
func TestOldPositionsLetNothingThrough(t *testing.T) {
	t.Parallel()
	t.Run("the state disallows the other name", func(t *testing.T) {
		t.Parallel()
		p, _, fs, session := positionServer(t, caller.Binding{SessionID: "s1"}, false)
		call(t, session, "mcp__fs__put", `{}`)
		p.move("run_1", "deploying")
		wantRefused(t, call(t, session, "mcp__fs__put", `{}`), "TOOL_DISALLOWED", "put is disallowed")
		if len(fs.Called()) != 1 {
			t.Errorf("%d calls reached the server", len(fs.Called()))
		}
		// Nothing was counted for the call that was denied, and the next state allows it at once.
		p.move("run_1", "testing")
		wantOK(t, call(t, session, "mcp__fs__put", `{}`))
		if n := p.runs["run_1"].GetUsage().GetIterations(); n != 1 {
			t.Errorf("%d calls are counted in the state", n)
		}
	})
	t.Run("another run at the same version", func(t *testing.T) {
		t.Parallel()
		p, _, fs, session := positionServer(t, caller.Binding{SessionID: "s1"}, false)
		call(t, session, "mcp__fs__put", `{}`)
		p.mu.Lock()
		p.states["testing"] = planeState{disallowed: []string{"put"}}
		p.startLocked("deploy", "s1")
		p.mu.Unlock()
		wantRefused(t, call(t, session, "mcp__fs__put", `{}`), "TOOL_DISALLOWED", "put is disallowed")
		if len(fs.Called()) != 1 || p.runs["run_2"].GetUsage().GetIterations() != 0 {
			t.Errorf("%d calls reached the server, %d are counted", len(fs.Called()), p.runs["run_2"].GetUsage().GetIterations())
		}
	})
	for name, unbound := range map[string]bool{"the session has left its run": false, "and unbound calls are allowed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, fs, session := positionServer(t, caller.Binding{SessionID: "s1"}, unbound)
			call(t, session, "mcp__fs__put", `{}`)
			p.mu.Lock()
			delete(p.drives, "s1")
			p.mu.Unlock()
			p.mu.Lock()
			before := len(p.checks)
			p.mu.Unlock()
			result := call(t, session, "mcp__fs__put", `{}`)
			if result.IsError == unbound || unbound != (len(fs.Called()) == 2) {
				t.Errorf("%d calls reached the server: %s", len(fs.Called()), textOf(result))
			}
			// The policies of callers without a run are asked by the tool's name with its server.
			p.mu.Lock()
			made := p.checks[before:]
			p.mu.Unlock()
			if last := made[len(made)-1]; unbound && (len(made) != 2 || last.GetRunId() != "" || last.GetTool() != "mcp__fs__put") {
				t.Errorf("checks: %v", made)
			}
		})
	}
}
