package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// bind gives a branch to a session of its own (S5.3). A later session takes it over from
// an earlier one, so that the branch is not stuck when that is gone; and for the same
// reason a session leaves the branch that it had for another. The session that drives the
// run, or the branch that has forked, needs no binding: it takes a branch by working in
// it.
func (m *Machine) bind(run *Run, c Bind, now time.Time) Result {
	what := "binding a session to branch " + document.Quote(c.Branch)
	if !run.Status.moves() {
		return rejected(run, c, now, m.refusals().notRunning(run.whole(), what))
	}
	path, found := run.Fork.find(c.Branch)
	if !found || len(path) == 0 {
		return rejected(run, c, now, m.refusals().unknownBranch(run, c.Branch, what))
	}
	at := run.lane(path)
	if at.Over {
		return rejected(run, c, now, m.refusals().branchOver(at.View, c.Branch, what))
	}
	outer, drives := run.drivenBy(c.SessionID, path)
	if drives && run.leadsTo(path, outer) || !drives && run.branchAt(path).SessionID == c.SessionID {
		return unchanged(run, c.Actor, now, "the session already works in this branch.")
	}
	s := m.begin(run, c.Actor, now)
	if drives {
		for depth := outer + 1; depth <= len(path); depth++ {
			s.give(path[:depth], "")
			s.makeCurrent(path[:depth])
		}
	} else {
		if had := run.Fork.heldBy(c.SessionID); had != nil {
			s.give(had, "")
		}
		s.give(path, c.SessionID)
	}
	e := &s.out.Entry
	e.Type, e.Branch, e.From, e.To, e.SessionID = EventBound, at.Branch, at.State, at.State, c.SessionID
	s.announce(Event{Type: EventBound, Branch: at.Branch, From: at.State, To: at.State, SessionID: c.SessionID})
	return s.finish()
}

// drivenBy reports whether a session is bound to the branch at a path without
// being bound to it: as the run's own, or by a branch that it is bound to, which
// has forked on the way there. outer is how much of the path that is.
func (r *Run) drivenBy(session string, path []int) (outer int, drives bool) {
	if session == "" || session == r.SessionID {
		return 0, true
	}
	for depth := len(path) - 1; depth > 0; depth-- {
		if r.branchAt(path[:depth]).SessionID == session {
			return depth, true
		}
	}
	return 0, false
}

// leadsTo reports that callers of the lane at the outer part of a path work in the
// branch at its end.
func (r *Run) leadsTo(path []int, outer int) bool {
	for depth := outer + 1; depth <= len(path); depth++ {
		if b := r.branchAt(path[:depth]); b.SessionID != "" || r.lane(path[:depth-1]).Fork.Current != b.Name {
			return false
		}
	}
	return true
}

// heldBy finds the active branch that is bound to a session, or nil.
func (f *ForkProgress) heldBy(session string) []int {
	if f == nil {
		return nil
	}
	for i := range f.Branches {
		b := &f.Branches[i]
		if b.Status != BranchActive {
			continue
		}
		if b.SessionID == session {
			return []int{i}
		}
		if rest := b.Fork.heldBy(session); rest != nil {
			return append([]int{i}, rest...)
		}
	}
	return nil
}

// give binds the branch at a path to a session, or to none.
func (s *stepper) give(path []int, session string) {
	s.out.Run.change(path, func(b *BranchProgress) { b.SessionID = session })
	outer := path[:len(path)-1]
	s.advance(outer, s.out.Run.lane(outer).Fork)
}

// makeCurrent sends unbound callers to the branch at a path.
func (s *stepper) makeCurrent(path []int) {
	outer := path[:len(path)-1]
	fork := *s.out.Run.lane(outer).Fork
	fork.Current = s.out.Run.branchAt(path).Name
	s.setForkAt(outer, &fork)
}
