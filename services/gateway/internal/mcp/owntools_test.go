package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// versions are the protocol versions that clients in the field speak.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

// TestOwnTools walks an agent through a workflow on stdio, in every protocol.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			walk(t, p, overStdio(t, server(t, p, nil), version, nil))
		})
	}
}

// TestOwnToolsOverHTTP does the same over HTTP, bound by URL.
func TestOwnToolsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			walk(t, p, overHTTP(t, endpoint(t, server(t, p, nil))+"?session=s1", version, nil, nil))
		})
	}
}

func walk(t *testing.T, p *plane, session *sdk.ClientSession) {
	t.Helper()
	wantOK(t, call(t, session, "get_state", `{}`), `No workflow is loaded for session "s1"`, "load_workflow(name=...)")
	wantRefused(t, call(t, session, "transition", `{"event":"DEPLOY"}`), "NO_WORKFLOW", "load_workflow")
	wantRefused(t, call(t, session, "load_workflow", `{"name":"nope"}`), "NOT_FOUND", "no workflow", "list_workflows names")
	wantOK(t, call(t, session, "list_workflows", `{}`), "deploy (version 3)\nreview (version 1)\ndeploy-gate (version 3, a process)\nstandup (version 1, a process)")
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy","resume":true}`), "There was no paused run of deploy", "Phase: testing.")

	state := call(t, session, "get_state", `{}`)
	wantOK(t, state, "Phase: testing. Tools: Read, mcp__fs__read_file.\n"+
		"Transitions: DEPLOY -> deploying [guards: tests_passed], FAIL -> failed, TESTED -> testing.\n"+
		"Instructions: Run the test suite.\n", "Iterations: 0 of 10 used, 10 left.", "Run: run_1 of deploy version 3, RUNNING.")
	structured, err := json.Marshal(state.StructuredContent)
	if err != nil || !strings.Contains(string(structured), `"iterations_left":10`) || !strings.Contains(string(structured), `"legal_events":[{"event":"DEPLOY"`) {
		t.Fatalf("structured content: %s, %v", structured, err)
	}

	// A rejection teaches: code, failing guard with both values, legal events.
	rejected := call(t, session, "transition", `{"event":"DEPLOY","data":{"test_result":"pass"}}`)
	wantRefused(t, rejected, "GUARD_FAILED", `Guard tests_passed failed: test_result eq "pass", but it is missing.`,
		"Transitions: DEPLOY -> deploying")
	wantRefused(t, call(t, session, "transition", `{"event":"deploy"}`), "UNKNOWN_EVENT", "DEPLOY -> deploying")

	wantOK(t, call(t, session, "transition", `{"event":"TESTED","data":{"test_result":"pass","id":9007199254740993},"rationale":"green"}`),
		"Accepted: TESTED.", "Phase: testing.")
	run := p.runs["run_1"]
	for _, part := range []string{`"rationale":"green"`, `"id":9007199254740993`, `"test_result":"pass"`} {
		if !strings.Contains(string(run.GetContext()), part) {
			t.Errorf("the context lacks %s: %s", part, run.GetContext())
		}
	}
	wantOK(t, call(t, session, "transition", `{"event":"DEPLOY"}`), "Phase: deploying. Tools: mcp__fs__write_file.")
	wantOK(t, call(t, session, "get_status", `{}`), "run_1 of deploy version 3 is RUNNING in state deploying, after 2 transitions and 0 tool calls")

	p.mu.Lock()
	p.always = true
	p.mu.Unlock()
	wantRefused(t, call(t, session, "deactivate", `{}`), "ENFORCEMENT_KEPT", "enforced until it ends")
	wantRefused(t, call(t, session, "pause", `{"reason":"tired"}`), "ENFORCEMENT_KEPT")
	p.mu.Lock()
	p.always = false
	p.mu.Unlock()
	wantOK(t, call(t, session, "pause", `{"reason":"tired"}`), "Paused.", `load_workflow(name="deploy", resume=true)`)
	wantOK(t, call(t, session, "deactivate", `{}`), "Deactivated.", "CANCELLED")
}

func TestCreateWorkflow(t *testing.T) {
	t.Parallel()
	p := newPlane()
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	wantOK(t, call(t, session, "create_workflow", `{"definition":{"id":"x","n":9007199254740993,"b":1,"a":2}}`),
		"Registered x version 1", `load_workflow(name="x")`, "Warning: /states/a: DEAD_END")
	wantRefused(t, call(t, session, "create_workflow", `{"definition":{"states":{}}}`), "INVALID_DEFINITION", "/id: REQUIRED: add an id")
	// The definition reaches the engine as it was written.
	result := call(t, session, "create_workflow", `{"definition":{"id":"x","n":9007199254740993,"b":1,"a":2}}`)
	if got := result.StructuredContent.(map[string]any)["digest"]; got != `{"id":"x","n":9007199254740993,"b":1,"a":2}` {
		t.Errorf("the engine got %s", got)
	}
}

func TestToolPrefix(t *testing.T) {
	t.Parallel()
	p := newPlane()
	session := overStdio(t, server(t, p, func(c *Config) { c.ToolPrefix = "statewright_" }), "2025-06-18", nil)
	wantOK(t, call(t, session, "statewright_get_state", `{}`), "statewright_load_workflow(name=...)")
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_state"}); err == nil {
		t.Error("the name without its prefix was accepted")
	}
	for _, tool := range toolNames(t, session) {
		if !strings.HasPrefix(tool, "statewright_") {
			t.Errorf("%s is listed without the prefix", tool)
		}
	}
}

