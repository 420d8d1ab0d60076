package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// kindForgotten is the record of what was dropped from the beginning of a partition
// of the log because it was old.
const kindForgotten = "decision_forgotten"

// forgetName is the timer that drops what is old. It stands at when the oldest seal
// is.
const forgetName = "forget"

// forgotten is what is known of records that were dropped: enough for the rest of
// the chain to be verified.
type forgotten struct {
	// Through is the last record that was dropped, Hash its hash, and Seals how many
	// seals went with them.
	Through int64  `json:"through"`
	Hash    string `json:"hash"`
	Seals   int64  `json:"seals"`

	version int64
}

// RetainDecisions has the log drop sealed decisions when they are older than this, but
// none that a repeat of its call may ask for; 0 keeps them forever. It must be called before Sweep. Decisions that were sealed
// while there was no end to them are dropped after the next seal of their partition.
func (a *App) RetainDecisions(age time.Duration) {
	if age > 0 {
		age = max(age, once.Kept)
	}
	a.caches.retention = age
}

func forgottenKey(decisions store.Key) store.Key {
	return store.Key{Namespace: decisions.Namespace, Kind: kindForgotten, ID: decisions.ID}
}

// forgottenOf is what was dropped of a partition.
func (a *App) forgottenOf(ctx context.Context, decisions store.Key) (*forgotten, error) {
	f := &forgotten{Hash: anchor(decisions.Namespace, decisions.ID).String()}
	record, err := a.store.Get(ctx, forgottenKey(decisions))
	if errors.Is(err, store.ErrNotFound) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(record.Data, f); err != nil {
		return nil, fmt.Errorf("decode what was forgotten of %s: %w", decisions, err)
	}
	f.version = record.Version
	return f, nil
}

// forgetTimer is set with a seal that is made now: it is due when the oldest seal of
// the partition is old.
func (a *App) forgetTimer(ctx context.Context, decisions store.Key) (store.Timer, error) {
	f, err := a.forgottenOf(ctx, decisions)
	if err != nil {
		return store.Timer{}, err
	}
	oldest, at, err := a.sealAfter(ctx, decisions, f.Seals)
	if err != nil {
		return store.Timer{}, err
	}
	if oldest == nil {
		at = a.clock()
	}
	return store.Timer{TimerID: store.TimerID{Key: decisions, Name: forgetName}, Due: at.Add(a.caches.retention)}, nil
}

// sealAfter is the seal that follows one, and when its last record was made; nil for
// none.
func (a *App) sealAfter(ctx context.Context, decisions store.Key, version int64) (*seal, time.Time, error) {
	entries, err := a.store.History(ctx, sealKey(decisions.Namespace, decisions.ID), version, 1)
	if err != nil || len(entries) == 0 {
		return nil, time.Time{}, err
	}
	s, err := decodeSeal(entries[0])
	if err != nil {
		return nil, time.Time{}, err
	}
	last, err := a.store.History(ctx, decisions, s.To-1, 1)
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(last) == 0 || last[0].Version != s.To {
		return nil, time.Time{}, fmt.Errorf("record %d of the log of decisions %s is missing", s.To, decisions)
	}
	return s, last[0].At, nil
}

// forget drops what is old, whole seals of it. Nothing goes from a partition with
// which something is wrong: it is the evidence.
func (a *App) forget(ctx context.Context, timer store.Timer) error {
	decisions := timer.Key
	if a.caches.retention <= 0 { // there was an end to it when the timer was set
		_, err := a.store.Commit(ctx, store.Batch{ClearTimers: []store.TimerID{timer.TimerID}})
		return err
	}
	report, err := a.verifyPartition(ctx, decisions)
	if err != nil {
		return err
	}
	if report != nil && !report.OK() {
		return fault.From(fmt.Errorf("the log of decisions %s differs from its seal, and none of it is deleted: record %d: %s",
			decisions, report.Sequence, report.Problem))
	}
	sealed, err := a.sealedThrough(ctx, decisions)
	if err != nil {
		return err
	}
	batch, err := a.forgetBatch(ctx, timer)
	if err != nil {
		return err
	}
	// A seal that is made in the meantime sets the timer.
	batch.Checks = []store.Check{{Key: sealKey(decisions.Namespace, decisions.ID), Version: sealed.version}}
	if _, err := a.store.Commit(ctx, batch); !retry.Lost(err) {
		return err
	}
	return nil // the next sweep tries again
}

func (a *App) forgetBatch(ctx context.Context, timer store.Timer) (batch store.Batch, err error) {
	f, err := a.forgottenOf(ctx, timer.Key)
	if err != nil {
		return batch, err
	}
	before := f.Seals
	for {
		s, at, err := a.sealAfter(ctx, timer.Key, f.Seals)
		if err != nil {
			return batch, err
		}
		if s == nil {
			batch.ClearTimers = []store.TimerID{timer.TimerID}
			break
		}
		if timer.Due = at.Add(a.caches.retention); timer.Due.After(a.clock()) {
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
		return batch, fmt.Errorf("encode what was forgotten: %w", err)
	}
	batch.Puts = []store.Put{{Key: forgottenKey(timer.Key), Expect: f.version, Data: data}}
	batch.Forget = []store.Forget{
		{Key: timer.Key, Through: f.Through},
		{Key: sealKey(timer.Key.Namespace, timer.Key.ID), Through: f.Seals},
	}
	return batch, nil
}
