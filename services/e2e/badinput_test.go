package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

const megabyte = 1 << 20

var (
	tooDeep  = strings.Repeat(`{"a":`, 80) + "1" + strings.Repeat("}", 80)
	tooLarge = `{"a":"` + strings.Repeat("x", megabyte) + `"}`
)

// TestBadInput sends requests that no good client sends, by every face. Each gets a clear
// error with its code, it has no effect, and the server continues.
func TestBadInput(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "bad"}
	c := w.as(t, auth.Operator)
	c.register(t, bugfix)
	run := c.start(t, "bugfix")
	for name, test := range map[string]func(*testing.T, *world, string){
		"grpc": badGRPC, "checks": badChecks, "raw grpc": rawGRPC, "rest": badREST, "mcp": badMCP, "hook": badHook,
	} {
		t.Run(name, func(t *testing.T) { test(t, w, run.GetRunId()) })
	}
	after := c.get(t, run.GetRunId())
	if after.GetVersion() != run.GetVersion() || after.GetUsage().GetIterations() != 0 || string(after.GetContext()) != string(run.GetContext()) {
		t.Errorf("bad input changed the run from %v to %v", run, after)
	}
	list := must[*enginev1.ListRunsResponse](t)(c.runs.ListRuns(within(t), &enginev1.ListRunsRequest{}))
	if len(list.GetRuns()) != 1 {
		t.Errorf("bad input started runs: %v", list.GetRuns())
	}
	c.move(t, run.GetRunId(), "READY")
	if log := u.process.log.String(); strings.Contains(log, "panic") {
		t.Error("something panicked")
	}
}

// badGRPC: one call per row, with the reason that it ends with and, when there is
// one, the code of the violation that says where.
func badGRPC(t *testing.T, w *world, id string) {
	c := w.as(t, auth.Operator)
	registering := func(definition string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.workflows.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: []byte(definition)})
			return err
		}
	}
	moving := func(event, data string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: id, Event: event, Data: []byte(data)})
			return err
		}
	}
	starting := func(req *enginev1.StartRunRequest) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.runs.StartRun(ctx, req)
			return err
		}
	}
	for _, row := range []struct {
		name      string
		call      func(context.Context) error
		reason    fault.Reason
		violation string
	}{
		{"no definition", registering(""), fault.InvalidRequest, "BYTES_MIN_LEN"},
		{"no JSON", registering("{"), fault.InvalidDefinition, "JSON_SYNTAX"},
		{"trailing data", registering(bugfix + "x"), fault.InvalidDefinition, "JSON_SYNTAX"},
		{"no UTF-8", registering("{\"id\":\"\xff\"}"), fault.InvalidDefinition, "UTF8"},
		{"a list", registering("[]"), fault.InvalidDefinition, "TYPE"},
		{"wrong types", registering(`{"id":1,"initial":"a","states":[]}`), fault.InvalidDefinition, "TYPE"},
		{"duplicate keys", registering(`{"id":"x","id":"y"}`), fault.InvalidDefinition, "DUPLICATE_KEY"},
		{"too deep", registering(tooDeep), fault.InvalidDefinition, "TOO_DEEP"},
		{"too large", registering(tooLarge), fault.TooLarge, "TOO_LARGE"},
		{"much too large", registering(strings.Repeat("x", 8*megabyte)), fault.TooLarge, ""},
		{"a typo", registering(strings.Replace(bugfix, "allowed_tools", "alowed_tools", 1)), fault.InvalidDefinition, "UNKNOWN_FIELD"},
		{"data is not valid JSON", moving("READY", "{"), fault.InvalidJSON, "JSON_SYNTAX"},
		{"data is a list", moving("READY", "[1]"), fault.InvalidRequest, "TYPE"},
		{"duplicate keys in data", moving("READY", `{"a":1,"a":2}`), fault.InvalidJSON, "DUPLICATE_KEY"},
		{"data too deep", moving("READY", tooDeep), fault.InvalidJSON, "TOO_DEEP"},
		{"data too large", moving("READY", tooLarge), fault.TooLarge, "TOO_LARGE"},
		{"no event", moving("", ""), fault.InvalidRequest, "STRING_MIN_LEN"},
		{"a long event", moving(strings.Repeat("E", 257), ""), fault.InvalidRequest, "STRING_MAX_LEN"},
		{"unknown workflow", starting(&enginev1.StartRunRequest{Workflow: "none"}), fault.NotFound, ""},
		{"unknown version", starting(&enginev1.StartRunRequest{Workflow: "bugfix", WorkflowVersion: 99}), fault.NotFound, ""},
		{"negative version", starting(&enginev1.StartRunRequest{Workflow: "bugfix", WorkflowVersion: -1}), fault.InvalidRequest, "INT64_GTE"},
		{"context is a string", starting(&enginev1.StartRunRequest{Workflow: "bugfix", Context: []byte(`"x"`)}), fault.InvalidRequest, "TYPE"},
		{"reserved context", starting(&enginev1.StartRunRequest{Workflow: "bugfix", Context: []byte(`{"_x":1}`)}), fault.InvalidRequest, ""},
		{"unknown run", func(ctx context.Context) error {
			_, err := c.runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: "run_none"})
			return err
		}, fault.NotFound, ""},
		{"unknown session", func(ctx context.Context) error {
			_, err := c.runs.GetRun(ctx, &enginev1.GetRunRequest{SessionId: "none"})
			return err
		}, fault.NotFound, ""},
		{"neither run nor session", func(ctx context.Context) error {
			_, err := c.runs.GetRun(ctx, &enginev1.GetRunRequest{})
			return err
		}, fault.InvalidRequest, ""},
		{"a run id with strange bytes", func(ctx context.Context) error {
			_, err := c.runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: "../*>.\x00\n{}"})
			return err
		}, fault.NotFound, ""},
		{"a page too large", func(ctx context.Context) error {
			_, err := c.runs.ListRuns(ctx, &enginev1.ListRunsRequest{PageSize: 1001})
			return err
		}, fault.InvalidRequest, "INT32_GTE_LTE"},
		{"a namespace with a dot", func(ctx context.Context) error {
			ctx = metadata.AppendToOutgoingContext(ctx, "interlock-namespace", "a.b")
			_, err := c.runs.ListRuns(ctx, &enginev1.ListRunsRequest{})
			return err
		}, fault.InvalidRequest, ""},
	} {
		err := row.call(within(t))
		f := fault.From(err)
		if err == nil || f.Reason != row.reason {
			t.Errorf("%s ends with %v, want %s", row.name, err, row.reason)
			continue
		}
		if row.violation != "" && (len(f.Violations) == 0 || f.Violations[0].Code != row.violation) {
			t.Errorf("%s is explained by %v, want %s", row.name, f.Violations, row.violation)
		}
		if f.Message == "" || len(f.Message) > 2000 {
			t.Errorf("%s has a message of %d bytes", row.name, len(f.Message))
		}
	}
}

