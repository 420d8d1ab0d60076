// Package rpc translates between the policy enforcer's contract and its use cases.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// inFlight is the number of places that the messages of one stream have: a client that sends faster waits for its
// answers. A message takes one place, and one more for each further callsPerPlace calls in it.
const (
	inFlight      = 64
	callsPerPlace = 16
)

// maxBusy bounds how many calls of all streams are worked on at once: each costs
// memory, and more of them are not decided any sooner.
const maxBusy = 8192

// maxBatch bounds the calls of one message, batchDeadline their time.
const (
	maxBatch      = 256
	batchDeadline = 30 * time.Second
)

// Enforcer serves PolicyEnforcerService.
type Enforcer struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
	checks   *check.Service
	outcomes *outcome.Service
	runs     enginev1.RunServiceClient
	legal    protomap.LegalEvents
	busy     chan struct{}
	pool     *pool
	// refused announces a caller that a gateway has refused.
	refused func(context.Context, *policyv1.ReportRefusalRequest) error
}

// NewEnforcer returns the service. runs is the engine's, and refused announces a caller that a gateway
// has refused.
func NewEnforcer(checks *check.Service, outcomes *outcome.Service, runs enginev1.RunServiceClient, refused func(context.Context, *policyv1.ReportRefusalRequest) error) *Enforcer {
	return &Enforcer{
		checks: checks, outcomes: outcomes, runs: runs, legal: protomap.NewLegalEvents(), busy: make(chan struct{}, maxBusy), pool: newPool(), refused: refused,
	}
}

// End ends the idle goroutines. Calls under way continue.
func (s *Enforcer) End() { s.pool.end() }

func caller(ctx context.Context) enforcer.Caller {
	principal, _ := auth.FromContext(ctx)
	return enforcer.Caller{Namespace: rpc.Namespace(ctx), Principal: principal, Vouched: auth.Vouched(ctx), Via: rpc.Via(ctx)}
}

// callerFor returns the caller with the person whose token it has sent along.
func callerFor(ctx context.Context) (enforcer.Caller, error) {
	c := caller(ctx)
	var err error
	c.For, err = rpc.OnBehalfOf(ctx)
	return c, err
}

// CheckToolCall implements PolicyEnforcerService.
func (s *Enforcer) CheckToolCall(ctx context.Context, req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
	cost, err := check.ParseCost(req.GetEstimatedCostUsd())
	if err != nil {
		return nil, err
	}
	who, err := callerFor(ctx)
	if err != nil {
		return nil, err
	}
	if who.Named, err = namedBy(who.Principal, req.GetHuman()); err != nil {
		return nil, err
	}
	if who, err = tried(who, req); err != nil {
		return nil, err
	}
	d, err := s.checks.Check(ctx, who, check.Request{
		Target: enforcer.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId(), Branch: req.GetBranch()},
		Tool:   req.GetTool(), Input: req.GetInput(), CallID: req.GetCallId(), EstimatedCost: cost, Qualified: req.GetQualifiedTool(),
		DryRun: req.GetDryRun(), Explain: req.GetExplain(), Folder: req.GetFolder(), IfRun: req.GetIfRun().GetRunId(), IfVersion: req.GetIfRun().GetVersion(),
		DeniedBecause: req.GetDeniedBecause(), Observe: req.GetObserve(), Jail: jail.Level(req.GetJailLevel()), Real: realNames(req.GetRealNames()),
	})
	if err != nil {
		return nil, err
	}
	resp := s.decisionProto(d)
	resp.Explanation = explanationProto(d.Explanation)
	return resp, nil
}

// realNames returns the real names of files by their clean ones; nil for none.
func realNames(list []*policyv1.RealName) map[string]string {
	if len(list) == 0 {
		return nil
	}
	all := make(map[string]string, len(list))
	for _, one := range list {
		all[one.GetName()] = one.GetReal()
	}
	return all
}

// ReportToolCall implements PolicyEnforcerService.
func (s *Enforcer) ReportToolCall(ctx context.Context, req *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
	reported, err := s.outcomes.Report(ctx, caller(ctx), outcome.Report{
		Target: enforcer.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId(), Branch: req.GetBranch()},
		CallID: req.GetCallId(), Tool: req.GetTool(), OK: req.GetOk(), FilesChanged: req.GetFilesChanged(),
		ResultBytes: req.GetResultBytes(), CostUSD: req.GetCostUsd(), Output: req.GetOutput(), Unknown: req.GetOutcomeUnknown(),
		Background: req.GetBackground(), BackgroundEnded: req.GetBackgroundEnded(), NotExecuted: req.GetNotExecuted(),
	})
	if err != nil {
		return nil, err
	}
	resp := &policyv1.ReportToolCallResponse{
		Accounted: reported.Accounted, Warning: reported.Warning, Evidence: reported.Evidence,
		Interrupt: interruptedProto(reported.Interrupt),
	}
	if reported.Accounted && reported.Interrupt == nil && reported.RunVersion > 0 && reported.RunVersion == req.GetKnownRunVersion() {
		return resp, nil
	}
	run, err := s.runs.GetRun(rpc.Forward(ctx), &enginev1.GetRunRequest{
		RunId: req.GetRunId(), SessionId: req.GetSessionId(), Branch: req.GetBranch(), Active: true,
	})
	if reported.Unbound && fault.ReasonOf(err) == fault.NotFound { // the session still drives no run
		return resp, nil
	}
	if err != nil {
		return nil, err
	}
	resp.Run = run.GetRun()
	return resp, nil
}

