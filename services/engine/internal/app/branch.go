package app

import (
	"context"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/retry"

	"github.com/interlock-run/interlock/services/engine/internal/registry"
)

// Branches gives the branches of forks to sessions.
type Branches struct {
	ports    *ports.Ports
	registry *registry.Registry
	runs     *Runs
	changes  *Changes
	reads    *Reads
}

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
func (br *Branches) Bind(ctx context.Context, caller ports.Caller, req Bind) (*View, error) {
	if refusal := caller.Who().ActsFor(req.SessionID); refusal != nil {
		return nil, ports.Refused(refusal)
	}
	if req.RunID == "" {
		var err error
		if req.RunID, err = br.findForked(ctx, caller, req); err != nil {
			return nil, err
		}
	}
	outcome, err := br.changes.change(ctx, caller, request{
		op:      authority.Bind,
		target:  ports.Target{RunID: req.RunID, SessionID: req.SessionID, Branch: req.Branch},
		command: workflow.Bind{Branch: req.Branch, SessionID: req.SessionID, Actor: caller.Principal.Name},
	})
	if err != nil {
		return nil, err
	}
	if outcome.Rejection != nil {
		return nil, fault.New(fault.FailedPrecondition, "%s", outcome.Rejection.Message)
	}
	if err := retry.Run(ctx, "session "+req.SessionID, func() error { return br.rebind(ctx, caller, req) }); err != nil {
		return nil, err
	}
	return br.reads.Get(ctx, caller, ports.Target{SessionID: req.SessionID}, true)
}

// rebind makes a session drive the branch that it was given; another run that it drove is
// paused. A session that works in the branch without being bound to it keeps the binding
// that it has.
func (br *Branches) rebind(ctx context.Context, caller ports.Caller, req Bind) error {
	h := br.changes.newHandover(caller, req.SessionID, req.RunID)
	h.Target.Branch = req.Branch
	aim, refusal, err := h.aim(ctx, authority.Bind)
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return ports.Refused(refusal)
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
func (br *Branches) findForked(ctx context.Context, caller ports.Caller, req Bind) (string, error) {
	if req.Workflow == "" {
		return "", fault.New(fault.InvalidRequest, "name the run by run_id or by workflow")
	}
	s := br.changes.newScene(caller, ports.Target{SessionID: req.SessionID, Branch: req.Branch}, true)
	var found []string
	err := br.runs.each(ctx, store.Query{
		Namespace: caller.Namespace, Labels: map[string]string{"workflow": req.Workflow, runcodec.LabelForked: "yes"},
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
