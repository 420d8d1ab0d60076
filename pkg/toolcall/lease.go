package toolcall

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// LeaseRule says which calls a lease covers (S9.6, S21.16). It is immutable.
type LeaseRule struct {
	list *shell.List          // of a shell
	only *condition.Condition // nil for none
}

// NewLeaseRule compiles what an approver has given for calls of a tool: for a shell an entry of allowed_commands, to
// which a condition may be added, and for any other tool a condition. An error describes the problem with it. A state of
// nil is one that is not known.
func NewLeaseRule(state *workflow.StateView, tool, pattern string, only []byte) (*LeaseRule, error) {
	rule := &LeaseRule{}
	if len(only) > 0 {
		var err error
		if rule.only, err = leaseCondition(only); err != nil {
			return nil, err
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(pattern), " ")
	switch isShell := Shell(state, tool); {
	case !isShell && pattern != "":
		return nil, errors.New("a pattern is for command lines, and this tool runs none; give a condition on its input, such as {\"/path\": \"docs/a.md\"}, in \"only\"")
	case !isShell && rule.only == nil:
		return nil, errors.New("a lease needs a condition on the input of later calls, in \"only\"")
	case !isShell:
		return rule, nil
	case pattern == "":
		return nil, errors.New("a lease for command lines needs a pattern, such as git push *; a condition can be added to it")
	case pattern == shell.Inert:
		return nil, fmt.Errorf("%s stands for many commands; name one", shell.Inert)
	case first == "" || strings.ContainsAny(first, "*?["):
		return nil, errors.New("the first word of the pattern must be the name of a program, without wildcards")
	}
	rule.list = shell.NewList([]string{pattern})
	return rule, nil
}

// leaseCondition reads a condition of a lease. It compares texts of the input exactly: a pattern would match texts that a
// tool reads as something else, such as docs/../x.
func leaseCondition(text []byte) (*condition.Condition, error) {
	v, problem := document.Parse(text, document.Limits{})
	if problem != nil {
		return nil, fmt.Errorf("the condition is not JSON: %s", problem.Message)
	}
	var r document.Report
	c := condition.Read(&r, v, nil, condition.Use{Stance: condition.Allows})
	for _, p := range r.Problems() {
		if p.Severity == document.SeverityError {
			return nil, fmt.Errorf("the condition: %s: %s", p.Pointer, p.Message)
		}
	}
	if key := loose(v, false); key != "" {
		return nil, fmt.Errorf("the condition lets %s have texts that it does not list, which the tool may read as something else (docs/../x); "+
			"list the values, write {\"exists\": true} for any value, or use a facet such as \"writes\", \"host\" or \"recipients\"", document.Quote(key))
	}
	return c, nil
}

// loose returns the pointer of a comparison that texts can pass which it does not list; empty for none. negated is
// true under not.
func loose(v document.Value, negated bool) (pointer string) {
	for key, matcher := range v.Members() {
		switch {
		case strings.HasPrefix(key, "/"):
			for op, literal := range matcher.Members() {
				orders := literal.Kind() == document.String && slices.Contains([]string{"gt", "gte", "lt", "lte"}, op)
				if op == "like" || op == "contains" || op == "neq" || orders {
					return key
				}
			}
			if negated {
				return key
			}
		case key == "not":
			pointer = loose(matcher, !negated)
		case key == "all" || key == "any":
			for _, part := range matcher.Elements() {
				if pointer = loose(part, negated); pointer != "" {
					break
				}
			}
		}
		if pointer != "" {
			return pointer
		}
	}
	return ""
}

// Rest returns a digest of what the condition does not look at in an input, which later calls must have too. It is empty
// for a shell, whose pattern says that, and for an input that cannot be read.
func (l *LeaseRule) Rest(input []byte) string {
	if l.list != nil {
		return ""
	}
	v := document.ObjectValue(nil)
	if len(input) > 0 {
		var ok bool
		if v, ok = toolinput.Read(input); !ok {
			return ""
		}
	}
	if v.Kind() != document.Object {
		return ""
	}
	return document.Digest(l.only.Rest(v))
}

// Against describes which comparisons of the condition a call does not meet; empty when all hold.
func (l *LeaseRule) Against(call Call) string {
	switch {
	case l.holds(call.Facts):
		return ""
	case call.Facts == nil:
		return "the values of the call are not known here"
	default:
		return cmp.Or(unmet(l.only, call.Facts, condition.Allows), "it does not hold")
	}
}

func (l *LeaseRule) holds(facts condition.Facts) bool {
	return l.only == nil || facts != nil && l.only.Judge(facts, condition.Allows) == condition.True
}

// Match reports that a call matches: that its line is one simple command in the foreground, which
// matches by the rules of allowed_commands (R2), and redirects only output to /dev/null; that the condition holds; and,
// for a tool that is no shell, that the rest of its input is the given one. A call that is in doubt does not match.
func (l *LeaseRule) Match(state *workflow.StateView, call Call, rest string) bool {
	if state == nil {
		state = &noState
	}
	shells := isShell(state, call.Tool)
	switch {
	case shells != (l.list != nil), !l.holds(call.Facts):
		return false
	case shells:
		return l.matchLine(state, call)
	default:
		return rest != "" && l.Rest(call.Input) == rest
	}
}

// matchLine reports that the line of a shell matches the pattern.
func (l *LeaseRule) matchLine(state *workflow.StateView, call Call) bool {
	if toolinput.SpeaksOther(call.Tool) {
		return false
	}
	line, why := toolinput.CommandLine(call.Input)
	if why != "" {
		return false
	}
	plan, err := shell.Parse(line)
	if err != nil || len(plan.Commands) != 1 || !shell.Single(line) || leavesRunning(call, line, plan) {
		return false
	}
	for _, f := range plan.Findings {
		if f.Command < 0 { // no pattern of commands is about effects without a command
			return false
		}
	}
	var o objections
	named := o.compare(state, l.list, plan)
	return len(o.found) == 0 && !plan.Commands[0].TakesStatement(named[0])
}
