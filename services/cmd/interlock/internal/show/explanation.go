package show

import (
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
		fmt.Fprintln(w, "  The log does not keep the input of this call: meta.capture_output of the workflow would.")
	}
	for i := range e.Policies {
		p := &e.Policies[i]
		fmt.Fprintf(w, "\npolicy %s version %d:\t%s\n", Text(p.Policy), p.Version, w.Word(strings.TrimSpace(p.Verdict+" "+p.Code)))
		for j := range p.Rules {
			if r := &p.Rules[j]; r.Matches {
				fmt.Fprintf(w, "  %s\t%s\t%s\n", Text(r.Rule), r.Effect, Text(r.Capability))
			}
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
