package report

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Quoted returns names in quotes, with commas between them.
func Quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = document.Quote(name)
	}
	return strings.Join(all, ", ")
}

// unmet describes the missing act.
func unmet(p *workflow.Property) string {
	cond := p.Condition
	switch {
	case cond == nil:
		return ""
	case len(cond.Any) > 0:
		return " without any of its requirements"
	case cond.Evidence != "":
		return " without the evidence " + document.Quote(cond.Evidence)
	case cond.Event != "":
		return " before event " + document.Quote(cond.Event)
	case cond.State != "":
		return " before state " + document.Quote(cond.State)
	case cond.Approval.By != "":
		return " without an approval by " + document.Quote(cond.Approval.By)
	default:
		return " without an approval"
	}
}

// describe names a subject.
func describe(s *workflow.Subject) string {
	switch {
	case s.When != nil:
		any := *s
		any.When = nil
		return describe(&any) + " with " + s.When.Value().String()
	case s.State != "":
		return "state " + document.Quote(s.State)
	case s.Event != "":
		return "event " + document.Quote(s.Event)
	case s.Tool == "":
		return "the command " + document.Quote(s.Command)
	case s.Command != "":
		return s.Tool + " with the command " + document.Quote(s.Command)
	default:
		return "tool " + document.Quote(s.Tool)
	}
}

// steps returns the lines for people.
func (s *counterexample) steps() []string {
	all := make([]string, 0, len(s.lines))
	for i := range s.lines {
		var words []string
		for _, m := range s.lines[i].all() {
			if m.Name == "expect" {
				continue
			}
			v := m.Value.String()
			if m.Value.Kind() == document.String {
				v = m.Value.Str()
			}
			words = append(words, m.Name+" "+v)
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}
