package decisionlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// CallQuery names the decision on one call.
type CallQuery struct {
	// RunID is the run of the call, or any run of its partition. It is empty for a call of SessionID without
	// a run.
	RunID, SessionID, CallID string
	// Sequence is its place in the partition, or 0 if that is unknown.
	Sequence int64
}

// Get returns the last decision on a call. Its place is in the query, or in the idempotency key of the call,
// which is kept for a day and does not exist for calls that await an approval. Without a place, the latest
// records of the partition are searched.
func (l *Log) Get(ctx context.Context, namespace string, q CallQuery) (*ledger.Decision, error) {
	partition, err := l.partitionOfCall(ctx, namespace, q)
	if err != nil {
		return nil, fault.From(err)
	}
	key := PartitionKey(namespace, partition)
	sequence := q.Sequence
	if sequence == 0 {
		sequence, err = l.store.AnswerVersion(ctx, store.Key{Namespace: namespace, Kind: ledger.KindRun, ID: partition}, ledger.CallName(q.CallID))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fault.From(err)
		}
		if err == nil && sequence == 0 {
			return nil, fault.New(fault.NotFound, "call %s was given up before it was decided: its caller has withdrawn it, or its approval went to another call", document.Quote(q.CallID))
		}
	}
	var found *ledger.Decision
	if sequence > 0 {
		if found, err = l.recordAt(ctx, key, partition, sequence); err != nil {
			return nil, fault.From(err)
		}
		if found != nil && found.CallID != q.CallID {
			found = nil // the caller was mistaken
		}
	}
	var rest *Place
	if found == nil {
		rest, _, err = l.scanPartitionBack(ctx, namespace, Query{}, Place{partition: partition}, l.latest, func(r *ledger.Decision) bool {
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
		return nil, l.noDecision(ctx, key, q, rest != nil)
	}
	if err := l.AddHashes(ctx, namespace, []*ledger.Decision{found}); err != nil {
		return nil, fault.From(err)
	}
	return found, nil
}

// partitionOfCall returns the partition of a call.
func (l *Log) partitionOfCall(ctx context.Context, namespace string, q CallQuery) (string, error) {
	switch {
	case q.RunID != "":
		return l.partitionOf(ctx, namespace, q.RunID)
	case q.SessionID != "":
		return enforcer.WithoutRun(namespace, q.SessionID).ID, nil
	default:
		return "", fault.New(fault.InvalidRequest, "name the run of the call, or the session of a call without a run").
			Violate("/run_id", document.CodeRequired, "name a run or a session")
	}
}

// recordAt returns the record at a place of a partition, or nil.
func (l *Log) recordAt(ctx context.Context, key store.Key, partition string, sequence int64) (*ledger.Decision, error) {
	entries, err := l.store.History(ctx, key, sequence-1, 1)
	if err != nil || len(entries) == 0 || entries[0].Version != sequence {
		return nil, err
	}
	return ledger.DecodeDecision(partition, entries[0])
}

// noDecision returns the error for a missing decision, with possible reasons.
func (l *Log) noDecision(ctx context.Context, key store.Key, q CallQuery, more bool) error {
	dropped, err := l.forgottenOf(ctx, key)
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
		why += fmt.Sprintf(", or it is older than the latest %d records: give its sequence, which lists of decisions have", l.latest)
	}
	return fault.New(fault.NotFound, "%s no decision on call %s: %s", where, document.Quote(q.CallID), why)
}
