package check

import (
	"encoding/json"
	"slices"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/redact"
)

// factsOf returns what the call does, with the descriptions of tools of one policy or workflow.
func (a Attempt) factsOf(tools facet.Tools, edits map[string]workflow.EditTool) condition.Call {
	s := a.At
	subject := facet.Subject{
		Tool: a.Req.Tool, Qualified: a.Req.Qualified, Shell: a.shell(), Input: a.Req.Input, Folder: a.Req.Folder, Real: a.Req.Real, Tools: tools, Edits: edits,
		CallerName: a.Caller.Principal.Name, CallerRole: string(a.Caller.Principal.Role), CallerNamespace: a.Caller.Namespace,
		SessionDepth: -1,
	}
	if s.Run.SessionID != "" && a.Std != nil && a.Std.Status != nil {
		subject.SessionRoot, subject.SessionDepth = a.Std.Account, a.Std.Depth
	}
	if !s.Unbound {
		subject.Workspace, subject.RunState, subject.RunWorkflow = s.Run.Workspace, s.Run.State, s.Run.Workflow
	}
	return facet.Of(subject)
}

// knowing returns a call as one policy judges it: the tools that it describes are known to it alone, so that
// no other policy or workflow can describe them otherwise.
func (a Attempt) knowing(call rules.Call, set *rules.Set) rules.Call {
	if tools := set.Tools(); len(tools) > 0 {
		call.Facts = a.factsOf(a.describedBy(tools), nil)
	}
	return call
}

// seesCall reports that it can matter to a decision what the call does: to a policy, the state, a term, evidence or a shadow.
func (a Attempt) seesCall() bool {
	definition := a.At.Machine.Definition()
	_, shadowed := a.Std.Index.WorkflowShadow(a.At.Run.Workflow)
	return shadowed || len(a.Std.Shadows) > 0 || slices.ContainsFunc(a.Std.Live, (*rules.Set).SeesCalls) || a.At.DeclaresEvidence() ||
		len(definition.Meta.ApprovalTerms) > 0 || slices.ContainsFunc(definition.States, func(s workflow.State) bool { return len(s.Calls) > 0 })
}

// describedBy returns the descriptions of a policy or workflow, or when they lack the tool, the one that an operator has
// accepted.
func (a Attempt) describedBy(tools facet.Tools) facet.Tools {
	_, full := tools[a.Req.Qualified]
	if _, ok := tools[a.Req.Tool]; ok || full {
		return tools
	}
	return a.Accepted
}

// askedOn returns the facts of the call as the policy that asks knows them.
func (r Ruling) askedOn() condition.Call {
	for _, set := range r.Std.Live {
		if name, version := set.Identity(); r.Decision.By != nil && name == r.Decision.By.Policy && version == r.Decision.By.Version {
			return r.knowing(rules.Call{Facts: r.Facts}, set).Facts
		}
	}
	return r.Facts
}

// recorded returns the facts of the call, to be kept with its approval; nil for none.
func (r Ruling) recorded() []byte {
	if facts := r.askedOn(); facts != nil {
		return facet.Record(facts)
	}
	return nil
}

// looksAtTime reports that a policy judges the call by the time.
func (a Attempt) looksAtTime() bool {
	call := a.policyCall(Approval{})
	return slices.ContainsFunc(a.Std.Live, func(set *rules.Set) bool {
		return slices.Contains(set.Looks(a.knowing(call, set)), string(condition.Time))
	})
}

// maxFacts bounds the facts in the log, in bytes.
const maxFacts = 4 << 10

// looked returns the values that the conditions of policies look at, by pointer or facet, and the answers of decision points as
// ask_pdp: a JSON object, masked. It is nil for none.
func (a Attempt) looked() json.RawMessage {
	if a.Std == nil {
		return nil
	}
	call := a.policyCall(Approval{})
	var out []byte
	var seen []string
	for _, set := range a.Std.Live {
		known := a.knowing(call, set)
		if known.Facts == nil {
			return nil
		}
		for _, name := range set.Looks(known) {
			if name == string(condition.Time) || slices.Contains(seen, name) {
				continue // the record has its time
			}
			seen = append(seen, name)
			out = appendFact(out, a.masks, name, rules.ValuesOf(known.Facts, name))
		}
	}
	if answers := a.answers(); len(answers) > 0 {
		out = appendFact(out, a.masks, "ask_pdp", answers)
	}
	if len(out) == 0 {
		return nil
	}
	return append(out, '}')
}

// appendFact adds the values of a pointer or facet, unless there is no room. The first that has none is noted.
func appendFact(out []byte, masks redact.Masks, name string, values []document.Value) []byte {
	const full = `,"[omitted]":true`
	member := document.Member{Name: name, Value: document.ArrayValue(values)}
	fact := masks.Input(document.ObjectValue([]document.Member{member}).AppendJSON(nil))
	switch {
	case len(fact) < 2 || slices.Equal(out[max(0, len(out)-len(full)):], []byte(full)):
		return out
	case len(out) == 0 && len(fact) <= maxFacts:
		return fact[:len(fact)-1]
	case len(out) == 0:
		return []byte(`{` + full[1:])
	case len(out)+len(fact)+len(full) > maxFacts:
		return append(out, full...)
	}
	out = append(out, ',')
	return append(out, fact[1:len(fact)-1]...)
}
