package app

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// approvalOf reads an approval of a run. One of another is not there.
func (a *App) approvalOf(ctx context.Context, key store.Key, approvalID string) (*Approval, error) {
	approval, err := a.Approvals.Get(ctx, key.Namespace, approvalID)
	if err == nil && (approval.RunID != key.ID || approval.Action.Kind == consent.ToolCall) {
		return nil, fault.New(fault.NotFound, "run %s has no approval %q", key.ID, approvalID)
	}
	return approval, err
}

// conclude reports the outcome of a question to the approval service, when the run does
// not wait for it any more, and ends the timer. It can be done again.
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
		why = "the run has moved on or ended, and does not wait for it"
	case why == "":
		why = "the run did not accept it: " + e.Type
	}
	if characters := []rune(why); len(characters) > most {
		why = string(characters[:most]) + "..."
	}
	return why
}

// endOf finds in the run's history, from when it was asked, the entry that settled an
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
