package rpc

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/internal/wire"
)

// statuses and rejectionCodes are the core's words in the contract's.
var (
	statuses       = wire.Enums[workflow.Status, enginev1.RunStatus](enginev1.RunStatus_value, "RUN_STATUS_")
	rejectionCodes = wire.Enums[workflow.RejectionCode, enginev1.RejectionCode](enginev1.RejectionCode_value, "REJECTION_CODE_")
)

// Runs serves RunService.
type Runs struct {
	enginev1.UnimplementedRunServiceServer
	app   *app.App
	legal wire.LegalEvents
}

// NewRuns makes the service.
func NewRuns(a *app.App) *Runs {
	return &Runs{app: a, legal: wire.NewLegalEvents()}
}

// Start implements RunService.
func (s *Runs) Start(ctx context.Context, req *enginev1.StartRequest) (*enginev1.StartResponse, error) {
	view, resumed, err := s.app.Start(ctx, caller(ctx), app.Start{
		Workflow: req.GetWorkflow(), Version: req.GetWorkflowVersion(), SessionID: req.GetSessionId(),
		Context: req.GetContext(), Workspace: req.GetWorkspace(),
		IdempotencyKey: req.GetIdempotencyKey(), Resume: req.GetResume(),
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.StartResponse{Run: s.runProto(view), Resumed: resumed}, nil
}

// Get implements RunService.
func (s *Runs) Get(ctx context.Context, req *enginev1.RunServiceGetRequest) (*enginev1.RunServiceGetResponse, error) {
	view, err := s.app.Get(ctx, rpc.Namespace(ctx), app.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId()})
	if err != nil {
		return nil, err
	}
	return &enginev1.RunServiceGetResponse{Run: s.runProto(view)}, nil
}

// List implements RunService.
func (s *Runs) List(ctx context.Context, req *enginev1.RunServiceListRequest) (*enginev1.RunServiceListResponse, error) {
	status, err := statusFromProto(req.GetStatus())
	if err != nil {
		return nil, err
	}
	views, next, err := s.app.List(ctx, rpc.Namespace(ctx), app.ListQuery{
		Status: status, Workflow: req.GetWorkflow(),
		After: req.GetPageToken(), Limit: pageSize(req.GetPageSize()),
	})
	if err != nil {
		return nil, err
	}
	resp := &enginev1.RunServiceListResponse{NextPageToken: next}
	for _, v := range views {
		resp.Runs = append(resp.Runs, s.runProto(v))
	}
	return resp, nil
}

// Transition implements RunService.
func (s *Runs) Transition(ctx context.Context, req *enginev1.TransitionRequest) (*enginev1.TransitionResponse, error) {
	outcome, err := s.app.Transition(ctx, caller(ctx), app.Transition{
		Target: app.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId()},
		Event:  req.GetEvent(), Data: req.GetData(),
		ExpectedVersion: req.GetExpectedVersion(), IdempotencyKey: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.TransitionResponse{
		Accepted: outcome.Rejection == nil, Run: s.runProto(outcome.View),
		Rejection: s.rejectionProto(outcome),
	}, nil
}

// Pause implements RunService.
func (s *Runs) Pause(ctx context.Context, req *enginev1.PauseRequest) (*enginev1.PauseResponse, error) {
	run, err := s.settled(s.app.Pause(ctx, caller(ctx), req.GetRunId(), req.GetReason(), req.GetIdempotencyKey()))
	if err != nil {
		return nil, err
	}
	return &enginev1.PauseResponse{Run: run}, nil
}

// Resume implements RunService.
func (s *Runs) Resume(ctx context.Context, req *enginev1.ResumeRequest) (*enginev1.ResumeResponse, error) {
	run, err := s.settled(s.app.Resume(ctx, caller(ctx), req.GetRunId(), req.GetIdempotencyKey()))
	if err != nil {
		return nil, err
	}
	return &enginev1.ResumeResponse{Run: run}, nil
}

// Cancel implements RunService.
func (s *Runs) Cancel(ctx context.Context, req *enginev1.CancelRequest) (*enginev1.CancelResponse, error) {
	run, err := s.settled(s.app.Cancel(ctx, caller(ctx), req.GetRunId(), req.GetReason(), req.GetIdempotencyKey()))
	if err != nil {
		return nil, err
	}
	return &enginev1.CancelResponse{Run: run}, nil
}

// History implements RunService.
func (s *Runs) History(ctx context.Context, req *enginev1.HistoryRequest) (*enginev1.HistoryResponse, error) {
	entries, next, err := s.app.History(ctx, rpc.Namespace(ctx), req.GetRunId(), req.GetAfterVersion(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &enginev1.HistoryResponse{NextAfterVersion: next}
	for i := range entries {
		resp.Entries = append(resp.Entries, entryProto(&entries[i]))
	}
	return resp, nil
}

// Watch implements RunService.
func (s *Runs) Watch(req *enginev1.WatchRequest, stream grpc.ServerStreamingServer[enginev1.WatchResponse]) error {
	ctx := stream.Context()
	return s.app.Watch(ctx, rpc.Namespace(ctx), req.GetRunId(), func(view *app.View) error {
		return stream.Send(&enginev1.WatchResponse{Run: s.runProto(view)})
	})
}

// settled is for commands that have no rejection in their contract: what the
// machine refuses is a failed precondition.
func (s *Runs) settled(outcome *app.Outcome, err error) (*enginev1.Run, error) {
	if err != nil {
		return nil, err
	}
	if r := outcome.Rejection; r != nil {
		return nil, fault.New(fault.FailedPrecondition, "%s", r.Message)
	}
	return s.runProto(outcome.View), nil
}

func (s *Runs) runProto(v *app.View) *enginev1.Run {
	run, state := v.Run, v.Machine.State(v.Run.State)
	return &enginev1.Run{
		RunId: run.ID, Workflow: run.Workflow, WorkflowVersion: run.WorkflowVersion,
		Status: statuses[run.Status], State: run.State, Context: run.Context.AppendJSON(nil),
		Iterations: v.Iterations, TransitionCount: run.TransitionCount, Version: run.Version,
		SessionId: run.SessionID, Workspace: run.Workspace, Entry: run.Entry, Held: run.Held,
		ToolsRestricted: state.ToolsRestricted, AllowedTools: state.AllowedTools,
		DisallowedTools: state.DisallowedTools, Instructions: state.Instructions,
		MaxIterations: state.MaxIterations, LegalEvents: s.legal.Of(state),
		CreatedAt: timestamppb.New(run.CreatedAt), UpdatedAt: timestamppb.New(run.UpdatedAt),
	}
}

func (s *Runs) rejectionProto(o *app.Outcome) *enginev1.Rejection {
	r := o.Rejection
	if r == nil {
		return nil
	}
	return &enginev1.Rejection{
		Code:    rejectionCodes[r.Code],
		Message: r.Message, Guards: guardsProto(r.Guards), State: r.State, Status: statuses[r.Status],
		LegalEvents: s.legal.Of(o.View.Machine.State(r.State)),
	}
}

func guardsProto(guards []app.Guard) []*enginev1.GuardResult {
	out := make([]*enginev1.GuardResult, len(guards))
	for i, g := range guards {
		out[i] = &enginev1.GuardResult{
			Name: g.Name, Field: g.Field, Op: g.Op, Expected: g.Expected, Actual: g.Actual, Passed: g.Passed,
		}
	}
	return out
}

func entryProto(e *app.Entry) *enginev1.HistoryEntry {
	return &enginev1.HistoryEntry{
		RunVersion: e.RunVersion, Time: timestamppb.New(e.Time), Actor: e.Actor, Type: e.Type,
		Event: e.Event, From: e.From, To: e.To, Data: e.Data, Rationale: e.Rationale,
		Guards: guardsProto(e.Guards), WorkflowVersion: e.WorkflowVersion,
		Status: statuses[e.Status], Reason: e.Reason, SafeNext: e.SafeNext,
	}
}

// statusFromProto is the status to list by; unspecified is any.
func statusFromProto(s enginev1.RunStatus) (workflow.Status, error) {
	if s == enginev1.RunStatus_RUN_STATUS_UNSPECIFIED {
		return "", nil
	}
	name, known := enginev1.RunStatus_name[int32(s)]
	if !known {
		return "", fault.New(fault.InvalidRequest, "status: there is no status %d", s).Violate("/status", "ENUM", "not a status of runs")
	}
	return workflow.Status(strings.TrimPrefix(name, "RUN_STATUS_")), nil
}
