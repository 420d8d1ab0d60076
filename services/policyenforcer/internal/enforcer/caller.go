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
	// Observes marks reports as observed, rather than claimed by an agent (S14.4).
	Observes bool
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
