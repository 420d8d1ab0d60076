package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// policyUnknown is the code of a warning of a policy that does not exist (S7.10).
const policyUnknown = "POLICY_UNKNOWN"

// missingPolicies returns those of the names that are no policies of the namespace now.
func (reg *Registry) missingPolicies(ctx context.Context, namespace string, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	record, err := reg.ports.Store.Get(ctx, ledger.PolicyIndexOf(namespace))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fault.From(err)
	}
	missing, err := ledger.MissingPolicies(record, names)
	if err != nil {
		return nil, fault.From(err)
	}
	return missing, nil
}

// withPolicyWarnings adds warnings of policies that a definition names and that do not exist: files may be
// applied in any order.
func (reg *Registry) withPolicyWarnings(ctx context.Context, namespace string, problems document.Problems, names []string) (document.Problems, error) {
	missing, err := reg.missingPolicies(ctx, namespace, names)
	for _, name := range missing {
		problems = append(problems, document.Problem{
			Pointer: "/meta/policy", Code: policyUnknown, Severity: document.SeverityWarning,
			Message: fmt.Sprintf("policy %s does not exist, so no run can start: store it with `interlock policy put FILE`", document.Quote(name)),
		})
	}
	return problems, err
}

// HavePolicies refuses to start a run of a workflow that names a policy that does not exist: every
// call of it would be denied.
func (reg *Registry) HavePolicies(ctx context.Context, namespace, workflow string, names []string) error {
	missing, err := reg.missingPolicies(ctx, namespace, names)
	if err != nil || len(missing) == 0 {
		return err
	}
	return fault.New(fault.FailedPrecondition, "workflow %s names policy %s, which does not exist, so no run was started: "+
		"store it with `interlock policy put FILE`, or take it out of meta.policy", document.Quote(workflow), document.Quote(missing[0]))
}
