package check

import (
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/redact"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// settings are the same for all attempts.
type settings struct {
	masks  redact.Masks
	places toolcall.Places
	jails  enforcer.Jails
	// logAttributes are the attributes of humans that the log has.
	logAttributes []string
	inputs        Inputs
	// event creates the event of a decision, and seen returns the last known value of a counter.
	event func(namespace, root string, d *ledger.Decision) (store.Event, error)
	seen  func(owner store.Key, name string, window time.Duration, now time.Time) int64
}

// Attempt is a call with the data that its decision rests on. A retry makes a new one.
type Attempt struct {
	Caller enforcer.Caller
	Req    Request
	// Digest is the digest of the tool and its input.
	Digest string
	// Now picks the periods of budgets.
	Now time.Time
	// At is the run, and Effective the policies and sessions.
	At        *runs.Snapshot
	Effective *policystore.Effective
	// OpenCalls is the account of the family's open calls if the decision depends on it, and Repeats identifies the
	// unknown call among them that this one repeats.
	OpenCalls *calls.Account
	Repeats   string
	// Facts are what the call does, for conditions of policies; StateFacts are the same for those of the state, with
	// the descriptions of tools that its workflow has. A nil one puts them in doubt.
	Facts, StateFacts condition.Facts
	// Accepted has the description of the tool that an operator has accepted; empty for none.
	Accepted facet.Tools
	// used has the approvals that the attempts of this check have used, by question.
	used map[string]string
	// outside has the answers of decision points in this check.
	outside map[inquiry]said

	*settings
}

// Admission answers the question of a rule: by a grant of approvers for exactly this call, or by a lease.
type Admission struct {
	// ID identifies the grant; empty for none.
	ID string
	// Rests are the shared states that the grant rests on, as conditions of the commit.
	Rests []store.Check
	// Lease answers the question of Rule; nil for none.
	Lease *consent.Lease
	Rule  *rules.Source
}

// Decide decides the call by its state, its policies and an admission. It is pure: it asks no one and reads no record.
func (a Attempt) Decide(admission Admission) Ruling { return a.decideWith(a.stateVerdict(), admission) }

// decideWith decides the call by a verdict of the state and the verdicts of the policies.
func (a Attempt) decideWith(state toolcall.Verdict, admission Admission) Ruling {
	r := Ruling{Attempt: a, Admission: admission, State: state, Decision: Decision{
		CallID: a.Req.CallID, Tool: a.Req.Tool, Capability: a.capability(), InputDigest: a.Digest,
		Run: a.At.Run, Machine: a.At.Machine, EstimatedCost: a.Req.EstimatedCost, Unbound: a.At.Unbound, ApprovalID: admission.ID,
	}}
	r = r.follow(a.combine(state, a.Effective.Live, admission))
	if l := admission.Lease; l != nil {
		r.Decision.By, r.Decision.LeaseID, r.Decision.ApprovalID = admission.Rule, l.ID, l.ApprovalID
	}
	if _, ended := a.Effective.EndedVerdict(a.Req.Tool); ended {
		r.Decision.Message = a.Effective.EndedMessage(a.Req.Tool)
	} else if a.At.Superseded != "" && r.Decision.Verdict.Code == toolcall.CodeRunNotActive {
		r.Decision.Message = fmt.Sprintf("Tool %s is denied: run %s is %s, and its session now drives run %s. Name that run, or the session.",
			document.Quote(a.Req.Tool), a.At.Run.ID, a.At.Run.Status, a.At.Superseded)
	}
	return r.denyByCaller().confine().denyByHalt()
}

// stateVerdict returns the verdict of the state and of narrowings, unless the run or a session has ended.
func (a Attempt) stateVerdict() toolcall.Verdict {
	if denied, ended := a.Effective.EndedVerdict(a.Req.Tool); ended {
		return denied
	}
	v := a.rulesOfState()
	if a.At.Superseded != "" && lifted(&v, a.Req.Tool) {
		return toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeRunNotActive, Tool: a.Req.Tool}
	}
	if v.Decision != toolcall.Deny {
		if denied, refused := a.narrowedVerdict(); refused {
			return denied
		}
	}
	return v
}

// narrowedVerdict returns the denial of a call that its sessions or its token are not narrowed to (S22.24). The facts are those
// that policies see: a workflow does not describe the tools of a narrowing.
func (a Attempt) narrowedVerdict() (denied toolcall.Verdict, refused bool) {
	if a.Effective.Status == nil {
		return denied, false
	}
	call := a.call()
	call.Qualified, call.Facts = a.Req.Qualified, a.Facts
	return toolcall.DecideNarrowed(a.At.Machine.State(a.At.Run.State), call, a.Effective.Narrowed)
}

