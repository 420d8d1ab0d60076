package main

import (
	"context"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// limits is a policy whose limits are counted and never reached. All calls share
// their accounts: no other case is harder on a store.
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

// limitedRequest returns checkRequest with the possible cost of the call.
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
	return attach(ctx, operator, "bench", []byte(limits))
}

// limitedLoad returns checks of runs in a namespace whose agents are held to the policy.
func (s *stage) limitedLoad(ctx context.Context, c *child, callers int) (*load, error) {
	if err := s.limit(ctx, c); err != nil {
		return nil, err
	}
	p, err := s.dialIn(c, callers, limited)
	if err != nil {
		return nil, err
	}
	runs, err := p.runs(ctx, callers)
	if err != nil {
		return nil, err
	}
	return &load{
		name: "check, limits of a policy", open: checksOf(ctx, p, own(runs), limitedRequest),
		against: []pair{with(plainCheck), with(bareCheck, goal{bound: 0.7}), with(loggedCheck)},
	}, nil
}
