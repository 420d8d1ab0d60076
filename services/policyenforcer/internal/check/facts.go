package check

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/redact"
)

// factsOf returns what the call does, with the descriptions of tools of one policy or workflow.
func (a Attempt) factsOf(tools facet.Tools, edits map[string]workflow.EditTool) condition.Facts {
	s := a.At
	subject := facet.Subject{
		Tool: a.Req.Tool, Qualified: a.Req.Qualified, Shell: a.shell(), Input: a.Req.Input, Folder: a.Req.Folder, Real: a.Req.Real, Tools: tools, Edits: edits,
		CallerName: a.Caller.Principal.Name, CallerRole: string(a.Caller.Principal.Role), CallerNamespace: a.Caller.Namespace,
		SessionDepth: -1,
	}
	if a.Effective != nil && a.Effective.Status != nil {
		a.knowWho(&subject)
	}
	if s.Run.SessionID != "" && a.Effective != nil && a.Effective.Status != nil {
		subject.SessionRoot, subject.SessionDepth, subject.SessionLabels = a.Effective.Account, a.Effective.Depth, a.Effective.Labels
	}
	if !s.Unbound {
		subject.Workspace, subject.RunState, subject.RunWorkflow = s.Run.Workspace, s.Run.State, s.Run.Workflow
	}
	return facet.Of(subject)
}

// knowWho adds the facts about the caller's token, its human and its agent. Those of a human count if an issuer or an operator
// vouches for them (S22.5).
func (a Attempt) knowWho(subject *facet.Subject) {
	p := a.Caller.Principal
	subject.CallerToken, subject.CallerVia, subject.CallerBound = string(KindOf(p)), a.Caller.Via, strconv.FormatBool(p.Session != "")
	subject.Agent, subject.AgentVersion = a.Effective.Own.Name, a.Effective.Own.Version
	of := a.Effective.For
	switch {
	case of.Why != "":
		subject.WhyHuman = of.Why
	case of.Human == nil:
	case !of.Source.AtLeast(auth.Issuer):
		subject.WhyHuman = "no issuer and no operator vouches for the human of the call"
	default:
		h := &facet.Human{Name: of.Name, Issuer: of.Issuer, Source: string(of.Source), Groups: of.Groups, GroupsKnown: of.GroupsKnown, Age: -1}
		if !of.AuthenticatedAt.IsZero() {
			h.Age = a.Now.Sub(of.AuthenticatedAt) // below 0 for a log-in to come, which is not known either
		}
		for name, value := range of.Attributes {
			if h.Attributes == nil {
				h.Attributes = map[string][]string{}
			}
			h.Attributes[name] = attributeTexts(value)
		}
		subject.Human = h
	}
}

// knowing returns a call as one policy judges it: the tools that it describes are known to it alone, so that
// no other policy or workflow can describe them otherwise.
func (a Attempt) knowing(call rules.Call, set *rules.Set) rules.Call {
	call.Exceptions = a.Effective.Exceptions[set]
	if tools := set.Tools(); len(tools) > 0 {
		call.Facts = a.factsOf(a.describedBy(tools), nil)
	}
	return call
}

// seesCall reports that it can matter to a decision what the call does: to a policy, the state, a term, evidence or a shadow.
func (a Attempt) seesCall() bool {
	definition := a.At.Machine.Definition()
	_, shadowed := a.Effective.Index.WorkflowShadow(a.At.Run.Workflow)
	return shadowed || len(a.Effective.Narrowed) > 0 || len(a.Effective.Shadows) > 0 || slices.ContainsFunc(a.Effective.Live, (*rules.Set).SeesCalls) || a.At.DeclaresEvidence() ||
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
func (r Ruling) askedOn() condition.Facts {
	for _, set := range r.Effective.Live {
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

// looksAtTime reports that a policy judges the call by the time, or by how long ago the human has logged in.
func (a Attempt) looksAtTime() bool {
	call := a.policyCall(Admission{})
	return slices.ContainsFunc(a.Effective.Live, func(set *rules.Set) bool {
		looks := set.Looks(a.knowing(call, set))
		return slices.Contains(looks, string(condition.Time)) || slices.Contains(looks, string(condition.HumanAge))
	})
}

// maxFacts bounds the facts in the log, in bytes.
const maxFacts = 4 << 10

// looked returns the values that the conditions of policies look at, by pointer or facet, and the answers of decision points as
// ask_pdp: a JSON object, masked. It is nil for none.
func (a Attempt) looked() json.RawMessage {
	if a.Effective == nil {
		return nil
	}
	call := a.policyCall(Admission{})
	var out []byte
	var seen []string
	for _, set := range a.Effective.Live {
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
	if len(a.Effective.Narrowed) > 0 && !toolcall.Own(a.Req.Tool) {
		out = a.lookedNarrowed(out, seen)
	}
	if answers := a.answers(); len(answers) > 0 {
		out = appendFact(out, a.masks, "ask_pdp", answers)
	}
	if len(out) == 0 {
		return nil
	}
	return append(out, '}')
}

// lookedNarrowed adds what the call is narrowed by, as narrowed, and the values that this looks at.
func (a Attempt) lookedNarrowed(out []byte, seen []string) []byte {
	var by []document.Value
	for i := range a.Effective.Narrowed {
		by = append(by, document.StringValue(a.Effective.Narrowed[i].Of))
	}
	out = appendFact(out, a.masks, "narrowed", by)
	for _, name := range toolcall.Looks(a.Effective.Narrowed) {
		if !slices.Contains(seen, name) && a.Facts != nil {
			out = appendFact(out, a.masks, name, rules.ValuesOf(a.Facts, name))
		}
	}
	return out
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
