// Package calls decides which tool calls are possible in a state, with the functions that decide real calls.
package calls

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
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
	// Depends describes the conditions for which no certain call was found; empty where there are none.
	Depends string
	// Asked is a certain call that humans are asked about first, where others may not be; nil for none.
	Asked *Answer
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

	vocabularies vocabularies
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
	a.mayAsk = a.mayAsk || a.Asks
	if len(policies) == 0 {
		return a
	}
	for _, capability := range j.capabilities(tool) {
		b := j.judgeAs(of, lane, tool, capability, s, policies)
		b.Certain = false // no scenario calls it so
		b.Asked = nil
		asks := a.mayAsk || b.mayAsk || b.Asks
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

// judgeAs decides it for a capability, by some inputs in all worlds of the conditions on them.
func (j *Judge) judgeAs(of *model.Unit, lane *workflow.View, tool, capability string, s workflow.Subject,
	policies []*rules.Set,
) Answer {
	q := &question{j, of, lane, tool, capability, s, policies}
	inputs, exhaustive := j.inputs(of, lane, tool, s)
	if len(inputs) == 0 && exhaustive {
		return Answer{}
	}
	if state := of.Machine.State(lane.State); toolcall.Shell(state, tool) && q.judge(nil, object("command", "true")).Code == toolcall.CodeCommandUnparsable {
		return Answer{} // its lines are of another language, and none can be read
	}
	all := worlds{known: q.known, vocabularies: &j.vocabularies}
	var found Answer
	var candidates []document.Value
	asks, certain := true, true
	tried := all.each(func(facts condition.Chosen) bool {
		a := q.answer(facts, inputs)
		if all.found {
			return true
		}
		certain = certain && len(all.choices) == 0
		found.mayAsk = found.mayAsk || a.Asks
		found.Possible = found.Possible || a.Possible
		if !a.Possible {
			found.Asks = found.Asks || a.Asks
			return true
		}
		asks = asks && a.Asks
		if len(all.choices) == 0 {
			found = a
			found.mayAsk = a.Asks
		}
		for _, input := range inputs {
			if len(candidates) < mostCandidates {
				candidates = append(candidates, all.arguments(input))
			}
		}
		return true
	})
	switch {
	case !tried:
		return q.real(candidates, Answer{
			Possible: true, mayAsk: true, Tool: tool, Depends: fmt.Sprintf("its conditions have more than %d combinations of results", mostWorlds),
		})
	case !found.Possible || certain:
		return found
	}
	found.Asks, found.Tool = asks, tool
	found.Depends = "it depends on " + strings.Join(all.looks(), ", ")
	return q.real(candidates, found)
}

// mostCandidates bounds the inputs that are tried for one tool.
const mostCandidates = 256

// question is whether a tool's calls of a subject are possible in a lane.
type question struct {
	*Judge
	of               *model.Unit
	lane             *workflow.View
	tool, capability string
	subject          workflow.Subject
	policies         []*rules.Set
}

// known returns the result of a comparison with a fact that the lane shows.
func (q *question) known(c condition.Comparison, stance condition.Stance) (condition.Truth, bool) {
	switch condition.Facet(c.Looks()) {
	case condition.RunState, condition.RunWorkflow:
		return c.Judge(facet.Of(facet.Subject{RunState: q.lane.State, RunWorkflow: q.lane.Workflow}), stance), true
	default:
		return condition.Doubt, false
	}
}

// judge returns the verdict of the state on a call by facts, or by those of its input where they are nil.
func (q *question) judge(facts condition.Facts, input document.Value) toolcall.Verdict {
	call := toolcall.Call{Tool: q.tool, Input: written(input), Jail: q.level(), Facts: facts}
	if facts == nil {
		call = facet.InRun(q.of.Machine, q.lane, call)
	}
	return toolcall.Decide(q.of.Machine, q.lane, call)
}

func (q *question) level() jail.Level { return q.of.Machine.State(q.lane.State).JailRules().Level }

// written returns a value as JSON, nil for none.
func written(v document.Value) []byte {
	if v.IsZero() {
		return nil
	}
	return v.AppendJSON(nil)
}

// decide adds the verdicts of the policies.
func (q *question) decide(facts condition.Facts, input document.Value, approved bool) rules.Combined {
	verdicts := make([]rules.Verdict, len(q.policies))
	for i, policy := range q.policies {
		call := rules.Call{
			Tool: q.tool, Capability: q.capability, Shell: toolcall.Shell(q.of.Machine.State(q.lane.State), q.tool), Input: written(input),
			Facts: facts, Principal: model.Agent, Human: model.Agent, Session: model.Agent, Approved: approved, Now: model.Epoch,
		}
		if facts == nil {
			call.Facts = q.facts(input, policy.Tools())
		}
		verdicts[i] = policy.Decide(call, nil)
	}
	return rules.Combine(q.judge(facts, input), verdicts, nil)
}

// facts returns those of an input for a policy. Who calls is not known, and so in doubt, for which no decision is laxer.
func (q *question) facts(input document.Value, tools facet.Tools) condition.Facts {
	return facet.Of(facet.Subject{
		Tool: q.tool, Shell: toolcall.Shell(q.of.Machine.State(q.lane.State), q.tool), Input: written(input),
		Tools: tools, SessionDepth: -1, RunState: q.lane.State, RunWorkflow: q.lane.Workflow,
	})
}

// agreed returns the answer for a decision that decision points may deny: possible, and not certain (S21.19).
func agreed(d *rules.Combined, a Answer) Answer {
	if len(d.Outside()) > 0 {
		a.Certain, a.Depends = false, "it depends on a decision point outside of Interlock"
	}
	return a
}

// answer decides whether one of some inputs is allowed, by facts.
func (q *question) answer(facts condition.Facts, inputs []document.Value) Answer {
	final := false
	for _, input := range inputs {
		d := q.decide(facts, input, false)
		if d.Decision == toolcall.Ask {
			if !q.Terms(q.of).Grantable() {
				return Answer{Asks: true, Tool: q.tool, Input: input, Jail: q.level()}
			}
			if granted := q.decide(facts, input, true); granted.Decision == toolcall.Allow {
				return q.happens(facts, agreed(&granted, Answer{Possible: true, Certain: true, Asks: true, Tool: q.tool, Input: input, Jail: q.level()}))
			}
		}
		if d.Decision == toolcall.Allow {
			return q.happens(facts, agreed(&d, Answer{Possible: true, Certain: true, Tool: q.tool, Input: input, Jail: q.level()}))
		}
		final = final || WhateverInput(q.of.Machine, q.lane, q.tool, q.subject.Command, d) || refusedByConditions(d)
	}
	if final {
		return Answer{}
	}
	a := Answer{Possible: true, Tool: q.tool}
	if len(inputs) > 0 {
		a.Input = inputs[0]
		a.Asks = q.decide(facts, a.Input, false).Decision == toolcall.Ask
	}
	return q.happens(facts, a)
}

// happens returns the answer for a call that is the subject's only if it meets the condition of that. In doubt it
// may be.
func (q *question) happens(facts condition.Facts, a Answer) Answer {
	switch q.subject.When.Judge(facts, condition.Restricts) {
	case condition.True:
	case condition.False:
		return Answer{Asks: a.Asks, Tool: a.Tool}
	default:
		a.Certain = false
	}
	return a
}

// real returns a call among some that is allowed as it is, if there is one.
func (q *question) real(inputs []document.Value, found Answer) Answer {
	for _, input := range inputs {
		a := q.realAnswer(input)
		switch {
		case !a.Certain:
		case !a.Asks || found.Asks:
			a.mayAsk = found.mayAsk
			return a
		case found.Asked == nil:
			found.Asked = &a
		}
	}
	return found
}

// realAnswer decides one input by its own facts.
func (q *question) realAnswer(input document.Value) Answer {
	d := q.decide(nil, input, false)
	a := Answer{Possible: true, Certain: true, Tool: q.tool, Input: input, Jail: q.level()}
	if d.Decision == toolcall.Ask && q.Terms(q.of).Grantable() {
		a.Asks = true
		d = q.decide(nil, input, true)
	}
	if d.Decision != toolcall.Allow {
		return Answer{}
	}
	a = agreed(&d, a)
	return q.happens(facet.InRun(q.of.Machine, q.lane, toolcall.Call{Tool: q.tool, Input: written(input)}).Facts, a)
}

// refusedByConditions reports a denial by conditions. No input with the same results of comparisons avoids it.
func refusedByConditions(d rules.Combined) bool {
	return d.State.Code == toolcall.CodeCallNotAllowed || d.State.Code == toolcall.CodeCallUnclear ||
		slices.ContainsFunc(d.Policies, func(v rules.Verdict) bool { return v.Code == toolcall.CodeCallUnclear })
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
