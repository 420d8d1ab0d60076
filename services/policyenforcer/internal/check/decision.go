package check

import (
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Decision is the answer to one tool call.
type Decision struct {
	// Verdict is the strictest of what the state and the policies say.
	Verdict toolcall.Verdict
	Message string
	CallID  string
	Tool    string
	// Capability is what policies call the tool.
	Capability string
	// InputDigest is the hex SHA-256 of the tool's name and input.
	InputDigest string
	Run         *workflow.View
	Machine     *workflow.Machine
	// Iterations counts the allowed calls in this entry, this one included.
	Iterations int64
	// By is the part of a policy that has decided; nil when the state did.
	By *rules.Source
	// ApprovalID is the approval that is waited for, or that has admitted the call.
	ApprovalID string
	// LeaseID is the lease that has admitted the call; empty for none. ApprovalID is then
	// that of the lease.
	LeaseID string
	// Shadows are what shadows would have decided, where that differs.
	Shadows []ledger.Shadow
	// Unbound: the session drives no run, and what holds for it anyway has decided.
	Unbound bool
	// EstimatedCost was reserved of budgets until the report.
	EstimatedCost rules.MicroUSD
	// Undecided is why the call was denied without a decision; empty when there is one.
	Undecided fault.Reason
	// Explanation is why, where that was asked for.
	Explanation *Explanation
	// Jail is what the line must run in; nil for no jail.
	Jail *ledger.Jail

	combined rules.Combined
	lease    *consent.Lease
	// files is how many files the entry has changed after this call, where that is limited,
	// and full the limit that has denied the call.
	files    int64
	full     []ledger.Limit
	observed observed
}

// settle takes over what was combined: the verdict, who has decided, and what is
// said to the agent.
func (d *Decision) settle(c rules.Combined) {
	d.combined, d.Verdict, d.By = c, c.State, nil
	if c.Decision == c.State.Decision {
		d.Message = c.State.Message(d.Machine, d.Run)
		for i := range c.Policies {
			// What no rule is about is the state's decision.
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

// lifted reports that a call passes although its state judges nothing now: enforcement is
// off, or the call only reads after a failure (S2.9, S6.2).
func lifted(state toolcall.Verdict, tool string) bool {
	return state.Decision == toolcall.Allow && !state.Counted && !toolcall.Own(tool) && !toolcall.Loads(tool)
}
