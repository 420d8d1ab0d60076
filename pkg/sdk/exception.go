package sdk

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// ExceptionScope says whose calls pass a rule, and which: all members that are set must fit.
type ExceptionScope struct {
	// Principal, Human and Group are names; Session is that of a session, with all below it.
	Principal, Human, Group, Session string
	// When is a condition on the call: JSON, or a value that encodes to it; nil for every call.
	When any
}

// PolicyException lets some calls pass a rule of a policy for a time (S22.13).
type PolicyException struct {
	ID, Policy string
	// Rule is a JSON Pointer into the policy, such as "/deny/1".
	Rule  string
	Scope ExceptionScope
	// Until is when it ends.
	Until     time.Time
	Reason    string
	CreatedBy string
	CreatedAt time.Time
	// Pending is true while a second operator has to confirm it: it does not count until then.
	Pending     bool
	ConfirmedBy string
}

// NewException describes an exception.
type NewException struct {
	Policy, Rule string
	Scope        ExceptionScope
	// Until is at most 7 days from now.
	Until  time.Time
	Reason string
}

// AddException makes an exception from a rule that has "exceptable": true, as an operator. It waits for a second
// operator where the policy says so.
func (g *registryGroup) AddException(ctx context.Context, e NewException) (PolicyException, error) {
	when, err := encode("condition", e.Scope.When)
	if err != nil {
		return PolicyException{}, err
	}
	resp, err := retry(ctx, g.policies.AddException, &policyv1.AddExceptionRequest{
		Policy: e.Policy, Rule: e.Rule, Until: timestamppb.New(e.Until), Reason: e.Reason,
		Scope: &policyv1.ExceptionScope{Principal: e.Scope.Principal, Human: e.Scope.Human, Group: e.Scope.Group, SessionId: e.Scope.Session, When: when},
	})
	return exceptionOf(resp.GetException()), err
}

// ListExceptions returns the exceptions of a policy that have not ended; of all policies without one.
func (g *registryGroup) ListExceptions(ctx context.Context, policy string) ([]PolicyException, error) {
	resp, err := retry(ctx, g.policies.ListExceptions, &policyv1.ListExceptionsRequest{Policy: policy})
	return each(resp.GetExceptions(), exceptionOf), err
}

// ConfirmException confirms an exception that another operator has made.
func (g *registryGroup) ConfirmException(ctx context.Context, id string) (PolicyException, error) {
	resp, err := retry(ctx, g.policies.ConfirmException, &policyv1.ConfirmExceptionRequest{ExceptionId: id})
	return exceptionOf(resp.GetException()), err
}

// EndException ends an exception before its time, as an operator.
func (g *registryGroup) EndException(ctx context.Context, id string) error {
	_, err := retry(ctx, g.policies.EndException, &policyv1.EndExceptionRequest{ExceptionId: id})
	return err
}

func exceptionOf(e *policyv1.Exception) PolicyException {
	s := e.GetScope()
	scope := ExceptionScope{Principal: s.GetPrincipal(), Human: s.GetHuman(), Group: s.GetGroup(), Session: s.GetSessionId()}
	if when := s.GetWhen(); len(when) > 0 {
		scope.When = json.RawMessage(when)
	}
	return PolicyException{
		ID: e.GetExceptionId(), Policy: e.GetPolicy(), Rule: e.GetRule(), Scope: scope, Until: timeOf(e.GetUntil()), Reason: e.GetReason(),
		CreatedBy: e.GetCreatedBy(), CreatedAt: timeOf(e.GetCreatedAt()), Pending: e.GetPending(), ConfirmedBy: e.GetConfirmedBy(),
	}
}
