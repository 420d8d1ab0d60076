package check

import (
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Decision is the answer to one tool call.
type Decision struct {
	// Verdict is the strictest of the state and the policies.
	Verdict toolcall.Verdict
	Message string
	CallID  string
	Tool    string
	// Capability is the name that policies have for the tool.
	Capability string
	// InputDigest is the hex SHA-256 of the tool's name and input.
	InputDigest string
	Run         *workflow.View
	Machine     *workflow.Machine
	// Iterations counts the allowed calls in this entry, this one included.
	Iterations int64
	// By is the part of a policy that has decided; nil if the state did.
	By *rules.Source
	// ApprovalID identifies the approval that is pending, or that has admitted the call.
	ApprovalID string
	// LeaseID identifies the lease that has admitted the call; empty for none. ApprovalID is then that of
	// the lease.
	LeaseID string
	// Shadows are the decisions of shadows that differ.
	Shadows []ledger.Shadow
	// Unbound: the session drives no run, and the policies that apply without one have decided.
	Unbound bool
	// EstimatedCost was reserved of budgets until the report.
	EstimatedCost rules.MicroUSD
	// Undecided is the reason of a denial without a decision; empty if there is one.
	Undecided fault.Reason
	// Explanation is nil unless it was requested.
	Explanation *Explanation
	// Jail is the jail that the line must run in; nil for none.
	Jail *ledger.Jail
}

// Lifted reports whether the call is allowed because its state judges no call now: see lifted. The answer is not
// the state's consent to the tool.
func (d *Decision) Lifted() bool { return lifted(&d.Verdict, d.Tool) }

// follow takes over a combined verdict: the decision, the rule that has decided, and the message to the agent.
func (d *Decision) follow(c *rules.Combined) {
	d.Verdict, d.By = c.State, nil
	if c.Decision == c.State.Decision {
		d.Message = c.State.Message(d.Machine, d.Run)
		for i := range c.Policies {
			// A call without a rule is the state's decision.
			if p := &c.Policies[i]; c.Decision == toolcall.Allow && p.By != nil && p.By.Pattern != "" {
				d.By = p.By
				break
			}
		}
		if d.Unbound && d.By != nil { // without a run, the rule has judged
			d.Verdict.Code, d.Message = "", ""
		}
		return
	}
	d.Verdict = toolcall.Verdict{Decision: c.Decision, Code: c.Code, Tool: d.Tool}
	d.Message = c.Message()
	for i := range c.Policies {
		if p := &c.Policies[i]; p.Decision == c.Decision || c.Decision == toolcall.Deny && p.Decision != toolcall.Ask && p.Decision != toolcall.Allow {
			d.By = p.By
			break
		}
	}
}
