package decisionlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// kindForgotten is the kind of records about dropped decisions of a partition.
const kindForgotten = "decision_forgotten"

// forgetName names the timer that drops old decisions. It is due when the oldest seal is old.
const forgetName = "forget"

// forgotten describes dropped records, so that the rest of the chain can be verified.
type forgotten struct {
	// Through is the last dropped record, Hash its hash, and Seals the number of dropped seals.
	Through int64  `json:"through"`
	Hash    string `json:"hash"`
	Seals   int64  `json:"seals"`

	version int64
}

func forgottenKey(decisions store.Key) store.Key {
	return store.Key{Namespace: decisions.Namespace, Kind: kindForgotten, ID: decisions.ID}
}

// forgottenOf reads which records of a partition were dropped.
func (l *Log) forgottenOf(ctx context.Context, decisions store.Key) (*forgotten, error) {
	f := &forgotten{Hash: anchor(decisions.Namespace, decisions.ID).String()}
	record, err := l.store.Get(ctx, forgottenKey(decisions))
	if errors.Is(err, store.ErrNotFound) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(record.Data, f); err != nil {
		return nil, fmt.Errorf("decode the forgotten records of %s: %w", decisions, err)
	}
	f.version = record.Version
	return f, nil
}

// forgetTimer returns the timer to set with a new seal. It is due when the oldest seal of the partition is
// old.
func (l *Log) forgetTimer(ctx context.Context, decisions store.Key) (store.Timer, error) {
	f, err := l.forgottenOf(ctx, decisions)
	if err != nil {
		return store.Timer{}, err
	}
	oldest, at, err := l.sealAfter(ctx, decisions, f.Seals)
	if err != nil {
		return store.Timer{}, err
	}
	if oldest == nil {
		at = l.clock()
	}
	return store.Timer{TimerID: store.TimerID{Key: decisions, Name: forgetName}, Due: at.Add(l.retention)}, nil
}

// sealAfter returns the next seal and the time of its last record, or nil.
func (l *Log) sealAfter(ctx context.Context, decisions store.Key, version int64) (*seal, time.Time, error) {
	entries, err := l.store.History(ctx, sealKey(decisions.Namespace, decisions.ID), version, 1)
	if err != nil || len(entries) == 0 {
		return nil, time.Time{}, err
	}
	s, err := decodeSeal(entries[0])
	if err != nil {
		return nil, time.Time{}, err
	}
	last, err := l.store.History(ctx, decisions, s.To-1, 1)
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(last) == 0 || last[0].Version != s.To {
		return nil, time.Time{}, fmt.Errorf("record %d of the log of decisions %s is missing", s.To, decisions)
	}
	return s, last[0].At, nil
}

// forget drops old records in whole seals. It keeps a partition with a problem, as evidence.
func (l *Log) forget(ctx context.Context, timer store.Timer) error {
	decisions := timer.Key
	if l.retention <= 0 { // there was an end to it when the timer was set
		_, err := l.store.Commit(ctx, store.Batch{ClearTimers: []store.TimerID{timer.TimerID}})
		return err
	}
	report, err := l.verifyPartition(ctx, decisions)
	if err != nil {
		return err
	}
	if report != nil && !report.OK() {
		return fault.From(fmt.Errorf("the log of decisions %s differs from its seal, and none of it is deleted: record %d: %s",
			decisions, report.Sequence, report.Problem))
	}
	sealed, err := l.sealedThrough(ctx, decisions)
	if err != nil {
		return err
	}
	batch, err := l.forgetBatch(ctx, timer)
	if err != nil {
		return err
	}
	// A seal that is made in the meantime sets the timer.
	batch.Checks = []store.Check{{Key: sealKey(decisions.Namespace, decisions.ID), Version: sealed.version}}
	if _, err := l.store.Commit(ctx, batch); !retry.Lost(err) {
		return err
	}
	return nil // the next sweep tries again
}

func (l *Log) forgetBatch(ctx context.Context, timer store.Timer) (batch store.Batch, err error) {
	f, err := l.forgottenOf(ctx, timer.Key)
	if err != nil {
		return batch, err
	}
	before := f.Seals
	for {
		s, at, err := l.sealAfter(ctx, timer.Key, f.Seals)
		if err != nil {
			return batch, err
		}
		if s == nil {
			batch.ClearTimers = []store.TimerID{timer.TimerID}
			break
		}
		if timer.Due = at.Add(l.retention); timer.Due.After(l.clock()) {
			batch.SetTimers = []store.Timer{timer}
			break
		}
		hash, _ := s.hash(s.To)
		f.Through, f.Hash, f.Seals = s.To, hash.String(), s.version
	}
	if f.Seals == before {
		return batch, nil
	}
	data, err := json.Marshal(f)
	if err != nil {
		return batch, fmt.Errorf("encode the forgotten records: %w", err)
	}
	batch.Puts = []store.Put{{Key: forgottenKey(timer.Key), Expect: f.version, Data: data}}
	batch.Forget = []store.Forget{
		{Key: timer.Key, Through: f.Through},
		{Key: sealKey(timer.Key.Namespace, timer.Key.ID), Through: f.Seals},
	}
	return batch, nil
}
