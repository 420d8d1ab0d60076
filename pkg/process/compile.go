package process

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// The states that a session ends in when an answer has no next state. No process
// can have states of these names.
const (
	StateCompleted = "$completed"
	StateBlocked   = "$blocked"
)

// Process is one version of a process, compiled: immutable, and safe for
// concurrent use.
type Process struct {
	definition *Definition
	machine    *workflow.Machine
	tools      []string
}

// Options change how a process is compiled.
type Options struct {
	// SafeTools is the whitelist that allowed_tools is intersected with; nil means
	// the default (S7.8).
	SafeTools []string
}

// Compile compiles a definition that Parse found valid, with the default options.
// The definition belongs to the process from then on and must not be changed.
func Compile(def *Definition, version int64) *Process { return Options{}.Compile(def, version) }

// Compile turns a process into a machine of the same engine that workflows run on:
// its states are states, their answers are events (S8.1).
func (o Options) Compile(def *Definition, version int64) *Process {
	p := &Process{definition: def, tools: o.SafeTools}
	if p.tools == nil {
		p.tools = SafeTools()
	}
	if def.ToolsRestricted {
		p.tools = intersect(def.AllowedTools, p.tools)
	}
	w := &workflow.Definition{
		ID: def.Name, Initial: def.Initial, Context: document.ObjectValue(nil),
		Meta: workflow.Meta{ApprovalMode: "ui"}, // notify_human waits for a human (S8.3)
	}
	used := make(map[string]bool)
	for i := range def.States {
		s := p.state(&def.States[i])
		for j := range s.On {
			used[s.On[j].Branches[0].Target], used[s.On[j].Branches[0].OnReject] = true, true
		}
		w.States = append(w.States, s)
	}
	for _, end := range []workflow.State{
		{Name: StateCompleted, Final: true, Outcome: workflow.Success}, {Name: StateBlocked, Final: true, Outcome: workflow.Block},
	} {
		if used[end.Name] {
			w.States = append(w.States, end)
		}
	}
	p.machine = workflow.Compile(w, version)
	return p
}

// state compiles a state; without answers it is terminal (S8.2). The question is the task
// of the agent there.
func (p *Process) state(s *State) workflow.State {
	out := workflow.State{Name: s.Name, Instructions: s.Question}
	if len(s.Answers) == 0 {
		out.Final, out.Outcome = true, workflow.Success
		return out
	}
	if p.definition.ToolsRestricted {
		out.ToolsRestricted, out.AllowedTools = true, p.tools
	}
	for i := range s.Answers {
		a := &s.Answers[i]
		out.On = append(out.On, workflow.Transition{Event: a.Key, Branches: []workflow.Branch{a.branch(s)}})
	}
	return out
}

// branch compiles an answer (S8.2, S8.3).
func (a *Answer) branch(of *State) workflow.Branch {
	b := workflow.Branch{Target: a.Next}
	switch {
	case a.Action == Block:
		b.Target = StateBlocked
	case a.Ends():
		b.Target = StateCompleted
	}
	switch a.Action {
	case Warn:
		b.Warn = true
	case NotifyHuman:
		b.RequiresApproval, b.OnReject = true, StateBlocked
		b.ApprovalMessage = fmt.Sprintf("The agent answers %s to: %s", document.Quote(a.Key), of.Question)
	default:
	}
	return b
}

// Name returns the process's name, and the id of its machine.
func (p *Process) Name() string { return p.definition.Name }

// Definition returns the source of the process. Read only.
func (p *Process) Definition() *Definition { return p.definition }

// Machine returns the machine that steps its runs.
func (p *Process) Machine() *workflow.Machine { return p.machine }

// Tools returns the tools that the process may use at an endpoint for processes: the
// whitelist, restricted to allowed_tools when it is given (S7.8). Read only.
func (p *Process) Tools() []string { return p.tools }

// Policies returns the policies for every tool call of a session: the process's policy,
// and its limits on cost and email (S7.5, S7.7). Their names are the process's own, for
// counters belong to them.
func (p *Process) Policies() []*rules.Policy {
	var all []*rules.Policy
	d := p.definition
	name := "process/" + d.Name
	if d.Policy != nil {
		policy := *d.Policy
		if policy.Name == "" {
			policy.Name = "policy"
		}
		policy.Name = name + "/" + policy.Name
		all = append(all, &policy)
	}
	if d.SessionBudget != nil || d.Email != nil {
		all = append(all, &rules.Policy{Role: "agent", Name: name, SessionBudget: d.SessionBudget, Email: d.Email})
	}
	return all
}
