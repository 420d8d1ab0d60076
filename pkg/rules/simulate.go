package rules

import (
	"iter"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Recorded is a call as a log of decisions keeps it.
type Recorded struct {
	// Call as it was made, at Now. EstimatedCost counts against budgets: the actual cost
	// where that is known, else the estimate. Approved is true when a human had approved
	// it. Unrecorded facts are missing, and a candidate that needs it to decide denies.
	Call
	// Decision is the recorded answer, and Code why when it was not allowed.
	Decision toolcall.Decision
	Code     toolcall.Code
	// Policy is the name of the one that decided; empty when none did.
	Policy string
}

// Replayed is the decision that a recorded call would have got.
type Replayed struct {
	// Index of the call among those recorded.
	Index int
	// Combined is the answer of the candidate and of all that it does not replace.
	Combined
	// Changed is true when the decision is another than the recorded one.
	Changed bool
	// Unknown is true when the candidate looks at facts of the call that were not recorded, or a decision
	// point outside would have to agree (S21.19). The call
	// is then neither decided nor counted.
	Unknown bool
}

// Simulate replays recorded calls against a candidate, in the order of their time,
// regardless of theirs: the decisions with the candidate in the place of the policy of
// its name, or of every policy when it has none. Denials of a workflow's state stay, and
// so do decisions of other policies, unless the candidate is stricter.
//
// Windows and budgets begin empty and count the calls that the candidate admits. The
// calls that would have followed if an answer had been another are not made up.
func Simulate(candidate *Set, calls []Recorded) iter.Seq[Replayed] {
	return func(yield func(Replayed) bool) {
		var tally Tally
		for _, i := range inTime(calls) {
			r := &calls[i]
			if !candidate.knows(r.Call) {
				if !yield(Replayed{Index: i, Unknown: true}) {
					return
				}
				continue
			}
			verdict := candidate.Decide(r.Call, nil)
			if len(verdict.Outside) > 0 && r.without(candidate.name()).Decision != toolcall.Deny && verdict.Decision != toolcall.Deny {
				if !yield(Replayed{Index: i, Unknown: true}) {
					return
				}
				continue
			}
			answer := tally.Admit(Combine(r.without(candidate.name()), []Verdict{verdict}, nil), r.Now)
			if !yield(Replayed{Index: i, Combined: answer, Changed: answer.Decision != decided(r.Decision)}) {
				return
			}
		}
	}
}

// knows reports that all that decides about a call is known.
func (s *Set) knows(call Call) bool {
	for _, looks := range s.Looks(call) {
		switch {
		case looks == string(condition.HumanName) && call.Human != "":
		case call.Facts == nil:
			return false
		case looks != string(condition.Time) && !strings.HasPrefix(looks, "/") && !call.Facts.Facet(condition.Facet(looks)).Known:
			return false
		}
	}
	return true
}

// inTime returns the indices of calls in the order of their time, and of those of one
// moment in their own.
func inTime(calls []Recorded) []int {
	order := make([]int, len(calls))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return calls[a].Now.Compare(calls[b].Now) })
	return order
}

// without returns the decision without the policy of a name, or without all when the name
// is empty. A policy decides only when the others are less strict, so its decision was
// open without it.
func (r *Recorded) without(policy string) toolcall.Verdict {
	if r.byPolicy() && (policy == "" || policy == r.Policy) {
		return toolcall.Verdict{Decision: toolcall.Allow, Tool: r.Tool}
	}
	return toolcall.Verdict{Decision: r.Decision, Code: r.Code, Tool: r.Tool}
}

// byPolicy reports a decision that a policy made. A broken policy makes no decision.
func (r *Recorded) byPolicy() bool {
	switch r.Code {
	case toolcall.CodePolicyDenied, toolcall.CodeCallUnclear, toolcall.CodeRateLimited, toolcall.CodeBudgetExceeded, toolcall.CodeEmailDenied,
		toolcall.CodeApprovalRequired, toolcall.CodeApprovalPending:
		return true
	default:
		return r.Policy != ""
	}
}

// Identity returns the name and the version of the policy; empty and 0 when there is
// none.
func (s *Set) Identity() (name string, version int64) {
	if s == nil || s.other == nil {
		return "", 0
	}
	return s.other.Policy, s.other.Version
}

// name returns that of the policy; empty when it has none.
func (s *Set) name() string {
	if s == nil || s.other == nil {
		return ""
	}
	return s.other.Policy
}
