package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// TestProxy: the gate decides, the upstream runs allowed calls only, and each allowed call
// is reported with the ID of its decision.
func TestProxy(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			fs := upstreamtest.NewBackend(t, "read_file", "write_file")
			s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
			session := overHTTP(t, endpoint(t, s)+"?session=s1", version, nil, nil)

			wantRefused(t, call(t, session, "mcp__fs__read_file", `{"path":"a"}`), "NO_WORKFLOW", "load_workflow")
			wantOK(t, call(t, session, "load_workflow", `{"name":"deploy"}`))
			wantOK(t, call(t, session, "mcp__fs__read_file", `{"path":"a","n":9007199254740993}`), `read_file {"path":"a","n":9007199254740993}`)
			denied := call(t, session, "mcp__fs__write_file", `{"path":"b"}`)
			wantRefused(t, denied, "TOOL_NOT_ALLOWED", "mcp__fs__write_file is not allowed in testing",
				"Phase: testing. Tools: Read, mcp__fs__read_file.", "Transitions: DEPLOY -> deploying [guards: tests_passed]")
			wantOK(t, call(t, session, "transition", `{"event":"TESTED","data":{"test_result":"pass"}}`))
			wantOK(t, call(t, session, "transition", `{"event":"DEPLOY"}`))
			wantOK(t, call(t, session, "mcp__fs__write_file", `{"path":"b"}`), "write_file {")

			if got := fs.Called(); !slices.Equal(got, []string{"read_file", "write_file"}) {
				t.Errorf("the upstream ran %v", got)
			}
			last := p.lastReport()
			if !last.GetOk() || last.GetTool() != "mcp__fs__write_file" || last.GetRunId() != "run_1" ||
				last.GetResultBytes() != int64(len(`write_file {"path":"b"}`)) ||
				string(last.GetOutput()) != `write_file {"path":"b"}` {
				t.Errorf("report: %v", last)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if check := p.checks[len(p.checks)-1]; check.GetCallId() == "" || check.GetCallId() != last.GetCallId() {
				t.Errorf("checked as %q, reported as %q", check.GetCallId(), last.GetCallId())
			}
			if len(p.reports) != 2 {
				t.Errorf("%d reports of 2 allowed calls", len(p.reports))
			}
		})
	}
}

