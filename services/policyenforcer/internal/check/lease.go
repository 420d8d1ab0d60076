package check

import (
	"context"
	"errors"
	"log/slog"
	"reflect"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// leasePage is how many leases of a run are read at once.
const leasePage = 100

// leased lets a call pass that would be asked about when a lease answers the question: that of
// this rule, here, for calls like this one (S9.6). Whatever is in doubt is asked about.
func (c *Service) leased(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision) error {
	// A lease was not decided on values that move (S18.7).
	if s.Unbound || d.By == nil || !c.Store.Spans() || len(s.Machine.Meta().ApprovalReads) > 0 {
		return nil
	}
	scope := consent.Scope{
		RunID: s.Run.ID, Branch: s.Run.Branch, Entry: s.Run.Entry, State: s.Run.State,
		Policy: d.By.Policy, PolicyVersion: d.By.Version, Rule: d.By.Pointer(), Capability: d.Capability,
	}
	if s.Run.SessionID != "" {
		scope.RootID = std.Names[0]
	}
	for after := ""; ; {
		page, err := c.Store.List(ctx, store.Query{
			Namespace: q.caller.Namespace, Kind: ledger.KindLease, Labels: ledger.LeaseLabels(s.Run.ID, consent.LeaseActive), After: after, Limit: leasePage,
		})
		if err != nil {
			return err
		}
		for _, record := range page.Records {
			l, err := ledger.DecodeLease(record)
			if err != nil {
				return fault.From(err)
			}
			if !l.Lets(scope, c.Clock().UTC()) || !matches(s, q, l) {
				continue
			}
			if alike, err := c.termsAlike(ctx, q, s, l); !alike || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			taken, err := c.takeLease(ctx, q, s, std, d, l)
			if taken || err != nil {
				return err
			}
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// termsAlike reports that the run's version of the workflow asks under the terms that a lease was
// given under. A run that was moved may stand in the same entry under terms by which its approver
// could not have answered alone (S17.2).
func (c *Service) termsAlike(ctx context.Context, q *question, s *runs.Snapshot, l *consent.Lease) (bool, error) {
	if l.WorkflowVersion == 0 || l.WorkflowVersion == s.Run.WorkflowVersion {
		return true, nil
	}
	before, err := c.Engine.Definition(ctx, q.caller.Namespace, s.Run.Workflow, l.WorkflowVersion)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(before.Machine.Meta().Approval, s.Machine.Meta().Approval), nil
}

// matches reports that a call matches the pattern of a lease.
func matches(s *runs.Snapshot, q *question, l *consent.Lease) bool {
	state := s.Machine.State(s.Run.State)
	pattern, err := toolcall.NewLeasePattern(state, q.req.Tool, l.Pattern)
	return err == nil && pattern.Match(state, toolcall.Call{Tool: q.req.Tool, Input: q.req.Input})
}

// takeLease makes the decision that a lease lets pass, if it has calls left and nothing else asks.
func (c *Service) takeLease(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision, l *consent.Lease) (bool, error) {
	counters, err := c.Store.Counters(ctx, ledger.LeaseOf(q.caller.Namespace, l.ID))
	if err != nil {
		return false, err
	}
	if counters[ledger.LeaseCalls] >= l.Calls {
		if !q.req.DryRun {
			c.usedUp(ctx, q.caller.Namespace, l)
		}
		return false, nil
	}
	asks := d.By
	q.leased = asks
	passes := combine(q, s, std, d.combined.State, std.Live)
	q.leased = nil
	if passes.Decision != toolcall.Allow { // another rule asks, or a limit denies
		return false, nil
	}
	d.settle(passes)
	d.By, d.lease, d.LeaseID, d.ApprovalID = asks, l, l.ID, l.ApprovalID
	return true, nil
}

// unlease is for a decision that is another than the one that a lease let pass.
func (d *Decision) unlease() {
	if d.lease != nil {
		d.lease, d.LeaseID, d.ApprovalID = nil, "", ""
	}
}

// spendLease adds to a commit what makes a lease stand, and the call that it admits.
func (d *Decision) spendLease(namespace string, batch *store.Batch) {
	if d.lease == nil {
		return
	}
	key := ledger.LeaseOf(namespace, d.lease.ID)
	batch.Checks = append(batch.Checks, store.Check{Key: key, Version: d.lease.Version})
	batch.Counters = append(batch.Counters, store.Counter{Owner: key, Name: ledger.LeaseCalls, Delta: 1, Limit: d.lease.Calls})
}

// leaseFull is true for the refusal of a lease that had no call left in the end: the check
// begins anew, and asks.
func (d *Decision) leaseFull(err error) bool {
	var full *store.LimitError
	return d.lease != nil && errors.As(err, &full) && full.Name == ledger.LeaseCalls
}

// noteLease ends the lease of a decision that has taken its last call.
func (c *Service) noteLease(ctx context.Context, namespace string, d *Decision, batch *store.Batch, counted []int64) {
	if d.lease == nil {
		return
	}
	for i := range batch.Counters {
		if batch.Counters[i].Name == ledger.LeaseCalls && i < len(counted) && counted[i] >= d.lease.Calls {
			c.usedUp(ctx, namespace, d.lease)
		}
	}
}

// usedUp notes that a lease has no call left. It admits none whether that is noted or not, and
// the next call that is asked about notes it again.
func (c *Service) usedUp(ctx context.Context, namespace string, l *consent.Lease) {
	next, _ := l.Ended(consent.LeaseUsedUp)
	put, err := ledger.PutLease(namespace, next)
	if err == nil {
		var event store.Event
		if event, err = c.Announce.LeaseEvent(namespace, "interlock", consent.EventLeaseUsedUp, next, c.Clock().UTC()); err == nil {
			_, err = c.Store.Commit(context.WithoutCancel(ctx), store.Batch{Puts: []store.Put{put}, Events: []store.Event{event}})
		}
	}
	if err != nil && !retry.Lost(err) {
		c.Log.LogAttrs(ctx, slog.LevelWarn, "a lease that is used up could not be ended", slog.String("lease_id", l.ID), slog.Any("cause", err))
	}
}