// badChecks: a mistake in a tool's input denies the call; a mistake in
// with the request is an error. Never an ALLOW.
func badChecks(t *testing.T, w *world, id string) {
	c := w.as(t, auth.Agent)
	for name, input := range map[string]string{
		"no JSON": "{", "a list": "[]", "a number": "1", "null": "null", "no UTF-8": "{\"a\":\"\xff\"}",
		"duplicate keys": `{"a":1,"a":2}`, "too deep": tooDeep, "trailing data": "{}{}",
	} {
		d := must[*policyv1.CheckToolCallResponse](t)(c.policy.CheckToolCall(within(t),
			&policyv1.CheckToolCallRequest{RunId: id, Tool: "Read", Input: []byte(input)}))
		if d.GetDecision() != deny || codeOf(d) != "INVALID_INPUT" {
			t.Errorf("an input that is %s: %v %s", name, d.GetDecision(), codeOf(d))
		}
	}
	for name, row := range map[string]struct {
		req    *policyv1.CheckToolCallRequest
		reason fault.Reason
	}{
		"too large":   {&policyv1.CheckToolCallRequest{RunId: id, Tool: "Read", Input: []byte(tooLarge)}, fault.TooLarge},
		"no tool":     {&policyv1.CheckToolCallRequest{RunId: id}, fault.InvalidRequest},
		"a long tool": {&policyv1.CheckToolCallRequest{RunId: id, Tool: strings.Repeat("T", 513)}, fault.InvalidRequest},
		"no run":      {&policyv1.CheckToolCallRequest{Tool: "Read"}, fault.InvalidRequest},
		"unknown run": {&policyv1.CheckToolCallRequest{RunId: "run_none", Tool: "Read"}, fault.NotFound},
	} {
		d, err := c.policy.CheckToolCall(within(t), row.req)
		if err == nil || fault.ReasonOf(err) != row.reason {
			t.Errorf("%s ends with %v, %v, want %s", name, d, err, row.reason)
		}
	}
}

// rawBytes sends bytes as they are in place of messages.
type rawBytes struct{}

func (rawBytes) Name() string { return "proto" }

func (rawBytes) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawBytes) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

var _ encoding.CodecV2 = rawBytes{}