// rulesOfState returns the verdict of the rules of the state. An input that a tool cannot be given is denied: two
// readers of such text may see two different calls.
func (a Attempt) rulesOfState() toolcall.Verdict {
	s := a.At
	v := toolcall.Decide(s.Machine, s.Run, a.call())
	switch {
	case a.jails == enforcer.JailsRequired && a.needsJail(&v):
		return toolcall.JailRequired(a.Req.Tool, noJail)
	case v.Decision != toolcall.Allow || !v.Counted:
	case !validInput(a.Req.Input):
		return toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeInvalidInput, Tool: a.Req.Tool, Detail: badInput}
	case s.Unbound:
		v.Code, v.Detail, v.Jail = toolcall.CodeNotEnforced, toolcall.NoRun, nil
		if a.Req.Observe {
			v.Detail = toolcall.Observed
		}
	}
	return v
}

// lifted reports whether a call passes although its state judges no call now: enforcement is off, or the call
// only reads after a failure (S2.9, S6.2).
func lifted(state *toolcall.Verdict, tool string) bool {
	return state.Decision == toolcall.Allow && !state.Counted && !toolcall.Own(tool) && !toolcall.Loads(tool)
}

// noJail explains a denial where the deployment demands a jail.
const noJail = "command lines run in a jail here (--jail required), and this call has none; `interlock doctor` names the part that the agent's machine lacks"

// needsJail reports a line that would be allowed by its state without a jail.
func (a Attempt) needsJail(v *toolcall.Verdict) bool {
	return !a.At.Unbound && v.Decision == toolcall.Allow && v.Jail == nil && v.Code != toolcall.CodeNotEnforced &&
		!toolcall.Own(a.Req.Tool) && a.shell() && !toolcall.OnlyOwn(toolcall.Call{Input: a.Req.Input})
}

// shell reports whether the tool runs command lines in this state.
func (a Attempt) shell() bool { return toolcall.Shell(a.At.Machine.State(a.At.Run.State), a.Req.Tool) }

// offered returns the level of the jail that the caller has for the line, as far as it counts here.
func (a Attempt) offered() jail.Level {
	if a.jails == enforcer.JailsOff || a.At.Unbound || !a.shell() {
		return jail.None
	}
	return a.Req.Jail
}

// call returns the call as its state judges it.
func (a Attempt) call() toolcall.Call {
	return toolcall.Call{Tool: a.Req.Tool, Input: a.Req.Input, Folder: a.Req.Folder, Places: a.places, Jail: a.offered(), Facts: a.StateFacts}
}

// policyCall returns the call as policies judge it.
func (a Attempt) policyCall(admission Admission) rules.Call {
	call := a.Effective.Call(a.Caller, a.At, a.Req.Tool, a.Req.Input, a.Now)
	call.Capability, call.EstimatedCost = a.Req.qualified(), a.Req.EstimatedCost
	call.Approved, call.Leased, call.Repeats = admission.ID != "", admission.Rule, a.Repeats
	call.Facts = a.Facts
	return call
}

// combine returns the strictest verdict of the state and of policies.
func (a Attempt) combine(state toolcall.Verdict, sets []*rules.Set, admission Admission) rules.Combined {
	if len(sets) == 0 || toolcall.Own(a.Req.Tool) {
		return rules.Combine(state, nil, nil)
	}
	call := a.policyCall(admission)
	verdicts := make([]rules.Verdict, len(sets))
	taken := 0
	for i, set := range sets {
		verdicts[i] = set.Decide(a.knowing(call, set), nil)
		taken += len(verdicts[i].Spends)
	}
	return rules.Combine(state, verdicts, make([]rules.Spend, 0, taken))
}

// capability returns the name that policies have for the tool.
func (a Attempt) capability() string {
	if c := a.Req.qualified(); c != "" {
		return c
	}
	v := rules.Verdict{Tool: a.Req.Tool}
	if c := v.Capability(); c == rules.Shell || !a.shell() {
		return c
	}
	return rules.CapabilityOf(a.Req.Tool)
}

// bound returns the digest of all that the ID of the call stands for: its tool and input, and its folder, full
// name and jail, because evidence, policies and the rules of a state depend on them.
func (a Attempt) bound() string {
	switch {
	case len(a.Req.Real) > 0:
		return calls.TextDigest("%s %q %q %d %q", a.Digest, a.Req.Qualified, a.Req.Folder, a.Req.Jail, a.Req.Real)
	case a.Req.Jail != jail.None:
		return calls.TextDigest("%s %q %q %d", a.Digest, a.Req.Qualified, a.Req.Folder, a.Req.Jail)
	case a.Req.Folder == "" && a.Req.Qualified == "":
		return a.Digest
	default:
		return calls.TextDigest("%s %q %q", a.Digest, a.Req.Qualified, a.Req.Folder)
	}
}

// meaningIn returns the meaning of the call for evidence if it is allowed. level is that of the jail that the
// state relies on.
func (a Attempt) meaningIn(level jail.Level) toolcall.Meaning {
	if a.At.Unbound {
		return toolcall.Meaning{}
	}
	call := toolcall.Call{Tool: a.Req.Tool, Input: a.Req.Input, Folder: a.Req.Folder, Jail: level, Facts: a.StateFacts}
	return toolcall.MeaningOf(a.At.Machine, a.At.Machines(), a.At.Run, call, a.Req.Qualified)
}
