package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// closeReported closes a reported call. An unknown call needs a report that the agent has not made itself
// (S16.4), and a report without an outcome makes the call unknown.
func closeReported(caller enforcer.Caller, r *Reported, record *evidence.Record) (lost []evidence.OpenCall, changed bool) {
	if r.Unknown {
		*record, lost = record.Doubt(time.Time{}, r.CallID)
		return lost, len(lost) > 0
	}
	next, call, open := record.Close(r.CallID)
	if !open || call.Unknown && !caller.Vouched {
		return nil, false
	}
	*record = next
	return nil, true
}

// reconcile closes the calls whose outcome the vouched result of another tool has (S16.5).
func reconcile(caller enforcer.Caller, s *runs.Snapshot, r *Reported, record *evidence.Record) []Settled {
	if !caller.Vouched || r.Unknown || !r.OK {
		return nil
	}
	next, ended := s.Machine.Reconcile(*record, s.Run.ID, r.Tool, r.Output)
	*record = next
	settled := make([]Settled, len(ended))
	for i, e := range ended {
		settled[i] = Settled{OpenCall: e.OpenCall, Outcome: Failed, By: caller.Principal.Name, Note: "reported by call " + r.CallID + " of " + r.Tool}
		if e.OK {
			settled[i].Outcome = OK
		}
	}
	return settled
}

// Outcomes of settled calls.
const (
	OK          = "ok"
	Failed      = "failed"
	NotExecuted = "not_executed"
)

// Settled is a call whose outcome a person or another call has supplied.
type Settled struct {
	evidence.OpenCall
	Outcome, By, Note string
}

// Expire makes the calls unknown that are due, and announces them (S16.2).
func (o *Service) Expire(ctx context.Context, timer store.Timer) error {
	root := timer.Key
	root.Kind = ledger.KindRun
	read, err := o.calls.OwnAccount(ctx, root)
	if err != nil {
		return err
	}
	record, lost := read.Record.Doubt(o.clock().UTC())
	batch := store.Batch{Checks: []store.Check{read.Check()}, ClearTimers: []store.TimerID{timer.TimerID}}
	if !record.NextDue().IsZero() {
		batch.ClearTimers, batch.SetTimers = nil, []store.Timer{ledger.EffectTimer(root, &record)}
	}
	if len(lost) > 0 {
		batch.Checks = nil
		if err := read.Put(&record, &batch); err != nil {
			return err
		}
		if err := o.announceLost(root, lost, &batch); err != nil {
			return err
		}
	}
	_, err = o.store.Commit(ctx, batch)
	return err
}

func (o *Service) announceLost(root store.Key, lost []evidence.OpenCall, batch *store.Batch) error {
	for i := range lost {
		event, err := o.announce.Unknown(root.Namespace, &lost[i], o.clock().UTC())
		if err != nil {
			return fault.From(err)
		}
		batch.Events = append(batch.Events, event)
	}
	return nil
}

func (o *Service) announceSettled(root store.Key, settled []Settled, batch *store.Batch) error {
	for i := range settled {
		event, err := o.announce.Settled(root.Namespace, &settled[i], o.clock().UTC())
		if err != nil {
			return fault.From(err)
		}
		batch.Events = append(batch.Events, event)
	}
	return nil
}

// Calls returns the calls of a run's family that wait for their reports (S14.6, S16.1).
func (o *Service) Calls(ctx context.Context, caller enforcer.Caller, target enforcer.Target) ([]evidence.OpenCall, error) {
	s, err := o.runs.Cached(ctx, caller, target)
	if err != nil {
		return nil, fault.From(err)
	}
	read, err := o.calls.AccountOf(ctx, s.Root)
	if err != nil {
		return nil, fault.From(err)
	}
	record, _ := read.Record.Elapse(o.clock().UTC())
	return record.Calls, nil
}

// Settle records the outcome of a call without a report (S16.4).
func (o *Service) Settle(ctx context.Context, caller enforcer.Caller, target enforcer.Target, callID, outcome, note string) (*Settled, error) {
	switch outcome {
	case OK, Failed, NotExecuted:
	default:
		return nil, fault.New(fault.InvalidRequest, "outcome must be %q, %q or %q, not %q", OK, Failed, NotExecuted, outcome).
			Violate("/outcome", "ENUM", "no such outcome")
	}
	s, err := o.runs.Cached(ctx, caller, target)
	if err != nil {
		return nil, fault.From(err)
	}
	return retry.Do(ctx, "run "+s.Run.ID, func() (*Settled, error) {
		read, err := o.calls.AccountOf(ctx, s.Root)
		if err != nil {
			return nil, err
		}
		next, call, open := read.Record.Settle(callID)
		if open && call.Edits && outcome != NotExecuted { // it may have changed files until now
			next = next.Edited(evidence.Edit{At: o.clock().UTC(), CallID: callID, What: call.What, Spares: call.Spares})
		}
		if !open {
			if first, err := o.settledBefore(ctx, s.Root, callID); first != nil || err != nil {
				return again(first, outcome, err)
			}
			return nil, fault.New(fault.NotFound, "no call %q of this run waits for its outcome: it was reported or settled, or it neither may change files nor has an effect that the workflow keeps account of; `interlock call list %s` lists those that do", callID, s.Run.ID)
		}
		settled := Settled{OpenCall: call, Outcome: outcome, By: caller.Principal.Name, Note: note}
		answer, err := json.Marshal(settled)
		if err != nil {
			return nil, fault.From(err)
		}
		batch := store.Batch{Idempotency: &store.Idempotency{
			Owner: s.Root, Name: settledName(callID), Digest: calls.TextDigest("%q %q", outcome, note), Answer: answer, TTL: idempotency.TTL,
		}}
		if err := read.Put(&next, &batch); err != nil {
			return nil, err
		}
		if err := o.announceSettled(s.Root, []Settled{settled}, &batch); err != nil {
			return nil, err
		}
		if _, err := o.store.Commit(ctx, batch); err != nil {
			return nil, retry.Fault(err)
		}
		return &settled, nil
	})
}

func settledName(callID string) string { return "settled/" + callID }

// settledBefore returns the settlement of a call, or nil.
func (o *Service) settledBefore(ctx context.Context, root store.Key, callID string) (*Settled, error) {
	answer, err := o.store.Answer(ctx, root, settledName(callID))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // most calls are never settled
	}
	if err != nil {
		return nil, err
	}
	var first Settled
	if err := json.Unmarshal(answer, &first); err != nil {
		return nil, fault.From(err)
	}
	return &first, nil
}

// again returns the first settlement of a call that is settled again. Another outcome is a mismatch.
func again(first *Settled, outcome string, err error) (*Settled, error) {
	if err == nil && first.Outcome != outcome {
		err = fault.New(fault.IdempotencyMismatch, "call %q was settled as %s by %q already; that stands", first.ID, first.Outcome, first.By)
	}
	return first, err
}