// rawGRPC sends bytes that are not messages, and calls methods that do not exist.
func rawGRPC(t *testing.T, w *world, _ string) {
	conn := w.dial(t, w.engines[0], w.tokens[auth.Operator])
	for _, row := range []struct {
		method, message string
		reason          fault.Reason
	}{
		{"/interlock.engine.v1.RunService/GetRun", "\xff\xff\xff", fault.InvalidRequest},
		{"/interlock.engine.v1.RunService/GetRun", "\x0a\x02\xff\xfe", fault.InvalidRequest}, // a run_id that is not UTF-8
		{"/interlock.engine.v1.RunService/WatchRun", "\xff\xff\xff", fault.InvalidRequest},
		{"/interlock.engine.v1.RunService/Nothing", "", fault.Unimplemented},
		{"/no.such.Service/Get", "", fault.Unimplemented},
		{"/", "", fault.Unimplemented},
	} {
		in, out := []byte(row.message), []byte(nil)
		err := conn.Invoke(within(t), row.method, &in, &out, grpc.ForceCodecV2(rawBytes{}))
		if err == nil || fault.ReasonOf(err) != row.reason {
			t.Errorf("%s with %q ends with %v, want %s", row.method, row.message, err, row.reason)
		}
	}
}

// badREST: one request per row, with its status and code. Every refusal is a
// problem document (RFC 9457).
func badREST(t *testing.T, w *world, id string) {
	run := "/v1/runs/" + id
	const form = "application/x-www-form-urlencoded"
	for _, row := range []struct {
		name, method, path, body, media string
		status                          int
		code                            string
	}{
		{"no JSON", "POST", "/v1/runs", "{", "", 400, "INVALID_JSON"},
		{"trailing data", "POST", "/v1/runs", `{"workflow":"bugfix"}{}`, "", 400, "INVALID_JSON"},
		{"duplicate keys", "POST", "/v1/runs", `{"workflow":"bugfix","workflow":"x"}`, "", 400, "INVALID_JSON"},
		{"keys of another case", "POST", "/v1/runs", `{"Workflow":"bugfix"}`, "", 400, "INVALID_REQUEST"},
		{"an unknown field", "POST", "/v1/runs", `{"workflow":"bugfix","versoin":1}`, "", 400, "INVALID_REQUEST"},
		{"wrong types", "POST", "/v1/runs", `{"workflow":1}`, "", 400, "INVALID_REQUEST"},
		{"a fraction", "POST", "/v1/runs", `{"workflow":"bugfix","version":1.5}`, "", 400, "INVALID_REQUEST"},
		{"a context that is not an object", "POST", "/v1/runs", `{"workflow":"bugfix","context":[]}`, "", 400, "INVALID_REQUEST"},
		{"nothing", "POST", "/v1/runs", `{}`, "", 400, "INVALID_REQUEST"},
		{"an unknown workflow", "POST", "/v1/runs", `{"workflow":"none"}`, "", 404, "NOT_FOUND"},
		{"a form", "POST", "/v1/runs", `workflow=bugfix`, form, 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"too large", "POST", "/v1/workflows", tooLarge, "", 413, "TOO_LARGE"},
		{"too deep", "POST", run + "/transition", `{"event":"READY","data":` + tooDeep + `}`, "", 400, "INVALID_JSON"},
		{"a definition too deep", "POST", "/v1/workflows", tooDeep, "", 400, "INVALID_JSON"},
		{"a definition that is none", "POST", "/v1/workflows", `{"id":"x"}`, "", 422, "INVALID_DEFINITION"},
		{"an unknown run", "GET", "/v1/runs/run_none", "", "", 404, "NOT_FOUND"},
		{"a path of dots", "GET", "/v1/runs/../../etc/passwd", "", "", 404, "NOT_FOUND"},
		{"an unknown path", "GET", "/v2/runs", "", "", 404, "NOT_FOUND"},
		{"a wrong method", "DELETE", run, "", "", 405, "METHOD_NOT_ALLOWED"},
		{"an unknown parameter", "GET", "/v1/runs?stauts=RUNNING", "", "", 400, "INVALID_REQUEST"},
		{"an unknown status", "GET", "/v1/runs?status=running", "", "", 400, "INVALID_REQUEST"},
		{"a page too large", "GET", "/v1/runs?page_size=100000", "", "", 400, "INVALID_REQUEST"},
		{"no event", "POST", run + "/transition", `{}`, "", 400, "INVALID_REQUEST"},
		{"a stale version", "POST", run + "/transition", `{"event":"READY","expected_version":7}`, "", 409, "VERSION_CONFLICT"},
		{"a negative cost", "POST", run + "/report", `{"call_id":"c","tool":"Read","ok":true,"cost_usd":"-1"}`, "", 400, "INVALID_REQUEST"},
		{"no tool", "POST", run + "/check", `{}`, "", 400, "INVALID_REQUEST"},
	} {
		media := row.media
		if media == "" {
			media = "application/json"
		}
		got := w.sendAs(t, row.method, row.path, w.tokens[auth.Operator], row.body, media)
		if got.status != row.status || got.code() != row.code {
			t.Errorf("%s answers %v, want %d %s", row.name, got, row.status, row.code)
		}
		if media := got.header.Get("Content-Type"); media != "application/problem+json" || got.field("detail") == "" {
			t.Errorf("%s is no problem document but %s: %v", row.name, media, got)
		}
	}
	refusesForeignOrigins(t, w)
}

