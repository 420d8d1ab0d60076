package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Codes of warnings about rules with conditions (S21.21).
const (
	CodeShadowed     document.Code = "SHADOWED"
	CodeGap          document.Code = "GAP"
	CodeFacetUnknown document.Code = "FACET_UNKNOWN"
	CodeDoubtLikely  document.Code = "DOUBT_LIKELY"
)

// mostReviewed bounds how many rules with conditions are compared with one another.
const mostReviewed = 64

// reviewed is one rule with conditions.
type reviewed struct {
	*Rule
	placed condition.Placed
	list   string
	at     *document.Path
}

// review warns of rules whose conditions do not do what they seem to.
func review(f document.Fields, p *Policy) {
	var all []reviewed
	for _, r := range p.rulesAt(f.At) {
		if !r.Clause.IsZero() && r.Point == nil && r.Capability != "" {
			all = append(all, r)
		}
	}
	for i, r := range all {
		switch {
		case condition.NeverApplies(r.placed):
			f.Report.Warnf(r.at, condition.CodeNeverTrue, "no call can meet these conditions, so the rule has no effect; compare its bounds and lists")
		case condition.AlwaysApplies(r.placed):
			f.Report.Warnf(r.at, condition.CodeAlwaysTrue, "every call that has these values meets the conditions, so they decide nothing; compare their bounds, or leave them out")
		case i < mostReviewed:
			warnShadowed(f.Report, r, all[:i])
		}
		warnUnknown(f.Report, p, r)
	}
	if len(all) <= mostReviewed {
		warnGaps(f.Report, all)
	}
}

// rulesAt returns all rules with their places below that of the policy.
func (p *Policy) rulesAt(at *document.Path) (all []reviewed) {
	for _, list := range []struct {
		name  string
		rules []Rule
	}{{listDeny, p.Deny}, {listAsk, p.Ask}, {listAllow, p.Allow}} {
		for i := range list.rules {
			rule := &list.rules[i]
			r := reviewed{rule, condition.Placed{Clause: rule.Clause}, list.name, at.Key(list.name).At(i)}
			if list.name == listAllow {
				r.placed.Stance = condition.Allows
			}
			all = append(all, r)
		}
	}
	return all
}

// DoubtLikely warns of rules for one tool that look at arguments which its reported schema does not have (S21.21).
// arguments has the arguments of tools, as pointers by their full names. It says nothing about a tool that is not there.
func (p *Policy) DoubtLikely(arguments map[string][]string) document.Problems {
	var report document.Report
	for _, r := range p.rulesAt(nil) {
		tool, _ := oneTool(r.Capability)
		listed := arguments[tool]
		if len(listed) == 0 {
			continue
		}
		looks := r.placed.Wants()
		if r.Amount != nil && strings.HasPrefix(r.Amount.Of, "/") {
			looks = append(looks, r.Amount.Of)
		}
		for _, pointer := range looks {
			first, _, _ := strings.Cut(pointer[1:], "/")
			if first == "*" || slices.Contains(listed, "/"+first) {
				continue
			}
			report.Warnf(r.at, CodeDoubtLikely, "the rule looks at %s, and the reported input schema of %s has no such argument, so calls are in doubt; it has %s: "+
				"look at one of these, or say what holds without it by \"exists\", \"not_exists\" or \"or\"", document.Quote(pointer), document.Quote(tool), shown(listed))
		}
	}
	return report.Problems()
}

// mostShown bounds how many arguments of a tool a warning lists.
const mostShown = 16

// shown lists arguments, which are the words of a server.
func shown(pointers []string) string {
	var words []string
	for _, pointer := range pointers[:min(len(pointers), mostShown)] {
		words = append(words, document.Quote(pointer))
	}
	if more := len(pointers) - mostShown; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// oneTool returns the full name of the server's tool that a capability names. It is false when the capability may be
// that of several tools.
func oneTool(capability string) (string, bool) {
	parts := strings.Split(capability, ":")
	if len(parts) != 3 || parts[0] != "mcp" || strings.HasSuffix(capability, "*") {
		return "", false
	}
	return "mcp__" + parts[1] + "__" + parts[2], true
}

// warnShadowed warns of a rule when rules of deny before it are about each of its calls.
func warnShadowed(report *document.Report, r reviewed, before []reviewed) {
	var denying []condition.Placed
	for _, other := range before {
		if other.list == listDeny && toolname.Covers(other.Capability, r.Capability) {
			denying = append(denying, other.placed)
		}
	}
	if len(denying) > 0 && condition.Implies(r.placed, denying) {
		report.Warnf(r.at, CodeShadowed, "rules of \"deny\" before it are about every call that it is about, so the rule has no effect; remove it, or narrow those")
	}
}

// warnGaps warns of a number between the bounds of rules for one capability that none of them is about.
func warnGaps(report *document.Report, all []reviewed) {
	for i, r := range all {
		same := slices.IndexFunc(all, func(other reviewed) bool { return other.Capability == r.Capability })
		if same < i {
			continue // the first of a capability speaks for all
		}
		var placed []condition.Placed
		var looks []string
		for _, other := range all[i:] {
			if other.Capability == r.Capability {
				placed = append(placed, other.placed)
				looks = append(looks, lookedAt(other.Clause)...)
			}
		}
		slices.Sort(looks)
		for _, pointer := range slices.Compact(looks) {
			if n, ok := condition.Gap(pointer, placed); ok {
				report.Warnf(r.at, CodeGap, "the rules for %s leave out %s %s, and are about less and about more, so the default decides it; close the gap between their bounds",
					document.Quote(r.Capability), pointer, string(n))
			}
		}
	}
}

// warnUnknown warns of a facet that no call of a server's tool has, because the tool is not described.
func warnUnknown(report *document.Report, p *Policy, r reviewed) {
	tool, one := oneTool(r.Capability)
	if !one {
		return
	}
	for _, name := range lookedAt(r.Clause) {
		if name[0] == '/' || name == "anywhere" || !facet.NeedsDescription(tool, condition.Facet(name), p.Tools) {
			continue
		}
		report.Warnf(r.at, CodeFacetUnknown, "%s of %s is known only if the tool is described; describe it in \"meta\": {\"tools\": {%s: ...}}, or accept the server's description with `interlock tools describe`",
			name, document.Quote(r.Capability), document.Quote(tool))
	}
}
