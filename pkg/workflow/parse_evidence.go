package workflow

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/toolname"
)

const (
	maxEvidence = 100 // of one workflow
	maxCount    = 100 // observations of one evidence
)

var evidenceRule = document.NameRule{What: "evidence", Prefix: branchDone}

// The fields of each kind of evidence (S14.1).
var (
	callFields     = []string{"tool", "command", "exact", "when", "outcome", "output", "after", "within", "max_age", "count"}
	stateFact      = []string{"state", "op", "value", "writer", "max_age"}
	approvalFact   = []string{"approval", "within", "max_age"}
	evidenceFields = slices.Compact(slices.Sorted(slices.Values(slices.Concat(callFields, stateFact, approvalFact))))
)

// learnEvidence learns the names that guards may ask for.
func (r evidenceSection) learnEvidence(f document.Fields) {
	r.evidence = make(map[string]bool)
	declared, ok := f.Object("evidence")
	if !ok {
		return
	}
	for name := range declared.Value.Members() {
		r.evidence[name] = false
	}
}

// evidenceDeclarations reads the required observations; guards have been read, and have
// marked those that they ask for.
func (r evidenceSection) evidenceDeclarations(f document.Fields) {
	v, _ := f.Value.Get("evidence")
	if v.Kind() != document.Object {
		return // it was reported
	}
	declared := document.Fields{Report: f.Report, Value: v, At: f.At.Key("evidence")}
	if n := v.Len(); n > maxEvidence {
		r.report.Errorf(declared.At, document.CodeTooMany, "there are %d kinds of evidence, the limit is %d", n, maxEvidence)
		return
	}
	declared.SameNames("evidence")
	for name, v := range v.Members() {
		at := declared.At.Key(name)
		r.checkName(name, at, evidenceRule)
		spec := evidence.Spec{Name: name, Outcome: evidence.OK, Count: 1}
		if fields, ok := r.report.Object(v, at, "an evidence"); ok {
			r.evidenceSpec(fields, &spec)
		}
		if !r.evidence[name] {
			r.report.Warnf(at, document.CodeNoEffect, "no guard asks for it; add {\"evidence\": %s} to \"guards\" or remove it", document.Quote(name))
		}
		r.def.Evidence = append(r.def.Evidence, spec)
	}
}

func (r evidenceSection) evidenceSpec(f document.Fields, spec *evidence.Spec) {
	f.Known("an evidence", evidenceFields...)
	kinds := 0
	for _, kind := range []string{"tool", "state", "approval"} {
		if f.Has(kind) {
			kinds++
		}
	}
	switch {
	case kinds == 0:
		r.report.Errorf(f.At.Key("tool"), document.CodeRequired, "name the fact to observe: a call of a \"tool\", a value of the shared \"state\", or an \"approval\"")
		return
	case kinds > 1:
		r.report.Errorf(f.At, document.CodeConflict, "an evidence has one of \"tool\", \"state\" and \"approval\"; keep one, and join several with \"all\" in a guard")
		return
	}
	r.maxAge(f, spec)
	switch {
	case f.Has("tool"):
		r.foreign(f, "tool", callFields)
		r.callEvidence(f, spec)
	case f.Has("state"):
		r.foreign(f, "state", stateFact)
		r.stateEvidence(f, spec)
	default:
		r.foreign(f, "approval", approvalFact)
		r.approvalEvidence(f, spec)
	}
}

// foreign reports fields of another kind: dropped, they would make it weaker.
func (r evidenceSection) foreign(f document.Fields, kind string, own []string) {
	for _, name := range evidenceFields {
		if f.Has(name) && !slices.Contains(own, name) {
			r.report.Errorf(f.At.Key(name), document.CodeUnknownField, "evidence of \"%s\" has no %q, so the field has no effect; remove it", kind, name)
		}
	}
}

func (r evidenceSection) callEvidence(f document.Fields, spec *evidence.Spec) {
	if tool, ok := f.Str("tool"); ok {
		spec.Tool = tool
		if strings.HasSuffix(tool, "*") {
			r.report.Errorf(f.At.Key("tool"), document.CodeName, "an evidence is of one tool; write its name without *")
		} else {
			r.statePart().toolName(tool, f.At.Key("tool"), toolname.Grants)
		}
	}
	if command, ok := f.Str("command"); ok {
		spec.Command = command
		r.metaPart().command(command, f.At.Key("command"))
		if strings.HasPrefix(command, "@") {
			r.report.Errorf(f.At.Key("command"), CodeCommand, "a command without an effect of its own is no evidence; name the command that must succeed")
		}
	}
	spec.Exact = f.Bool("exact")
	switch {
	case spec.Exact && !f.Has("command"):
		r.report.Warnf(f.At.Key("exact"), document.CodeNoEffect, "without \"command\" it has no effect; add one or remove it")
	case spec.Exact && strings.ContainsAny(spec.Command, "*?["):
		r.report.Errorf(f.At.Key("exact"), document.CodeConflict, "a command with wildcards is never exact; remove one of the two")
	}
	if outcome, ok := f.Enum("outcome", string(evidence.OK), string(evidence.Failed)); ok {
		spec.Outcome = evidence.Outcome(outcome)
	}
	if f.Has("output") {
		spec.Output = &evidence.Test{}
	}
	if output, ok := f.Object("output"); ok {
		output.Known("an output", "pointer", "op", "value")
		output.Require("pointer", "op")
		if pointer, ok := output.Text("pointer"); ok {
			spec.Output.Pointer = pointer
			r.pointer(pointer, output.At.Key("pointer"))
		}
		r.test(output, spec.Output)
	}
	if v, ok := f.Value.Get("when"); ok {
		spec.When = condition.Read(&r.report, v, f.At.Key("when"), condition.Use{Stance: condition.Allows})
	}
	r.after(f, spec)
	r.within(f, spec)
	if n, ok := f.Integer("count", 1); ok {
		spec.Count = int(min(n, maxCount))
		if n > maxCount {
			r.report.Errorf(f.At.Key("count"), document.CodeRange, "it must be at most %d", maxCount)
		}
	}
}

