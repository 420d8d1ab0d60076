package model

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Unit is one workflow of the model.
type Unit struct {
	Definition
	Words *Vocabulary
	// Policies judge its calls, and those of its invoked runs.
	Policies []*rules.Set
	// Stub stands for a workflow that was not given.
	Stub bool
}

// System is a model that is compiled: its workflows and the policies that judge their calls.
type System struct {
	Model *Model
	Main  *Unit
	Units map[string]*Unit
	// Shared policies judge the calls of every workflow.
	Shared []*rules.Set
	// Missing are policies that workflows name and that were not given.
	Missing    []string
	assemblies map[*Unit]Assembly
}

// NewSystem compiles a model.
func NewSystem(m *Model) *System {
	y := &System{Model: m, Units: map[string]*Unit{}, assemblies: map[*Unit]Assembly{}}
	named := map[string]bool{}
	for _, d := range m.Definitions() {
		d.Machine = d.Machine.AnyTime()
		u := &Unit{Definition: d, Words: NewVocabulary(d.Machine)}
		if d.Process != nil {
			for _, p := range d.Process.Policies() {
				u.Policies = hold(u.Policies, p)
			}
		}
		for _, name := range d.Machine.Meta().Policies {
			named[name] = true
			i := slices.IndexFunc(m.Policies, func(p Policy) bool { return p.Policy.Name == name })
			if i < 0 {
				y.Missing = append(y.Missing, name)
				continue
			}
			u.Policies = hold(u.Policies, m.Policies[i].Policy)
		}
		y.Units[d.Machine.Name()] = u
		if y.Main == nil {
			y.Main = u
		}
	}
	for i := range m.Policies {
		if !named[m.Policies[i].Policy.Name] {
			y.Shared = hold(y.Shared, m.Policies[i].Policy)
		}
	}
	return y
}

// hold adds a policy to those that judge calls, where it is for agents (S15.9).
func hold(sets []*rules.Set, policy *rules.Policy) []*rules.Set {
	if set := rules.Compile(policy, 1); set.For(Agent) {
		return append(sets, set)
	}
	return sets
}

// Unit returns a workflow by its id. One that was not given can end as it likes.
func (y *System) Unit(name string) *Unit {
	if u, ok := y.Units[name]; ok {
		return u
	}
	m := UnknownWorkflow(name)
	u := &Unit{Definition: Definition{Machine: m}, Words: NewVocabulary(m), Stub: true}
	y.Units[name] = u
	return u
}

// UnknownWorkflow returns a workflow that can end in each way, in place of one that was not given.
func UnknownWorkflow(name string) *workflow.Machine {
	return workflow.Compile(&workflow.Definition{
		ID: name, Initial: "working", Context: document.ObjectValue(nil),
		States: []workflow.State{
			{Name: "working", On: []workflow.Transition{
				{Event: "SUCCEED", Branches: []workflow.Branch{{Target: "succeeded"}}}, {
					Event:    "FAIL",
					Branches: []workflow.Branch{{Target: "failed"}},
				},
			}},
			{Name: "succeeded", Final: true, Outcome: workflow.Success},
			{Name: "failed", Final: true, Outcome: workflow.Failure},
		},
	}, 1)
}

// Terms returns those of the approvals of a workflow.
func (y *System) Terms(of *Unit) Assembly {
	if a, ok := y.assemblies[of]; ok {
		return a
	}
	kind := consent.Transition
	if of.Process != nil {
		kind = consent.ProcessStep
	}
	a := assemble(of.Machine.Meta().Approval, kind, nil)
	y.assemblies[of] = a
	return a
}
