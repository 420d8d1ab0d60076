package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Settle does what follows from a decided approval: the parked transition fires, or is
// dropped (S9.1). settled is false when nothing waits for it, when it is not decided
// yet, or when an operator holds the run.
func (a *App) Settle(ctx context.Context, namespace, runID, approvalID string) (view *View, settled bool, err error) {
	if a.Approvals == nil {
		return nil, false, fault.New(fault.FailedPrecondition, "this engine has no approval service; start it with --approval")
	}
	s, err := a.settleOnce(ctx, runKey(namespace, runID), approvalID)
	if err != nil {
		return nil, false, err
	}
	view, err = a.Get(ctx, system(namespace), Target{RunID: runID}, false)
	return view, s.carriedOut, err
}

// settlement is what came of an approval.
type settlement struct {
	// carriedOut: this call has changed the run.
	carriedOut bool
	// over: neither the run nor the approval service waits for anything any more.
	over bool
	// nothing: there is no such run, or nothing waits for what was never asked.
	nothing bool
}

// settleOnce brings a run and an approval together, from wherever an earlier attempt,
// or another replica, has left them.
func (a *App) settleOnce(ctx context.Context, key store.Key, approvalID string) (settlement, error) {
	for i := range retry.Attempts {
		run, err := a.loadRun(ctx, key)
		if err != nil {
			return settlement{nothing: fault.ReasonOf(err) == fault.NotFound}, err
		}
		at, waits := run.Asking(approvalID)
		if !waits {
			err := a.conclude(ctx, key, approvalID)
			return settlement{over: err == nil, nothing: fault.ReasonOf(err) == fault.NotFound}, err
		}
		approval, err := a.approvalOf(ctx, key, approvalID)
		if fault.ReasonOf(err) == fault.NotFound {
			return settlement{}, a.ask(ctx, key, run, approvalID)
		}
		if err != nil {
			return settlement{}, err
		}
		m, err := a.machine(ctx, key.Namespace, run.Workflow, run.WorkflowVersion)
		if err != nil {
			return settlement{}, err
		}
		command := followsFrom(approval, at.Asked(kindOf(m)))
		if command == nil || run.Held() && approval.Status == consent.Granted {
			return settlement{}, nil
		}
		switch err := a.settleBy(ctx, key, &at, decider(approval), command); {
		case err == nil:
			// What is done is done, and the timer tells the approval service if need be.
			err := a.conclude(ctx, key, approvalID)
			a.note(ctx, "concluded", approvalID, err)
			return settlement{carriedOut: true, over: err == nil}, nil
		case !lostRace(err):
			return settlement{}, err
		}
		if err := retry.Yield(ctx, i); err != nil {
			return settlement{}, fault.From(err)
		}
	}
	return settlement{}, contended("run " + key.ID)
}

// settleBy steps a run by what was decided. A conflict says that it does not wait for
// that any more, or is held by now.
func (a *App) settleBy(ctx context.Context, key store.Key, at *workflow.View, actor string, command workflow.Command) error {
	caller := Caller{Namespace: key.Namespace, Principal: auth.Principal{Name: actor, Role: auth.Operator}}
	outcome, err := a.change(ctx, caller, change{
		target: Target{RunID: key.ID, Branch: at.Branch}, command: command, settles: at.Approval.ID,
	})
	switch {
	case err != nil:
		return err
	case outcome.Rejection == nil:
		return nil
	case outcome.Rejection.Code == workflow.RejectNotParked || outcome.Rejection.Code == workflow.RejectRunNotRunning:
		return &store.ConflictError{Key: key}
	default:
		return fault.New(fault.FailedPrecondition, "%s", outcome.Rejection.Message)
	}
}

// followsFrom is the command that carries out a decision on what a lane asks for, or
// nil as long as there is none. Only what humans have seen is granted: exactly that
// action, or as they have edited it, and once.
func followsFrom(approval *Approval, asked consent.Action) workflow.Command {
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
			return drop(workflow.ApprovalStale, "what was approved is not what waits here")
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

// decider is who has made the decision: the last of those whose votes did.
func decider(approval *Approval) string {
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
	return system("").Principal.Name
}

// notes are what those who have rejected have noted, for the agent.
func notes(approval *Approval) string {
	var all []string
	for _, v := range approval.Votes {
		if !v.Approve && v.Note != "" {
			all = append(all, v.Note)
		}
	}
	return strings.Join(all, "\n")
}

// approvalOf reads an approval of a run. One of another is not there.
func (a *App) approvalOf(ctx context.Context, key store.Key, approvalID string) (*Approval, error) {
	approval, err := a.Approvals.Get(ctx, key.Namespace, approvalID)
	if err == nil && (approval.RunID != key.ID || approval.Action.Kind == consent.ToolCall) {
		return nil, fault.New(fault.NotFound, "run %s has no approval %q", key.ID, approvalID)
	}
	return approval, err
}

// conclude tells the approval service what has become of what it has asked, when the
// run does not wait for it any more, and ends the timer. It can be done again.
func (a *App) conclude(ctx context.Context, key store.Key, approvalID string) error {
	approval, err := a.approvalOf(ctx, key, approvalID)
	if err != nil {
		return err
	}
	if approval.Status == consent.Pending || approval.Status == consent.Granted && approval.UsedAt.IsZero() {
		end, err := a.endOf(ctx, key, approval)
		if err != nil {
			return err
		}
		switch {
		case approval.Status == consent.Pending:
			err = a.Approvals.Cancel(ctx, key.Namespace, approvalID, end.why())
		case end.fired():
			err = a.Approvals.Consume(ctx, key.Namespace, approvalID, approval.Digest, fmt.Sprintf("%s@%d", key.ID, end.RunVersion))
		default:
			err = a.Approvals.Void(ctx, key.Namespace, approvalID, end.why())
		}
		if err != nil {
			return err
		}
	}
	return a.endTimer(ctx, key, approvalID)
}

func (a *App) endTimer(ctx context.Context, key store.Key, approvalID string) error {
	if _, err := a.store.Commit(ctx, store.Batch{ClearTimers: []store.TimerID{approvalTimer(key, approvalID)}}); err != nil {
		return fault.From(err)
	}
	return nil
}

// ending is the change of a run that has settled an approval; the zero value when the
// run has moved on without it.
type ending struct{ Entry }

func (e ending) fired() bool { return e.Type == workflow.EventTransitioned }

func (e ending) why() string {
	const most = 1000 // characters; the contract has a limit
	why := e.Reason
	switch {
	case e.Type == "":
		why = "the run has moved on or ended, and nothing waits for it"
	case why == "":
		why = "the run has not taken it: " + e.Type
	}
	if characters := []rune(why); len(characters) > most {
		why = string(characters[:most]) + "..."
	}
	return why
}

// endOf finds in the run's history, from when it was asked, what has settled an
// approval.
func (a *App) endOf(ctx context.Context, key store.Key, approval *Approval) (ending, error) {
	asked, _ := approval.Action.Subject.Get("run_version")
	after, ok := asked.Number().Int64()
	if asked.Kind() != document.Number || !ok || after < 0 {
		after = 0
	}
	for {
		entries, err := a.store.History(ctx, key, after, readAhead)
		if err != nil {
			return ending{}, fault.From(err)
		}
		for i := range entries {
			entry, err := decodeEntry(entries[i])
			if err != nil {
				return ending{}, fault.From(err)
			}
			if entry.ApprovalID == approval.ID && entry.Type != workflow.EventParked {
				return ending{entry}, nil
			}
		}
		if len(entries) < readAhead {
			return ending{}, nil
		}
		after = entries[len(entries)-1].Version
	}
}
