package authority

import "github.com/interlock-run/interlock/pkg/workflow"

// Aim is the object of an operation.
type Aim struct {
	// Asked is the place that the request means. It owns the request's idempotency key.
	Asked Place
	// At is the run that changes.
	At Place
}

// Aim finds the run that an operation is carried out on. A caller whose token is bound
// acts on the run that its session drives, in the branches that are assigned to the
// session, and on the runs that wait for each other with that one.
func (s *Scene) Aim(op Op) (Aim, *Refusal) {
	r, refusal := s.ruleOf(op)
	if refusal != nil {
		return Aim{}, refusal
	}
	asked, refusal := s.asked(op, r)
	if refusal != nil {
		return Aim{}, refusal
	}
	at := asked
	switch {
	case r.aims == innermost || r.bySession && s.Target.RunID == "":
		at, refusal = s.Innermost(asked)
	case r.aims == outermost:
		at, refusal = s.outermost(asked)
	}
	return Aim{Asked: asked, At: at}, refusal
}

// asked returns the place that the request means, as far as the caller may mean it.
func (s *Scene) asked(op Op, r rule) (Place, *Refusal) {
	if s.Who.Session == "" || r.admitted {
		return s.place()
	}
	if refusal := s.Who.ActsFor(s.Target.Session); refusal != nil {
		return Place{}, refusal
	}
	if op == Bind {
		return s.branchToTake()
	}
	binding, own, drives, refusal := s.drives(s.Who.Session)
	switch {
	case refusal != nil:
		return Place{}, refusal
	case s.Target.RunID == "" && !drives:
		return Place{}, drivesNothing(s.Who.Session)
	case s.Target.RunID == "" || drives && s.Target.RunID == own.Run.ID:
		return s.ownPlace(binding, own, r.whole && (!r.bySession || s.Target.RunID != ""))
	case op == Read:
		return s.readable(own.Run)
	default:
		return s.ofFamily(own.Run, r.whole)
	}
}

// place returns the place that a caller means whose token is not bound.
func (s *Scene) place() (Place, *Refusal) {
	t := s.Target
	switch {
	case t.RunID != "":
		n, found, refusal := s.run(t.RunID)
		if refusal == nil && !found {
			refusal = refuse(NotFound, "no run %q", t.RunID)
		}
		return Place{Node: n, Branch: t.Branch}, refusal
	case t.Session == "":
		return Place{}, refuse(InvalidRequest, "name a run by run_id or by session_id")
	}
	binding, n, found, refusal := s.drives(t.Session)
	if refusal == nil && !found {
		refusal = drivesNothing(t.Session)
	}
	return binding.place(n, t.Branch), refusal
}

// place returns where a session works: in its own branch, or else in one that it names.
func (b Binding) place(n Node, branch string) Place {
	if b.Branch != "" {
		return Place{Node: n, Branch: b.Branch, Owner: b.Session, OwnerEnded: b.Ended}
	}
	return Place{Node: n, Branch: branch}
}

func drivesNothing(session string) *Refusal {
	return refuse(NotFound, "session %q drives no run; load a workflow first", session)
}

// ownPlace returns the place in the driven run that a bound caller means: the branch of
// its session, or else one that is assigned to no other session. A branch that has ended,
// or never was, is left for the machine to explain.
func (s *Scene) ownPlace(binding Binding, own Node, whole bool) (Place, *Refusal) {
	who, run, branch := s.Who, own.Run, binding.Branch
	if whole && (branch != "" || who.Branch != "" || run.SessionID != who.Session) {
		return Place{}, who.outside(wholeRun)
	}
	if branch == "" {
		branch = who.Branch
	}
	switch {
	case branch == "":
		branch = s.Target.Branch
	case s.Target.Branch != "" && !sameBranch(run, s.Target.Branch, branch):
		return Place{}, who.outside(anotherBranch)
	}
	switch {
	case who.Branch != "" && !sameBranch(run, who.Branch, branch):
		return Place{}, who.outside(anotherBranch)
	case binding.Branch == "" && run.SessionIn(branch) != who.Session && !run.At(branch).Over:
		return Place{}, who.outside(anotherBranch)
	default:
		return binding.place(own, branch), nil
	}
}

func sameBranch(run *workflow.Run, a, b string) bool {
	pathA, foundA := run.BranchPath(a)
	pathB, foundB := run.BranchPath(b)
	return a == b || foundA && foundB && pathA == pathB
}

// ofFamily returns a run that a bound caller names and that its session does not drive:
// one of the same family, or one of its own that has ended. That one no longer changes,
// and a repeat of the request that ended it gets the first answer (S6.5). own is the run
// that the session drives, or nil.
func (s *Scene) ofFamily(own *workflow.Run, whole bool) (Place, *Refusal) {
	n, found, refusal := s.run(s.Target.RunID)
	if refusal != nil {
		return Place{}, refusal
	}
	at := Place{Node: n, Branch: s.Target.Branch}
	switch {
	case !found:
		return Place{}, s.Who.outside(anotherRun)
	case n.Run.Status.Ended() && n.Run.SessionID == s.Who.Session && s.Who.Branch == "":
		return at, nil
	case own == nil || n.Run.Root() != own.Root():
		return Place{}, s.Who.outside(anotherRun)
	}
	session := n.Run.SessionID
	if !whole {
		session = n.Run.SessionIn(s.Target.Branch)
	}
	invoked, refusal := s.invokedFrom(own, n)
	switch {
	case refusal != nil:
		return Place{}, refusal
	case session != s.Who.Session || !invoked:
		return Place{}, s.Who.outside(anotherRun)
	default:
		return at, nil
	}
}

// invokedFrom reports that a run was invoked, by however many steps, from the branch of
// the driven run that the caller's token is bound to; a token that is bound to no branch
// needs no check.
func (s *Scene) invokedFrom(own *workflow.Run, n Node) (bool, *Refusal) {
	if s.Who.Branch == "" {
		return true, nil
	}
	for n.Run.Parent != nil {
		if n.Run.Parent.RunID == own.ID {
			child := own.At(s.Who.Branch).Child
			return child != nil && child.RunID == n.Run.ID, nil
		}
		var refusal *Refusal
		if n, refusal = s.member(n.Run.Parent.RunID); refusal != nil {
			return false, refusal
		}
	}
	return false, nil
}

// branchToTake returns the run of whose fork a bound caller's session is given a branch.
func (s *Scene) branchToTake() (Place, *Refusal) {
	n, found, refusal := s.run(s.Target.RunID)
	switch {
	case refusal != nil:
		return Place{}, refusal
	case !found:
		return Place{}, s.Who.outside(anotherRun)
	}
	may, refusal := s.MayTakeBranch(n.Run, s.Target.Branch)
	switch {
	case refusal != nil:
		return Place{}, refusal
	case may:
		return Place{Node: n, Branch: s.Target.Branch}, nil
	case s.Who.Branch != "":
		return Place{}, s.Who.outside(anotherBranch)
	default:
		return Place{}, s.Who.outside(anotherRun)
	}
}
