package toolcall

import (
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// LeasePattern is the pattern that the calls of a lease must match (S9.6). It is
// immutable.
type LeasePattern struct {
	list  *shell.List   // of a shell
	input *inputPattern // of any other tool
}

// NewLeasePattern compiles the pattern of a lease for calls of a tool: an entry of
// allowed_commands for a shell, and the input as a JSON object for any other, whose texts may
// have *. An error describes the problem with it: that of a shell must name a program, or it
// would not limit programs. A state of nil is one that is not known.
func NewLeasePattern(state *workflow.StateView, tool, pattern string) (*LeasePattern, error) {
	if !Shell(state, tool) {
		input, err := newInputPattern(pattern)
		if err != nil {
			return nil, err
		}
		return &LeasePattern{input: &input}, nil
	}
	if pattern == shell.Inert {
		return nil, fmt.Errorf("%s stands for many commands; name one", shell.Inert)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(pattern), " ")
	if first == "" || strings.ContainsAny(first, "*?[") {
		return nil, errors.New("the first word of the pattern must be the name of a program, without wildcards")
	}
	return &LeasePattern{list: shell.NewList([]string{pattern})}, nil
}

// Match reports that a call matches: that its line is one simple command in the foreground, which
// matches by the rules of allowed_commands (R2), and redirects only output to /dev/null. A call
// that is in doubt does not match.
func (p *LeasePattern) Match(state *workflow.StateView, call Call) bool {
	if state == nil {
		state = &noState
	}
	if !isShell(state, call.Tool) {
		return p.input != nil && p.input.matchInput(call.Input)
	}
	if p.list == nil || toolinput.SpeaksOther(call.Tool) {
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
	named := o.compare(state, p.list, plan)
	return len(o.found) == 0 && !plan.Commands[0].TakesStatement(named[0])
}
