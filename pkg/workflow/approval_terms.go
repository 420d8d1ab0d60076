package workflow

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

// ApprovalTerm asks for more approvals where its condition holds (S21.15).
type ApprovalTerm struct {
	// When holds for what is asked about; a term in doubt applies.
	When *condition.Condition
	// Circle is who must agree too.
	Circle consent.Circle
}

// ApprovalFor returns the terms of an approval of what the facts describe: those of meta.approval, and every term that
// holds or is in doubt. Without facts all are in doubt.
func (m *Machine) ApprovalFor(facts condition.Facts) consent.Terms {
	meta := &m.definition.Meta
	terms := meta.Approval
	for i := range meta.ApprovalTerms {
		t := &meta.ApprovalTerms[i]
		if facts == nil || t.When.Judge(facts, condition.Restricts) != condition.False {
			terms = terms.With(t.Circle)
		}
	}
	return terms
}

// ApprovalReadsInput reports terms that look at the input, so that another input may need others.
func (m *Machine) ApprovalReadsInput() bool {
	return slices.ContainsFunc(m.definition.Meta.ApprovalTerms, func(t ApprovalTerm) bool {
		return slices.ContainsFunc(t.When.Looks(), func(name string) bool { return name[0] == '/' || name == "anywhere" })
	})
}

// SameApproval reports terms of approvals that are the same, the conditions as they are written.
func (m *Meta) SameApproval(other *Meta) bool {
	if m.Approval.Digest() != other.Approval.Digest() {
		return false
	}
	return slices.EqualFunc(m.ApprovalTerms, other.ApprovalTerms, func(t, o ApprovalTerm) bool { return t.same(&o) })
}

// DropsApprovalTerm reports a term that the other terms do not have: what needs more approvals may need fewer there.
func (m *Meta) DropsApprovalTerm(other *Meta) bool {
	return slices.ContainsFunc(m.ApprovalTerms, func(t ApprovalTerm) bool {
		return !slices.ContainsFunc(other.ApprovalTerms, func(o ApprovalTerm) bool { return t.same(&o) })
	})
}

// same reports a term that says what another one says, wherever it stands.
func (t *ApprovalTerm) same(other *ApprovalTerm) bool {
	a, b := consent.Terms{}.With(t.Circle), consent.Terms{}.With(other.Circle)
	a.Also[0].Term, b.Also[0].Term = "", ""
	return document.Equal(t.When.Value(), other.When.Value()) && a.Digest() == b.Digest()
}

var termFields = []string{"when", "required", "approvers", "danger", "presence"}

// approvalTermList reads meta.approval.terms.
func (r metaSection) approvalTermList(f document.Fields) {
	list, ok := f.List("terms", consent.MaxCircles)
	if !ok {
		return
	}
	base := f.At.Key("terms")
	if list.Len() == 0 {
		r.report.Errorf(base, document.CodeEmpty, "\"terms\" is empty; add a term, or remove it")
	}
	for i, v := range list.Elements() {
		entry, ok := r.report.Object(v, base.At(i), "a term of an approval")
		if !ok {
			continue
		}
		entry.Known("a term of an approval", termFields...)
		entry.Require("when")
		presence := entry.Bool("presence")
		if !entry.Has("required") && !entry.Has("approvers") && !entry.Has("danger") && !presence {
			r.report.Errorf(entry.At, document.CodeRequired, "the term asks for nothing; add \"required\", \"approvers\", \"danger\" or \"presence\": true")
		}
		term := ApprovalTerm{Circle: consent.Circle{
			Term: entry.At.String(), Required: max(r.people(entry, "required"), 1), Eligible: r.approvers(entry), Danger: r.danger(entry), Presence: presence,
		}}
		if v, has := entry.Value.Get("when"); has {
			term.When = condition.Read(&r.report, v, entry.At.Key("when"), condition.Use{Stance: condition.Restricts})
		}
		if term.When == nil {
			continue // it has been reported
		}
		r.def.Meta.ApprovalTerms = append(r.def.Meta.ApprovalTerms, term)
		if err := r.def.Meta.Approval.With(term.Circle).Check(consent.Asker{}); err != nil {
			r.report.Errorf(entry.At, document.CodeConflict, "%s", err)
		}
	}
}
