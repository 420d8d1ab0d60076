// Package rpc translates between the policy enforcer's contract and its use
// cases, and does nothing else.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// inFlight bounds how many messages of one stream are worked on at once: a
// client that sends faster waits for its answers.
const inFlight = 64

// maxCalls is how many calls one message of a stream may hold, by contract.
const maxCalls = 256

// maxBatch bounds the calls of one message, batchDeadline their time.
const (
	maxBatch      = 256
	batchDeadline = 30 * time.Second
)

// Enforcer serves PolicyEnforcerService.
type Enforcer struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
	App  *app.App
	Runs enginev1.RunServiceClient
	Log  *slog.Logger
}

func caller(ctx context.Context) app.Caller {
	principal, _ := auth.FromContext(ctx)
	return app.Caller{Namespace: rpc.Namespace(ctx), Principal: principal}
}

// CheckToolCall implements PolicyEnforcerService.
func (s *Enforcer) CheckToolCall(ctx context.Context, req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
	d, err := s.App.Check(ctx, caller(ctx), app.Check{
		Target: app.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId()},
		Tool:   req.GetTool(), Input: req.GetInput(), CallID: req.GetCallId(),
	})
	if err != nil {
		return nil, err
	}
	return decisionProto(d), nil
}

// ReportToolCall implements PolicyEnforcerService.
func (s *Enforcer) ReportToolCall(ctx context.Context, req *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
	reported, err := s.App.Report(ctx, caller(ctx), app.Report{
		Target: app.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId()},
		CallID: req.GetCallId(), Tool: req.GetTool(), OK: req.GetOk(), FilesChanged: req.GetFilesChanged(),
		ResultBytes: req.GetResultBytes(), CostUSD: req.GetCostUsd(),
	})
	if err != nil {
		return nil, err
	}
	run, err := s.Runs.Get(rpc.Forward(ctx), &enginev1.RunServiceGetRequest{RunId: reported.RunID})
	if err != nil {
		return nil, err
	}
	return &policyv1.ReportToolCallResponse{Run: run.GetRun(), Accounted: reported.Accounted}, nil
}

// CheckToolCalls implements PolicyEnforcerService. Messages are worked on
// concurrently, so a slow one does not hold up the others. When the server
// drains, what has been begun is answered and the client connects elsewhere.
func (s *Enforcer) CheckToolCalls(stream grpc.BidiStreamingServer[policyv1.CheckToolCallsRequest, policyv1.CheckToolCallsResponse]) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	c := &checks{enforcer: s, stream: stream, cancel: cancel, slots: make(chan struct{}, inFlight)}
	ended := make(chan error, 1)
	go func() { ended <- c.receive(ctx) }()
	select {
	case err := <-ended:
		c.settle()
		return errors.Join(err, context.Cause(ctx))
	case <-rpc.Draining(ctx):
		c.settle()
		return fault.New(fault.Unavailable, "this server is going away; connect again")
	}
}

// checks is one open stream of checks.
type checks struct {
	enforcer *Enforcer
	stream   grpc.BidiStreamingServer[policyv1.CheckToolCallsRequest, policyv1.CheckToolCallsResponse]
	cancel   context.CancelCauseFunc
	// slots are taken by messages that are worked on.
	slots   chan struct{}
	sending sync.Mutex
}

// receive begins work on every message until the client has sent its last one.
func (c *checks) receive(ctx context.Context) error {
	for {
		req, err := c.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		go func() {
			defer func() { <-c.slots }()
			c.answer(ctx, req)
		}()
	}
}

func (c *checks) answer(ctx context.Context, req *policyv1.CheckToolCallsRequest) {
	resp := c.enforcer.checkAll(ctx, req)
	c.sending.Lock()
	defer c.sending.Unlock()
	if err := c.stream.Send(resp); err != nil {
		c.cancel(err)
	}
}

// settle waits until everything that was begun is answered, and lets nothing
// begin any more: it takes all slots.
func (c *checks) settle() {
	for range inFlight {
		c.slots <- struct{}{}
	}
}

// checkAll decides every call of a message at once: they share store commits. A
// message without calls, or with too many, is answered with one error: a bad
// message does not end the stream for the good ones.
func (s *Enforcer) checkAll(ctx context.Context, req *policyv1.CheckToolCallsRequest) *policyv1.CheckToolCallsResponse {
	calls := req.GetCalls()
	resp := &policyv1.CheckToolCallsResponse{CorrelationId: req.GetCorrelationId()}
	if len(calls) == 0 || len(calls) > maxCalls {
		resp.Results = []*policyv1.CheckToolCallsResult{checkError(fault.New(fault.InvalidRequest,
			"a message holds 1 to %d calls, not %d", maxCalls, len(calls)))}
		return resp
	}
	resp.Results = make([]*policyv1.CheckToolCallsResult, len(calls))
	var group sync.WaitGroup
	for i := range calls[1:] {
		group.Go(func() { resp.Results[i+1] = s.checkOne(ctx, calls[i+1]) })
	}
	resp.Results[0] = s.checkOne(ctx, calls[0])
	group.Wait()
	return resp
}

// checkOne decides one call of a message. What is invalid, or panics, is an
// error of this call alone.
func (s *Enforcer) checkOne(ctx context.Context, req *policyv1.CheckToolCallRequest) (result *policyv1.CheckToolCallsResult) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.LogAttrs(ctx, slog.LevelError, "a check panicked",
				slog.String("value", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
			result = checkError(fault.New(fault.Internal, "panic"))
		}
	}()
	if err := rpc.Validate(req); err != nil {
		return checkError(fault.From(err))
	}
	decision, err := s.CheckToolCall(ctx, req)
	if err != nil {
		return checkError(fault.From(err))
	}
	return &policyv1.CheckToolCallsResult{Result: &policyv1.CheckToolCallsResult_Decision{Decision: decision}}
}

func checkError(f *fault.Error) *policyv1.CheckToolCallsResult {
	shown := f.GRPCStatus()
	return &policyv1.CheckToolCallsResult{Result: &policyv1.CheckToolCallsResult_Error{Error: &policyv1.CheckError{
		Status: int32(shown.Code()), Reason: string(f.Reason), Message: shown.Message(),
	}}}
}

func decisionProto(d *app.Decision) *policyv1.CheckToolCallResponse {
	resp := &policyv1.CheckToolCallResponse{
		Decision: policyv1.Decision(policyv1.Decision_value["DECISION_"+string(d.Verdict.Decision)]),
		Code:     policyv1.DecisionCode(policyv1.DecisionCode_value["DECISION_CODE_"+string(d.Verdict.Code)]),
		Message:  d.Message, CallId: d.CallID, Iterations: d.Iterations,
	}
	if d.Run == nil {
		return resp // nothing could be learnt of the run: a denial
	}
	state := d.Machine.State(d.Run.State)
	resp.RunId, resp.RunVersion, resp.State = d.Run.ID, d.Run.Version, d.Run.State
	resp.ToolsRestricted, resp.AllowedTools = state.ToolsRestricted, state.AllowedTools
	resp.MaxIterations = state.MaxIterations
	resp.LegalEvents = legalProto(d.Machine.LegalEvents(d.Run.State))
	return resp
}

func legalProto(events []workflow.LegalEvent) []*enginev1.LegalEvent {
	out := make([]*enginev1.LegalEvent, len(events))
	for i, e := range events {
		out[i] = &enginev1.LegalEvent{Event: e.Event, Targets: e.Targets, Guards: e.Guards, RequiresApproval: e.RequiresApproval}
	}
	return out
}
