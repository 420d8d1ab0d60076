package rpc

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
)

// Decisions serves DecisionService.
type Decisions struct {
	policyv1.UnimplementedDecisionServiceServer
	Checks *check.Service
	Log    *decisionlog.Log
	// Refused returns the last callers of a namespace that were refused before a decision.
	Refused func(ctx context.Context, namespace string) ([]*policyv1.Refusal, error)
}

// ListDecisions implements DecisionService.
func (s *Decisions) ListDecisions(ctx context.Context, req *policyv1.ListDecisionsRequest) (*policyv1.ListDecisionsResponse, error) {
	query, err := decisionQuery(req.GetFilter())
	if err != nil {
		return nil, err
	}
	query.PageToken, query.Limit = req.GetPageToken(), pageSize(req.GetPageSize())
	found, next, err := s.Log.List(ctx, rpc.Namespace(ctx), query)
	if err != nil {
		return nil, err
	}
	resp := &policyv1.ListDecisionsResponse{NextPageToken: next}
	for _, r := range found {
		record := recordProto(r)
		if req.GetRaw() {
			record.Raw = r.Raw
			if !ledger.HasOwnTime(r.Raw) {
				record.CommittedUs = r.At.UnixMicro()
			}
		}
		resp.Decisions = append(resp.Decisions, record)
	}
	return resp, nil
}

// GetDecision implements DecisionService.
func (s *Decisions) GetDecision(ctx context.Context, req *policyv1.GetDecisionRequest) (*policyv1.GetDecisionResponse, error) {
	found, err := s.Log.Get(ctx, rpc.Namespace(ctx), decisionlog.CallQuery{
		RunID: req.GetRunId(), SessionID: req.GetSessionId(), CallID: req.GetCallId(), Sequence: req.GetSequence(),
	})
	if err != nil {
		return nil, err
	}
	resp := &policyv1.GetDecisionResponse{Decision: recordProto(found)}
	if req.GetExplain() {
		why, err := s.Checks.ExplainRecorded(ctx, rpc.Namespace(ctx), found)
		if err != nil {
			return nil, err
		}
		resp.Explanation = explanationProto(why)
	}
	return resp, nil
}

// ListRefusals implements DecisionService.
func (s *Decisions) ListRefusals(ctx context.Context, _ *policyv1.ListRefusalsRequest) (*policyv1.ListRefusalsResponse, error) {
	all, err := s.Refused(ctx, rpc.Namespace(ctx))
	if err != nil {
		return nil, err
	}
	return &policyv1.ListRefusalsResponse{Refusals: all}, nil
}

// VerifyDecisions implements DecisionService.
func (s *Decisions) VerifyDecisions(ctx context.Context, req *policyv1.VerifyDecisionsRequest) (*policyv1.VerifyDecisionsResponse, error) {
	reports, next, err := s.Log.Verify(ctx, rpc.Namespace(ctx), req.GetPartition(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &policyv1.VerifyDecisionsResponse{NextPageToken: next}
	for _, r := range reports {
		resp.Chains = append(resp.Chains, &policyv1.ChainReport{
			Partition: r.Partition, Ok: r.OK(), Sealed: r.Sealed, Unsealed: r.Unsealed, Head: r.Head,
			Sequence: r.Sequence, Problem: r.Problem,
		})
	}
	return resp, nil
}

// decisionQuery reads the filter of a list of decisions.
func decisionQuery(filter string) (q decisionlog.Query, err error) {
	terms, err := listing.Parse(filter, "run_id", "session_id", "tool", "decision", "not_decision", "code", "workflow", "policy", "principal",
		"since", "before", "shadowed", "when")
	if err != nil {
		return q, err
	}
	q.RunID, q.SessionID, q.Tool = terms["run_id"], terms["session_id"], terms["tool"]
	decision, err := terms.OneOf("decision", protomap.Names(policyv1.Decision_name, "DECISION_"))
	if err != nil {
		return q, err
	}
	q.Decision = toolcall.Decision(decision)
	others, err := terms.SomeOf("not_decision", protomap.Names(policyv1.Decision_name, "DECISION_"))
	if err != nil {
		return q, err
	}
	for _, other := range others {
		q.NotDecisions = append(q.NotDecisions, toolcall.Decision(other))
	}
	code, err := terms.OneOf("code", protomap.Names(policyv1.DecisionCode_name, "DECISION_CODE_"))
	if err != nil {
		return q, err
	}
	q.Code = toolcall.Code(code)
	q.Workflow, q.Policy, q.Principal = terms["workflow"], terms["policy"], terms["principal"]
	if q.Since, err = terms.Time("since"); err != nil {
		return q, err
	}
	if q.Before, err = terms.Time("before"); err != nil {
		return q, err
	}
	if text := terms["when"]; text != "" {
		if q.When, err = readCondition(text); err != nil {
			return q, err
		}
	}
	q.Shadowed, err = terms.True("shadowed")
	return q, err
}

// readCondition reads the condition of a filter.
func readCondition(text string) (*condition.Condition, error) {
	v, problems := document.ParseAll([]byte(text), document.Limits{})
	if !problems.HasErrors() {
		var report document.Report
		if when := condition.Read(&report, v, nil, condition.Use{Stance: condition.Restricts}); when != nil {
			return when, nil
		}
		problems = report.Problems()
	}
	return nil, fault.New(fault.InvalidRequest, "when is no condition: %v", problems.Err()).Violate("/filter", "CONDITION", "not a condition")
}

func recordProto(r *ledger.Decision) *policyv1.DecisionRecord {
	out := &policyv1.DecisionRecord{
		Partition: r.Partition, Sequence: r.Sequence, Time: timestamppb.New(r.Time), Principal: r.Principal,
		SessionId: r.SessionID, RunId: r.RunID, RunVersion: r.RunVersion,
		Workflow: r.Workflow, WorkflowVersion: r.WorkflowVersion, State: r.State, Branch: r.Branch,
		CallId: r.CallID, Tool: r.Tool, Capability: r.Capability,
		Decision: decisions[r.Decision], Code: codes[r.Code], Message: r.Message,
		Rule: r.Rule, Policy: r.Policy, PolicyVersion: r.PolicyVersion,
		InputDigest: r.InputDigest, Input: r.Input, Facts: r.Facts, Exceptions: r.Exceptions, EstimatedCostUsd: r.EstimatedCostUSD, ApprovalId: r.ApprovalID, LeaseId: r.LeaseID, Hash: r.Hash,
		JailLevel: int32(r.JailLevel), JailDigest: r.JailDigest, //nolint:gosec // at most 3
		Identity: identityProto(r), BreakGlassGrant: r.Grant,
	}
	if r.Grant != "" {
		out.MadeAt = timestamppb.New(r.MadeAt)
	}
	for i := range r.Shadows {
		s := &r.Shadows[i]
		out.Shadows = append(out.Shadows, &policyv1.ShadowDecision{
			Policy: s.Policy, PolicyVersion: s.PolicyVersion, Workflow: s.Workflow, WorkflowDigest: s.WorkflowDigest,
			Decision: decisions[s.Decision], Code: codes[s.Code], Message: s.Message,
		})
	}
	return out
}
