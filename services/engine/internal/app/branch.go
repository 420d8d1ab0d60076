package app

import (
	"context"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
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

// Bind gives a branch of a run's fork to a session: what the session does from
// then on is judged in that branch alone.
//
// The run and the session's binding may live in different shards, so this takes
// two commits: the run first, then the binding. A crash in between leaves a
// branch without its session; asking again, from any session, mends it.
func (a *App) Bind(ctx context.Context, caller Caller, req Bind) (*View, error) {
	runID := req.RunID
	if runID == "" {
		var err error
		if runID, err = a.findForked(ctx, caller, req); err != nil {
			return nil, err
		}
	}
	if err := a.mayBind(ctx, caller, req, runID); err != nil {
		return nil, err
	}
	current, err := a.binding(ctx, caller.Namespace, req.SessionID)
	if err != nil {
		return nil, err
	}
	stays, err := a.sameFamily(ctx, caller.Namespace, current, runID)
	if err != nil {
		return nil, err
	}
	if !stays {
		// What refuses to let the session go must do so before anything changes.
		if err := a.mayLeaveBound(ctx, caller, current); err != nil {
			return nil, err
		}
	}
	outcome, err := a.change(ctx, caller, change{
		target:     Target{RunID: runID},
		command:    workflow.Bind{Branch: req.Branch, SessionID: req.SessionID, Actor: caller.Principal.Name},
		unconfined: true,
	})
	if err != nil {
		return nil, err
	}
	if outcome.Rejection != nil {
		return nil, fault.New(fault.FailedPrecondition, "%s", outcome.Rejection.Message)
	}
	for i := range retry.Attempts {
		err := a.rebind(ctx, caller, runID, stays, req)
		if err == nil {
			return a.Get(ctx, caller, Target{SessionID: req.SessionID}, true)
		}
		if !lostRace(err) {
			return nil, err
		}
		if err := retry.Yield(ctx, i); err != nil {
			return nil, fault.From(err)
		}
	}
	return nil, contended("session " + req.SessionID)
}

// rebind makes a session drive the branch that it was given; what it drove in
// another run is paused. A session that has the branch in hand without being bound
// to it keeps the binding that it has.
func (a *App) rebind(ctx context.Context, caller Caller, runID string, stays bool, req Bind) error {
	run, err := a.loadRun(ctx, runKey(caller.Namespace, runID))
	if err != nil {
		return err
	}
	path, found := run.BranchPath(req.Branch)
	if !found || !run.Bound(path, req.SessionID) {
		return nil
	}
	current, err := a.binding(ctx, caller.Namespace, req.SessionID)
	if err != nil {
		return err
	}
	batch := store.Batch{Puts: []store.Put{{Key: current.Key, Expect: current.Version}}}
	var paused []*workflow.Run
	if !stays {
		if paused, err = a.pauseCurrent(ctx, caller, &batch, current); err != nil {
			return err
		}
	}
	batch.Puts[0].Data = []byte(runID + bindingSeparator + path)
	if _, err := a.store.Commit(ctx, batch); err != nil {
		if lostRace(err) {
			return err
		}
		return fault.From(err)
	}
	a.changed(caller.Namespace, paused...)
	return nil
}

// sameFamily reports that a session is bound to one of the runs that invoke each
// other of which runID is one: it goes from branch to branch, and leaves nothing.
func (a *App) sameFamily(ctx context.Context, namespace string, binding store.Record, runID string) (bool, error) {
	bound, _ := boundTo(binding)
	if binding.Version == store.Absent || bound == "" || bound == runID {
		return bound == runID, nil
	}
	from, err := a.loadRun(ctx, runKey(namespace, bound))
	if err != nil {
		return false, err
	}
	to, err := a.loadRun(ctx, runKey(namespace, runID))
	if err != nil {
		return false, err
	}
	return from.Root() == to.Root(), nil
}

// bindingSeparator parts the run from the branch in a session's binding.
const bindingSeparator = " "

// boundTo is what a session drives: a run, and the branch of it that is the
// session's own.
func boundTo(binding store.Record) (runID, branch string) {
	runID, branch, _ = strings.Cut(string(binding.Data), bindingSeparator)
	return runID, branch
}

// findForked finds the caller's run of a workflow that has the branch. Several
// are not guessed among.
func (a *App) findForked(ctx context.Context, caller Caller, req Bind) (string, error) {
	if req.Workflow == "" {
		return "", fault.New(fault.InvalidRequest, "name the run by run_id or by workflow")
	}
	var found []string
	query := store.Query{
		Namespace: caller.Namespace, Kind: KindRun, Limit: 1000,
		Labels: map[string]string{"workflow": req.Workflow, labelForked: "yes"},
	}
	for {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return "", fault.From(err)
		}
		for _, record := range page.Records {
			run, err := decodeRun(record.Data, record.Version)
			if err != nil {
				return "", fault.From(err)
			}
			mine := run.Owner == caller.Principal.Name || caller.Principal.Role != auth.Agent
			if at := run.At(req.Branch); mine && !at.Over && !run.Status.Ended() {
				found = append(found, run.ID)
			}
		}
		if page.Next == "" {
			break
		}
		query.After = page.Next
	}
	switch len(found) {
	case 0:
		return "", fault.New(fault.NotFound, "no run of workflow %q is in a fork with an open branch %q; fire the event that forks first", req.Workflow, req.Branch)
	case 1:
		return found[0], nil
	default:
		slices.Sort(found)
		return "", fault.New(fault.FailedPrecondition, "%d runs of workflow %q have a branch %q: %s; name one by run_id",
			len(found), req.Workflow, req.Branch, strings.Join(found[:min(len(found), 10)], ", "))
	}
}
