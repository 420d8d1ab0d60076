// Package standing asks whether rules judge the calls of a session that drives no run (S13.15).
package standing

import (
	"context"
	"slices"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Judged reports that a policy in force has a rule for the caller and the session, or that their calls are refused for another
// reason. Shadows do not count, nor do policies that only allow by default.
func Judged(ctx context.Context, enforcer policyv1.PolicyEnforcerServiceClient, session string) (bool, error) {
	resp, err := enforcer.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{SessionId: session, Tool: "Read", DryRun: true, Explain: true})
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return false, nil
	case err != nil:
		return false, err
	}
	return resp.GetDecision() != policyv1.Decision_DECISION_ALLOW || slices.ContainsFunc(resp.GetExplanation().GetPolicies(), restricts), nil
}

// restricts reports that a policy has a rule, or a default other than to allow.
func restricts(p *policyv1.PolicyReason) bool {
	return slices.ContainsFunc(p.GetRules(), func(r *policyv1.RuleReason) bool {
		return r.GetCapability() != "" || r.GetEffect() != policyv1.RuleEffect_RULE_EFFECT_ALLOW
	})
}
