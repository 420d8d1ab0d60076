package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Where a workflow sets effect_deadline, an allowed call with an effect stands in the record
// of the family from its decision to its report (S16). Both are one commit with that record,
// so that no crash loses a call: what was allowed and is not reported is there.

// account holds the open calls of a family of runs, and their version. root is the outermost run of
// the family that has it now.
type account struct {
	root    store.Key
	record  evidence.Record
	version int64
}

// mostHandovers bounds how many runs of a session are followed to find a call.
const mostHandovers = 64

// accountOf is the account of a family, or of the one that has taken it over (S14.8).
func (a *App) accountOf(ctx context.Context, root store.Key) (*account, error) {
	for range mostHandovers {
		record, version, err := a.evidence(ctx, root)
		if err != nil {
			return nil, err
		}
		if record.After == "" {
			return &account{root, record, version}, nil
		}
		root = ledger.Run(root.Namespace, record.After)
	}
	return nil, fault.From(fmt.Errorf("run %s is followed by more than %d runs of its session", root.ID, mostHandovers))
}

// effectDeadline is the shortest of the run and of those that have invoked it; 0 where none
// keeps account.
func effectDeadline(s *runs.Snapshot) (shortest time.Duration) {
	for _, of := range s.All {
		if d := of.Machine.Meta().EffectDeadline; d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}

// readAccount reads what is open where a policy wants to know whether a call repeats one
// whose outcome is unknown (S16.6).
func (a *App) readAccount(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective) error {
	q.account, q.repeats = nil, ""
	if s.Unbound || effectDeadline(s) == 0 || !std.AsksRepeats() {
		return nil
	}
	var err error
	if q.account, err = a.accountOf(ctx, s.Root); err != nil {
		return err
	}
	if c := q.account.record.Repeats(q.digest); c != nil {
		q.repeats = c.ID
	}
	return nil
}

// open adds a call to the record: one that may change files keeps evidence from being held, and one that is
// accounted has a time at which it becomes unknown. False: there are too many, and the decision
// is a denial.
func (a *App) open(q *question, s *runs.Snapshot, d *Decision, root store.Key, record *evidence.Record, deadline time.Duration, batch *store.Batch) bool {
	now := a.clock().UTC()
	call := evidence.Call{
		ID: d.CallID, RunID: s.Run.ID, Tool: q.req.Tool, What: a.Masks.Text(d.observed.What), Digest: q.digest,
		By: q.caller.Principal.Name, At: now,
	}
	accounted := deadline > 0 && d.observed.Affects
	if accounted {
		call.Due = now.Add(deadline)
	}
	if d.observed.Background {
		call.Background = evidence.Unnamed
	}
	add := record.Open
	switch family := s.Run.Parent != nil || len(s.Run.Children()) > 0; {
	case d.observed.Voids && (family || declaresEvidence(s)):
		add = record.Changes
	case d.observed.Voids: // nothing asks when it ends
		*record = record.Edited(evidence.Edit{At: now, CallID: d.CallID, What: call.What})
		if !accounted {
			return true
		}
		add = record.Open
	}
	next, fits := add(call)
	if !fits {
		d.observed = observed{}
		d.denyByState(toolcall.TooManyOpen(evidence.MostCalls))
		return false
	}
	*record = next
	if accounted {
		batch.SetTimers = append(batch.SetTimers, ledger.EffectTimer(root, record))
	}
	return true
}

// closeReported takes a reported call from those that wait: it has ended as the report says.
// What is unknown already needs a report that the agent has not made itself (S16.4), and a
// report that cannot tell makes it unknown.
func closeReported(caller Caller, r *Reported, record *evidence.Record) (lost []evidence.Call, changed bool) {
	if r.Unknown {
		*record, lost = record.Doubt(time.Time{}, r.CallID)
		return lost, len(lost) > 0
	}
	next, call, open := record.Close(r.CallID)
	if !open || call.Unknown && !caller.Observes {
		return nil, false
	}
	*record = next
	return nil, true
}

// reconcile closes the calls of which an observed result of another tool tells how they
// ended (S16.5).
func reconcile(caller Caller, s *runs.Snapshot, r *Reported, record *evidence.Record) []Settled {
	if !caller.Observes || r.Unknown || !r.OK {
		return nil
	}
	next, told := s.Machine.Reconcile(*record, s.Run.ID, r.Tool, r.Output)
	*record = next
	settled := make([]Settled, len(told))
	for i, t := range told {
		settled[i] = Settled{Call: t.Call, Outcome: OutcomeFailed, By: caller.Principal.Name, Note: "told by call " + r.CallID + " of " + r.Tool}
		if t.OK {
			settled[i].Outcome = OutcomeOK
		}
	}
	return settled
}

// Settle outcomes.
const (
	OutcomeOK          = "ok"
	OutcomeFailed      = "failed"
	OutcomeNotExecuted = "not_executed"
)

// Settled is a call of which somebody has said how it ended.
type Settled struct {
	evidence.Call
	Outcome, By, Note string
}

// expire makes the calls unknown that are due, and announces them (S16.2).
func (a *App) expire(ctx context.Context, timer store.Timer) error {
	root := timer.Key
	root.Kind = ledger.KindRun
	read, version, err := a.evidence(ctx, root)
	if err != nil {
		return err
	}
	record, lost := read.Doubt(a.clock().UTC())
	batch := store.Batch{Checks: []store.Check{{Key: timer.Key, Version: version}}, ClearTimers: []store.TimerID{timer.TimerID}}
	if !record.NextDue().IsZero() {
		batch.ClearTimers, batch.SetTimers = nil, []store.Timer{ledger.EffectTimer(root, &record)}
	}
	if len(lost) > 0 {
		batch.Checks = nil
		if err := putEvidence(root, &record, version, &batch); err != nil {
			return err
		}
		if err := a.announceLost(root, lost, &batch); err != nil {
			return err
		}
	}
	_, err = a.store.Commit(ctx, batch)
	return err
}

func (a *App) announceLost(root store.Key, lost []evidence.Call, batch *store.Batch) error {
	for i := range lost {
		event, err := a.announce.Unknown(root.Namespace, &lost[i], a.clock().UTC())
		if err != nil {
			return fault.From(err)
		}
		batch.Events = append(batch.Events, event)
	}
	return nil
}

func (a *App) announceSettled(root store.Key, settled []Settled, batch *store.Batch) error {
	for i := range settled {
		event, err := a.announce.Settled(root.Namespace, &settled[i], a.clock().UTC())
		if err != nil {
			return fault.From(err)
		}
		batch.Events = append(batch.Events, event)
	}
	return nil
}

// Calls are those of a run's family that wait for their reports (S14.6, S16.1).
func (a *App) Calls(ctx context.Context, caller Caller, target Target) ([]evidence.Call, error) {
	s, err := a.runs.Cached(ctx, caller, target)
	if err != nil {
		return nil, fault.From(err)
	}
	read, err := a.accountOf(ctx, s.Root)
	if err != nil {
		return nil, fault.From(err)
	}
	record, _ := read.record.Elapse(a.clock().UTC())
	return record.Calls, nil
}

// Settle records how a call ended of which nobody has reported it (S16.4).
func (a *App) Settle(ctx context.Context, caller Caller, target Target, callID, outcome, note string) (*Settled, error) {
	switch outcome {
	case OutcomeOK, OutcomeFailed, OutcomeNotExecuted:
	default:
		return nil, fault.New(fault.InvalidRequest, "outcome must be %q, %q or %q, not %q", OutcomeOK, OutcomeFailed, OutcomeNotExecuted, outcome).
			Violate("/outcome", "ENUM", "no such outcome")
	}
	s, err := a.runs.Cached(ctx, caller, target)
	if err != nil {
		return nil, fault.From(err)
	}
	return retry.Do(ctx, "run "+s.Run.ID, func() (*Settled, error) {
		read, err := a.accountOf(ctx, s.Root)
		if err != nil {
			return nil, err
		}
		next, call, open := read.record.Settle(callID)
		if open && call.Edits && outcome != OutcomeNotExecuted { // it may have changed files until now
			next = next.Edited(evidence.Edit{At: a.clock().UTC(), CallID: callID, What: call.What})
		}
		if !open {
			if first, err := a.settledBefore(ctx, s.Root, callID); first != nil || err != nil {
				return again(first, outcome, err)
			}
			return nil, fault.New(fault.NotFound, "no call %q of this run waits for its outcome: it was reported or settled, or it neither may change files nor has an effect that the workflow keeps account of; `interlock call list %s` lists those that do", callID, s.Run.ID)
		}
		settled := Settled{Call: call, Outcome: outcome, By: caller.Principal.Name, Note: note}
		answer, err := json.Marshal(settled)
		if err != nil {
			return nil, fault.From(err)
		}
		batch := store.Batch{Idempotency: &store.Idempotency{
			Owner: s.Root, Name: settledName(callID), Digest: textDigest("%q %q", outcome, note), Answer: answer, TTL: once.Kept,
		}}
		if err := putEvidence(read.root, &next, read.version, &batch); err != nil {
			return nil, err
		}
		if err := a.announceSettled(s.Root, []Settled{settled}, &batch); err != nil {
			return nil, err
		}
		if _, err := a.store.Commit(ctx, batch); err != nil {
			return nil, retry.Fault(err)
		}
		return &settled, nil
	})
}

func settledName(callID string) string { return "settled/" + callID }

// settledBefore is how a call was settled; nil for one that was not.
func (a *App) settledBefore(ctx context.Context, root store.Key, callID string) (*Settled, error) {
	answer, err := a.store.Answer(ctx, root, settledName(callID))
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

// again is for a call that is settled a second time: the first word stands.
func again(first *Settled, outcome string, err error) (*Settled, error) {
	if err == nil && first.Outcome != outcome {
		err = fault.New(fault.IdempotencyMismatch, "call %q was settled as %s by %q already; that stands", first.ID, first.Outcome, first.By)
	}
	return first, err
}
