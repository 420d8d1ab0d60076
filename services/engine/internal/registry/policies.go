package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
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

// nobodyAnswers is the code of a warning of approvals that no registered people could grant (S24.6).
const nobodyAnswers = "NOBODY_CAN_ANSWER"

// withPeopleWarnings adds warnings of terms that only registered people meet, and that those who there are do not:
// people may be added later.
func (reg *Registry) withPeopleWarnings(ctx context.Context, namespace string, problems document.Problems, def *workflow.Definition) (document.Problems, error) {
	m := workflow.Compile(def, 0)
	always, all := m.Meta().Approval, m.ApprovalFor(nil)
	if !all.Presence && !all.Distinct {
		return problems, nil
	}
	voters, err := reg.people.Voters(ctx, namespace)
	if err != nil {
		return problems, fault.From(err)
	}
	pointer, why := "/meta/approval", always.Unanswerable(consent.Asker{}, voters)
	if why == "" {
		pointer, why = "/meta/approval/terms", all.Unanswerable(consent.Asker{}, voters)
	}
	if why != "" {
		problems = append(problems, document.Problem{
			Pointer: pointer, Code: nobodyAnswers, Severity: document.SeverityWarning, Message: "nobody can answer such an approval now: " + why,
		})
	}
	return problems, nil
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
