package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// processEndpoint serves both endpoints, as the gateway does.
func processEndpoint(t *testing.T, s *Server) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(Path, s.HTTPHandler())
	mux.Handle(Path+"/", s.HTTPHandler())
	mux.Handle(ProcessPath, s.ProcessHandler())
	mux.Handle(ProcessPath+"/", s.ProcessHandler())
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.Drain()
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL + ProcessPath
}

// allTools are the names that are listed, own tools among them.
func allTools(t *testing.T, session *sdk.ClientSession) []string {
	t.Helper()
	result, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	listed := []string{}
	for _, tool := range result.Tools {
		listed = append(listed, tool.Name)
	}
	slices.Sort(listed)
	return listed
}

// TestProcessEndpoint: a session has the tools of its process there; others are neither
// listed nor can they be called (S7.8).
func TestProcessEndpoint(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for _, path := range []string{"?session=s1", "/sessions/s1", "?run=run_1", "/runs/run_1"} {
			t.Run(version+path, func(t *testing.T) {
				t.Parallel()
				p := newPlane()
				p.mu.Lock()
				p.startGate("s1")
				p.mu.Unlock()
				notes := upstreamtest.NewBackend(t, "memory_read", "task_list", "write_file")
				s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{notes.As("notes")} })
				session := overHTTP(t, processEndpoint(t, s)+path, version, nil, nil)
				want := []string{"get_state", "memory_read", "process_step", "wait_approval"}
				if got := allTools(t, session); !slices.Equal(got, want) {
					t.Errorf("listed %v, want %v", got, want)
				}
				wantOK(t, call(t, session, "process_step", `{}`), "Walk through the checklist.\n[env]")
				wantOK(t, call(t, session, "memory_read", `{}`), "memory_read {}")
				wantOK(t, call(t, session, "mcp__notes__memory_read", `{}`), "memory_read {}")
				for _, tool := range []string{
					"transition", "load_workflow", "get_status", "wait", "state_read", "force_state",
					"task_list", "mcp__fs__write_file", "mcp__notes__task_list", "mcp__notes__write_file", "nothing", "Process_step",
				} {
					refused := call(t, session, tool, `{}`)
					wantRefused(t, refused, "TOOL_NOT_ALLOWED", "the process deploy-gate may not use", "it may use memory*, process_step, get_state, wait_approval")
					if refused.StructuredContent.(map[string]any)["decision"] != "DENY" {
						t.Errorf("%s: %v", tool, refused.StructuredContent)
					}
				}
				if got := notes.Called(); !slices.Equal(got, []string{"memory_read", "memory_read"}) {
					t.Errorf("called %v", got)
				}
				// Offered tools are gated like all others.
				if ids, _ := p.askedCalls(); len(ids) != 2 {
					t.Errorf("%d calls were judged", len(ids))
				}
			})
		}
	}
}

// TestProcessEndpointNames: a process names tools as their servers do, also where the server's
// tools have only their full names, and where its allowed_tools are in force (S7.8).
func TestProcessEndpointNames(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for _, restricted := range []bool{false, true} {
			t.Run(fmt.Sprint(version, restricted), func(t *testing.T) {
				t.Parallel()
				p := newPlane()
				p.mu.Lock()
				run := p.startGate("s1")
				if restricted {
					run.Rules.ToolsRestricted, run.Rules.AllowedTools = true, []string{"memory_read", "memory*", "process_step"}
				}
				p.mu.Unlock()
				notes := upstreamtest.NewBackend(t, "memory_read", "task_list", "Read", "process_step")
				at := notes.As("notes")
				at.Names = nil
				s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{at} })
				session := overHTTP(t, processEndpoint(t, s)+"?session=s1", version, nil, nil)
				want := []string{"get_state", "mcp__notes__memory_read", "process_step", "wait_approval"}
				if got := allTools(t, session); !slices.Equal(got, want) {
					t.Errorf("listed %v, want %v", got, want)
				}
				wantOK(t, call(t, session, "mcp__notes__memory_read", `{}`), "memory_read {}")
				for _, tool := range []string{"memory_read", "mcp__notes__task_list", "mcp__notes__Read", "mcp__notes__process_step"} {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: map[string]any{}})
					cancel()
					if err == nil && !result.IsError {
						t.Errorf("%s was called", tool)
					}
				}
				if got := notes.Called(); !slices.Equal(got, []string{"memory_read"}) {
					t.Errorf("called %v", got)
				}
			})
		}
	}
}

