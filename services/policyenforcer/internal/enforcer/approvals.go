package enforcer

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

// Approvals is the port to the approval service.
type Approvals interface {
	// Request returns the approval of exactly this action if it is pending, granted and unused, or
	// rejected. Otherwise it creates one.
	Request(ctx context.Context, namespace string, ask Ask) (Approval, error)
	// Consume uses a granted approval once. The same usedBy may repeat it, and may replace insteadOf,
	// a call that was never admitted.
	Consume(ctx context.Context, namespace, approvalID, digest, usedBy, insteadOf string) error
	// Withdraw ends an unused approval, because a value that it rests on has changed. It ignores an
	// approval that has ended.
	Withdraw(ctx context.Context, namespace, approvalID, reason string) error
}

// Ask is a question to approvers: may this call be made?
type Ask struct {
	Action  consent.Action
	Asker   consent.Asker
	Message string
	Terms   consent.Terms
	// Facts are what the call does, for the approvers: JSON of facet.Record, or nil.
	Facts []byte
	RunID string
	// Policy, PolicyVersion and Rule identify the rule that asks. WorkflowVersion is that of the run.
	Policy          string
	PolicyVersion   int64
	Rule            string
	WorkflowVersion int64
	// Entry is the run's entry of its state.
	Entry int64
	// UsedBy is the call that would use the approval. SettledUse is a call that it has admitted.
	UsedBy, SettledUse string
}

// SameRule reports whether an approval was requested by the rule that asks now (S18.7).
func (a *Ask) SameRule(of *Approval) bool {
	return of.Policy == a.Policy && of.PolicyVersion == a.PolicyVersion && of.Rule == a.Rule
}

// RuleChange describes the rule that requested an approval, and the one that asks now.
func (a *Ask) RuleChange(of *Approval) string {
	return fmt.Sprintf("rule %s of policy %s version %d asked, and now rule %s of policy %s version %d does",
		of.Rule, document.Quote(of.Policy), of.PolicyVersion, a.Rule, document.Quote(a.Policy), a.PolicyVersion)
}

// Approval is the present status of an approval.
type Approval struct {
	ID      string
	Created bool
	Status  consent.Status
	// UsedBy is the call that has used it at UsedAt, or empty.
	UsedBy string
	UsedAt time.Time
	// Policy, PolicyVersion and Rule identify the rule that asked.
	Policy        string
	PolicyVersion int64
	Rule          string
	// Outcome is one sentence for the agent.
	Outcome string
}
