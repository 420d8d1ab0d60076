package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

const defaultPageSize = 100

// Policies serves PolicyService.
type Policies struct {
	policyv1.UnimplementedPolicyServiceServer
	Checks *check.Service
	Store  *policystore.Store
	Pins   *pins.Registry
	// Definitions say whether only signed sets change policies.
	Definitions definition.Flags
}

// Conversions of the core's enumerations to the contract's.
var (
	kinds    = protomap.LowerEnums[policystore.AttachmentKind, policyv1.AttachmentKind](policyv1.AttachmentKind_value, "ATTACHMENT_KIND_")
	measures = protomap.LowerEnums[rules.Measure, policyv1.Measure](policyv1.Measure_value, "MEASURE_")
	scopes   = protomap.LowerEnums[rules.Scope, policyv1.LimitScope](policyv1.LimitScope_value, "LIMIT_SCOPE_")
	periods  = protomap.LowerEnums[rules.Period, policyv1.Period](policyv1.Period_value, "PERIOD_")
)

// RegisterPolicy implements PolicyService.
func (s *Policies) RegisterPolicy(ctx context.Context, req *policyv1.RegisterPolicyRequest) (*policyv1.RegisterPolicyResponse, error) {
	if !req.GetStaged() && !req.GetDryRun() {
		if err := s.Definitions.Unsigned(); err != nil {
			return nil, err
		}
	}
	p, created, warnings, err := s.Store.Put(ctx, caller(ctx), policystore.Put{
		Name: req.GetName(), Definition: req.GetDefinition(), Shadow: req.GetShadow(), IdempotencyKey: req.GetIdempotencyKey(),
		Staged: req.GetStaged(), DryRun: req.GetDryRun(),
		Expected: policystore.Expected{Version: req.GetExpectedVersion(), Digest: req.GetExpectedDigest()},
	})
	if err != nil {
		return nil, err
	}
	warnings = append(warnings, s.doubtLikely(ctx, p.Definition)...)
	return &policyv1.RegisterPolicyResponse{Policy: policyProto(p), Created: created, Warnings: policyProblems(warnings)}, nil
}

// doubtLikely returns the warnings that the tools of servers give about a policy. The policy is stored even when they
// cannot be read.
func (s *Policies) doubtLikely(ctx context.Context, definition []byte) document.Problems {
	policy, problems := rules.ParsePolicy(definition)
	if problems.HasErrors() {
		return nil // never: it is stored
	}
	arguments, err := s.Pins.Arguments(ctx, rpc.Namespace(ctx))
	if err != nil {
		return document.Problems{{
			Code: rules.CodeDoubtLikely, Severity: document.SeverityWarning,
			Message: "the tools of servers cannot be read, so it is not known whether they have the arguments that the rules look at; store the policy again to compare them",
		}}
	}
	return policy.DoubtLikely(arguments)
}

