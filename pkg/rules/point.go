package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Point is an AuthZEN decision point that a rule of deny asks (S21.19): its yes takes the rule back, any other
// answer denies.
type Point struct {
	URL     string
	Timeout time.Duration
}

// Timeouts of decision points.
const (
	usualTimeout = 200 * time.Millisecond
	// LongestTimeout is for all points of one call, too.
	LongestTimeout = time.Second
)

// readPoint reads ask_pdp of a rule; nil for none.
func readPoint(f document.Fields) *Point {
	pf, ok := f.Object("ask_pdp")
	if !ok {
		return nil
	}
	pf.Known("a decision point", "url", "timeout")
	pf.Require("url")
	p := &Point{Timeout: usualTimeout}
	if p.URL, ok = pf.Str("url"); ok {
		if why := pointFlaw(p.URL); why != "" {
			f.Report.Errorf(pf.At.Key("url"), document.CodeRange, "%s; write the evaluation endpoint, such as https://pdp.example.com/access/v1/evaluation", why)
		}
	}
	if text, ok := pf.Str("timeout"); ok {
		timeout, err := document.ParseDuration(text)
		switch {
		case err != nil:
			f.Report.Errorf(pf.At.Key("timeout"), document.CodeRange, "%s is not a duration; write one such as \"200ms\"", document.Quote(text))
		case timeout < time.Millisecond || timeout > LongestTimeout:
			f.Report.Errorf(pf.At.Key("timeout"), document.CodeRange, "the timeout must be from 1ms to 1s, not %s", document.Quote(text))
		default:
			p.Timeout = timeout
		}
	}
	return p
}

// pointFlaw describes the problem with the URL of a decision point, or returns "".
func pointFlaw(text string) string {
	u, ok, why := condition.ReadURL(text)
	switch {
	case !ok:
		return why
	case strings.ContainsAny(text, "#?"):
		return "the URL has a query or a fragment"
	case u.Scheme == "https":
		return ""
	case u.Scheme != "http":
		return "the scheme of the URL must be https"
	}
	if u.Loopback() {
		return ""
	}
	return "the URL must be https: others on the network could answer"
}

// always reports a rule that is about every call of its capability, and asks no decision point.
func (rule *Rule) always() bool { return rule.Clause.IsZero() && rule.Point == nil && !rule.Exceptable }

// Outside returns the rules whose decision points must agree before the answer stands, each once. There are
// none for a call that is denied.
func (c *Combined) Outside() []*Source {
	if c.Decision == toolcall.Deny {
		return nil
	}
	var all []*Source
	for i := range c.Policies {
		for _, by := range c.Policies[i].Outside {
			if !slices.Contains(all, by) {
				all = append(all, by)
			}
		}
	}
	return all
}

// Refused returns the denial by a rule whose decision point has said no.
func (c *Combined) Refused(by *Source) Combined { return c.deniedBy(by, toolcall.CodePolicyDenied, "") }

// Unanswered returns the denial by a rule whose decision point has given no answer; why says what came instead, without a full
// stop.
func (c *Combined) Unanswered(by *Source, why string) Combined {
	return c.deniedBy(by, toolcall.CodePolicyUnavailable, why)
}

func (c *Combined) deniedBy(by *Source, code toolcall.Code, detail string) Combined {
	denial := c.Policies[0].deny(code, by, detail)
	all := append(slices.Clone(c.Policies), denial)
	return Combined{Decision: toolcall.Deny, Code: code, State: c.State, Policies: all}
}
