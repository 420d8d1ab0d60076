package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// CallQuery names the decision on one call.
type CallQuery struct {
	// RunID is the run that it was judged by, or any of its partition; empty for a call of
	// SessionID, which drove no run.
	RunID, SessionID, CallID string
	// Sequence is its place in the partition; 0 when the caller does not know it.
	Sequence int64
}

// GetDecision returns the decision on a call, the last one of several. It is found by its
// place: the caller knows that, or the key by which a repeat finds its answer tells it. That
// is kept for a day, and not of calls that humans were asked about; without it the latest
// records of the partition are looked at.
func (a *App) GetDecision(ctx context.Context, namespace string, q CallQuery) (*ledger.Decision, error) {
	partition, err := a.partitionOfCall(ctx, namespace, q)
	if err != nil {
		return nil, fault.From(err)
	}
	key := decisionsKey(namespace, partition)
	sequence := q.Sequence
	if sequence == 0 {
		sequence, err = a.store.AnswerVersion(ctx, store.Key{Namespace: namespace, Kind: ledger.KindRun, ID: partition}, ledger.CallName(q.CallID))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fault.From(err)
		}
		if err == nil && sequence == 0 {
			return nil, fault.New(fault.NotFound, "call %s was given up before it was decided: its approval went to another call", document.Quote(q.CallID))
		}
	}
	var found *ledger.Decision
	if sequence > 0 {
		if found, err = a.recordAt(ctx, key, partition, sequence); err != nil {
			return nil, fault.From(err)
		}
		if found != nil && found.CallID != q.CallID {
			found = nil // the caller was mistaken
		}
	}
	var rest *place
	if found == nil {
		rest, _, err = a.scanPartitionBack(ctx, namespace, DecisionQuery{}, place{partition: partition}, a.latest, func(r *ledger.Decision) bool {
			if r.CallID == q.CallID {
				found = r
			}
			return found == nil
		})
		if err != nil {
			return nil, fault.From(err)
		}
	}
	if found == nil {
		return nil, a.noDecision(ctx, key, q, rest != nil)
	}
	if err := a.addHashes(ctx, namespace, []*ledger.Decision{found}); err != nil {
		return nil, fault.From(err)
	}
	return found, nil
}

// partitionOfCall is where the decision on a call is.
func (a *App) partitionOfCall(ctx context.Context, namespace string, q CallQuery) (string, error) {
	switch {
	case q.RunID != "":
		return a.partitionOf(ctx, namespace, q.RunID)
	case q.SessionID != "":
		return standIn(namespace, q.SessionID).root.ID, nil
	default:
		return "", fault.New(fault.InvalidRequest, "name the run of the call, or the session of a call without a run").
			Violate("/run_id", document.CodeRequired, "name a run or a session")
	}
}

// recordAt is the record at a place of a partition; nil for none.
func (a *App) recordAt(ctx context.Context, key store.Key, partition string, sequence int64) (*ledger.Decision, error) {
	entries, err := a.store.History(ctx, key, sequence-1, 1)
	if err != nil || len(entries) == 0 || entries[0].Version != sequence {
		return nil, err
	}
	return ledger.DecodeDecision(partition, entries[0])
}

// noDecision says why there may be none.
func (a *App) noDecision(ctx context.Context, key store.Key, q CallQuery, more bool) error {
	dropped, err := a.forgottenOf(ctx, key)
	if err != nil {
		return fault.From(err)
	}
	where := "run " + q.RunID + " and the runs of its partition have"
	if q.RunID == "" {
		where = "session " + document.Quote(q.SessionID) + " has"
	}
	why := "the id may be wrong, or the call was never checked"
	if dropped.Through > 0 {
		why += fmt.Sprintf(", or its record was dropped: the first %d are (--decision-retention)", dropped.Through)
	}
	if more {
		why += fmt.Sprintf(", or it is older than the latest %d records: give its sequence, which lists of decisions have", a.latest)
	}
	return fault.New(fault.NotFound, "%s no decision on call %s: %s", where, document.Quote(q.CallID), why)
}
