// Package rpc translates between the engine's contract and its use cases, and has no
// other task.
package rpc

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/catalog"
)

const defaultPageSize = 100

// Workflows serves WorkflowService.
type Workflows struct {
	enginev1.UnimplementedWorkflowServiceServer
	App *app.App
}

func caller(ctx context.Context) ports.Caller {
	principal, _ := auth.FromContext(ctx)
	return ports.Caller{Namespace: rpc.Namespace(ctx), Principal: principal, Vouched: auth.Vouched(ctx)}
}

// RegisterWorkflow implements WorkflowService.
func (s *Workflows) RegisterWorkflow(ctx context.Context, req *enginev1.RegisterWorkflowRequest) (*enginev1.RegisterWorkflowResponse, error) {
	version, created, warnings, err := s.App.Registry.RegisterOn(ctx, caller(ctx), req.GetDefinition(), terms(req))
	if err != nil {
		return nil, err
	}
	return &enginev1.RegisterWorkflowResponse{Workflow: workflowProto(version), Created: created, Warnings: problemsProto(warnings)}, nil
}

// terms returns the terms of a registration.
func terms(req interface {
	GetIdempotencyKey() string
	GetStaged() bool
	GetDryRun() bool
	GetExpectedVersion() int64
	GetExpectedDigest() string
},
) registry.Terms {
	return registry.Terms{
		IdempotencyKey: req.GetIdempotencyKey(), Staged: req.GetStaged(), DryRun: req.GetDryRun(),
		Expected: registry.Expected{Version: req.GetExpectedVersion(), Digest: req.GetExpectedDigest()},
	}
}

// GetWorkflow implements WorkflowService.
func (s *Workflows) GetWorkflow(ctx context.Context, req *enginev1.GetWorkflowRequest) (*enginev1.GetWorkflowResponse, error) {
	version, err := s.App.Registry.Workflow(ctx, rpc.Namespace(ctx), req.GetName(), req.GetVersion())
	if err == nil && req.GetVersion() != 0 {
		err = s.App.Registry.Standing(ctx, rpc.Namespace(ctx), version)
	}
	if err != nil {
		return nil, err
	}
	return &enginev1.GetWorkflowResponse{Workflow: workflowProto(version)}, nil
}

// ListWorkflows implements WorkflowService.
func (s *Workflows) ListWorkflows(ctx context.Context, req *enginev1.ListWorkflowsRequest) (*enginev1.ListWorkflowsResponse, error) {
	versions, next, err := s.App.Registry.Workflows(ctx, rpc.Namespace(ctx), req.GetPageToken(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &enginev1.ListWorkflowsResponse{NextPageToken: next}
	for _, v := range versions {
		w := workflowProto(v)
		w.Definition = nil
		resp.Workflows = append(resp.Workflows, w)
	}
	return resp, nil
}

// ValidateWorkflow implements WorkflowService.
func (s *Workflows) ValidateWorkflow(ctx context.Context, req *enginev1.ValidateWorkflowRequest) (*enginev1.ValidateWorkflowResponse, error) {
	problems, err := s.App.Registry.Validate(ctx, rpc.Namespace(ctx), req.GetDefinition(), req.GetStrict())
	if err != nil {
		return nil, err
	}
	return &enginev1.ValidateWorkflowResponse{Ok: !problems.HasErrors(), Problems: problemsProto(problems)}, nil
}

// PlanMigration implements WorkflowService.
func (s *Workflows) PlanMigration(ctx context.Context, req *enginev1.PlanMigrationRequest) (*enginev1.PlanMigrationResponse, error) {
	plan, err := s.App.Registry.PlanMigration(ctx, caller(ctx), req.GetWorkflow(), req.GetFromVersion(), req.GetToVersion(), req.GetStates(), req.GetMaxStates())
	if err != nil {
		return nil, err
	}
	out := &enginev1.PlanMigrationResponse{
		ToVersion: plan.To, Verdict: verdicts[plan.Verdict], Reason: plan.Reason, DroppedEvidence: plan.Dropped, Pairs: int64(plan.States), Digest: plan.Digest,
	}
	for i := range plan.Gains {
		g := &plan.Gains[i]
		out.Gains = append(out.Gains, &enginev1.Gain{Kind: string(g.Kind), Was: g.Was, Is: g.Is, What: g.What, Path: g.Path})
	}
	for _, stay := range plan.Stays {
		out.Stays = append(out.Stays, &enginev1.Stay{State: stay.State, Reason: stay.Why})
	}
	return out, nil
}

// PromoteWorkflow implements WorkflowService.
func (s *Workflows) PromoteWorkflow(ctx context.Context, req *enginev1.PromoteWorkflowRequest) (*enginev1.PromoteWorkflowResponse, error) {
	v, err := s.App.Registry.Promote(ctx, caller(ctx), req.GetName(), req.GetVersion(), registry.Expected{Version: req.GetExpectedVersion()})
	if err != nil {
		return nil, err
	}
	return &enginev1.PromoteWorkflowResponse{Workflow: workflowProto(v)}, nil
}

// RetireWorkflow implements WorkflowService.
func (s *Workflows) RetireWorkflow(ctx context.Context, req *enginev1.RetireWorkflowRequest) (*enginev1.RetireWorkflowResponse, error) {
	v, err := s.App.Registry.Retire(ctx, caller(ctx), req.GetName(), req.GetReason())
	if err != nil {
		return nil, err
	}
	return &enginev1.RetireWorkflowResponse{Workflow: workflowProto(v)}, nil
}

// RestoreWorkflow implements WorkflowService.
func (s *Workflows) RestoreWorkflow(ctx context.Context, req *enginev1.RestoreWorkflowRequest) (*enginev1.RestoreWorkflowResponse, error) {
	v, err := s.App.Registry.Restore(ctx, caller(ctx), req.GetName())
	if err != nil {
		return nil, err
	}
	return &enginev1.RestoreWorkflowResponse{Workflow: workflowProto(v)}, nil
}

func retirementProto(r *catalog.Retirement) *enginev1.Retirement {
	if r == nil {
		return nil
	}
	return &enginev1.Retirement{At: timestamppb.New(r.At), By: r.By, Reason: r.Reason}
}

var verdicts = map[verify.Verdict]enginev1.MigrationVerdict{
	verify.Proved:    enginev1.MigrationVerdict_MIGRATION_VERDICT_PROVED,
	verify.Refuted:   enginev1.MigrationVerdict_MIGRATION_VERDICT_LOOSENED,
	verify.Undecided: enginev1.MigrationVerdict_MIGRATION_VERDICT_NOT_PROVED,
}

func workflowProto(v *registry.Version) *enginev1.Workflow {
	return &enginev1.Workflow{
		Name: v.Name, Version: v.Number, Digest: v.Digest, Definition: v.Definition,
		CreatedAt: timestamppb.New(v.CreatedAt), CreatedBy: v.CreatedBy,
		LiveVersion: v.Live, Retired: retirementProto(v.Retired),
	}
}

func problemsProto(problems document.Problems) []*enginev1.Problem {
	out := make([]*enginev1.Problem, len(problems))
	for i, p := range problems {
		severity := enginev1.Severity_SEVERITY_ERROR
		if p.Severity == document.SeverityWarning {
			severity = enginev1.Severity_SEVERITY_WARNING
		}
		out[i] = &enginev1.Problem{Pointer: p.Pointer, Code: p.Code, Severity: severity, Message: p.Message}
	}
	return out
}

func pageSize(asked int32) int { return cmp.Or(int(asked), defaultPageSize) }
