package check

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

// Ruling is the verdict on an attempt, and the answer that follows. It is a value: methods that change a part return
// another ruling.
type Ruling struct {
	Attempt
	Admission Admission
	// State is the verdict of the state, and Combined that of the state and the policies.
	State    toolcall.Verdict
	Combined rules.Combined
	// Decision is the answer.
	Decision Decision
	// files and the attempt's OpenCalls are read for the plan: see Service.readForPlan.
	files   *calls.ChangedFiles
	effects effects
	// full has the limit that has denied the call; nil for none.
	full []ledger.Limit
}

// follow replaces the combined verdict, and makes the decision of it.
func (r Ruling) follow(c rules.Combined) Ruling {
	r.Combined = c
	r.Decision.follow(&r.Combined)
	return r
}

// asks reports whether the call waits for an approval.
func (r Ruling) asks() bool { return r.Decision.Verdict.Decision == toolcall.Ask }

// repeatable reports whether a repeat of the call gets this answer. A question may be answered otherwise later.
func (r Ruling) repeatable() bool {
	code := r.Decision.Verdict.Code
	return !r.asks() && code != toolcall.CodeCallerDenied && code != toolcall.CodeHalted
}

// askedBy identifies the rule that asks, in this version of its policy.
func (r Ruling) askedBy() string {
	by := r.Decision.By
	if by == nil {
		return ""
	}
	return fmt.Sprintf("%s@%d%s", by.Policy, by.Version, by.Pointer())
}

// WithAdmission returns the ruling after its question was answered.
func (r Ruling) WithAdmission(admission Admission) Ruling {
	next := r.decideWith(r.State, admission)
	next.Decision.Explanation, next.Decision.Shadows = r.Decision.Explanation, r.Decision.Shadows
	return next
}

// Pending returns the ruling on a call whose approval is not decided yet. changed describes the values that an
// earlier approval rested on and that have changed; empty for none.
func (r Ruling) Pending(asked enforcer.Approval, changed string) Ruling {
	r.Decision.ApprovalID = asked.ID
	if !asked.Created {
		r.Decision.Verdict.Code = toolcall.CodeApprovalPending
	}
	// It names no command line: agents read this, and would try one (S13.4).
	r.Decision.Message += " The approval is " + asked.ID + "; a person with the role approver decides it, in the console, /ui/approvals."
	if changed != "" {
		r.Decision.Message += " The basis of an earlier approval of this call has changed: " + changed + "."
	}
	return r
}

// Rejected returns the denial of a call that approvers have rejected.
func (r Ruling) Rejected(asked enforcer.Approval) Ruling {
	r.Decision.ApprovalID = asked.ID
	r.Decision.Verdict = toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodePolicyDenied, Tool: r.Req.Tool}
	r.Decision.Message = fmt.Sprintf("Tool %s is denied: a human was asked about exactly this call. %s Do something else, or fire an event; you can request a different call.",
		document.Quote(r.Req.Tool), asked.Outcome)
	return r
}

// DeniedByLimit returns the denial of the call if err reports a full limit. It returns false for other errors and for nil.
func (r Ruling) DeniedByLimit(err error, now time.Time) (Ruling, bool) {
	var full *quota.FullError
	if errors.As(err, &full) {
		denied := r.withoutLease()
		denied.Decision.ApprovalID = ""
		denied.full = []ledger.Limit{quota.LimitOf(&r.Combined.Spends[full.Index], full.Value, now)}
		return denied.follow(r.Combined.Exceeded(full.Index, full.Value, full.ReopensAt)), true
	}
	var limit *store.LimitError
	if !errors.As(err, &limit) {
		return r, false
	}
	if limit.Name == ledger.ContextBytes {
		return r.deny(toolcall.ContextBudgetSpent(r.At.Machine, r.At.Run, limit.Value)), true
	}
	r.Decision.Iterations = limit.Value
	return r.deny(toolcall.IterationLimitReached(r.At.Machine, r.At.Run, limit.Value)), true
}

// deny returns the denial by the state.
func (r Ruling) deny(v toolcall.Verdict) Ruling {
	v.Tool = r.Req.Tool
	r.effects = effects{}
	return r.withoutLease().follow(rules.Combine(v, nil, nil))
}

