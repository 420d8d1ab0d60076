package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Combined is the answer of a run's state and of all policies that a call is held
// to: the strictest of theirs.
type Combined struct {
	Decision toolcall.Decision
	// Code is that of the first that is as strict: the state, or else a policy. Of an allowed
	// call it is NOT_ENFORCED when no rule of a state judges it, and else empty.
	Code toolcall.Code
	// State is the verdict of the state (S3), and Policies the complete verdict of each
	// policy.
	State    toolcall.Verdict
	Policies []Verdict
	// Spends are those of the policies, each account once. There are none when the
	// call is denied.
	Spends []Spend
}

// Combine takes the strictest verdict of the state and the policies. Spends are appended
// to the slice given. An unknown verdict denies.
func Combine(state toolcall.Verdict, policies []Verdict, spends []Spend) Combined {
	c := Combined{Decision: decided(state.Decision), Code: state.Code, State: state, Policies: policies}
	for i := range policies {
		v := &policies[i]
		if d := decided(v.Decision); strictness(d) > strictness(c.Decision) {
			c.Decision, c.Code = d, v.Code
		}
	}
	if c.Decision == toolcall.Deny {
		if c.Code == "" {
			c.Code = toolcall.CodePolicyUnavailable
		}
		return c
	}
	c.Spends = spends
	for i := range policies {
		for _, s := range policies[i].Spends {
			s.Ask = c.Decision == toolcall.Ask
			c.add(s)
		}
	}
	return c
}

// add keeps the strictest limit of an account: policies share the session's accounts.
func (c *Combined) add(s Spend) {
	for i := range c.Spends {
		if known := &c.Spends[i]; known.Account == s.Account {
			if s.Max < known.Max {
				*known = s
			}
			return
		}
	}
	c.Spends = append(c.Spends, s)
}

// Exceeded returns the denial when the account of spend i has no room and holds value:
// see Verdict.Exceeded.
func (c *Combined) Exceeded(i int, value int64, reopensAt time.Time) Combined {
	denial := c.Policies[0].Exceeded(c.Spends[i], value, reopensAt)
	all := append(slices.Clone(c.Policies), denial)
	return Combined{Decision: toolcall.Deny, Code: denial.Code, State: c.State, Policies: all}
}

// Message returns the objections of the policies to the call, for an agent to act on: the
// sentence of each that is as strict as the answer, so that it is not sent from one to
// the next. It is empty when they have none, or the state is stricter.
func (c *Combined) Message() string {
	if c.Decision == toolcall.Allow {
		return ""
	}
	var sentences []string
	for i := range c.Policies {
		if v := &c.Policies[i]; decided(v.Decision) == c.Decision {
			sentences = append(sentences, v.Explain())
		}
	}
	return strings.Join(sentences, " ")
}

// Exceptions returns those by which a call has passed rules of policies; none for a call that is denied.
func (c *Combined) Exceptions() (ids []string) {
	if c.Decision == toolcall.Deny {
		return nil
	}
	for i := range c.Policies {
		ids = append(ids, c.Policies[i].Exceptions...)
	}
	return ids
}

// decided reads a decision: one that is not known denies.
func decided(d toolcall.Decision) toolcall.Decision {
	if d == toolcall.Allow || d == toolcall.Ask {
		return d
	}
	return toolcall.Deny
}

func strictness(d toolcall.Decision) int {
	switch d {
	case toolcall.Allow:
		return 0
	case toolcall.Ask:
		return 1
	default:
		return 2
	}
}
