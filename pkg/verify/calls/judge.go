// Package calls decides which tool calls are possible in a state, with the functions that decide real calls.
package calls

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Answer is whether a call of a kind could be allowed somewhere.
type Answer struct {
	// Possible is false only when no call of the kind is allowed, with any input.
	Possible bool
	// certain: this call is allowed, by the functions that decide it.
	Certain bool
	// asks: humans are asked about it first. mayAsk: they are where it is called by another
	// of its names.
	Asks, mayAsk bool
	Tool         string
	Input        document.Value
	// Jail is the level at which the call was decided: the one that the state demands.
	Jail jail.Level
}

// worse reports that a call shows more than another that a property may be broken: calls
// without a question first, and then certain ones.
func (a *Answer) worse(than *Answer) bool {
	switch {
	case a.Possible != than.Possible:
		return a.Possible
	case !a.Possible:
		return a.Asks && !than.Asks
	case a.Asks != than.Asks:
		return than.Asks
	default:
		return a.Certain && !than.Certain
	}
}

// Judge decides which calls are possible.
type Judge struct {
	*model.System
	policyTools []string
	tools       map[[3]string][]string // of a workflow, a state and a prefix
	// Unlisted ends names of unlisted tools.
	Unlisted string
	answers  map[callKey]Answer
	lines    map[[2]string][]string // of an entry and a command
	tooLong  map[[2]string]bool
}

// NewJudge returns a judge of the calls in a system.
func NewJudge(y *model.System) *Judge {
	j := &Judge{
		System: y, policyTools: toolsOfPolicies(y.Model.Policies), answers: map[callKey]Answer{},
		lines: map[[2]string][]string{}, tooLong: map[[2]string]bool{},
	}
	for _, d := range y.Model.Definitions() {
		if d.Process == nil {
			continue
		}
		for _, p := range d.Process.Policies() {
			j.policyTools = append(j.policyTools, toolsOfPolicies([]model.Policy{{Policy: p}})...)
		}
	}
	j.SetUnlisted(UnlistedAmong(j.Lists()))
	return j
}

// SetUnlisted sets the ending of the names of unlisted tools, which no list may name.
func (j *Judge) SetUnlisted(ending string) {
	j.Unlisted, j.tools = ending, map[[3]string][]string{}
}

// callKey is all that the answer about a kind of call depends on.
type callKey struct {
	chain, state string
	status       workflow.Status
	over         bool
	subject      workflow.Subject
}

// Decide decides whether any call of a kind could be allowed in a lane.
func (j *Judge) Decide(w *model.GlobalState, path []int, n *model.Node, lane *workflow.View, s workflow.Subject) Answer {
	chain := w.Chain(path)
	key := callKey{state: lane.State, status: lane.Status, over: lane.Over, subject: s}
	for _, of := range chain {
		key.chain += of.Unit.Machine.Name() + "/"
	}
	if known, ok := j.answers[key]; ok {
		return known
	}
	policies := slices.Clone(j.Shared)
	for _, of := range chain {
		policies = append(policies, of.Unit.Policies...)
	}
	a := j.DecideIn(n.Unit, lane, s, policies)
	j.answers[key] = a
	return a
}

// DecideIn decides whether any call of a kind is possible in a lane under some policies.
func (j *Judge) DecideIn(of *model.Unit, lane *workflow.View, s workflow.Subject, policies []*rules.Set) Answer {
	if of.Stub {
		return Answer{Possible: lane.Status == workflow.Running, Tool: s.Tool}
	}
	best := Answer{}
	pattern := s.Tool
	if pattern == "" {
		pattern = "*"
	}
	for _, tool := range j.ToolsOf(of, lane.State, pattern) {
		if s.Tool == "" && !toolcall.Shell(of.Machine.State(lane.State), tool) {
			continue // a command line is run by tools for command lines
		}
		a := j.judgeTool(of, lane, tool, s, policies)
		switch {
		case a.Certain && !a.Asks:
			return a
		case a.worse(&best):
			best = a
		}
	}
	return best
}

// judgeTool decides it for one tool. One of a server may be called by a plain name, which
// only the gateway's settings show, and policies then judge the full one.
func (j *Judge) judgeTool(of *model.Unit, lane *workflow.View, tool string, s workflow.Subject,
	policies []*rules.Set,
) Answer {
	a := j.judgeAs(of, lane, tool, "", s, policies)
	a.mayAsk = a.Asks
	if len(policies) == 0 {
		return a
	}
	for _, capability := range j.capabilities(tool) {
		b := j.judgeAs(of, lane, tool, capability, s, policies)
		b.Certain = false // no scenario calls it so
		asks := a.mayAsk || b.Asks
		if b.worse(&a) {
			a = b
		}
		a.mayAsk = asks
	}
	return a
}

