package authority

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// MayTakeBranch reports that a branch of a run's fork may be given to the caller's session
// (S5.3). A token that is bound to a branch gives that branch; one that is bound to a
// session alone gives branches of runs of that session, and of the sessions above it.
// Agents whose tokens are not bound share the runs that an agent of their name has started.
func (s *Scene) MayTakeBranch(run *workflow.Run, branch string) (bool, *Refusal) {
	switch {
	case s.Who.Session == "":
		return s.Who.Role != Agent || run.Owner == s.Who.Name, nil
	case s.Who.Branch != "":
		return sameBranch(run, branch, s.Who.Branch), nil
	}
	for _, session := range []string{run.SessionID, run.SessionIn(branch)} {
		if may, refusal := s.isAbove(session); may || refusal != nil {
			return may, refusal
		}
	}
	return false, nil
}

// isAbove reports that a session is the caller's own, or above it: by its name, for a
// name that begins with another and a slash is below that one, or by the tree.
func (s *Scene) isAbove(session string) (bool, *Refusal) {
	own := s.Who.Session
	switch {
	case session == "" || own == "":
		return false, nil
	case session == own || strings.HasPrefix(own, session+"/"):
		return true, nil
	case !s.AboveKnown:
		return false, lacks(Need{Above: true})
	default:
		return slices.Contains(s.Above, session), nil
	}
}
