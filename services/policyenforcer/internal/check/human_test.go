package check

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// S22.3, S22.5: a rule sees on whose behalf a call is made, and is in doubt where that is not known, is claimed only, or has ended.
// Nobody is never known, so that leaving the human out helps no call.
func TestRulesSeeTheHuman(t *testing.T) {
	t.Parallel()
	const (
		unless = `{"role": "agent", "deny": [{"capability": "tool:Write", "unless": {"human.groups": ["support"]}}]}`
		when   = `{"role": "agent", "deny": [{"capability": "tool:Write", "when": {"human.groups": ["contractors"]}}]}`
		dept   = `{"role": "agent", "deny": [{"capability": "tool:Write", "unless": {"human.attributes.dept": "sales", "human.source": ["issuer", "operator"]}}]}`
		named  = `{"role": "agent", "deny": [{"capability": "tool:Write", "when": {"human.name": "eve"}}]}`
		absent = `{"role": "agent", "deny": [{"capability": "tool:Write", "when": {"human.name": {"exists": true}}}]}`
		bound  = `{"role": "agent", "deny": [{"capability": "tool:Write", "unless": {"caller.bound": true, "caller.via": "mcp", "caller.token": "session"}}]}`
		recent = `{"role": "agent", "deny": [{"capability": "tool:Write", "unless": {"human.authenticated_age": {"lte": 300}}}]}`
		agent  = `{"role": "agent", "deny": [{"capability": "tool:Write", "unless": {"agent.name": "fixer", "agent.version": {"gte": 2}}}]}`
	)
	person := func(change func(*auth.Human)) *auth.Human {
		h := &auth.Human{
			Name: "ann", Issuer: "https://id", Source: auth.Issuer, Groups: []string{"support", "ops"}, GroupsKnown: true,
			Attributes: map[string]any{"dept": "sales"}, Expires: began.Add(time.Hour),
		}
		if change != nil {
			change(h)
		}
		return h
	}
	unclear, denied := toolcall.CodeCallUnclear, toolcall.CodePolicyDenied
	for name, row := range map[string]struct {
		policy  string
		session *auth.Human
		caller  func(*enforcer.Caller)
		code    toolcall.Code // empty for an allowed call
	}{
		"in the group":           {unless, person(nil), nil, ""},
		"not in it":              {unless, person(func(h *auth.Human) { h.Groups = []string{"Support"} }), nil, denied},
		"nobody, unless":         {unless, nil, nil, unclear},
		"nobody, when":           {when, nil, nil, unclear},
		"nobody, by name":        {named, nil, nil, unclear},
		"nobody, by existence":   {absent, nil, nil, unclear},
		"groups not known":       {when, person(func(h *auth.Human) { h.GroupsKnown = false }), nil, unclear},
		"in no group":            {when, person(func(h *auth.Human) { h.Groups = nil }), nil, ""},
		"expired":                {unless, person(func(h *auth.Human) { h.Expires = began }), nil, unclear},
		"claimed only":           {unless, person(func(h *auth.Human) { h.Source = auth.Claimed }), nil, unclear},
		"a gateway's word":       {unless, person(func(h *auth.Human) { h.Source = auth.Gateway }), nil, unclear},
		"an operator's word":     {unless, person(func(h *auth.Human) { h.Source = auth.Registered }), nil, ""},
		"by a token of the call": {unless, nil, func(c *enforcer.Caller) { c.For = person(nil) }, ""},
		"by the caller's token":  {unless, nil, func(c *enforcer.Caller) { c.Principal.Human = person(nil) }, ""},
		"the same twice":         {unless, person(nil), func(c *enforcer.Caller) { c.For = person(nil) }, ""},
		"each group":             {`{"role": "agent", "deny": [{"capability": "tool:Write", "unless": {"human.groups": {"each": "every", "in": ["support"]}}}]}`, person(nil), nil, denied},
		"two people":             {unless, person(nil), func(c *enforcer.Caller) { c.For = person(func(h *auth.Human) { h.Name = "bob" }) }, unclear},
		"two issuers":            {unless, person(nil), func(c *enforcer.Caller) { c.For = person(func(h *auth.Human) { h.Issuer = "https://other" }) }, unclear},
		"an attribute":           {dept, person(nil), nil, ""},
		"another attribute":      {dept, person(func(h *auth.Human) { h.Attributes = map[string]any{"dept": []any{"it"}} }), nil, denied},
		"no attribute":           {dept, person(func(h *auth.Human) { h.Attributes = nil }), nil, unclear},
		"logged in just now":     {recent, person(func(h *auth.Human) { h.AuthenticatedAt = began.Add(-300 * time.Second) }), nil, ""},
		"logged in long ago":     {recent, person(func(h *auth.Human) { h.AuthenticatedAt = began.Add(-301 * time.Second) }), nil, denied},
		"will log in":            {recent, person(func(h *auth.Human) { h.AuthenticatedAt = began.Add(time.Second) }), nil, unclear},
		"log-in not known":       {recent, person(nil), nil, unclear},
		"another human":          {named, person(nil), nil, ""},
		"a bound token":          {bound, nil, func(c *enforcer.Caller) { c.Via, c.Principal.Session = "mcp", "s" }, ""},
		"not vouched for":        {bound, nil, func(c *enforcer.Caller) { c.Principal.Session = "s" }, unclear},
		"a token of no session":  {bound, nil, func(c *enforcer.Caller) { c.Via, c.Principal.Kind = "mcp", auth.Static }, denied},
		"no agent":               {agent, nil, nil, unclear},
	} {
		a := attemptOf(t, "Write", row.policy)
		if row.caller != nil {
			row.caller(&a.Caller)
		}
		a.Effective.For = enforcer.OnBehalf(row.session, a.Caller, a.Now)
		a.Facts = a.factsOf(nil, nil)
		if got := a.Decide(Admission{}).Decision.Verdict; got.Code != row.code && (row.code != "" || got.Decision != toolcall.Allow) {
			t.Errorf("%s: %s %s, want %q", name, got.Decision, got.Code, row.code)
		}
	}
	a := attemptOf(t, "Write", agent)
	a.Effective.Own.Name, a.Effective.Own.Version = "fixer", 2
	a.Facts = a.factsOf(nil, nil)
	if got := a.Decide(Admission{}).Decision.Verdict; got.Decision != toolcall.Allow {
		t.Errorf("of the agent: %s %s", got.Decision, got.Code)
	}
}