// refusesForeignOrigins: a web page must not drive a server on this machine.
func refusesForeignOrigins(t *testing.T, w *world) {
	t.Helper()
	for _, path := range []string{"/v1/runs", "/mcp"} {
		req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, w.http+path, strings.NewReader("{}")))
		req.Header.Set("Authorization", "Bearer "+w.tokens[auth.Operator])
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", "https://evil.example")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		resp := must[*http.Response](t)(http.DefaultClient.Do(req))
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s answers a foreign origin with %s", path, resp.Status)
		}
	}
}

// badMCP: bad JSON-RPC gets a JSON-RPC error or an HTTP error, bad arguments a
// result that says so.
func badMCP(t *testing.T, w *world, id string) {
	call := func(tool, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	}
	session := w.send(t, http.MethodPost, "/mcp?run="+id, w.tokens[auth.Agent], initialize).header.Get("Mcp-Session-Id")
	for _, row := range []struct {
		name, body string
		contains   string // anyone of these, with | between
	}{
		{"no JSON", `{`, `error|400`},
		{"an unknown method", `{"jsonrpc":"2.0","id":7,"method":"tools/none"}`, `error|400`},
		{"an unknown tool", call("no_such_tool", "{}"), `error`},
		{"no arguments", call("transition", "{}"), `isError":true`},
		{"wrong types", call("transition", `{"event":1}`), `isError":true`},
		{"an unknown argument", call("transition", `{"event":"READY","dat":{}}`), `isError":true`},
		{"duplicate keys", call("transition", `{"event":"READY","event":"DONE"}`), `isError":true|error|400`},
		{"too deep", call("transition", `{"event":"READY","data":`+tooDeep+`}`), `isError":true|error|400`},
		{"too large", call("transition", `{"event":"READY","data":{"a":"`+strings.Repeat("x", 2*megabyte)+`"}}`), `413`},
		{"arguments that are a list", call("transition", `["READY"]`), `isError":true|error|400`},
	} {
		got := w.mcp(t, session, "?run="+id, row.body)
		text := fmt.Sprint(got.status) + " " + got.body
		ok := false
		for _, want := range strings.Split(row.contains, "|") {
			ok = ok || strings.Contains(text, want)
		}
		if !ok {
			t.Errorf("%s answers %.400s, want %s", row.name, text, row.contains)
		}
	}
	if got := w.mcp(t, "no-such-session", "", call("get_state", "{}")); got.status != http.StatusNotFound {
		t.Errorf("a session of nobody answers %v", got)
	}
	if got := w.mcp(t, session, "?run="+id, call("get_state", "{}")); !strings.Contains(got.body, "planning") {
		t.Errorf("after all this get_state answers %v", got)
	}
}

// mcp sends one JSON-RPC message in a session of an older protocol.
func (w *world) mcp(t testing.TB, session, query, body string) reply {
	t.Helper()
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, w.http+"/mcp"+query, strings.NewReader(body)))
	for name, value := range map[string]string{
		"Authorization": "Bearer " + w.tokens[auth.Agent], "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Session-Id": session,
		"Mcp-Protocol-Version": "2025-06-18", "X-Interlock-Namespace": w.namespace,
	} {
		req.Header.Set(name, value)
	}
	return w.roundTrip(t, req)
}

// badHook: a hook that cannot be understood blocks, and so does bad input of a
// tool in a session that drives a run.
func badHook(t *testing.T, w *world, _ string) {
	gated := &world{shape: w.shape, namespace: "bad-hook"}
	agent := gated.as(t, auth.Agent)
	agent.register(t, bugfix)
	agent.begin(t, &enginev1.StartRunRequest{Workflow: "bugfix", SessionId: "s"})
	for name, body := range map[string]string{
		"nothing": " ", "no JSON": "{", "a list": "[]", "no event": "{}", "an unknown event": `{"hook_event_name":"Sneak","session_id":"s","tool_name":"Edit"}`,
		"no session": `{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{}}`,
		"no tool":    `{"hook_event_name":"PreToolUse","session_id":"s"}`,
		"too deep":   `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Read","tool_input":` + tooDeep + `}`,
	} {
		got := gated.send(t, http.MethodPost, "/v1/hook", gated.tokens[auth.Agent], body)
		if got.status == http.StatusOK && allowsHook(got.body) {
			t.Errorf("a hook event that is %s answers %v", name, got)
		}
	}
}
