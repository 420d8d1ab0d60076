package check

import (
	"context"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Who is a caller, and on whose behalf it acts.
type Who struct {
	enforcer.Caller
	// Session is the one that it acts in; empty for none.
	Session string
	// Human is nil where it is not known.
	Human *auth.Human
	// Agent is the agent that the session was started from, and Lineage the sessions above it and itself.
	Agent   sessionread.Agent
	Lineage []string
}

// Who returns a caller as its calls in a session are judged; in that of its token, if session is empty.
func (c *Service) Who(ctx context.Context, caller enforcer.Caller, session string) (*Who, error) {
	if session == "" {
		session = caller.Principal.Session
	}
	w := &Who{Caller: caller, Session: session}
	var of *auth.Human
	if session != "" {
		place, err := c.Runs.Place(ctx, caller, session, true)
		if err != nil {
			return nil, err
		}
		w.Agent, w.Lineage, of = place.Own, place.Lineage, place.Human.Read()
	}
	if h := enforcer.OnBehalf(of, caller, c.Clock()); h.Why == "" {
		w.Human = h.Human
	}
	return w, nil
}