// StartCommand implements PolicyEnforcerService.
func (s *Enforcer) StartCommand(ctx context.Context, req *policyv1.StartCommandRequest) (*policyv1.StartCommandResponse, error) {
	started, err := s.outcomes.Start(ctx, caller(ctx), outcome.Start{
		Target: enforcer.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId()}, CallID: req.GetCallId(),
		Command: req.GetCommand(), Level: jail.Level(req.GetLevel()),
	})
	if err != nil {
		return nil, err
	}
	return &policyv1.StartCommandResponse{RunId: started.RunID, Jail: jailProto(started.Jail), Key: started.Key}, nil
}

// FinishCommand implements PolicyEnforcerService.
func (s *Enforcer) FinishCommand(ctx context.Context, req *policyv1.FinishCommandRequest) (*policyv1.FinishCommandResponse, error) {
	finished, err := s.outcomes.Finish(ctx, caller(ctx), outcome.Finish{
		RunID: req.GetRunId(), CallID: req.GetCallId(), Witness: req.GetWitness(), Signature: req.GetSignature(),
	})
	if err != nil {
		return nil, err
	}
	return &policyv1.FinishCommandResponse{Evidence: finished.Evidence, Notice: finished.Notice}, nil
}

func jailProto(j *ledger.Jail) *policyv1.Jail {
	return &policyv1.Jail{Level: int32(j.Level), Digest: j.Digest, Profile: j.Profile} //nolint:gosec // at most 3
}

// ReportCost implements PolicyEnforcerService.
func (s *Enforcer) ReportCost(ctx context.Context, req *policyv1.ReportCostRequest) (*policyv1.ReportCostResponse, error) {
	costs := outcome.Costs{Session: req.GetSessionId(), Source: req.GetSource()}
	for _, c := range req.GetCosts() {
		cost := outcome.Cost{ID: c.GetId(), CostUSD: c.GetCostUsd(), Total: c.GetTotal()}
		for _, use := range c.GetTools() {
			cost.Tools = append(cost.Tools, outcome.ToolUse{Tool: use.GetTool(), Input: use.GetInput()})
		}
		costs.Costs = append(costs.Costs, cost)
	}
	costed, err := s.outcomes.ReportCost(ctx, caller(ctx), costs)
	if err != nil {
		return nil, err
	}
	return &policyv1.ReportCostResponse{Counted: int32(min(costed.Counted, maxBatch)), TotalUsd: costed.Total.String()}, nil //nolint:gosec // at most 256
}

// ListOpenCalls implements PolicyEnforcerService.
func (s *Enforcer) ListOpenCalls(ctx context.Context, req *policyv1.ListOpenCallsRequest) (*policyv1.ListOpenCallsResponse, error) {
	calls, err := s.outcomes.Calls(ctx, caller(ctx), enforcer.Target{RunID: req.GetRunId()})
	if err != nil {
		return nil, err
	}
	resp := &policyv1.ListOpenCallsResponse{}
	for i := range calls {
		resp.Calls = append(resp.Calls, openCall(&calls[i]))
	}
	return resp, nil
}

// SettleToolCall implements PolicyEnforcerService.
func (s *Enforcer) SettleToolCall(ctx context.Context, req *policyv1.SettleToolCallRequest) (*policyv1.SettleToolCallResponse, error) {
	settled, err := s.outcomes.Settle(ctx, caller(ctx), enforcer.Target{RunID: req.GetRunId()}, req.GetCallId(), req.GetOutcome(), req.GetNote())
	if err != nil {
		return nil, err
	}
	return &policyv1.SettleToolCallResponse{Call: openCall(&settled.OpenCall), Outcome: settled.Outcome}, nil
}

// ReportRefusal implements PolicyEnforcerService.
func (s *Enforcer) ReportRefusal(ctx context.Context, req *policyv1.ReportRefusalRequest) (*policyv1.ReportRefusalResponse, error) {
	return &policyv1.ReportRefusalResponse{}, s.refused(ctx, req)
}