// TestFailClosed: the upstream is not called after any failure of a decision.
func TestFailClosed(t *testing.T) {
	t.Parallel()
	allow := func(in *policyv1.CheckToolCallRequest) *policyv1.CheckToolCallResponse {
		return &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, CallId: in.GetCallId(), RunId: "run_1", RunVersion: 1}
	}
	type check = func(context.Context, *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error)
	fails := func(err error) check {
		return func(context.Context, *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			return nil, err
		}
	}
	answers := func(change func(*policyv1.CheckToolCallResponse)) check {
		return func(_ context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			res := allow(in)
			change(res)
			return res, nil
		}
	}
	for _, row := range []struct {
		name  string
		check check
		code  string
		text  string
	}{
		{"unavailable", fails(status.Error(codes.Unavailable, "dial tcp 10.0.0.1: refused")), "POLICY_UNAVAILABLE", "no decision could be made"},
		{"internal", fails(status.Error(codes.Internal, "secret stack")), "POLICY_UNAVAILABLE", "no decision could be made"},
		{"unknown", fails(errors.New("what is this")), "POLICY_UNAVAILABLE", "The tool was not called"},
		{"unimplemented", fails(status.Error(codes.Unimplemented, "unknown service")), "POLICY_UNAVAILABLE", ""},
		{"aborted", fails(status.Error(codes.Aborted, "conflict")), "POLICY_UNAVAILABLE", ""},
		{"exhausted", fails(status.Error(codes.ResourceExhausted, "too many")), "", ""},
		{"unauthenticated", fails(status.Error(codes.Unauthenticated, "bad token")), "UNAUTHENTICATED", "Set a valid token"},
		{"forbidden", fails(status.Error(codes.PermissionDenied, "not yours")), "PERMISSION_DENIED", ""},
		{"no such run", fails(status.Error(codes.NotFound, "no run")), "NO_WORKFLOW", "load_workflow"},
		{"invalid", fails(status.Error(codes.InvalidArgument, "input is not JSON")), "INVALID_INPUT", ""},
		{"nil answer", func(context.Context, *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			return nil, nil
		}, "POLICY_UNAVAILABLE", ""},
		{"too late", func(ctx context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		}, "POLICY_UNAVAILABLE", "no decision could be made"},
		{"unspecified", answers(func(r *policyv1.CheckToolCallResponse) { r.Decision = 0 }), "POLICY_UNAVAILABLE", "an unknown decision"},
		{"a decision of the future", answers(func(r *policyv1.CheckToolCallResponse) { r.Decision = 99 }), "POLICY_UNAVAILABLE", ""},
		{"negative", answers(func(r *policyv1.CheckToolCallResponse) { r.Decision = -1 }), "POLICY_UNAVAILABLE", ""},
		{"a code of the future", answers(func(r *policyv1.CheckToolCallResponse) {
			r.Decision, r.Code = policyv1.Decision_DECISION_DENY, 99
		}), "99", ""},
		{"ask", answers(func(r *policyv1.CheckToolCallResponse) {
			r.Decision, r.Code, r.ApprovalId = policyv1.Decision_DECISION_ASK, policyv1.DecisionCode_DECISION_CODE_APPROVAL_REQUIRED, "apr_7"
		}), "APPROVAL_REQUIRED", "Approval apr_7 is pending"},
		{"another call", answers(func(r *policyv1.CheckToolCallResponse) { r.CallId = "call_other" }), "POLICY_UNAVAILABLE", "returned a decision for another call"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.start("s1")
			p.onCheck = row.check
			fs := upstreamtest.NewBackend(t, "read_file")
			var told atomic.Int32
			s := server(t, p, func(c *Config) {
				c.Undecided = func(error) { told.Add(1) }
				c.Upstreams, c.CheckTimeout = []upstream.Server{fs.As("fs")}, 50*time.Millisecond
				if row.name != "too late" {
					c.CheckTimeout = patience
				}
			})
			session := overStdio(t, s, "2025-11-25", nil)
			result := call(t, session, "mcp__fs__read_file", `{"path":"a"}`)
			if !result.IsError || row.code != "" && codeOf(result) != row.code {
				t.Errorf("isError %v, code %q, want %q: %s", result.IsError, codeOf(result), row.code, textOf(result))
			}
			wantText(t, result, row.text)
			if strings.Contains(textOf(result), "no decision could be made") && told.Load() != 1 {
				t.Errorf("metrics are told of %d denials without a decision", told.Load())
			}
			for _, inside := range []string{"10.0.0.1", "secret stack", "what is this"} {
				if strings.Contains(textOf(result), inside) {
					t.Errorf("an internal error is shown: %s", textOf(result))
				}
			}
			if got := fs.Called(); len(got) != 0 {
				t.Errorf("the upstream was called: %v", got)
			}
			if _, reports := p.counts(); reports != 0 {
				t.Error("a call that was not made was reported")
			}
		})
	}
	t.Run("another run", func(t *testing.T) {
		t.Parallel()
		p := newPlane()
		p.start("s1")
		p.onCheck = answers(func(r *policyv1.CheckToolCallResponse) { r.RunId = "run_9" })
		fs := upstreamtest.NewBackend(t, "read_file")
		s := server(t, p, func(c *Config) {
			c.Upstreams, c.Stdio.Binding = []upstream.Server{fs.As("fs")}, caller.Binding{RunID: "run_1"}
		})
		wantRefused(t, call(t, overStdio(t, s, "2025-11-25", nil), "mcp__fs__read_file", `{}`), "POLICY_UNAVAILABLE")
		if len(fs.Called()) != 0 {
			t.Error("the upstream was called")
		}
	})
}

func TestUnbound(t *testing.T) {
	t.Parallel()
	fs := upstreamtest.NewBackend(t, "read_file")
	for _, allow := range []bool{false, true} {
		p := newPlane()
		s := server(t, p, func(c *Config) { c.Upstreams, c.AllowUnbound = []upstream.Server{fs.As("fs")}, allow })
		url := endpoint(t, s)
		for _, suffix := range []string{"", "?session=nobody"} {
			session := overHTTP(t, url+suffix, "2026-07-28", nil, nil)
			result := call(t, session, "mcp__fs__read_file", `{}`)
			if result.IsError == allow {
				t.Errorf("AllowUnbound %v, %q: isError %v: %s", allow, suffix, result.IsError, textOf(result))
			}
			wantOK(t, call(t, session, "get_state", `{}`))
		}
		// A run that is named and does not exist is never let through.
		session := overHTTP(t, url+"?run=run_404", "2026-07-28", nil, nil)
		if result := call(t, session, "mcp__fs__read_file", `{}`); !result.IsError {
			t.Errorf("AllowUnbound %v: a call on an unknown run went through", allow)
		}
		if _, reports := p.counts(); reports != 0 {
			t.Error("an unchecked call was reported")
		}
	}
}

