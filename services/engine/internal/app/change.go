package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// change decides whether the caller may change a run, steps it, and commits what came of
// it; again from the start when another request was faster. What the commit has parked is
// asked for at once.
func (a *App) change(ctx context.Context, caller Caller, r request) (*Outcome, error) {
	tries := 0
	done, err := retry.Do(ctx, r.subject(), func() (*committed, error) {
		tries++
		return a.attempt(ctx, caller, r, tries > 1)
	})
	if err != nil {
		return nil, err
	}
	for _, refused := range a.tellApprovals(ctx, done.steps, r.settles) {
		if err := a.drop(ctx, refused); err != nil {
			return nil, err
		}
	}
	return done.outcome, nil
}

// attempt makes one try. A cached run may be old: it is read again before a refusal is
// claimed.
func (a *App) attempt(ctx context.Context, caller Caller, r request, fresh bool) (*committed, error) {
	s := a.newScene(caller, r.target, fresh)
	if r.session != "" {
		s.Target.Session = r.session
	}
	aim, refusal, err := s.aim(ctx, r.op)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		if !fresh {
			return a.attempt(ctx, caller, r, true)
		}
		return nil, refused(refusal)
	}
	if r.key != "" && aim.Asked.Branch != "" {
		r.key += " in " + aim.Asked.Branch // sessions in other branches have keys of their own
	}
	m, err := a.machine(ctx, caller.Namespace, aim.At.Run.Workflow, aim.At.Run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	if refusal, err = s.permit(ctx, r.op, aim); err != nil {
		return nil, err
	}
	if failed := r.failed(refusal, aim.At.Run, m); failed != nil {
		// The request may be a repeat, whose answer is the first one (S6.5).
		first, err := a.firstAnswer(ctx, runKey(caller.Namespace, aim.Asked.Run.ID), r.key, r.digest)
		switch {
		case err != nil:
			return nil, err
		case first != nil:
			return &committed{outcome: first}, nil
		case !fresh:
			return a.attempt(ctx, caller, r, true)
		default:
			return nil, failed
		}
	}
	f := newFamily(a, caller, s)
	command, err := f.complete(ctx, aim.At, m, r.command)
	if err != nil {
		return nil, err
	}
	stepped := f.step(aim.At.Run, m, command)
	if stepped.out.Changed {
		if err := f.follow(ctx, stepped, r); err != nil {
			return nil, err
		}
	}
	return f.commit(ctx, aim.Asked, stepped, r)
}

// drop lets a lane continue without an approval that can never be asked for.
func (a *App) drop(ctx context.Context, u unaskable) error {
	return a.carryOut(ctx, u.run, u.at, system(u.run.Namespace).Principal.Name, workflow.Reject{
		ApprovalID: u.at.Approval.ID, Outcome: workflow.ApprovalCancelled, Note: "it could not be asked for: " + u.why,
	})
}

// carryOut steps a run by what was decided. A conflict says that it does not wait for
// that any more, or is held since.
func (a *App) carryOut(ctx context.Context, run store.Key, at workflow.View, actor string, command workflow.Command) error {
	outcome, err := a.change(ctx, decidedBy(run.Namespace, actor), request{
		op: authority.Settle, target: Target{RunID: run.ID, Branch: at.Branch}, command: command, settles: at.Approval.ID,
	})
	switch {
	case err != nil:
		return err
	case outcome.Rejection == nil:
		return nil
	case outcome.Rejection.Code == workflow.RejectNotParked || outcome.Rejection.Code == workflow.RejectRunNotRunning:
		return &store.ConflictError{Key: run}
	default:
		return fault.New(fault.FailedPrecondition, "%s", outcome.Rejection.Message)
	}
}
