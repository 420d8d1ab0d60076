package mcp

import (
	"context"
	"fmt"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// asking makes the plane's gate ask people about every call, as policies do (S7.6):
// a granted call passes once, a rejected one is denied.
func (p *plane) asking(waitSeconds int64) {
	p.change("run_1", func(r *enginev1.Run) { r.WorkflowMeta.ApprovalWait = &durationpb.Duration{Seconds: waitSeconds} })
	asked := 0
	p.onCheck = func(_ context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		run := p.runs["run_1"]
		res := &policyv1.CheckToolCallResponse{CallId: in.GetCallId(), RunId: run.GetRunId(), RunVersion: run.GetVersion(), State: run.GetState()}
		id := fmt.Sprintf("apr_%d", asked)
		switch p.approvals[id].GetStatus() {
		case approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING:
			res.Code = policyv1.DecisionCode_DECISION_CODE_APPROVAL_PENDING
		case granted:
			p.approvals[id].Status = used
			res.Decision = policyv1.Decision_DECISION_ALLOW
			return res, nil
		case rejected:
			res.Decision, res.Code = policyv1.Decision_DECISION_DENY, policyv1.DecisionCode_DECISION_CODE_POLICY_DENIED
			res.Message = "a human was asked: " + p.approvals[id].GetOutcome()
			return res, nil
		default:
			asked++
			id = fmt.Sprintf("apr_%d", asked)
			p.asked(id, approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, run.GetRunId())
			res.Code = policyv1.DecisionCode_DECISION_CODE_APPROVAL_REQUIRED
		}
		res.Decision, res.ApprovalId, res.Message = policyv1.Decision_DECISION_ASK, id, "people are asked about this"
		return res, nil
	}
}

// askedCalls are the ids and inputs that the gate was asked about.
func (p *plane) askedCalls() (ids, inputs []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.checks {
		ids, inputs = append(ids, in.GetCallId()), append(inputs, string(in.GetInput()))
	}
	return ids, inputs
}

// TestAskedCall: without meta.approval.wait_seconds the agent gets a refusal at once, waits
// with wait_approval, and makes the call again.
func TestAskedCall(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	p.asking(0)
	fs := upstreamtest.NewBackend(t, "write_file")
	s := server(t, p, func(c *Config) { c.Upstreams, c.PublicURL = []upstream.Server{fs.As("fs")}, "https://gate.example" })
	session := overStdio(t, s, "2025-11-25", nil)
	for _, code := range []string{"APPROVAL_REQUIRED", "APPROVAL_PENDING"} {
		refused := call(t, session, "mcp__fs__write_file", `{"path":"a"}`)
		wantRefused(t, refused, code, "Not yet ("+code+"): people are asked about this", "Approval apr_1 is pending.",
			"A person with the role approver decides it", "at https://gate.example/ui/approvals/apr_1;", `wait_approval(approval_id="apr_1")`, "it is allowed once")
		if id := refused.StructuredContent.(map[string]any)["approval_id"]; id != "apr_1" {
			t.Errorf("approval_id: %v", id)
		}
	}
	answer := later(t, session, "wait_approval", `{"approval_id":"apr_1"}`)
	eventually(t, "it waits", func() bool { return p.waited() == 1 })
	p.decide("apr_1", granted, "approval apr_1 was granted")
	wantOK(t, <-answer, "Make exactly the same call again now")
	wantOK(t, call(t, session, "mcp__fs__write_file", `{"path":"a"}`), `write_file {"path":"a"}`)
	wantRefused(t, call(t, session, "mcp__fs__write_file", `{"path":"a"}`), "APPROVAL_REQUIRED", "apr_2")
	if n := len(fs.Called()); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
}

// TestAskedCallWaits: with meta.approval.wait_seconds the proxy waits, and puts the
// same call before the gate again. It calls the tool after an ALLOW only (S7.6).
func TestAskedCallWaits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status approvalv1.ApprovalStatus
		code   string // empty: allowed
		want   string
		checks int
	}{
		{"granted", granted, "", `write_file {"path":"a"}`, 2},
		{"rejected", rejected, "POLICY_DENIED", "a human was asked: approval apr_1 is so", 2},
		{"expired", expired, "APPROVAL_REQUIRED", "(APPROVAL_REQUIRED): Approval apr_1 is so.\n", 1},
		{"cancelled", cancelled, "APPROVAL_REQUIRED", "The tool was not called. To ask again, make the call again.", 1},
		{"used by another", used, "APPROVAL_REQUIRED", "To ask again", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.start("s1")
			p.asking(600)
			fs := upstreamtest.NewBackend(t, "write_file")
			session := overStdio(t, server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} }), "2025-11-25", nil)
			answer := later(t, session, "mcp__fs__write_file", `{"path":"a"}`)
			eventually(t, "it waits", func() bool { return p.waited() == 1 })
			if len(fs.Called()) != 0 {
				t.Error("the tool was called before anybody has decided")
			}
			p.decide("apr_1", row.status, "approval apr_1 is so")
			if result := <-answer; row.code == "" {
				wantOK(t, result, row.want)
			} else {
				wantRefused(t, result, row.code, row.want)
			}
			if called := len(fs.Called()); (row.code == "") != (called == 1) || called > 1 {
				t.Errorf("the tool was called %d times", called)
			}
			ids, inputs := p.askedCalls()
			if len(ids) != row.checks || len(slices.Compact(ids)) != 1 || len(slices.Compact(inputs)) != 1 {
				t.Errorf("asked for %v with %v", ids, inputs)
			}
			if row.code == "" {
				if last := p.lastReport(); last == nil || last.GetCallId() != ids[0] || !last.GetOk() {
					t.Errorf("report %v", last)
				}
			}
		})
	}
}