// TestArguments: the SDK does not check arguments of tools with a schema of their own, so
// each wrong argument is refused here by its name.
func TestArguments(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	for _, row := range []struct{ tool, Values, want string }{
		{"transition", `{}`, `needs the argument "event" (string)`},
		{"transition", `{"event":1}`, `the argument "event" must be a string, not a number`},
		{"transition", `{"event":""}`, `the argument "event" must not be empty`},
		{"transition", `{"event":null}`, `"event" must be a string, not null`},
		{"transition", `{"Event":"FAIL"}`, `has no argument "Event"; it takes event, data, rationale`},
		{"transition", `{"event":"FAIL","force":true}`, `has no argument "force"`},
		{"transition", `{"event":"FAIL","data":"x"}`, `"data" must be an object, not a string`},
		{"transition", `{"event":"FAIL","data":[1]}`, `"data" must be an object, not an array`},
		{"transition", `{"event":"FAIL","data":null}`, `"data" must be an object, not null; leave it out instead`},
		{"transition", `{"event":"FAIL","rationale":{}}`, `"rationale" must be a string, not an object`},
		{"transition", `{"event":"FAIL","event":"DEPLOY"}`, `DUPLICATE_KEY`},
		{"transition", `{"event":"FAIL","data":{"a":1,"a":2}}`, `DUPLICATE_KEY`},
		{"transition", `{"event":"FAIL","data":{"rationale":"x"},"rationale":"y"}`, `differ; give the rationale once`},
		{"transition", `{"event":"` + strings.Repeat("x", 257) + `"}`, `"event" is longer than 256 bytes`},
		{"transition", `{"event":"FAIL","data":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, `TOO_DEEP`},
		{"transition", `["FAIL"]`, `must be an object, not an array`},
		{"load_workflow", `{"name":"deploy","version":"3"}`, `"version" must be an integer, not a string`},
		{"load_workflow", `{"name":"deploy","version":0}`, `"version" must be a whole number of at least 1`},
		{"load_workflow", `{"name":"deploy","version":1.5}`, `"version" must be a whole number of at least 1`},
		{"load_workflow", `{"name":"deploy","version":1e30}`, `"version" must be a whole number of at least 1`},
		{"load_workflow", `{"name":"deploy","resume":"yes"}`, `"resume" must be a boolean, not a string`},
		{"create_workflow", `{"definition":"{}"}`, `"definition" must be an object, not a string`},
		{"get_state", `{"run":"run_1"}`, `get_state has no argument "run"; it takes none`},
		{"list_workflows", `{"name":"x"}`, `has no argument "name"`},
	} {
		wantRefused(t, call(t, session, row.tool, row.Values), "INVALID_ARGUMENT", row.want)
	}
	if run := p.runs["run_1"]; run.GetVersion() != 1 {
		t.Error("a call with wrong arguments changed the run")
	}
}

// TestSchemasMatchChecks: arguments are checked as their schemas describe them.
func TestSchemasMatchChecks(t *testing.T) {
	t.Parallel()
	session := overStdio(t, server(t, newPlane(), nil), "2025-11-25", nil)
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, tool := range list.Tools {
		found[tool.Name] = true
		schema := tool.InputSchema.(map[string]any)
		if schema["type"] != "object" || schema["additionalProperties"] != false || tool.Description == "" {
			t.Errorf("%s: %v", tool.Name, schema)
		}
	}
	for _, want := range []string{"transition", "get_state", "list_workflows", "load_workflow", "create_workflow", "get_status", "deactivate", "pause"} {
		if !found[want] {
			t.Errorf("%s is not listed", want)
		}
	}
}

func TestRunBinding(t *testing.T) {
	t.Parallel()
	p := newPlane()
	run := p.start("other")
	s := server(t, p, func(c *Config) { c.Stdio.Binding = caller.Binding{RunID: run.GetRunId(), SessionID: "ignored"} })
	session := overStdio(t, s, "2025-11-25", nil)
	wantOK(t, call(t, session, "get_state", `{}`), "run_1")
	wantRefused(t, call(t, session, "load_workflow", `{"name":"deploy"}`), "NOT_BOUND", "bound to the run run_1")
	wantOK(t, call(t, session, "transition", `{"event":"FAIL"}`), "Phase: failed. Tools: any.", "It has ended")
}

// TestHeldRun: the text explains an operator's pause.
func TestHeldRun(t *testing.T) {
	t.Parallel()
	text := brief.State(&enginev1.Run{Status: enginev1.RunStatus_RUN_STATUS_HELD, State: "a"}, "")
	if !strings.Contains(text, "An operator holds it") {
		t.Error(text)
	}
}

// TestPanic: a handler that panics allows no call, and the edge continues.
func TestPanic(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	fs := upstreamtest.NewBackend(t, "read_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	session := overStdio(t, s, "2025-11-25", nil)
	p.mu.Lock()
	p.onGet = func(*enginev1.Run) { panic("boom") }
	p.mu.Unlock()
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_state"}); err == nil || strings.Contains(err.Error(), "boom") {
		t.Errorf("err = %v", err)
	}
	p.mu.Lock()
	p.onGet = nil
	p.mu.Unlock()
	wantOK(t, call(t, session, "get_state", `{}`), "Phase: testing")
}
