package authority

import (
	"cmp"
	"path"
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

// StartIn returns the session that a caller may start a run in: its own where its token
// is bound.
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

// mayStart refuses an agent input that would soften a workflow's rules before its run
// begins: an older version, and facts that guards read (S6.8).
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

// Workspace returns the workspace of a run that is started, and whether it is the claim of an agent
// (S14.7). A run without one of its own is in that of its session, which an agent cannot change.
func (s *Scene) Workspace() (workspace string, claimed bool, _ *Refusal) {
	o := s.Offer
	own := s.Who.Role == Agent && !o.Vouched
	claimed = own && o.Workspace != ""
	session := cmp.Or(s.Who.Session, s.Target.Session)
	if session == "" || !own && o.Workspace != "" {
		return o.Workspace, claimed, nil
	}
	_, now, drives, refusal := s.drives(session)
	switch {
	case refusal != nil:
		return "", false, refusal
	case !drives || now.Run.Workspace == "":
		return o.Workspace, claimed, nil
	case o.Workspace == "" || path.Clean(o.Workspace) == path.Clean(now.Run.Workspace):
		return now.Run.Workspace, now.Run.Claimed, nil
	default:
		return "", false, refuse(PermissionDenied,
			"session %q works in %q, and an agent cannot start a run of it in another workspace: leave the workspace out, or ask an operator to start the run",
			clip(session), clip(now.Run.Workspace))
	}
}

func quoted(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }

// MayTakeUp reports that a paused run is one that a caller may resume in its session: the
// caller started it, no run invoked it, and no hold is on it that the caller cannot lift.
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
