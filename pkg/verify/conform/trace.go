package conform

import (
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Trace is the record of one run.
type Trace struct {
	RunID, SessionID, Workspace string
	// Parent is the run that has invoked it; nil for none.
	Parent *workflow.Parent
	// Definitions of the run's workflow, by version.
	Definitions map[int64]*workflow.Machine
	// Invoked are workflows that it has invoked, by name. One that is not there can have
	// ended in any way.
	Invoked map[string]*workflow.Machine
	// Policies by name and version.
	Policies map[PolicyVersion]*rules.Set
	History  []workflow.HistoryEntry
	// Version of the run when its history was read: that goes at least so far. 0 for not
	// known.
	Version int64
	// Decisions on its calls, oldest first.
	Decisions []Traced
	// Left has the digests of the calls that earlier runs of its session were allowed: the run may have taken them over with no
	// known outcome (S14.8). Watch reads it.
	Left []string
}

// Workflow returns the name of the workflow whose run it is; empty where no definition is
// known.
func (t *Trace) Workflow() string {
	for _, m := range t.Definitions {
		return m.Name()
	}
	return ""
}

// RunsOn returns the run after each change, by version, as one definition makes it, up to its
// move to another version of the workflow.
func (t *Trace) RunsOn(m *workflow.Machine) map[int64]*workflow.Run {
	by := *t
	by.Definitions = map[int64]*workflow.Machine{}
	for i := range t.History {
		by.Definitions[t.History[i].WorkflowVersion] = m
	}
	c := newConformer(&by, nil)
	for i := range t.History {
		if c.broken || t.History[i].Type == workflow.EventMigrated {
			break
		}
		c.change(m, &t.History[i])
	}
	return c.at
}

// PolicyVersion names one version of a policy.
type PolicyVersion struct {
	Name    string
	Version int64
}

// Traced is one recorded decision.
type Traced struct {
	Sequence, RunVersion           int64
	Time                           time.Time
	CallID, Branch, State, Tool    string
	Principal, Session, Capability string
	// Qualified is the full name of a tool of a server that was called by a plain name; empty
	// where Tool is all.
	Qualified string
	// Input as it was kept, which may be masked; nil for not kept. Digest is of the input
	// that was decided on.
	Input    []byte
	Digest   string
	Decision toolcall.Decision
	Code     toolcall.Code
	Policy   PolicyVersion // that decided; empty when the state did
	// Jail is the level of the jail that its caller had for the command.
	Jail jail.Level
	// Approved is true when an approval has admitted it.
	Approved bool
	// Exempt: it was made by a caller outside of the properties, as an operator.
	Exempt bool
}

// exact reports that the input was kept as it was decided on.
func (d *Traced) exact() bool {
	return d.Input != nil && toolcall.InputDigest(d.Tool, d.Input) == d.Digest
}

// decide decides a call again, at the level of its jail. The level of a caller whose call was denied is
// not recorded, so that of the decision counts.
func (d *Traced) decide(m *workflow.Machine, at *workflow.View, input []byte) toolcall.Verdict {
	call := knowing(m, at, toolcall.Call{Tool: d.Tool, Input: input, Jail: d.Jail})
	first := toolcall.Decide(m, at, call)
	for level := jail.Files; level <= jail.Full && d.Decision == toolcall.Deny && first.Code != d.Code; level++ {
		call.Jail = level
		if v := toolcall.Decide(m, at, call); v.Decision == d.Decision && v.Code == d.Code {
			return v
		}
	}
	return first
}
