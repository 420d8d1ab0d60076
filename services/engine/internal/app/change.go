package app

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// change is one command on one run.
type change struct {
	target  Target
	command workflow.Command
	// descends: it is meant for the run whose rules are in force, the innermost
	// that was invoked. family: for all runs that invoke each other, from the
	// outermost on. Neither: for the run itself.
	descends, family bool

	expected int64
	key      string // of the first answer, see requestName; may be empty
	digest   string
	// leaves: an agent would escape enforcement by it (S6.6).
	leaves bool
	// unbinds: an agent's own session no longer drives the run afterwards.
	unbinds bool
	// session, when set, drives the run from now on.
	session string
	// resumes: only an operator may do it to a run that is held.
	resumes bool
	// answers: it is the answer to a question, which only processes ask.
	answers bool
	// settles is the approval whose decision this carries out.
	settles string
	// unconfined: who may do it was checked otherwise than by the caller's session.
	unconfined bool
}

// place is a run, and the branch of it that is meant.
type place struct {
	key    store.Key
	run    *workflow.Run
	branch string
	// session is set when the branch is meant only as long as it is this session's
	// own: a later fork may have one of the same name, or another session have
	// taken it over.
	session string
}

// lost reports that the branch is no longer the session's own: nothing is allowed in
// it.
func (p place) lost() bool { return p.session != "" && !p.run.Bound(p.branch, p.session) }

// lane is the run as it stands in the branch.
func (p place) lane() workflow.View {
	if p.lost() {
		return p.run.Lost(p.branch)
	}
	return p.run.At(p.branch)
}

// change steps a run and commits what came of it, again from the start when
// somebody else was faster.
func (a *App) change(ctx context.Context, caller Caller, c change) (*Outcome, error) {
	if !c.unconfined {
		var err error
		if c.target, err = a.confine(ctx, caller, c.target, !c.descends); err != nil {
			return nil, err
		}
	}
	asked, err := a.resolve(ctx, caller.Namespace, c.target)
	if err != nil {
		return nil, err
	}
	if c.key != "" && asked.branch != "" {
		c.key += " in " + asked.branch // sessions in other branches have keys of their own
	}
	if asked.run, err = a.cachedRun(ctx, asked.key); err != nil {
		return nil, err
	}
	for i := range retry.Attempts {
		outcome, err := a.attempt(ctx, caller, asked, c)
		if !lostRace(err) {
			return outcome, err
		}
		if err := retry.Yield(ctx, i); err != nil {
			return nil, fault.From(err)
		}
		if asked.run, err = a.loadRun(ctx, asked.key); err != nil {
			return nil, err
		}
	}
	return nil, contended("run " + asked.key.ID)
}

func (a *App) attempt(ctx context.Context, caller Caller, asked place, c change) (*Outcome, error) {
	f := newFamily(a, caller)
	at, err := f.locate(ctx, asked, c)
	if err != nil {
		return nil, err
	}
	m, err := a.machine(ctx, at.key.Namespace, at.run.Workflow, at.run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	if c.answers && m.Process == nil {
		// A repeat of the answer that has ended a process is told so again (S6.5).
		if outcome, err := a.repeated(ctx, asked, c); outcome != nil || err != nil {
			return outcome, err
		}
		return nil, noProcess(at.run)
	}
	kept, err := a.escapes(ctx, caller, at.run, m, c)
	if err != nil {
		return nil, err
	}
	if err := f.mayGoBack(ctx, at, c); err != nil {
		if outcome, again := a.repeated(ctx, asked, c); outcome != nil || again != nil {
			return outcome, again
		}
		return nil, err
	}
	if outcome, err := a.refuse(ctx, caller, asked, at, kept, c); outcome != nil || err != nil {
		return outcome, err
	}
	if c.command, err = a.complete(ctx, caller, at, m, c.command); err != nil {
		return nil, err
	}
	s := f.step(at.key, at.run, m, c.command)
	if s.out.Changed {
		if err := f.follow(ctx, s, c); err != nil {
			return nil, err
		}
	}
	return f.commit(ctx, asked, s, c)
}

// complete adds to a command what the core cannot know: the branch that it is
// meant for, the workflow that it would invoke, and the id of the approval that it
// would wait for.
func (a *App) complete(ctx context.Context, caller Caller, at place, m definition.Compiled, cmd workflow.Command) (workflow.Command, error) {
	switch c := cmd.(type) {
	case workflow.Fire:
		c.Branch, c.Lost = at.branch, at.lost()
		lane := at.lane()
		if lane.Status != workflow.Running {
			return c, nil
		}
		if m.Asks(lane.State, c.Event) {
			return a.askable(caller, m, c)
		}
		name := m.State(lane.State).Invokes(c.Event)
		if name == "" {
			return c, nil
		}
		child, id, err := a.newChild(ctx, at.key, at.run, name)
		c.Child, c.ChildID = child.Machine, id
		return c, err
	case workflow.Force:
		c.Branch, c.Lost = at.branch, at.lost()
		return c, nil
	case workflow.Divert:
		c.Branch, c.Lost = at.branch, at.lost()
		return c, nil
	default:
		return cmd, nil
	}
}

// refuse answers what needs no step: a stale expected version, and what the
// caller may not do; kept is why it cannot leave. The cached run may be old, so it
// is read again before a conflict is claimed.
func (a *App) refuse(ctx context.Context, caller Caller, asked, at place, kept *fault.Error, c change) (*Outcome, error) {
	run := at.run
	agent := caller.Principal.Role == auth.Agent
	conflict := c.expected != 0 && c.expected != run.Version
	held := agent && run.Held() && (c.leaves || c.resumes)
	if !conflict && !held && kept == nil {
		return nil, nil
	}
	// The request may be a repeat, whose answer is the first one (S6.5).
	if outcome, err := a.repeated(ctx, asked, c); outcome != nil || err != nil {
		return outcome, err
	}
	fresh, err := a.loadRun(ctx, at.key)
	switch {
	case err != nil:
		return nil, err
	case fresh.Version != run.Version:
		return nil, &store.ConflictError{Key: at.key, Want: run.Version, Have: fresh.Version}
	case conflict:
		e := fault.New(fault.VersionConflict, "run %s is at version %d, not %d; read it and decide again", run.ID, run.Version, c.expected)
		e.Metadata = map[string]string{"current_version": fmt.Sprint(run.Version)}
		return nil, e
	case held:
		return nil, fault.New(fault.RunHeld, "run %s is held by an operator; only an operator can resume or cancel it", run.ID)
	case run.Status.Ended():
		return nil, nil // the machine says why this cannot be
	default:
		return nil, kept
	}
}

func runPut(key store.Key, expect int64, out *workflow.Result) store.Put {
	return store.Put{
		Key: key, Expect: expect, Data: encodeRun(&out.Run), Labels: labels(&out.Run), History: encodeEntry(&out.Entry),
	}
}