// TestAskedCallPends: the call is not made when the time is up without a decision, the
// approval service is away, or the run has moved on in the meantime.
func TestAskedCallPends(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*plane, *Config)
		want   string
	}{
		"nobody decides":      {func(*plane, *Config) {}, "Approval apr_1 is pending."},
		"no approval service": {func(_ *plane, c *Config) { c.Approvals = nil }, "Approval apr_1 is pending."},
		"not this agent's":    {func(_ *plane, c *Config) { c.Approvals = failingApprovals{} }, "Approval apr_1 is pending."},
	} {
		p := newPlane()
		p.start("s1")
		p.asking(1)
		fs := upstreamtest.NewBackend(t, "write_file")
		s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")}; row.change(p, c) })
		wantRefused(t, call(t, overStdio(t, s, "2026-07-28", nil), "mcp__fs__write_file", `{}`), "APPROVAL_REQUIRED", row.want)
		if len(fs.Called()) != 0 {
			t.Errorf("%s: the tool was called", name)
		}
	}
	// The run is elsewhere when it is granted: the gate sees that.
	p := newPlane()
	p.start("s1")
	p.asking(600)
	fs := upstreamtest.NewBackend(t, "write_file")
	session := overStdio(t, server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} }), "2025-11-25", nil)
	answer := later(t, session, "mcp__fs__write_file", `{}`)
	eventually(t, "it waits", func() bool { return p.waited() == 1 })
	p.mu.Lock()
	p.onCheck = nil
	p.mu.Unlock()
	p.decide("apr_1", granted, "approval apr_1 was granted")
	wantRefused(t, <-answer, "TOOL_NOT_ALLOWED")
	// A client that goes away takes its call with it.
	p = newPlane()
	p.start("s1")
	p.asking(600)
	session = overStdio(t, server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} }), "2025-11-25", nil)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "mcp__fs__write_file"})
		gone <- err
	}()
	eventually(t, "it waits", func() bool { return p.waited() == 1 })
	cancel()
	if err := <-gone; err == nil {
		t.Error("an answer to nobody")
	}
	eventually(t, "the wait ends", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.waiters[0].ctx.Err() != nil
	})
	p.decide("apr_1", granted, "approval apr_1 was granted")
	if ids, _ := p.askedCalls(); len(ids) != 1 || len(fs.Called()) != 0 {
		t.Errorf("asked for %v, called %v", ids, fs.Called())
	}
}

type failingApprovals struct {
	approvalv1.ApprovalServiceClient
}

func (failingApprovals) WatchApproval(context.Context, *approvalv1.WatchApprovalRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[approvalv1.WatchApprovalResponse], error) {
	return nil, fault.New(fault.NotFound, "no approval").GRPCStatus().Err()
}

// TestAskedCallShowsLink: a user of the stateless protocol is led to the approval of
// a call, too; the call comes again with the client's answer and waits then.
func TestAskedCallShowsLink(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	p.asking(600)
	fs := upstreamtest.NewBackend(t, "write_file")
	s := server(t, p, func(c *Config) { c.Upstreams, c.PublicURL = []upstream.Server{fs.As("fs")}, "https://gate.example" })
	shown := make(chan string, 10)
	session := overHTTP(t, endpoint(t, s)+"?session=s1", "2026-07-28", &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			shown <- req.Params.URL
			return &sdk.ElicitResult{Action: "accept"}, nil
		},
	}, nil)
	answer := later(t, session, "mcp__fs__write_file", `{"path":"a"}`)
	if url := <-shown; url != "https://gate.example/ui/approvals/apr_1" {
		t.Errorf("shown %s", url)
	}
	eventually(t, "it waits", func() bool { return p.waited() == 1 })
	if len(fs.Called()) != 0 {
		t.Error("the client's answer was taken for an approval")
	}
	p.decide("apr_1", granted, "approval apr_1 was granted")
	wantOK(t, <-answer, "write_file")
	if n := len(fs.Called()); n != 1 || len(shown) != 0 {
		t.Errorf("called %d times, shown %d times more", n, len(shown))
	}
}
