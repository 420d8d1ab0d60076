// Package enforcer defines the nouns that all parts of the policy enforcer share, and its ports to other
// services. It imports no other package of the policy enforcer.
package enforcer

import (
	"github.com/interlock-run/interlock/pkg/auth"
)

// Caller identifies the caller of a request and its namespace.
type Caller struct {
	Namespace string
	Principal auth.Principal
	// Vouched marks reports that count as observed, rather than as claimed by an agent (S14.4).
	Vouched bool
	// Via is how the call came: rpc.Via.
	Via string
	// For is the person whose token the caller has sent along, and Named the one that it names, if it may speak for people;
	// nil for none.
	For, Named *auth.Human
	// As is whose call an operator tries in a dry run; nil for the operator's own.
	As *As
}

// As is the caller of a call that is tried. What is empty is as in the operator's own call.
type As struct {
	// Human is on whose behalf it is made; nil for that of the session.
	Human *auth.Human
	// Agent is the agent that the session would have started from.
	Agent string
}

// Try returns the caller of a dry run as another one: a principal of the role agent if a name is given, and for the human and by the
// agent of as alone.
func (c Caller) Try(principal string, as As) Caller {
	if principal != "" {
		c.Principal = auth.Principal{Name: principal, Role: auth.Agent, Namespaces: c.Principal.Namespaces, Namespace: c.Principal.Namespace, Kind: c.Principal.Kind}
		c.Vouched = false
	}
	if as.Human != nil {
		c.For, c.Named, c.Principal.Human, c.Principal.Person = nil, nil, nil, ""
	}
	c.As = &as
	return c
}

// Target names a run by its id or by the session that drives it, and a branch of its fork. The
// default branch is the session's own, or the one of callers without a session.
type Target struct{ RunID, SessionID, Branch string }

// String names the run in messages.
func (t Target) String() string {
	if t.RunID == "" {
		return "the run of session " + t.SessionID
	}
	return "run " + t.RunID
}