// TestProcessEndpointWithout: without a process there are no tools, and refusals give the reason.
func TestProcessEndpointWithout(t *testing.T) {
	t.Parallel()
	workflow := newPlane()
	workflow.start("s1")
	down := newPlane()
	down.startGate("s1")
	down.failProcesses = true
	unknown := newPlane()
	unknown.startGate("s1").WorkflowVersion = 4
	lost := newPlane()
	lost.startGate("s1")
	lost.failGet = "s1"
	for _, row := range []struct {
		name   string
		plane  *plane
		query  string
		change func(*Config)
		code   string
		lists  bool // an empty list rather than a failure
	}{
		{"no run", newPlane(), "?session=s1", nil, "NO_PROCESS", true},
		{"no session", newPlane(), "", nil, "NOT_BOUND", true},
		{"a workflow", workflow, "?session=s1", nil, "NO_PROCESS", true},
		{"unbound calls allowed", newPlane(), "?session=s1", func(c *Config) { c.AllowUnbound = true }, "NO_PROCESS", true},
		{"no processes", newPlane(), "?session=s1", func(c *Config) { c.Processes = nil }, "UNAVAILABLE", false},
		{"the engine is away", down, "?session=s1", nil, "UNAVAILABLE", false},
		{"the run cannot be read", lost, "?session=s1", nil, "UNAVAILABLE", false},
		{"an unknown version", unknown, "?session=s1", nil, "NOT_FOUND", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			notes := upstreamtest.NewBackend(t, "memory_read")
			s := server(t, row.plane, func(c *Config) {
				c.Upstreams = []upstream.Server{notes.As("notes")}
				if row.change != nil {
					row.change(c)
				}
			})
			session := overHTTP(t, processEndpoint(t, s)+row.query, "2025-11-25", nil, nil)
			result, err := session.ListTools(t.Context(), nil)
			if row.lists != (err == nil) || row.lists && len(result.Tools) != 0 {
				t.Errorf("listed %v, %v", result, err)
			}
			for _, tool := range []string{"process_step", "memory_read", "get_state"} {
				wantRefused(t, call(t, session, tool, `{}`), row.code, "Denied (")
			}
			if len(notes.Called()) != 0 {
				t.Error("a tool was called")
			}
		})
	}
}

// TestProcessEndpointPrefix: own tools are meant by their names without prefix.
func TestProcessEndpointPrefix(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.startGate("s1")
	s := server(t, p, func(c *Config) { c.ToolPrefix = "statewright_" })
	session := overHTTP(t, processEndpoint(t, s)+"?session=s1", "2025-11-25", nil, nil)
	if got := allTools(t, session); !slices.Equal(got, []string{"statewright_get_state", "statewright_process_step", "statewright_wait_approval"}) {
		t.Errorf("listed %v", got)
	}
	wantOK(t, call(t, session, "statewright_process_step", `{"answer":"yes"}`), "[load]")
	if say := session.InitializeResult().Instructions; !strings.Contains(say, "statewright_process_step") || strings.Contains(say, "transition") {
		t.Errorf("instructions: %s", say)
	}
}

// TestProcessEndpointSessions: the sessions of the endpoints are apart, and neither
// path leads to the other's tools.
func TestProcessEndpointSessions(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.startGate("s1")
	s := server(t, p, nil)
	url := processEndpoint(t, s)
	all := strings.TrimSuffix(url, "/process")
	_, _, header := post(t, url+"?session=s1", initialize)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	if status, answer, _ := post(t, all+"?session=s1", list, mcpSessionHeader, header.Get(mcpSessionHeader)); status != http.StatusNotFound {
		t.Errorf("a session of the endpoint for processes at the other: %d %s", status, answer)
	}
	for path, want := range map[string]string{"/things/x": "use /mcp/process?session=NAME", "/process": "no such endpoint", "/runs/": "no such endpoint"} {
		if status, answer, _ := post(t, url+path, initialize); status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	// The general endpoint does not serve the path, should it be asked to.
	if err := caller.BindRequest(httptest.NewRequest(http.MethodPost, ProcessPath+"/sessions/s1", http.NoBody), Path); err == nil {
		t.Error("the general endpoint serves the path of the one for processes")
	}
}

// TestProcessEndpointAfterEnd: a process that has ended offers the same tools; the gate
// decides.
func TestProcessEndpointAfterEnd(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.startGate("s1")
	p.change("run_1", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_BLOCKED })
	notes := upstreamtest.NewBackend(t, "memory_read")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{notes.As("notes")} })
	session := overHTTP(t, processEndpoint(t, s)+"?session=s1", "2026-07-28", nil, nil)
	wantRefused(t, call(t, session, "memory_read", `{}`), "RUN_NOT_ACTIVE")
	if len(notes.Called()) != 0 {
		t.Error("the tool was called")
	}
}

// TestProcessEndpointWaits: an agent whose answer people must approve waits for them
// there with the tool that the answer names, which its process need not name.
func TestProcessEndpointWaits(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.startGate("s1")
	session := overHTTP(t, processEndpoint(t, server(t, p, nil))+"?session=s1", "2025-11-25", nil, nil)
	wantOK(t, call(t, session, "process_step", `{"answer":"yes"}`))
	wantOK(t, call(t, session, "process_step", `{"answer":"ask"}`), "wait_approval")
	wantOK(t, call(t, session, "get_state", `{}`), "apr_1", "wait_approval")
	answer := later(t, session, "wait_approval", `{}`)
	eventually(t, "it waits", func() bool { return p.waited() > 0 })
	p.decide("apr_1", rejected, "approval apr_1 was rejected")
	eventually(t, "the run is watched", p.watched)
	p.follow("run_1", "REJECTED", "no")
	wantOK(t, <-answer, "Approval apr_1 was rejected.")
}