// GetPolicy implements PolicyService.
func (s *Policies) GetPolicy(ctx context.Context, req *policyv1.GetPolicyRequest) (*policyv1.GetPolicyResponse, error) {
	p, err := s.Store.Get(ctx, rpc.Namespace(ctx), req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	return &policyv1.GetPolicyResponse{Policy: policyProto(p)}, nil
}

// ListPolicies implements PolicyService.
func (s *Policies) ListPolicies(ctx context.Context, req *policyv1.ListPoliciesRequest) (*policyv1.ListPoliciesResponse, error) {
	page, next, err := s.Store.List(ctx, rpc.Namespace(ctx), req.GetPageToken(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &policyv1.ListPoliciesResponse{NextPageToken: next}
	for _, p := range page {
		listed := policyProto(p)
		listed.Definition = nil
		resp.Policies = append(resp.Policies, listed)
	}
	return resp, nil
}

// PromotePolicy implements PolicyService.
func (s *Policies) PromotePolicy(ctx context.Context, req *policyv1.PromotePolicyRequest) (*policyv1.PromotePolicyResponse, error) {
	if err := s.Definitions.Unsigned(); err != nil {
		return nil, err
	}
	p, err := s.Store.Promote(ctx, caller(ctx), req.GetName(), req.GetVersion(), policystore.Expected{Version: req.GetExpectedVersion()})
	if err != nil {
		return nil, err
	}
	return &policyv1.PromotePolicyResponse{Policy: policyProto(p)}, nil
}

// DeletePolicy implements PolicyService.
func (s *Policies) DeletePolicy(ctx context.Context, req *policyv1.DeletePolicyRequest) (*policyv1.DeletePolicyResponse, error) {
	if err := s.Definitions.Unsigned(); err != nil {
		return nil, err
	}
	if err := s.Store.Delete(ctx, caller(ctx), req.GetName()); err != nil {
		return nil, err
	}
	return &policyv1.DeletePolicyResponse{}, nil
}

// AttachPolicy implements PolicyService.
func (s *Policies) AttachPolicy(ctx context.Context, req *policyv1.AttachPolicyRequest) (*policyv1.AttachPolicyResponse, error) {
	if err := s.Definitions.Unsigned(); err != nil {
		return nil, err
	}
	p, err := s.Store.Attach(ctx, caller(ctx), req.GetName(), attachments(req.GetTo())...)
	if err != nil {
		return nil, err
	}
	return &policyv1.AttachPolicyResponse{Policy: policyProto(p)}, nil
}

// DetachPolicy implements PolicyService.
func (s *Policies) DetachPolicy(ctx context.Context, req *policyv1.DetachPolicyRequest) (*policyv1.DetachPolicyResponse, error) {
	if err := s.Definitions.Unsigned(); err != nil {
		return nil, err
	}
	p, err := s.Store.Detach(ctx, caller(ctx), req.GetName(), attachments(req.GetFrom())...)
	if err != nil {
		return nil, err
	}
	return &policyv1.DetachPolicyResponse{Policy: policyProto(p)}, nil
}

// ShadowWorkflow implements PolicyService.
func (s *Policies) ShadowWorkflow(ctx context.Context, req *policyv1.ShadowWorkflowRequest) (*policyv1.ShadowWorkflowResponse, error) {
	digest, err := s.Store.ShadowWorkflow(ctx, caller(ctx), req.GetWorkflow(), req.GetDefinition())
	if err != nil {
		return nil, err
	}
	return &policyv1.ShadowWorkflowResponse{Digest: digest}, nil
}

// GetPolicyUsage implements PolicyService.
func (s *Policies) GetPolicyUsage(ctx context.Context, req *policyv1.GetPolicyUsageRequest) (*policyv1.GetPolicyUsageResponse, error) {
	who, err := callerFor(ctx)
	if err != nil {
		return nil, err
	}
	usages, err := s.Store.Usage(ctx, who, req.GetName(), policystore.Spender{
		Principal: req.GetPrincipal(), Session: req.GetSessionId(), Human: req.GetHuman(),
	})
	if err != nil {
		return nil, err
	}
	resp := &policyv1.GetPolicyUsageResponse{}
	for i := range usages {
		resp.Usages = append(resp.Usages, usageProto(&usages[i]))
	}
	resp.Exceptions, err = s.exceptions(ctx, req.GetName())
	return resp, err
}

// SimulatePolicy implements PolicyService.
func (s *Policies) SimulatePolicy(ctx context.Context, req *policyv1.SimulatePolicyRequest) (*policyv1.SimulatePolicyResponse, error) {
	simulated, err := s.Checks.Simulate(ctx, caller(ctx), check.Simulation{
		Definition: req.GetDefinition(), Since: since(req.GetSince()), RunID: req.GetRunId(),
	})
	if err != nil {
		return nil, err
	}
	resp := &policyv1.SimulatePolicyResponse{Replayed: simulated.Replayed, Truncated: simulated.Truncated, Undecided: simulated.Unknown}
	for _, c := range simulated.Changes {
		resp.Changes = append(resp.Changes, &policyv1.SimulatedChange{
			Recorded: recordProto(c.Recorded), Decision: decisions[c.Decision], Code: codes[c.Code], Message: c.Message,
		})
	}
	return resp, nil
}

// PolicyChanged announces a change of policies. That of a workflow's shadow has the
// workflow's name.
func (Announcer) PolicyChanged(namespace, actor string, c *policystore.Change, at time.Time) (store.Event, error) {
	if c.Exception != nil {
		return exceptionChanged(namespace, actor, c, at)
	}
	event := &eventv1.Event{
		Namespace: namespace, Entity: "policy", EntityId: c.Name, Type: c.Type,
		Version: c.IndexVersion, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_PolicyChanged{PolicyChanged: &eventv1.PolicyChanged{
			PolicyVersion: c.Version, Digest: c.Digest, Shadow: c.Shadow,
			Attachment: string(c.Attachment.Kind), AttachedTo: c.Attachment.ID,
		}},
	}
	return encodeNth(event, c.Nth)
}

// CatalogChanged announces a change by the application of a set.
func (Announcer) CatalogChanged(namespace, actor string, c *catalog.Change, at time.Time) (store.Event, error) {
	return protomap.CatalogEvent(namespace, actor, c, at)
}

func policyProto(p *policystore.Policy) *policyv1.Policy {
	out := &policyv1.Policy{
		Name: p.Name, Version: p.Number, Digest: p.Digest, Definition: p.Definition,
		CreatedAt: timestamppb.New(p.CreatedAt), CreatedBy: p.CreatedBy,
		LiveVersion: p.Live, ShadowVersion: p.Shadow,
	}
	for _, to := range p.Attachments {
		out.Attachments = append(out.Attachments, &policyv1.Attachment{Kind: kinds[to.Kind], Id: to.ID})
	}
	return out
}

func attachments(all []*policyv1.Attachment) []policystore.Attachment {
	out := make([]policystore.Attachment, len(all))
	for i, a := range all {
		out[i] = attachment(a)
	}
	return out
}

// attachment reads one; of a kind that this version does not know it is of none, and
// refused.
func attachment(a *policyv1.Attachment) policystore.Attachment {
	for kind, value := range kinds {
		if value == a.GetKind() {
			return policystore.Attachment{Kind: kind, ID: a.GetId()}
		}
	}
	return policystore.Attachment{Kind: policystore.AttachmentKind(a.GetKind().String()), ID: a.GetId()}
}

func usageProto(u *policystore.Usage) *policyv1.Usage {
	out := &policyv1.Usage{
		Capability: u.Pattern, Measure: measures[u.Measure], Scope: scopes[u.Scope], Subject: u.Subject,
		Used: u.Used, Max: u.Max, Period: periods[u.Period],
	}
	if u.Window > 0 {
		out.Window = durationpb.New(u.Window)
	}
	if !u.ResetsAt.IsZero() {
		out.ResetsAt = timestamppb.New(u.ResetsAt)
	}
	return out
}

func policyProblems(problems document.Problems) []*policyv1.PolicyProblem {
	out := make([]*policyv1.PolicyProblem, len(problems))
	for i, p := range problems {
		out[i] = &policyv1.PolicyProblem{Pointer: p.Pointer, Code: p.Code, Message: p.Message}
	}
	return out
}

func pageSize(asked int32) int {
	if asked == 0 {
		return defaultPageSize
	}
	return int(asked)
}

// since returns a time, or the zero time for none.
func since(at *timestamppb.Timestamp) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.AsTime()
}
