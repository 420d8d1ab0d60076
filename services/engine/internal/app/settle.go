package app

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/retry"

	"github.com/interlock-run/interlock/services/engine/internal/registry"
)

// Settlement carries out the decisions of humans.
type Settlement struct {
	ports     *ports.Ports
	registry  *registry.Registry
	runs      *Runs
	questions *Questions
	changes   *Changes
	reads     *Reads
}

// SettleApproval carries out a decided approval: the parked transition fires, or is dropped
// (S9.1). settled is false when it is not awaited, when it is not decided yet, or when an
// operator holds the run.
func (se *Settlement) SettleApproval(ctx context.Context, namespace, runID, approvalID string) (view *View, settled bool, err error) {
	if se.ports.Approvals == nil {
		return nil, false, fault.New(fault.FailedPrecondition, "this engine has no approval service; start it with --approval")
	}
	s, err := se.reconcile(ctx, runKey(namespace, runID), approvalID)
	if err != nil {
		return nil, false, err
	}
	view, err = se.reads.Get(ctx, ports.System(namespace), ports.Target{RunID: runID}, false)
	return view, s.carriedOut, err
}

// reconciled is the outcome of an approval.
type reconciled struct {
	// carriedOut: this call has changed the run.
	carriedOut bool
	// over: neither the run nor the approval service waits for anything any more.
	over bool
	// nothing: there is no such run, or the question was never asked.
	nothing bool
}

// reconcile brings a run and an approval together, from wherever an earlier attempt,
// or another replica, has left them.
func (se *Settlement) reconcile(ctx context.Context, key store.Key, approvalID string) (reconciled, error) {
	return retry.Do(ctx, "run "+key.ID, func() (reconciled, error) {
		run, err := se.runs.load(ctx, key)
		if err != nil {
			return reconciled{nothing: fault.ReasonOf(err) == fault.NotFound}, err
		}
		at, waits := run.Asking(approvalID)
		if !waits {
			err := se.questions.conclude(ctx, key, approvalID)
			return reconciled{over: err == nil, nothing: fault.ReasonOf(err) == fault.NotFound}, err
		}
		approval, err := se.questions.approvalOf(ctx, key, approvalID)
		if fault.ReasonOf(err) == fault.NotFound {
			err := se.questions.ask(ctx, key, run, approvalID)
			if never := (*unaskableError)(nil); errors.As(err, &never) {
				err = se.apply(ctx, key, at, ports.System(key.Namespace).Principal.Name, workflow.Reject{
					ApprovalID: approvalID, Outcome: workflow.ApprovalCancelled, Note: never.Error(),
				})
				return reconciled{carriedOut: err == nil}, err
			}
			return reconciled{}, err
		}
		if err != nil {
			return reconciled{}, err
		}
		m, err := se.registry.Machine(ctx, key.Namespace, run.Workflow, run.WorkflowVersion)
		if err != nil {
			return reconciled{}, err
		}
		command := followsFrom(approval, at.Asked(kindOf(m)))
		if command == nil || run.Held() && approval.Status == consent.Granted {
			return reconciled{}, nil
		}
		switch err := se.apply(ctx, key, at, decider(approval), command); {
		case fault.ReasonOf(err) == fault.Halted: // it is tried again
			return reconciled{}, nil
		case err != nil:
			return reconciled{}, err
		}
		// The change is made, and the timer informs the approval service if need be.
		err = se.questions.conclude(ctx, key, approvalID)
		se.questions.note(ctx, "concluded", approvalID, err)
		return reconciled{carriedOut: true, over: err == nil}, nil
	})
}

// apply steps a run by a decision. A conflict says that it does not wait for that any
// more, or is held since.
func (se *Settlement) apply(ctx context.Context, run store.Key, at workflow.View, actor string, command workflow.Command) error {
	outcome, err := se.changes.change(ctx, ports.DecidedBy(run.Namespace, actor), request{
		op: authority.Settle, target: ports.Target{RunID: run.ID, Branch: at.Branch}, command: command, settles: at.Approval.ID,
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

// followsFrom returns the command that carries out a decision on the question of a lane,
// or nil as long as there is none. Only an action that humans have seen is granted:
// exactly that one, or as they have edited it, and once.
func followsFrom(approval *ports.Approval, asked consent.Action) workflow.Command {
	drop := func(outcome workflow.ApprovalOutcome, note string) workflow.Command {
		return workflow.Reject{ApprovalID: approval.ID, Outcome: outcome, Note: note, Actor: decider(approval)}
	}
	grant := workflow.Grant{ApprovalID: approval.ID, Note: approval.Outcome(), Actor: decider(approval)}
	if approval.Edit != nil {
		asked, grant.Data = asked.With(approval.Edit.Data), approval.Edit.Data
	}
	switch approval.Status {
	case consent.Granted:
		switch {
		case !approval.UsedAt.IsZero():
			return drop(workflow.ApprovalStale, "the approval was used for something else")
		case asked.Digest() != approval.Digest:
			return drop(workflow.ApprovalStale, "the approved request is not the one that waits here")
		}
		return grant
	case consent.Rejected:
		return drop(workflow.ApprovalRejected, notes(approval))
	case consent.Expired:
		return drop(workflow.ApprovalExpired, "")
	case consent.Cancelled:
		return drop(workflow.ApprovalCancelled, approval.Reason)
	case consent.Stale:
		return drop(workflow.ApprovalStale, approval.Reason)
	default: // not decided, or in a way that this version does not know
		return nil
	}
}

// decider returns the maker of the decision: the last of those whose votes did.
func decider(approval *ports.Approval) string {
	approves := approval.Status == consent.Granted
	if approves || approval.Status == consent.Rejected {
		for _, v := range slices.Backward(approval.Votes) {
			if v.Approve == approves {
				return v.Name
			}
		}
	}
	if approval.By != "" {
		return approval.By
	}
	return ports.System("").Principal.Name
}

// notes returns the notes of the people who rejected it, for the agent.
func notes(approval *ports.Approval) string {
	var all []string
	for _, v := range approval.Votes {
		if !v.Approve && v.Note != "" {
			all = append(all, v.Note)
		}
	}
	return strings.Join(all, "\n")
}