func openCall(c *evidence.OpenCall) *policyv1.OpenCall {
	open := &policyv1.OpenCall{
		CallId: c.ID, RunId: c.RunID, Tool: c.Tool, What: c.What, MadeBy: c.By, AllowedAt: timestamppb.New(c.At), Unknown: c.Unknown,
	}
	if !c.Due.IsZero() {
		open.DueAt = timestamppb.New(c.Due)
	}
	return open
}

// CheckToolCalls implements PolicyEnforcerService. Messages are worked on
// concurrently, so a slow one does not hold up the others. When the server
// drains, received messages are answered and the stream ends.
func (s *Enforcer) CheckToolCalls(stream grpc.BidiStreamingServer[policyv1.CheckToolCallsRequest, policyv1.CheckToolCallsResponse]) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	slots := make(chan struct{}, inFlight)
	var sending sync.Mutex
	var working sync.WaitGroup
	defer working.Wait()
	work := func(req *policyv1.CheckToolCallsRequest) {
		defer working.Done()
		defer func() {
			for range places(req) {
				<-slots
			}
		}()
		resp := s.checkAll(ctx, req)
		sending.Lock()
		defer sending.Unlock()
		if err := stream.Send(resp); err != nil {
			cancel(err)
		}
	}
	received := receive(ctx, stream)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var next message
		select {
		case next = <-received:
		case <-rpc.Draining(ctx):
			working.Wait()
			return fault.New(fault.Unavailable, "this server is shutting down; open the stream again")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		switch {
		case errors.Is(next.err, io.EOF):
			working.Wait()
			return context.Cause(ctx)
		case next.err != nil:
			return next.err
		}
		for range places(next.req) - 1 {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		working.Add(1)
		s.pool.begin(func() { work(next.req) })
	}
}

// places returns how many of a stream's places a message takes.
func places(req *policyv1.CheckToolCallsRequest) int {
	return 1 + max(0, min(len(req.GetCalls()), maxBatch)-1)/callsPerPlace
}

// message is one message of a stream, or its error.
type message struct {
	req *policyv1.CheckToolCallsRequest
	err error
}

// receive reads a stream until its end or ctx's, so that its reader can wait for
// something else at the same time.
func receive(ctx context.Context, stream grpc.BidiStreamingServer[policyv1.CheckToolCallsRequest, policyv1.CheckToolCallsResponse]) <-chan message {
	out := make(chan message)
	go func() {
		for {
			req, err := stream.Recv()
			select {
			case out <- message{req, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// checkAll decides every call of a message at once: they share store commits.
func (s *Enforcer) checkAll(ctx context.Context, req *policyv1.CheckToolCallsRequest) *policyv1.CheckToolCallsResponse {
	calls := req.GetCalls()
	resp := &policyv1.CheckToolCallsResponse{
		CorrelationId: req.GetCorrelationId(),
		Results:       make([]*policyv1.CheckToolCallsResult, len(calls)),
	}
	if len(calls) == 0 || len(calls) > maxBatch {
		f := fault.New(fault.InvalidRequest, "a message must contain 1 to %d calls, not %d", maxBatch, len(calls))
		resp.Results = []*policyv1.CheckToolCallsResult{errorResult(f)}
		return resp
	}
	ctx, cancel := context.WithTimeout(ctx, batchDeadline)
	defer cancel()
	var group sync.WaitGroup
	for i := range calls[1:] {
		select {
		case s.busy <- struct{}{}:
		case <-ctx.Done():
			resp.Results[i+1] = errorResult(fault.From(ctx.Err()))
			continue
		}
		group.Add(1)
		s.pool.begin(func() {
			defer group.Done()
			defer func() { <-s.busy }()
			resp.Results[i+1] = s.checkOne(ctx, calls[i+1])
		})
	}
	resp.Results[0] = s.checkOne(ctx, calls[0])
	group.Wait()
	return resp
}

func (s *Enforcer) checkOne(ctx context.Context, req *policyv1.CheckToolCallRequest) (result *policyv1.CheckToolCallsResult) {
	defer func() {
		if p := recover(); p != nil {
			// One call's panic must not end the process, nor allow anything.
			result = errorResult(fault.From(fmt.Errorf("panic: %v", p)))
		}
	}()
	if err := rpc.Validate(req); err != nil {
		return errorResult(fault.From(err))
	}
	decision, err := s.CheckToolCall(ctx, req)
	if err != nil {
		return errorResult(fault.From(err))
	}
	return &policyv1.CheckToolCallsResult{Result: &policyv1.CheckToolCallsResult_Decision{Decision: decision}}
}

func errorResult(f *fault.Error) *policyv1.CheckToolCallsResult {
	return &policyv1.CheckToolCallsResult{Result: &policyv1.CheckToolCallsResult_Error{Error: f.GRPCStatus().Proto()}}
}
