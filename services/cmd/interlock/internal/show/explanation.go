package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Explanation writes why a call was decided so.
func Explanation(w *Sheet, e *jsonview.Explanation) {
	fmt.Fprintf(w, "\nstate:\t%s\n", w.Word(strings.TrimSpace(e.State.Verdict+" "+e.State.Code)))
	if e.State.Matched != "" {
		fmt.Fprintf(w, "  matches %s\n", Text(e.State.Matched))
	}
	for i := range e.State.Calls {
		c := &e.State.Calls[i]
		compared(w, c.Rule, results[c.Result], c.Pattern, c.Conditions)
	}
	if c := e.Command; c != nil {
		fmt.Fprintf(w, "\ncommand:\n  %s\n", Text(c.Line))
		for i := range c.Parts {
			p := &c.Parts[i]
			line := fmt.Sprintf("  %s\t%s", p.Verdict, Text(p.Text))
			if p.Matched != "" {
				line += "\tmatches " + Text(p.Matched)
			}
			fmt.Fprintln(w, line)
			if p.Message != "" {
				fmt.Fprintf(w, "    %s\n", Text(p.Message))
			}
		}
	}
	if !e.InputKept {
		fmt.Fprintln(w, "  The log does not have the input of this call. To keep inputs, set meta.capture_output in the workflow, or start with --log-inputs all.")
	}
	for i := range e.Policies {
		p := &e.Policies[i]
		fmt.Fprintf(w, "\npolicy %s version %d:\t%s\n", Text(p.Policy), p.Version, w.Word(strings.TrimSpace(p.Verdict+" "+p.Code)))
		for j := range p.Rules {
			r := &p.Rules[j]
			if !r.Matches && !r.Unclear && len(r.Conditions) == 0 {
				continue
			}
			compared(w, strings.TrimSpace(r.Rule+" "+r.ID), standing(r), r.Capability, r.Conditions)
		}
	}
	if len(e.Limits) > 0 {
		fmt.Fprintln(w, "\nlimits, as they are now:")
	}
	for i := range e.Limits {
		l := &e.Limits[i]
		fmt.Fprintf(w, "  %s\t%d of %d %s, %d with the call\n", Text(strings.TrimSpace(l.Policy+" "+l.Rule)), l.Used, l.Max, l.Unit, l.After)
	}
	if len(e.WouldAllow) > 0 {
		fmt.Fprintln(w, "\nto allow it:")
	}
	for _, sentence := range e.WouldAllow {
		fmt.Fprintf(w, "  %s\n", Text(sentence))
	}
}

// results are the words for the results of conditions.
var results = map[string]string{"holds": "holds", "fails": "does not hold", "doubt": "is in doubt"}

// standing describes whether a rule is about the call.
func standing(r *jsonview.RuleReason) string {
	switch {
	case r.Unclear:
		return r.Effect + ", in doubt"
	case !r.Matches:
		return r.Effect + ", does not apply"
	default:
		return r.Effect
	}
}

// compared writes a rule, its comparisons, a row each, and the reasons of doubts.
func compared(w *Sheet, rule, standing, pattern string, all []jsonview.Condition) {
	if len(all) == 0 {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", Text(rule), standing, Text(pattern))
		return
	}
	fmt.Fprintf(w, "  %s  %s  %s\n", Text(rule), standing, Text(pattern)) // without columns, which are those below
	fmt.Fprintln(w, "    LOOKED AT\tEXPECTED\tACTUAL\tRESULT")
	for i := range all {
		c := &all[i]
		expected, result := c.Expected, "holds"
		if c.Negated {
			expected = "not " + expected
		}
		switch {
		case c.Doubt != "":
			result = "doubt"
		case c.Holds == c.Negated:
			result = "does not hold"
		}
		fmt.Fprintf(w, "    %s\t%s\t%s\t%s\n", Text(c.Field), Text(expected), Text(cmp.Or(c.Actual, "-")), result)
	}
	for i := range all {
		if doubt := all[i].Doubt; doubt != "" {
			fmt.Fprintf(w, "    The rule %s\n", Text(doubt))
		}
	}
}
