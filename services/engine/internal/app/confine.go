package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// A principal whose token is bound to a session acts for that session alone: on the
// run that it drives, in the branches that are in its hand, and on the runs that wait
// for each other with that one. A token that is bound to a branch acts in that branch.

// outside refuses what a bound principal has no part in. It does not tell whether there
// is such a run.
func outside(caller Caller, what string) error {
	p := caller.Principal
	if p.Branch != "" {
		return fault.New(fault.PermissionDenied,
			"this token is bound to branch %q of the run that session %q drives, and %s; name neither another session, run nor branch", p.Branch, p.Session, what)
	}
	return fault.New(fault.PermissionDenied,
		"this token is bound to session %q, and %s; name neither another session nor a run that this one does not drive", p.Session, what)
}

const (
	anotherSession = "another session is named"
	anotherRun     = "that run is not in its hand"
	anotherBranch  = "that branch is not in its hand"
	wholeRun       = "the whole run is not in its hand"
)

// confine answers the target that a caller may act on: the same, or for a bound
// principal its session's own. whole is for what concerns all branches of the run.
func (a *App) confine(ctx context.Context, caller Caller, target Target, whole bool) (Target, error) {
	p := caller.Principal
	if p.Session == "" {
		return target, nil
	}
	driven, err := a.driven(ctx, caller, target)
	if target.RunID != "" && (err != nil || target.RunID != driven.run.ID) {
		if over, failed := a.overAnyway(ctx, caller, target); over || failed != nil {
			return target, failed
		}
		if err == nil {
			err = a.confineFamily(ctx, caller, driven, target, whole)
		}
		return target, err
	}
	if err != nil {
		return target, err
	}
	if whole && (driven.branch != "" || p.Branch != "" || driven.run.SessionID != p.Session) {
		return target, outside(caller, wholeRun)
	}
	branch, err := inHand(caller, driven, target.Branch)
	return Target{SessionID: p.Session, Branch: branch}, err
}

// overAnyway reports a run of the session's own that has ended: nothing changes it any
// more, and a repeat of what has ended it gets the first answer (S6.5).
func (a *App) overAnyway(ctx context.Context, caller Caller, target Target) (bool, error) {
	run, err := a.cachedRun(ctx, runKey(caller.Namespace, target.RunID))
	if fault.ReasonOf(err) == fault.NotFound || target.SessionID != "" && target.SessionID != caller.Principal.Session {
		return false, nil
	}
	return err == nil && run.Status.Ended() && run.SessionID == caller.Principal.Session && caller.Principal.Branch == "", err
}

// driven is the run, and the branch of it, that a bound principal's session drives.
func (a *App) driven(ctx context.Context, caller Caller, target Target) (place, error) {
	session := caller.Principal.Session
	if target.SessionID != "" && target.SessionID != session {
		return place{}, outside(caller, anotherSession)
	}
	at, err := a.resolve(ctx, caller.Namespace, Target{SessionID: session})
	if err == nil {
		at.run, err = a.loadRun(ctx, at.key)
	}
	if fault.ReasonOf(err) == fault.NotFound && target.RunID != "" {
		return at, outside(caller, anotherRun)
	}
	return at, err
}

// inHand is the branch of the driven run that a bound principal means: the session's
// own, or else one that was given to no other session. One that has ended, or never
// was, is left for the core to explain.
func inHand(caller Caller, driven place, named string) (string, error) {
	p, run, branch := caller.Principal, driven.run, driven.branch
	if branch == "" {
		branch = p.Branch
	}
	switch {
	case branch == "":
		branch = named
	case named != "" && !sameBranch(run, named, branch):
		return "", outside(caller, anotherBranch)
	}
	switch {
	case p.Branch != "" && !sameBranch(run, p.Branch, branch):
		return "", outside(caller, anotherBranch)
	case driven.branch == "" && run.SessionIn(branch) != p.Session && !run.At(branch).Over:
		return "", outside(caller, anotherBranch)
	default:
		return branch, nil
	}
}

func sameBranch(run *workflow.Run, a, b string) bool {
	pathA, foundA := run.BranchPath(a)
	pathB, foundB := run.BranchPath(b)
	return a == b || foundA && foundB && pathA == pathB
}

