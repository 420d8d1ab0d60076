package rpc

import (
	"context"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// statuses and rejectionCodes are the core's words in the contract's.
var (
	statuses       = protomap.Enums[workflow.Status, enginev1.RunStatus](enginev1.RunStatus_value, "RUN_STATUS_")
	rejectionCodes = protomap.Enums[workflow.RejectionCode, enginev1.RejectionCode](enginev1.RejectionCode_value, "REJECTION_CODE_")
)

// Runs serves RunService and RunPeerService.
type Runs struct {
	enginev1.UnimplementedRunServiceServer
	peerv1.UnimplementedRunPeerServiceServer
	app   *app.App
	legal protomap.LegalEvents
}

// NewRuns makes the service.
func NewRuns(a *app.App) *Runs {
	return &Runs{app: a, legal: protomap.NewLegalEvents()}
}

// StartRun implements RunService.
func (s *Runs) StartRun(ctx context.Context, req *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error) {
	view, resumed, err := s.app.Starts.Start(ctx, caller(ctx), app.Start{
		Workflow: req.GetWorkflow(), Version: req.GetWorkflowVersion(), SessionID: req.GetSessionId(),
		Context: req.GetContext(), Workspace: req.GetWorkspace(),
		IdempotencyKey: req.GetIdempotencyKey(), Resume: req.GetResume(),
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.StartRunResponse{Run: s.runProto(view), Resumed: resumed}, nil
}

// GetRun implements RunService.
func (s *Runs) GetRun(ctx context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
	view, err := s.app.Reads.Get(ctx, caller(ctx),
		ports.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId(), Branch: req.GetBranch()}, req.GetActive())
	if err == nil && req.GetView() != enginev1.RunView_RUN_VIEW_BASIC {
		err = s.app.Views.See(ctx, rpc.Namespace(ctx), view)
		if err == nil {
			err = s.app.Views.AddTimes(ctx, rpc.Namespace(ctx), view)
		}
	}
	if err != nil {
		return nil, err
	}
	run, err := s.read(ctx, view, req.GetView(), enginev1.RunView_RUN_VIEW_FULL)
	if err != nil {
		return nil, err
	}
	return &enginev1.GetRunResponse{Run: run, AskedRunId: view.AskedID}, nil
}

// ListRuns implements RunService.
func (s *Runs) ListRuns(ctx context.Context, req *enginev1.ListRunsRequest) (*enginev1.ListRunsResponse, error) {
	query, err := listQuery(req)
	if err != nil {
		return nil, err
	}
	list := s.app.Reads.List
	if query.StaleFor > 0 {
		list = s.app.Reads.Silent
	}
	views, next, err := list(ctx, caller(ctx), query)
	if err != nil {
		return nil, err
	}
	if err := s.app.Views.AddTimes(ctx, rpc.Namespace(ctx), views...); err != nil {
		return nil, err
	}
	resp := &enginev1.ListRunsResponse{NextPageToken: next}
	for _, v := range views {
		run, err := s.read(ctx, v, req.GetView(), enginev1.RunView_RUN_VIEW_BASIC)
		if err != nil {
			return nil, err
		}
		resp.Runs = append(resp.Runs, run)
	}
	return resp, nil
}

// listQuery reads the query of a list.
func listQuery(req *enginev1.ListRunsRequest) (q app.ListQuery, err error) {
	terms, err := listing.Parse(req.GetFilter(), "status", "workflow", "session_id", "schedule", "text", "not_status", "not_workflow",
		"updated_after", "updated_before", listing.Before, listing.Prefix)
	if err != nil {
		return q, err
	}
	known := protomap.Names(enginev1.RunStatus_name, "RUN_STATUS_")
	status, err := terms.OneOf("status", known)
	if err != nil {
		return q, err
	}
	q = app.ListQuery{
		Status: workflow.Status(status), Workflow: terms["workflow"], Session: terms["session_id"], Schedule: terms["schedule"], Text: terms["text"],
		IDs: req.GetRunIds(), Prefix: terms[listing.Prefix], StaleFor: req.GetStaleFor().AsDuration(),
		After: terms.BeginAfter(req.GetPageToken()), Limit: pageSize(req.GetPageSize()),
	}
	statuses, err := terms.SomeOf("not_status", known)
	if err != nil {
		return q, err
	}
	for _, status := range statuses {
		q.NotStatuses = append(q.NotStatuses, workflow.Status(status))
	}
	if q.NotWorkflows, err = terms.List("not_workflow"); err != nil {
		return q, err
	}
	if q.UpdatedAfter, err = terms.Time("updated_after"); err != nil {
		return q, err
	}
	q.UpdatedBefore, err = terms.Time("updated_before")
	return q, err
}

// TransitionRun implements RunService.
func (s *Runs) TransitionRun(ctx context.Context, req *enginev1.TransitionRunRequest) (*enginev1.TransitionRunResponse, error) {
	outcome, err := s.app.Moves.Transition(ctx, caller(ctx), app.Transition{
		Target: ports.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId(), Branch: req.GetBranch()},
		Event:  req.GetEvent(), Data: req.GetData(),
		ExpectedVersion: req.GetExpectedVersion(), IdempotencyKey: req.GetIdempotencyKey(), DryRun: req.GetDryRun(), Tree: req.GetTree(),
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.TransitionRunResponse{
		Accepted: outcome.Rejection == nil, Run: s.runProto(outcome.View),
		Rejection: s.rejectionProto(outcome), Note: outcome.Note, ApprovalId: outcome.ApprovalID,
	}, nil
}

// BindBranch implements RunService.
func (s *Runs) BindBranch(ctx context.Context, req *enginev1.BindBranchRequest) (*enginev1.BindBranchResponse, error) {
	view, err := s.app.Branches.Bind(ctx, caller(ctx), app.Bind{
		RunID: req.GetRunId(), Workflow: req.GetWorkflow(), Branch: req.GetBranch(), SessionID: req.GetSessionId(),
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.BindBranchResponse{Run: s.runProto(view)}, nil
}

// InterruptRun implements RunPeerService.
func (s *Runs) InterruptRun(ctx context.Context, req *peerv1.InterruptRunRequest) (*peerv1.InterruptRunResponse, error) {
	out, err := s.app.Moves.Interrupt(ctx, caller(ctx), req.GetRunId(), req.GetCallId(), req.GetFilesChanged())
	if err != nil {
		return nil, err
	}
	resp := &peerv1.InterruptRunResponse{Fired: out.Fired, Run: s.runProto(out.View)}
	if out.Fired {
		resp.Interrupt, resp.From = out.Interrupt, out.From
	}
	return resp, nil
}

// ForceState implements RunService.
func (s *Runs) ForceState(ctx context.Context, req *enginev1.ForceStateRequest) (*enginev1.ForceStateResponse, error) {
	outcome, err := s.app.Moves.Force(ctx, caller(ctx), app.Force{
		Target: ports.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId(), Branch: req.GetBranch()},
		State:  req.GetState(), Context: req.GetContext(),
		ExpectedVersion: req.GetExpectedVersion(), IdempotencyKey: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.ForceStateResponse{
		Accepted: outcome.Rejection == nil, Run: s.runProto(outcome.View), Rejection: s.rejectionProto(outcome),
	}, nil
}

// MigrateRun implements RunService.
func (s *Runs) MigrateRun(ctx context.Context, req *enginev1.MigrateRunRequest) (*enginev1.MigrateRunResponse, error) {
	outcome, err := s.app.Moves.Migrate(ctx, caller(ctx), app.Migration{
		RunID: req.GetRunId(), To: req.GetToVersion(), States: req.GetStates(), Accept: req.GetAccept(),
		ExpectedVersion: req.GetExpectedVersion(), IdempotencyKey: req.GetIdempotencyKey(), DryRun: req.GetDryRun(),
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.MigrateRunResponse{
		Changed: outcome.Changed, Run: s.runProto(outcome.View), Rejection: s.rejectionProto(outcome), Note: outcome.Note,
	}, nil
}

// PauseRun implements RunService.
func (s *Runs) PauseRun(ctx context.Context, req *enginev1.PauseRunRequest) (*enginev1.PauseRunResponse, error) {
	run, err := s.accepted(s.app.Moves.Pause(ctx, caller(ctx), req.GetRunId(), req.GetReason(), req.GetIdempotencyKey()))
	if err != nil {
		return nil, err
	}
	return &enginev1.PauseRunResponse{Run: run}, nil
}

// ResumeRun implements RunService.
func (s *Runs) ResumeRun(ctx context.Context, req *enginev1.ResumeRunRequest) (*enginev1.ResumeRunResponse, error) {
	run, err := s.accepted(s.app.Moves.Resume(ctx, caller(ctx), req.GetRunId(), req.GetIdempotencyKey()))
	if err != nil {
		return nil, err
	}
	return &enginev1.ResumeRunResponse{Run: run}, nil
}

// CancelRun implements RunService.
func (s *Runs) CancelRun(ctx context.Context, req *enginev1.CancelRunRequest) (*enginev1.CancelRunResponse, error) {
	run, err := s.accepted(s.app.Moves.Cancel(ctx, caller(ctx), req.GetRunId(), req.GetReason(), req.GetIdempotencyKey()))
	if err != nil {
		return nil, err
	}
	return &enginev1.CancelRunResponse{Run: run}, nil
}

// GetRunVersion implements RunService.
func (s *Runs) GetRunVersion(ctx context.Context, req *enginev1.GetRunVersionRequest) (*enginev1.GetRunVersionResponse, error) {
	view, branches, err := s.app.Reads.Version(ctx, caller(ctx), req.GetRunId(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	resp := &enginev1.GetRunVersionResponse{Run: s.runProto(view)}
	for _, branch := range branches {
		resp.Branches = append(resp.Branches, s.runProto(branch))
	}
	return resp, nil
}

// GetRunHistory implements RunService.
func (s *Runs) GetRunHistory(ctx context.Context, req *enginev1.GetRunHistoryRequest) (*enginev1.GetRunHistoryResponse, error) {
	after := app.Position{Version: req.GetAfterVersion(), Result: req.GetAfterResult()}
	entries, next, err := s.app.Reads.History(ctx, caller(ctx), req.GetRunId(), after, pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &enginev1.GetRunHistoryResponse{NextAfterVersion: next.Version, NextAfterResult: next.Result}
	for i := range entries {
		resp.Entries = append(resp.Entries, entryProto(&entries[i]))
	}
	return resp, nil
}

// SettleApproval implements RunPeerService.
func (s *Runs) SettleApproval(ctx context.Context, req *peerv1.SettleApprovalRequest) (*peerv1.SettleApprovalResponse, error) {
	view, settled, err := s.app.Settlement.SettleApproval(ctx, rpc.Namespace(ctx), req.GetRunId(), req.GetApprovalId())
	if err != nil {
		return nil, err
	}
	return &peerv1.SettleApprovalResponse{Settled: settled, Run: s.runProto(view)}, nil
}

// WatchRun implements RunService.
func (s *Runs) WatchRun(req *enginev1.WatchRunRequest, stream grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error {
	ctx := stream.Context()
	return s.app.Reads.Watch(ctx, caller(ctx), req.GetRunId(), func(view *app.View) error {
		if err := s.app.Views.AddTimes(ctx, rpc.Namespace(ctx), view); err != nil {
			return err
		}
		run, err := s.read(ctx, view, req.GetView(), enginev1.RunView_RUN_VIEW_FULL)
		if err != nil {
			return err
		}
		return stream.Send(&enginev1.WatchRunResponse{Run: run})
	})
}

// accepted returns the run of commands that have no rejection in their contract: a
// refusal is a failed precondition.
func (s *Runs) accepted(outcome *app.Outcome, err error) (*enginev1.Run, error) {
	if err != nil {
		return nil, err
	}
	if r := outcome.Rejection; r != nil {
		return nil, fault.New(fault.FailedPrecondition, "%s", r.Message)
	}
	return s.runProto(outcome.View), nil
}

func (s *Runs) rejectionProto(o *app.Outcome) *enginev1.Rejection {
	r := o.Rejection
	if r == nil {
		return nil
	}
	return &enginev1.Rejection{
		Code:    rejectionCodes[r.Code],
		Message: r.Message, Guards: guardsProto(r.Guards), State: r.State, Status: statuses[r.Status],
		LegalEvents: frozenEvents(o.View, r.State, s.legal.Of(o.View.Machine.State(r.State))),
	}
}

func guardsProto(guards []runcodec.Guard) []*enginev1.GuardResult {
	out := make([]*enginev1.GuardResult, len(guards))
	for i, g := range guards {
		out[i] = &enginev1.GuardResult{
			Name: g.Name, Field: g.Field, Operator: operators[g.Op], Expected: g.Expected, Actual: g.Actual, Passed: g.Passed,
			Code: g.Code, Message: g.Message,
		}
	}
	return out
}