// after reads which later calls void an evidence: those that may change files, or of these the ones that may
// meet a condition (S21.17).
func (r evidenceSection) after(f document.Fields, spec *evidence.Spec) {
	if v, _ := f.Value.Get("after"); v.Kind() != document.Object {
		after, ok := f.Enum("after", "edit")
		spec.AfterEdit = ok && after == "edit"
		return
	}
	after, _ := f.Object("after")
	after.Known("\"after\"", "change")
	after.Require("change")
	spec.AfterEdit = true
	if v, ok := after.Value.Get("change"); ok {
		spec.Change = condition.Read(&r.report, v, after.At.Key("change"), condition.Use{Stance: condition.Restricts})
	}
}

func (r evidenceSection) stateEvidence(f document.Fields, spec *evidence.Spec) {
	spec.State = &evidence.Test{}
	f.Require("op")
	if pointer, ok := f.Text("state"); ok {
		spec.State.Pointer = pointer
		r.pointer(pointer, f.At.Key("state"))
	}
	r.test(f, spec.State)
	if writer, ok := f.Str("writer"); ok {
		spec.Writer = writer
	}
}

func (r evidenceSection) approvalEvidence(f document.Fields, spec *evidence.Spec) {
	r.within(f, spec)
	name, ok := f.Str("approval")
	if !ok {
		return
	}
	spec.Approval = name
	at := f.At.Key("approval")
	r.approvals = append(r.approvals, document.StringAt{Text: name, At: at})
}

// checkApprovals reports evidence of an approval that no transition asks for.
func (r evidenceSection) checkApprovals() {
	for _, wanted := range r.approvals {
		if r.def.Meta.ApprovalMode != "ui" {
			r.report.Errorf(wanted.At, CodeUnknownState, "without \"approval_mode\": \"ui\" in \"meta\" no approver is asked; add it")
			continue
		}
		asked := make(map[string]bool)
		for i := range r.def.States {
			s := &r.def.States[i]
			for j := range s.On {
				if slices.ContainsFunc(s.On[j].Branches, func(b Branch) bool { return b.RequiresApproval }) {
					asked[s.Name], asked[s.On[j].Event] = true, true
				}
			}
		}
		if asked[wanted.Text] {
			continue
		}
		hint := r.report.DidYouMean(wanted.Text, slices.Values(slices.Sorted(maps.Keys(asked))))
		if hint == "" {
			hint = "; name a state, or its event, with \"requires_approval\""
		}
		r.report.Errorf(wanted.At, CodeUnknownState, "no transition of a state or event %s requires an approval%s", document.Quote(wanted.Text), hint)
	}
}

func (r evidenceSection) within(f document.Fields, spec *evidence.Spec) {
	within, _ := f.Enum("within", "run", "entry")
	spec.WithinEntry = within == "entry"
}

func (r evidenceSection) maxAge(f document.Fields, spec *evidence.Spec) {
	text, ok := f.Str("max_age")
	if !ok {
		return
	}
	age, err := document.ParseDuration(text)
	switch {
	case err != nil:
		r.report.Errorf(f.At.Key("max_age"), document.CodeType, "%s is not a duration: %v", document.Quote(text), err)
	case age < time.Second:
		r.report.Errorf(f.At.Key("max_age"), document.CodeRange, "it must be at least \"1s\"")
	default:
		spec.MaxAge = age
	}
}

func (r evidenceSection) pointer(pointer string, at *document.Path) {
	good := pointer == "" || strings.HasPrefix(pointer, "/")
	for segment := range strings.SplitSeq(pointer, "/") {
		_, ok := document.UnescapeSegment(segment)
		good = good && ok
	}
	if !good {
		r.report.Errorf(at, document.CodeName, "%s is not a JSON Pointer; write one such as \"/conclusion\"", document.Quote(pointer))
	}
}

// test reads op and value.
func (r evidenceSection) test(f document.Fields, t *evidence.Test) {
	g := Guard{Field: t.Pointer}
	r.guardPart().comparison(f, &g, document.Value{})
	t.OpName, t.Op, t.Value = g.Op, condition.Named(g.Op), g.Value
	if g.Op != "" && t.Op.TakesValue() && t.Value.IsZero() {
		t.Op = condition.Never
	}
}

// evidenceHint returns another name that a guard may have meant.
func (r evidenceSection) evidenceHint(name string) string {
	if hint := r.report.DidYouMean(name, slices.Values(slices.Sorted(maps.Keys(r.evidence)))); hint != "" {
		return hint
	}
	return "; declare it in the workflow's \"evidence\", or name another"
}
