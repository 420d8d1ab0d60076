package app

import (
	"context"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Bind is a request to give a branch to a session (S5.3).
type Bind struct {
	// RunID, or else the workflow of the caller's only run with such a branch.
	RunID     string
	Workflow  string
	Branch    string
	SessionID string
}

// Bind gives a branch of a run's fork to a session: later acts of the session are judged
// in that branch alone.
//
// The run and the session's binding may live in different shards, so this takes
// two commits: the run first, then the binding. A crash in between leaves a
// branch without its session; asking again, from any session, repairs it.
func (a *App) Bind(ctx context.Context, caller Caller, req Bind) (*View, error) {
	if refusal := caller.who().ActsFor(req.SessionID); refusal != nil {
		return nil, refused(refusal)
	}
	if req.RunID == "" {
		var err error
		if req.RunID, err = a.findForked(ctx, caller, req); err != nil {
			return nil, err
		}
	}
	outcome, err := a.change(ctx, caller, request{
		op:      authority.Bind,
		target:  Target{RunID: req.RunID, SessionID: req.SessionID, Branch: req.Branch},
		command: workflow.Bind{Branch: req.Branch, SessionID: req.SessionID, Actor: caller.Principal.Name},
	})
	if err != nil {
		return nil, err
	}
	if outcome.Rejection != nil {
		return nil, fault.New(fault.FailedPrecondition, "%s", outcome.Rejection.Message)
	}
	if err := retry.Run(ctx, "session "+req.SessionID, func() error { return a.rebind(ctx, caller, req) }); err != nil {
		return nil, err
	}
	return a.Get(ctx, caller, Target{SessionID: req.SessionID}, true)
}

// rebind makes a session drive the branch that it was given; another run that it drove is
// paused. A session that works in the branch without being bound to it keeps the binding
// that it has.
func (a *App) rebind(ctx context.Context, caller Caller, req Bind) error {
	h := a.newHandover(caller, req.SessionID, req.RunID)
	h.Target.Branch = req.Branch
	aim, refusal, err := h.aim(ctx, authority.Bind)
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return refused(refusal)
	}
	path, found := aim.At.Run.BranchPath(req.Branch)
	if !found || !aim.At.Run.Bound(path, req.SessionID) {
		return nil
	}
	if err := h.drive(ctx, authority.Bind, aim, req.RunID, path); err != nil {
		return err
	}
	_, err = h.commit(ctx)
	return err
}

// findForked finds the caller's run of a workflow that has the branch. Several
// are not guessed among.
func (a *App) findForked(ctx context.Context, caller Caller, req Bind) (string, error) {
	if req.Workflow == "" {
		return "", fault.New(fault.InvalidRequest, "name the run by run_id or by workflow")
	}
	s := a.newScene(caller, Target{SessionID: req.SessionID, Branch: req.Branch}, true)
	var found []string
	err := a.eachRun(ctx, store.Query{
		Namespace: caller.Namespace, Labels: map[string]string{"workflow": req.Workflow, labelForked: "yes"},
	}, func(run *workflow.Run) error {
		if run.At(req.Branch).Over || run.Status.Ended() {
			return nil
		}
		may := false
		refusal, err := s.decide(ctx, func() (refusal *authority.Refusal) {
			may, refusal = s.MayTakeBranch(run, req.Branch)
			return refusal
		})
		if may && refusal == nil && err == nil {
			found = append(found, run.ID)
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fault.New(fault.NotFound, "no run of workflow %q is in a fork with an open branch %q; fire the event that forks first",
			req.Workflow, req.Branch)
	case len(found) == 1:
		return found[0], nil
	default:
		slices.Sort(found)
		return "", fault.New(fault.FailedPrecondition, "%d runs of workflow %q have a branch %q: %s; name one by run_id",
			len(found), req.Workflow, req.Branch, strings.Join(found[:min(len(found), 10)], ", "))
	}
}
