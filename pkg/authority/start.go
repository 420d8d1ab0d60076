package authority

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// ActsFor refuses a caller whose token is bound to act for another session than its own.
func (w Who) ActsFor(session string) *Refusal {
	if w.Session != "" && session != "" && session != w.Session {
		return w.outside(anotherSession)
	}
	return nil
}

// StartIn is the session that a caller may start a run in: its own where its token is
// bound.
func (w Who) StartIn(session string) (string, *Refusal) {
	switch {
	case w.Session == "":
		return session, nil
	case w.Branch != "":
		return "", w.outside(noStart)
	default:
		return w.Session, w.ActsFor(session)
	}
}

// mayStart refuses an agent what would soften a workflow's rules before its run begins:
// an older version, and facts that guards read (S6.8).
func (s *Scene) mayStart() *Refusal {
	o := s.Offer
	switch {
	case o == nil:
		return nil
	case o.Version != o.Newest:
		return refuse(PermissionDenied,
			"an agent starts the newest version of %q, which is %d, and not version %d; leave the version out, or ask an operator",
			o.Workflow, o.Newest, o.Version)
	case len(o.Claims) > 0:
		return refuse(PermissionDenied,
			"an agent cannot set %s in the context of %q at its start, because guards read it; the definition can allow it in \"inputs\", or an operator can start the run",
			quoted(o.Claims), o.Workflow)
	default:
		return nil
	}
}

func quoted(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }

// MayTakeUp reports that a paused run is one that a caller may resume in its session:
// the caller started it, nobody invoked it, and no hold is on it that the caller cannot
// lift.
func (w Who) MayTakeUp(run *workflow.Run) bool {
	switch {
	case run.Parent != nil || run.Owner != w.Name || w.Role == Agent && run.Held():
		return false
	case w.Session != "":
		return run.SessionID == w.Session
	default:
		return true
	}
}
