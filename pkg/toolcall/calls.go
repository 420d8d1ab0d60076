package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// CallReason is the judgement of one entry of a state's calls on a call that it is about (S21.10).
type CallReason struct {
	Rule workflow.CallRule
	// Place is that of the entry in the list.
	Place int
	// Result is Doubt or False for an entry that refuses the call.
	Result condition.Truth
	// Leaves are the comparisons of the entry.
	Leaves []condition.Leaf
}

// checkCalls applies the state's calls: every entry that is about the tool must hold (S21.10). One
// that does not hold has priority over one that is in doubt.
func checkCalls(state *workflow.StateView, call Call) (code Code, why string) {
	if len(state.Calls) == 0 {
		return "", ""
	}
	commands := mayRunLines(state, call)
	for i := range state.Calls {
		rule := &state.Calls[i]
		if !rule.Covers(call.Tool, call.Qualified, commands) {
			continue
		}
		switch judged := judgeCall(rule, call.Facts); {
		case judged == condition.True:
		case judged == condition.False:
			return CodeCallNotAllowed, refusal(rule, i, call.Facts)
		case code == "":
			code, why = CodeCallUnclear, refusal(rule, i, call.Facts)
		}
	}
	return code, why
}

// HoldsCalls reports that every entry of a state's calls that is about a call holds for its facts (S21.10).
func HoldsCalls(state *workflow.StateView, call Call) bool {
	code, _ := checkCalls(state, call)
	return code == ""
}

// mayRunLines reports a call that may run commands, to which rules about shells apply as well.
func mayRunLines(state *workflow.StateView, call Call) bool {
	return isShell(state, call.Tool) || RunsCommands(call.Tool, call.Input)
}

// judgeCall returns whether a rule holds; without facts that is not known.
func judgeCall(rule *workflow.CallRule, facts condition.Facts) condition.Truth {
	if facts == nil || rule.Only == nil {
		return condition.Doubt
	}
	return rule.Only.Judge(facts, condition.Requires)
}

// explainCalls returns the judgement of every entry that is about a call.
func explainCalls(state *workflow.StateView, call Call) []CallReason {
	if len(state.Calls) == 0 {
		return nil
	}
	var reasons []CallReason
	commands := mayRunLines(state, call)
	for i := range state.Calls {
		rule := &state.Calls[i]
		if !rule.Covers(call.Tool, call.Qualified, commands) {
			continue
		}
		r := CallReason{Rule: *rule, Place: i, Result: judgeCall(rule, call.Facts)}
		if call.Facts != nil {
			r.Leaves = rule.Only.Explain(call.Facts, condition.Requires)
		}
		reasons = append(reasons, r)
	}
	return reasons
}

// mostLeaves bounds how many comparisons a refusal lists.
const mostLeaves = 4

// refusal describes which comparisons of an entry a call does not meet.
func refusal(rule *workflow.CallRule, place int, facts condition.Facts) string {
	return refusalOf("calls", rule, place, facts)
}

// refusalOf does the same for an entry of a list of that name.
func refusalOf(list string, rule *workflow.CallRule, place int, facts condition.Facts) string {
	entry := fmt.Sprintf("entry %d of its %q, for %s,", place+1, list, document.Quote(rule.Pattern()))
	if facts == nil {
		return entry + " looks at the values of the call, which are not known here"
	}
	if against := unmet(rule.Only, facts, condition.Requires); against != "" {
		return entry + " does not hold: " + against
	}
	return entry + " does not hold"
}

// unmet describes the comparisons of a condition that do not come out as it needs them; empty where none is found.
func unmet(c *condition.Condition, facts condition.Facts, stance condition.Stance) string {
	var against []string
	more := 0
	for _, leaf := range c.Explain(facts, stance) {
		switch text := leafText(&leaf); {
		case text == "" || slices.Contains(against, text):
		case len(against) == mostLeaves:
			more++
		default:
			against = append(against, text)
		}
	}
	if more > 0 {
		against = append(against, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(against, "; ")
}

// leafText describes a comparison that does not come out as the entry needs it; empty for one
// that does.
func leafText(leaf *condition.Leaf) string {
	holds := leaf.Result == condition.True
	switch {
	case leaf.Result != condition.Doubt && holds != leaf.Negated:
		return ""
	case condition.Confidential(leaf.Looks):
		return "it looks at facts that a call cannot change"
	case leaf.Result == condition.Doubt && leaf.Why == "":
		return fmt.Sprintf("%s must be %s, and is unknown", leaf.Looks, leaf.Expected)
	case leaf.Result == condition.Doubt:
		return fmt.Sprintf("%s must be %s, and is in doubt: the entry %s", leaf.Looks, leaf.Expected, strings.TrimSuffix(leaf.Why, "."))
	case leaf.Negated:
		return fmt.Sprintf("%s must not be %s, and %s", leaf.Looks, leaf.Expected, found(leaf))
	default:
		return fmt.Sprintf("%s must be %s, and %s", leaf.Looks, leaf.Expected, found(leaf))
	}
}

func found(leaf *condition.Leaf) string {
	if leaf.Actual == "" {
		return "there is none"
	}
	return "is " + leaf.Actual
}
