package authority

import (
	"cmp"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// readable returns a run that a bound caller may see though its session does not drive
// it: one that the session has left, or one of the family that it works in. own is the
// run that it drives, or nil.
func (s *Scene) readable(own *workflow.Run) (Place, *Refusal) {
	n, found, refusal := s.run(s.Target.RunID)
	switch branch := s.Target.Branch; {
	case refusal != nil:
		return Place{}, refusal
	case !found:
		return Place{}, s.Who.outside(anotherRun)
	case branch != "" && n.Run.SessionIn(branch) != s.Who.Session && !n.Run.At(branch).Over:
		return Place{}, s.Who.outside(anotherBranch)
	case !s.Who.Owns(n.Run, own):
		return Place{}, s.Who.outside(anotherRun)
	default:
		return Place{Node: n, Branch: branch}, nil
	}
}

// Owns reports that a caller may see a run: it is of the caller's session, or of the
// family of the run that the session drives, which may be nil. A caller whose token is
// not bound may see every run.
func (w Who) Owns(run, driven *workflow.Run) bool {
	return w.Session == "" || run.SessionID == w.Session || driven != nil && run.Root() == driven.Root()
}

// MayRead refuses a run that the caller does not own.
func (w Who) MayRead(run, driven *workflow.Run) *Refusal {
	if w.Owns(run, driven) {
		return nil
	}
	return w.outside(anotherRun)
}

// Unseen refuses a run that there is not, as one that the caller may not see.
func (w Who) Unseen(id string) *Refusal {
	if w.Session != "" {
		return w.outside(anotherRun)
	}
	return refuse(NotFound, "no run %q", id)
}

// SupersededBy returns the run that is driven instead of one that was asked for by its
// id, or empty. Tools may be open in a run that is paused or has ended; they are not for
// a session that drives another run since, nor where the run was invoked and has ended:
// the outermost, which may enforce always, decides the meaning of its end. root is the
// run's outermost, and now what root's session drives, or nil.
func SupersededBy(run, root, now *workflow.Run) string {
	switch {
	case !run.Status.Stopped() && !run.Status.Ended():
		return ""
	case now != nil && now.Root() != root.ID:
		return now.ID
	case root.ID != run.ID && run.Status.Ended():
		return root.ID
	default:
		return ""
	}
}

// Confined reports that the run that a caller names must be looked up as the caller's own
// each time: no cached fact of a run shows that it is.
func (w Who) Confined() bool { return w.Session != "" }

// Accounts returns the principal and session whose usage of a limit a caller asks about:
// an agent that names none asks about itself, and one whose token is bound asks about no
// other session.
func (w Who) Accounts(principal, session string) (string, string, *Refusal) {
	if w.Role != Agent {
		return principal, session, nil
	}
	return cmp.Or(principal, w.Name), cmp.Or(session, w.Session), w.ActsFor(session)
}