// capabilities returns names of a tool in policies besides those of its own name. Clients'
// own tools have no other: no server's tool can have their names.
func (j *Judge) capabilities(tool string) []string {
	ofServer := strings.HasPrefix(rules.CapabilityOf(tool), "mcp:")
	if ofServer || slices.Contains(known, tool) || slices.Contains(toolname.Client, tool) {
		return nil
	}
	all := []string{"mcp:" + j.Unlisted + ":" + tool} // of a server that no policy names
	for _, entry := range j.policyTools {
		rest, isServer := strings.CutPrefix(entry, "mcp__")
		if server, _, whole := strings.Cut(rest, "__"); isServer && whole && !strings.HasSuffix(server, "*") {
			all = append(all, "mcp:"+server+":"+tool)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// judgeAs decides it for a capability: by some inputs, of which any that is allowed will do,
// and by denials regardless of the input.
func (j *Judge) judgeAs(of *model.Unit, lane *workflow.View, tool, capability string, s workflow.Subject,
	policies []*rules.Set,
) Answer {
	state := of.Machine.State(lane.State)
	decide := func(input document.Value, approved bool) rules.Combined {
		var text []byte
		if !input.IsZero() {
			text = input.AppendJSON(nil)
		}
		verdict := toolcall.Decide(of.Machine, lane, toolcall.Call{Tool: tool, Input: text, Jail: state.JailRules().Level})
		verdicts := make([]rules.Verdict, len(policies))
		for i, policy := range policies {
			call := rules.Call{
				Tool: tool, Capability: capability, Shell: toolcall.Shell(state, tool), Input: text,
				Principal: model.Agent, Session: model.Agent, Approved: approved, Now: model.Epoch,
			}
			verdicts[i] = policy.Decide(call, nil)
			if verdicts[i].Decision == toolcall.Deny && len(policy.Looks(call)) > 0 {
				verdicts[i].Code = toolcall.CodeCallUnclear // conditions are not explored: another input may be allowed
			}
		}
		return rules.Combine(verdict, verdicts, nil)
	}
	inputs, exhaustive := j.inputs(of, lane, tool, s)
	if len(inputs) == 0 && exhaustive {
		return Answer{}
	}
	if toolcall.Shell(state, tool) && decide(object("command", "true"), false).State.Code == toolcall.CodeCommandUnparsable {
		return Answer{} // its lines are of another language, and none can be read
	}
	final := false
	for _, input := range inputs {
		d := decide(input, false)
		if d.Decision == toolcall.Ask {
			if !j.Terms(of).Grantable() {
				return Answer{Asks: true, Tool: tool, Input: input, Jail: state.JailRules().Level}
			}
			if decide(input, true).Decision == toolcall.Allow {
				return Answer{Possible: true, Certain: true, Asks: true, Tool: tool, Input: input, Jail: state.JailRules().Level}
			}
		}
		if d.Decision == toolcall.Allow {
			return Answer{Possible: true, Certain: true, Tool: tool, Input: input, Jail: state.JailRules().Level}
		}
		final = final || WhateverInput(of.Machine, lane, tool, s.Command, d)
	}
	if final {
		return Answer{}
	}
	a := Answer{Possible: true, Tool: tool}
	if len(inputs) > 0 {
		a.Input = inputs[0]
		a.Asks = decide(a.Input, false).Decision == toolcall.Ask
	}
	return a
}

// WhateverInput reports a denial that no other input of the tool would avoid: none with a
// command that matches an entry, where that is not empty.
func WhateverInput(m *workflow.Machine, at *workflow.View, tool, entry string, d rules.Combined) bool {
	switch d.State.Code {
	case toolcall.CodeRunNotActive:
		if !toolcall.MayRead(m, at, tool, entry) {
			return true
		}
	case toolcall.CodeToolNotAllowed, toolcall.CodeToolDisallowed:
		return true
	default:
	}
	return slices.ContainsFunc(d.Policies, func(v rules.Verdict) bool {
		return v.Decision == toolcall.Deny && (v.Code == toolcall.CodePolicyDenied ||
			v.Code == toolcall.CodePolicyUnavailable)
	})
}

// Judging returns the parts of a definition that decide on calls in a state.
func Judging(m *workflow.Machine, s *workflow.StateView) any {
	state, meta := s.State, m.Meta()
	state.On, state.Instructions, state.Model, state.ThinkingLevel, state.SafeNext = nil, "", "", "", ""
	state.Jail = *s.JailRules()
	return struct {
		State    workflow.State
		Enforced workflow.Enforcement
		Commands map[string]workflow.CommandClass
		Unknown  bool
		Edits    map[string]workflow.EditTool
		Tools    facet.Tools
	}{state, meta.Enforcement, meta.Commands, meta.UnknownCommands, meta.EditTools, meta.Described}
}

// IsCallOf reports that a call is one that a subject speaks of. A command line that cannot be
// read runs no command that could be named.
func IsCallOf(s workflow.Subject, state *workflow.StateView, tool string, input []byte) bool {
	if prefix, wild := strings.CutSuffix(s.Tool, "*"); s.Tool != "" && tool != s.Tool && (!wild || !strings.HasPrefix(tool, prefix)) {
		return false
	}
	if s.Tool == "" && !toolcall.Shell(state, tool) {
		return false
	}
	if s.Command == "" {
		return true
	}
	v, problem := document.Parse(input, document.Limits{})
	if problem != nil {
		return false
	}
	line, _ := v.Get("command")
	plan, err := shell.Parse(line.Str())
	if line.Kind() != document.String || err != nil {
		return false
	}
	list := shell.NewList([]string{s.Command})
	aim, aims := shell.AimOf(s.Command)
	return slices.ContainsFunc(plan.Commands, func(c shell.Command) bool {
		_, ok := list.Match(c)
		return ok || aims && aim.Matches(c)
	})
}
