package toolcall

import (
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// LeasePattern is what the calls of a lease must match (S9.6). It is immutable.
type LeasePattern struct {
	text string
	list *shell.List // of a shell
}

// NewLeasePattern compiles the pattern of a lease for calls of a tool: an entry of
// allowed_commands for a shell, and a pattern of the input in canonical JSON (RFC 8785) for
// any other. An error says what is wrong with it: it must name a program, or it would say
// nothing of what may run. A state of nil is one that is not known.
func NewLeasePattern(state *workflow.StateView, tool, pattern string) (*LeasePattern, error) {
	p := &LeasePattern{text: pattern}
	if !Shell(state, tool) {
		return p, nil
	}
	if pattern == shell.Inert {
		return nil, fmt.Errorf("%s stands for many commands; name one", shell.Inert)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(pattern), " ")
	if first == "" || strings.ContainsAny(first, "*?[") {
		return nil, errors.New("the first word of the pattern must be the name of a program, without wildcards")
	}
	p.list = shell.NewList([]string{pattern})
	return p, nil
}

// Match reports that a call matches: every command that its line could run, by the rules of
// allowed_commands (R2), without a redirection that writes. Whatever is in doubt does not.
func (p *LeasePattern) Match(state *workflow.StateView, call Call) bool {
	if state == nil {
		state = &noState
	}
	if !isShell(state, call.Tool) {
		return p.list == nil && matchesInput(p.text, call.Input)
	}
	if p.list == nil || speaksOther(call.Tool) {
		return false
	}
	line, why := commandLine(call.Input)
	if why != "" {
		return false
	}
	plan, err := shell.Parse(line)
	if err != nil || plan.Empty || len(plan.Commands) == 0 {
		return false
	}
	for _, f := range plan.Findings {
		if f.Command < 0 { // what no command does, no pattern of commands is about
			return false
		}
	}
	var o objections
	o.compare(state, p.list, plan)
	return len(o.found) == 0
}

// matchesInput matches the input of a tool that runs no command lines.
func matchesInput(pattern string, input []byte) bool {
	if len(input) == 0 {
		input = []byte("{}")
	}
	v, problem := document.Parse(input, document.Limits{})
	return problem == nil && v.Kind() == document.Object && wildcard(pattern, string(document.Canonical(v)))
}

// wildcard matches all of a text: * stands for any text, ? for one character. Brackets are
// those of JSON.
func wildcard(pattern, text string) bool {
	star, from, i := -1, 0, 0
	for at := 0; at < len(text); {
		width := 1
		for at+width < len(text) && text[at+width]&0xc0 == 0x80 {
			width++
		}
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, at
			i++
		case i < len(pattern) && pattern[i] == '?':
			i++
			at += width
		case i < len(pattern) && pattern[i] == text[at]:
			i++
			at++
		case star < 0:
			return false
		default:
			from++
			i, at = star+1, from
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
