package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// negated warns of comparisons under "not" that make it pass when the field is missing: a missing
// field passes no comparison, "neq" included (S2.5), and so it passes the opposite of each. Then
// who sends the context decides whether the guard asks anything.
type negated struct {
	r       *reader
	context document.Value
}

// walk goes through a guard. not is true under an odd number of "not", and there are the fields
// that the guard demands besides.
func (n *negated) walk(g *Guard, at *document.Path, not bool, there []string) {
	switch {
	case g.Not != nil:
		n.walk(g.Not, at.Key("not"), !not, there)
	case len(g.All) > 0:
		n.list(g.All, at.Key("all"), not, !not, there)
	case len(g.Any) > 0:
		n.list(g.Any, at.Key("any"), not, not, there)
	case g.When != nil: // a missing value is in doubt there
	case g.Field == "" || !not || slices.Contains(there, g.Field) || n.declared(g.Field):
	case condition.Named(g.Op) != condition.Never && g.Op != "exists" && g.Op != "not_exists":
		field := document.Quote(g.Field)
		n.r.report.Warnf(at, CodeNotOfMissing,
			"\"not\" of this comparison passes when %s is missing, so that who leaves it out passes; write {\"all\": [{\"field\": %s, \"op\": \"exists\"}, {\"not\": ...}]}, or the opposite operator",
			field, field)
	}
}

// list goes through guards that are joined; all is true when each of them must hold.
func (n *negated) list(guards []Guard, at *document.Path, not, all bool, there []string) {
	if all {
		there = slices.Clone(there)
		for i := range guards {
			there = append(there, demands(&guards[i], not)...)
		}
	}
	for i := range guards {
		n.walk(&guards[i], at.At(i), not, there)
	}
}

// declared reports a field that the workflow's own context has: no one can take it away. A value
// inside of another one can be replaced with that.
func (n *negated) declared(field string) bool {
	if strings.Contains(field, ".") {
		return false
	}
	_, ok := n.context.Get(field)
	return ok
}

// demands returns the fields that must be there for a guard to hold, or with not, for its
// opposite.
func demands(g *Guard, not bool) (fields []string) {
	switch {
	case g.Not != nil:
		return demands(g.Not, !not)
	case g.Field != "" && (g.Op == "not_exists") == not:
		return []string{g.Field}
	case len(g.All) > 0 && !not:
		for i := range g.All {
			fields = append(fields, demands(&g.All[i], not)...)
		}
	case len(g.Any) > 0 && not:
		for i := range g.Any {
			fields = append(fields, demands(&g.Any[i], not)...)
		}
	}
	return fields
}