// TestInput: input that could mean one thing to the gate and another to the tool reaches
// neither.
func TestInput(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	fs := upstreamtest.NewBackend(t, "read_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	session := overStdio(t, s, "2025-11-25", nil)
	for _, row := range []struct{ Values, want string }{
		{`{"path":"a","path":"b"}`, "DUPLICATE_KEY"},
		{`{"path":"a","p\u0061th":"b"}`, "DUPLICATE_KEY"},
		{`["a"]`, "must be an object, not an array"},
		{`"a"`, "must be an object, not a string"},
		{`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "TOO_DEEP"},
	} {
		wantRefused(t, call(t, session, "mcp__fs__read_file", row.Values), "INVALID_INPUT", row.want)
	}
	if checks, _ := p.counts(); checks != 0 || len(fs.Called()) != 0 {
		t.Errorf("%d checks, %v calls", checks, fs.Called())
	}
	wantOK(t, call(t, session, "mcp__fs__read_file", `null`), "read_file {}")
}

func TestOversizeResult(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	fs := upstreamtest.NewBackend(t)
	fs.Add("read_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 5000)}}}, nil
	})
	s := server(t, p, func(c *Config) { c.Upstreams, c.MaxResultBytes = []upstream.Server{fs.As("fs")}, 4096 })
	result := call(t, overStdio(t, s, "2025-11-25", nil), "mcp__fs__read_file", `{}`)
	wantRefused(t, result, "RESULT_TOO_LARGE", "returned 5000 bytes; the limit is 4096")
	if last := p.lastReport(); last.GetResultBytes() > 1000 {
		t.Errorf("%d bytes reported, which the agent never saw", last.GetResultBytes())
	}
}

// TestToolErrors: an upstream's failure is the agent's to see, and is reported.
func TestToolErrors(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	fs := upstreamtest.NewBackend(t)
	fs.Add("refuses", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, errors.New("disk on fire")
	})
	fs.Add("write_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such folder"}}}, nil
	})
	fs.Add("hangs", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	session := overStdio(t, s, "2025-11-25", nil)
	_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "refuses", Arguments: map[string]any{}})
	var protocol *jsonrpc.Error
	if !errors.As(err, &protocol) || protocol.Message != "disk on fire" {
		t.Errorf("%v", err)
	}
	if last := p.lastReport(); last.GetOk() {
		t.Errorf("report: %v", last)
	}
	wantRefused(t, call(t, session, "mcp__fs__write_file", `{"path":"a"}`), "", "no such folder")
	if last := p.lastReport(); last.GetOk() || len(last.GetFilesChanged()) != 0 {
		t.Errorf("report: %v", last)
	}
	hasty := overStdio(t, server(t, p, func(c *Config) {
		c.Upstreams, c.CallTimeout = []upstream.Server{fs.As("fs")}, 3*time.Second
	}), "2025-11-25", nil)
	wantRefused(t, call(t, hasty, "hangs", `{}`), "UPSTREAM_TIMEOUT", "its effect is not known")
	if _, reports := p.counts(); reports != 3 {
		t.Errorf("%d reports", reports)
	}
}

// TestOutputSchema: clients check structured content against a tool's output
// schema, so a refusal of such a tool carries its details elsewhere.
func TestOutputSchema(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	fs := upstreamtest.NewBackend(t)
	fs.AddTool(&sdk.Tool{
		Name: "stat", InputSchema: clients.EmptySchema, OutputSchema: json.RawMessage(`{"type":"object","required":["size"]}`),
	}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, errors.New("never")
	})
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	result := call(t, overStdio(t, s, "2025-11-25", nil), "mcp__fs__stat", `{}`)
	details, _ := result.Meta[reply.DecisionMeta].(map[string]any)
	if !result.IsError || result.StructuredContent != nil || details["code"] != "TOOL_NOT_ALLOWED" {
		t.Errorf("%+v", result)
	}
}

// TestProgressAndCancel: both go through the proxy.
func TestProgressAndCancel(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.states["testing"] = planeState{}
			p.start("s1")
			fs := upstreamtest.NewBackend(t)
			cancelled := make(chan struct{})
			fs.Add("slow", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
					ProgressToken: req.Params.GetProgressToken(), Message: "half way", Progress: 1, Total: 2,
				})
				<-ctx.Done()
				close(cancelled)
				return nil, ctx.Err()
			})
			s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
			heard := make(chan *sdk.ProgressNotificationParams, 1)
			session := overStdio(t, s, version, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) { heard <- req.Params },
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			params := &sdk.CallToolParams{Name: "slow", Arguments: json.RawMessage(`{}`)}
			params.SetProgressToken("mine")
			done := make(chan error, 1)
			go func() {
				_, err := session.CallTool(ctx, params)
				done <- err
			}()
			select {
			case progress := <-heard:
				if progress.ProgressToken != "mine" || progress.Message != "half way" || progress.Progress != 1 {
					t.Errorf("%+v", progress)
				}
			case <-time.After(patience):
				t.Fatal("no progress")
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("err = %v", err)
			}
			<-cancelled
			// The call was allowed, so its outcome is reported although the client has left.
			eventually(t, "the report", func() bool { last := p.lastReport(); return last != nil && !last.GetOk() })
		})
	}
}

// TestReportOutlivesClient: a client that goes away after the tool ran loses the
// answer, not the account.
func TestReportOutlivesClient(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	running, finish := make(chan struct{}), make(chan struct{})
	fs := upstreamtest.NewBackend(t)
	fs.Add("write_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(running)
		<-finish
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
	})
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	url := endpoint(t, s) + "?session=s1"
	_, _, header := post(t, url, initialize)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"mcp__fs__write_file","arguments":{"path":"x"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		mcpSessionHeader: {header.Get(mcpSessionHeader)},
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	<-running
	cancel()
	<-gone
	close(finish)
	select {
	case <-p.reported:
	case <-time.After(patience):
		t.Fatal("no report")
	}
	if last := p.lastReport(); !last.GetOk() {
		t.Errorf("report: %v", last)
	}
}

// TestReportRetried: a report that cannot be delivered is tried until it is.
func TestReportRetried(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	tries := 0
	p.onReport = func(context.Context, *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
		if tries++; tries < 4 {
			return nil, status.Error(codes.Unavailable, "later")
		}
		return nil, nil
	}
	fs := upstreamtest.NewBackend(t, "read_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	wantOK(t, call(t, overStdio(t, s, "2025-11-25", nil), "mcp__fs__read_file", `{}`))
	select {
	case <-p.reported:
	case <-time.After(patience):
		t.Fatal("no report")
	}
}

// TestConcurrentCalls: the limit holds, and each call has an id and a report of
// its own.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	fs := upstreamtest.NewBackend(t, "read_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	url := endpoint(t, s) + "?session=s1"
	sessions := []*sdk.ClientSession{
		overStdio(t, s, "2025-11-25", nil), overHTTP(t, url, "2026-07-28", nil, nil), overHTTP(t, url, "2025-06-18", nil, nil),
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	allowed := 0
	for i := range 60 {
		wg.Go(func() {
			result, err := sessions[i%len(sessions)].CallTool(t.Context(), &sdk.CallToolParams{
				Name: "mcp__fs__read_file", Arguments: json.RawMessage(fmt.Sprintf(`{"path":"%d"}`, i)),
			})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if !result.IsError {
				allowed++
				if !strings.Contains(textOf(result), fmt.Sprintf(`"%d"`, i)) {
					t.Errorf("call %d got another's answer: %s", i, textOf(result))
				}
			}
		})
	}
	wg.Wait()
	if allowed != 10 || len(fs.Called()) != 10 {
		t.Errorf("%d calls allowed, %d made, want 10", allowed, len(fs.Called()))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := map[string]bool{}
	for _, report := range p.reports {
		ids[report.GetCallId()] = true
	}
	if len(ids) != 10 {
		t.Errorf("%d reports with ids of their own, want 10", len(ids))
	}
}
