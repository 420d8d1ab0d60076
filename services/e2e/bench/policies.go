package main

import (
	"context"
	"fmt"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// limits is a policy whose limits are counted and never reached. All calls share
// their accounts: nothing is harder on a store.
const limits = `{
  "role": "agent", "name": "bench", "default": "deny",
  "allow": [
    {"capability": "tool:Read"}, {"capability": "tool:Grep"}, {"capability": "bash"},
    {"capability": "tool:Edit", "rate_limit": {"max_calls": 1000000000, "window_seconds": 3600},
      "budget_limit": {"max_usd": 1000000000, "period": "daily"}}
  ]
}`

// limited is the namespace whose agents are held to the policy.
const limited = "limited"

// limitedRequest is checkRequest with what the call may cost.
func limitedRequest(run string) *policyv1.CheckToolCallRequest {
	req := checkRequest(run)
	req.EstimatedCostUsd = "0.02"
	return req
}

// limit puts the policy, and holds the agents of the namespace to it.
func (s *stage) limit(ctx context.Context, c *child) error {
	operator, err := s.operator(c, limited)
	if err != nil {
		return err
	}
	policies := policyv1.NewPolicyServiceClient(operator)
	if _, err := policies.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Definition: []byte(limits)}); err != nil {
		return err
	}
	_, err = policies.AttachPolicy(ctx, &policyv1.AttachPolicyRequest{
		Name: "bench", To: &policyv1.Attachment{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_ROLE, Id: string(auth.Agent)},
	})
	return err
}

// policies measures checks that a policy's rate limit and budget are counted
// with, and compares them with checks without a policy and with the bare server.
func (b *bencher) policies(ctx context.Context, backend string) error {
	title := "Checks with a policy over gRPC on " + backend + ": a rate limit and a daily budget of all callers together, counted in the decision's commit. " +
		"bare = the bare server's check, which counts neither and keeps no log of decisions"
	return b.perCallers(backend, title, func(s *stage, callers int) ([]*load, error) { return b.policyGroup(ctx, s, callers) })
}

func (b *bencher) policyGroup(ctx context.Context, s *stage, callers int) ([]*load, error) {
	servers, err := s.serveTo(callers, roleBare, roleInterlock)
	if err != nil {
		return nil, err
	}
	bare, interlock := servers[0], servers[1]
	loads, err := s.policyLoads(ctx, interlock.child, callers)
	if err != nil {
		return nil, err
	}
	storePID, err := s.storePID(ctx)
	if err != nil {
		return nil, err
	}
	runs := make([]string, callers)
	for i := range runs {
		runs[i] = fmt.Sprintf("run_%026d", i)
	}
	loads = append([]*load{{name: "bare check", callers: callers, calls: 1, server: bare.pid, open: checks(ctx, bare.pool, own(runs))}}, loads...)
	for _, l := range loads {
		l.store = storePID
	}
	return loads, measure(ctx, loads, b.rounds, b.round)
}

// policyLoads are checks of runs in a namespace without policies, and in one whose
// agents are held to one.
func (s *stage) policyLoads(ctx context.Context, c *child, callers int) ([]*load, error) {
	if err := s.limit(ctx, c); err != nil {
		return nil, err
	}
	loads := []*load{{name: "check, no policy"}, {name: "check, limits of a policy"}}
	bounds := []float64{0.9, 0.7}
	requests := []func(string) *policyv1.CheckToolCallRequest{checkRequest, limitedRequest}
	for i, namespace := range []string{"", limited} {
		p, err := s.dialIn(c, callers, namespace)
		if err != nil {
			return nil, err
		}
		runs, err := p.runs(ctx, callers)
		if err != nil {
			return nil, err
		}
		l := loads[i]
		l.callers, l.calls, l.server, l.base = callers, 1, c.pid, "bare check"
		l.open = checksOf(ctx, p, own(runs), requests[i])
		if callers == 64 {
			l.goals = []goal{{bound: bounds[i]}}
		}
	}
	return loads, nil
}