// withoutLease returns the ruling without its lease, because the call is denied and spends no call of the lease.
func (r Ruling) withoutLease() Ruling {
	if r.Admission.Lease != nil {
		r.Admission.Lease, r.Decision.LeaseID, r.Decision.ApprovalID = nil, "", ""
	}
	return r
}

// denyByCaller returns the caller's denial of a call that would not be denied otherwise (S13.12).
func (r Ruling) denyByCaller() Ruling {
	if r.Req.DeniedBecause == "" || r.Decision.Verdict.Decision == toolcall.Deny {
		return r
	}
	denied := r.deny(toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeCallerDenied})
	denied.Decision.Message = r.Req.DeniedBecause
	return denied
}

// denyByHalt returns the denial of a call in the scope of a halt, whatever else would decide it (S23.40).
func (r Ruling) denyByHalt() Ruling {
	if r.Effective.Halted == nil {
		return r
	}
	denied := r.deny(toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeHalted})
	denied.Decision.Message = "Tool " + document.Quote(r.Req.Tool) + " is denied: " + r.Effective.Halted.Why()
	denied.Decision.Jail = nil
	return denied
}

// confine adds the jail of an allowed line. A call without exactly one line is denied: no jail could hold it.
func (r Ruling) confine() Ruling {
	p := r.Combined.State.Jail
	if p == nil || r.Decision.Verdict.Decision == toolcall.Deny {
		return r
	}
	line, ok := toolcall.LineOf(toolcall.Call{Tool: r.Req.Tool, Input: r.Req.Input})
	if !ok {
		return r.deny(toolcall.JailRequired(r.Req.Tool, "its input has no command line that could run in a jail"))
	}
	r.Decision.Jail = &ledger.Jail{
		Level: p.Level, Digest: p.Digest(), Profile: p.JSON(), Line: ledger.LineDigest([]byte(line)), Allowed: r.Now,
		Reads: toolcall.ProvedToRead(r.At.Machine, r.At.Machines(), line),
	}
	return r
}

// effects is the meaning of an allowed call for evidence and open calls.
type effects struct {
	toolcall.Meaning
	// edits is the number of edits before the call.
	edits int64
	// declared: the family declares evidence. opens: the call stays open until its report, because the workflow has
	// an effect_deadline and the call has an effect.
	declared, opens bool
	deadline        time.Duration
}

// withEffects returns the ruling with its effects, and whether its plan needs the account of the family. Runs whose
// workflow declares no evidence, and that neither were invoked nor have invoked another, need none.
func (r Ruling) withEffects() (next Ruling, needs bool) {
	s := r.At
	r.effects = effects{}
	if r.Req.DryRun || s.Unbound || r.Decision.Verdict.Decision != toolcall.Allow { // the call of a dry run gets no report
		return r, false
	}
	e := effects{declared: s.DeclaresEvidence(), deadline: s.EffectDeadline()}
	if !e.declared && e.deadline == 0 && s.Run.Parent == nil && len(s.Run.Children()) == 0 {
		return r, false
	}
	e.Meaning = r.meaning()
	e.opens = e.deadline > 0 && e.Affects
	r.effects = e
	return r, e.Voids || len(e.Gives) > 0 || e.opens
}

// meaning returns the meaning of the call for evidence, in the jail that its state relies on.
func (r Ruling) meaning() toolcall.Meaning {
	if r.State.Jail == nil {
		return r.meaningIn(jail.None)
	}
	return r.meaningIn(r.offered())
}

// countsFiles reports whether the state limits the files that the call would change.
func (r Ruling) countsFiles() bool {
	v := &r.Decision.Verdict
	return v.Counted && v.MaxFiles > 0 && len(v.Paths) > 0
}

// masked returns the answer with its secrets masked: messages quote inputs, and others than the caller read
// the log.
func (r Ruling) masked() Decision {
	d := r.Decision
	if d.Message == "" && len(d.Shadows) == 0 {
		return d
	}
	d.Message = r.masks.Text(d.Message)
	if len(d.Shadows) > 0 {
		d.Shadows = make([]ledger.Shadow, len(r.Decision.Shadows))
		for i, sh := range r.Decision.Shadows {
			sh.Message = r.masks.Text(sh.Message)
			d.Shadows[i] = sh
		}
	}
	return d
}
