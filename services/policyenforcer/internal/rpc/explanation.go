package rpc

import (
	"fmt"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
)

// effects converts the effects of rules.
var effects = protomap.Enums[toolcall.Decision, policyv1.RuleEffect](policyv1.RuleEffect_value, "RULE_EFFECT_")

// explanationProto returns nil for no explanation.
func explanationProto(e *check.Explanation) *policyv1.Explanation {
	if e == nil {
		return nil
	}
	v := &e.State.Verdict
	out := &policyv1.Explanation{
		InputKept: e.InputKept, Command: protomap.CommandLine(e.State.Line), WouldAllow: e.WouldAllow,
		JailLevel: int32(e.JailLevel), JailDigest: e.JailDigest, //nolint:gosec // at most 3
		State: &policyv1.StateReason{
			Verdict: decisions[v.Decision], Code: codes[v.Code], Message: e.StateMessage,
			ToolsRestricted: e.ToolsRestricted, AllowedTools: e.AllowedTools, Matched: e.State.Matched,
		},
	}
	for i := range e.State.Calls {
		out.State.Calls = append(out.State.Calls, callReasonProto(&e.State.Calls[i]))
	}
	for i := range e.Policies {
		out.Policies = append(out.Policies, policyReasonProto(&e.Policies[i]))
	}
	for i := range e.Limits {
		out.Limits = append(out.Limits, limitReasonProto(&e.Limits[i]))
	}
	return out
}

// truths converts the results of conditions.
var truths = map[condition.Truth]policyv1.Truth{
	condition.True: policyv1.Truth_TRUTH_HOLDS, condition.False: policyv1.Truth_TRUTH_FAILS, condition.Doubt: policyv1.Truth_TRUTH_DOUBT,
}

func callReasonProto(c *toolcall.CallReason) *policyv1.CallReason {
	out := &policyv1.CallReason{Rule: fmt.Sprintf("/calls/%d", c.Place), Pattern: c.Rule.Pattern(), Result: truths[c.Result]}
	for i := range c.Leaves {
		out.Conditions = append(out.Conditions, conditionProto(rules.ConditionOf(&c.Leaves[i])))
	}
	return out
}

func conditionProto(c rules.Condition) *policyv1.Condition {
	return &policyv1.Condition{Field: c.Field, Expected: c.Expected, Actual: c.Actual, Holds: c.Holds, Doubt: c.Doubt, Negated: c.Negated}
}

func policyReasonProto(p *check.PolicyReasons) *policyv1.PolicyReason {
	out := &policyv1.PolicyReason{
		Policy: p.Name, Version: p.Version, Scope: p.Scope,
		Verdict: decisions[p.Verdict.Decision], Code: codes[p.Verdict.Code], Message: p.Verdict.Explain(),
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		rule := &policyv1.RuleReason{Rule: r.By.Pointer(), Effect: effects[r.Effect], Capability: r.By.Pattern, Matches: r.Matches, Decides: r.Decides, Unclear: r.Unclear, Id: r.By.ID}
		for _, c := range r.Conditions {
			rule.Conditions = append(rule.Conditions, conditionProto(c))
		}
		out.Rules = append(out.Rules, rule)
	}
	return out
}

func limitReasonProto(l *check.LimitReason) *policyv1.LimitReason {
	scope := l.Scope
	if scope == "" {
		scope = rules.PerPolicy
	}
	out := &policyv1.LimitReason{
		Policy: l.Policy, Rule: l.Rule, Measure: measures[l.Measure], Scope: scopes[scope], Subject: l.Subject,
		Period: periods[l.Period], Used: l.Used, Max: l.Max, After: l.After,
	}
	if l.Window > 0 {
		out.Window = durationpb.New(l.Window)
	}
	if !l.ResetsAt.IsZero() {
		out.ResetsAt = timestamppb.New(l.ResetsAt)
	}
	return out
}