// confineFamily admits a run that waits for the driven one, or the other way round.
func (a *App) confineFamily(ctx context.Context, caller Caller, driven place, target Target, whole bool) error {
	run, err := a.loadRun(ctx, runKey(caller.Namespace, target.RunID))
	if fault.ReasonOf(err) == fault.NotFound {
		return outside(caller, anotherRun)
	}
	if err != nil {
		return err
	}
	session := run.SessionID
	if !whole {
		session = run.SessionIn(target.Branch)
	}
	mine := run.Root() == driven.run.Root() && session == caller.Principal.Session
	if mine && caller.Principal.Branch != "" {
		mine, err = a.invokedFrom(ctx, driven, caller.Principal.Branch, run)
	}
	if err == nil && !mine {
		return outside(caller, anotherRun)
	}
	return err
}

// invokedFrom reports that a run was invoked, by whatever many steps, from a branch.
func (a *App) invokedFrom(ctx context.Context, from place, branch string, run *workflow.Run) (bool, error) {
	for run.Parent != nil {
		if run.Parent.RunID == from.run.ID {
			child := from.run.At(branch).Child
			return child != nil && child.RunID == run.ID, nil
		}
		var err error
		if run, err = a.loadRun(ctx, runKey(from.key.Namespace, run.Parent.RunID)); err != nil {
			return false, err
		}
	}
	return false, nil
}

// confineGet answers the target that a caller may see, as confine does; of its
// session's runs it sees those too that the session has left.
func (a *App) confineGet(ctx context.Context, caller Caller, target Target) (Target, error) {
	p := caller.Principal
	if p.Session == "" {
		return target, nil
	}
	driven, err := a.driven(ctx, caller, target)
	switch {
	case err == nil && target.RunID == "":
		target.SessionID = p.Session
		target.Branch, err = inHand(caller, driven, target.Branch)
		return target, err
	case err == nil && target.RunID == driven.run.ID:
		target.Branch, err = inHand(caller, driven, target.Branch)
		target.own = driven.session // nothing is allowed there once it is lost
		return target, err
	case err != nil && (target.RunID == "" || target.SessionID != "" || fault.ReasonOf(err) != fault.PermissionDenied):
		return target, err
	}
	run, err := a.loadRun(ctx, runKey(caller.Namespace, target.RunID))
	if fault.ReasonOf(err) == fault.NotFound {
		return target, outside(caller, anotherRun)
	}
	if err != nil {
		return target, err
	}
	if target.Branch != "" && run.SessionIn(target.Branch) != p.Session && !run.At(target.Branch).Over {
		return target, outside(caller, anotherBranch)
	}
	return target, a.mayRead(ctx, caller, run)
}

// mayRead refuses a bound principal what is neither of its session nor of the tree of
// runs that it works in.
func (a *App) mayRead(ctx context.Context, caller Caller, run *workflow.Run) error {
	if caller.Principal.Session == "" {
		return nil
	}
	root, err := a.ownRoot(ctx, caller)
	if err == nil && !owns(caller, root, run) {
		return outside(caller, anotherRun)
	}
	return err
}

// ownRoot is the outermost run of the tree that a bound principal's session works in;
// empty when it works in none.
func (a *App) ownRoot(ctx context.Context, caller Caller) (string, error) {
	if caller.Principal.Session == "" {
		return "", nil
	}
	driven, err := a.driven(ctx, caller, Target{})
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return "", nil
	case err != nil:
		return "", err
	default:
		return driven.run.Root(), nil
	}
}

// owns reports that a run is of a bound principal's session, or of the tree with this
// root.
func owns(caller Caller, root string, run *workflow.Run) bool {
	session := caller.Principal.Session
	return session == "" || run.SessionID == session || run.Root() == root
}

// confineStart is the session that a caller may start a run in.
func confineStart(caller Caller, session string) (string, error) {
	p := caller.Principal
	switch {
	case p.Session == "":
		return session, nil
	case p.Branch != "":
		return "", outside(caller, "it starts no run; take the branch instead")
	case session != "" && session != p.Session:
		return "", outside(caller, anotherSession)
	default:
		return p.Session, nil
	}
}

// mayBind refuses a bound principal another session's binding, and a branch of
// somebody else's run, unless its token names that branch.
func (a *App) mayBind(ctx context.Context, caller Caller, req Bind, runID string) error {
	p := caller.Principal
	switch {
	case p.Session == "":
		return nil
	case req.SessionID != p.Session:
		return outside(caller, anotherSession)
	}
	run, err := a.loadRun(ctx, runKey(caller.Namespace, runID))
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return outside(caller, anotherRun)
	case err != nil:
		return err
	case p.Branch != "" && !sameBranch(run, req.Branch, p.Branch):
		return outside(caller, anotherBranch)
	case p.Branch == "" && run.Owner != p.Name:
		return outside(caller, anotherRun)
	default:
		return nil
	}
}
