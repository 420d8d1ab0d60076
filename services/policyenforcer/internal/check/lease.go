package check

import (
	"context"
	"errors"
	"log/slog"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// leasePage is how many leases of a run are read at once.
const leasePage = 100

// admitByLease returns the ruling that a lease lets pass, if a lease answers the question: that of this rule, here, for
// calls like this one (S9.6). Otherwise it returns the question.
func (c *Service) admitByLease(ctx context.Context, r Ruling) (Ruling, error) {
	s, by := r.At, r.Decision.By
	// A lease was not decided on values that can change (S18.7).
	if s.Unbound || by == nil || len(s.Machine.Meta().ApprovalReads) > 0 {
		return r, nil
	}
	scope := consent.Scope{
		RunID: s.Run.ID, Branch: s.Run.Branch, Entry: s.Run.Entry, State: s.Run.State,
		Policy: by.Policy, PolicyVersion: by.Version, Rule: by.Pointer(), Capability: r.Decision.Capability,
	}
	if s.Run.SessionID != "" {
		scope.RootSession = r.Effective.OutermostName()
	}
	// A call under other terms is asked about: its approver could not have answered alone.
	terms := s.Machine.ApprovalFor(r.StateFacts).Digest()
	for after := ""; ; {
		page, err := c.Store.List(ctx, store.Query{
			Namespace: r.Caller.Namespace, Kind: ledger.KindLease, Labels: ledger.LeaseLabels(s.Run.ID, consent.LeaseActive), After: after, Limit: leasePage,
		})
		if err != nil {
			return r, err
		}
		for _, record := range page.Records {
			l, err := ledger.DecodeLease(record)
			if err != nil {
				return r, fault.From(err)
			}
			if !l.Lets(scope, c.Clock().UTC()) || l.Terms != terms || !r.matches(l) {
				continue
			}
			if r.Effective.Halts.Since(policystore.SubjectOf(r.Caller, s, r.Effective.Status), l.GrantedAt) {
				c.endLease(ctx, r, l, consent.LeaseRevoked, consent.EventLeaseRevoked)
				continue
			}
			passes, err := c.takeLease(ctx, r, l)
			if err != nil || !passes.asks() {
				return passes, err
			}
		}
		if after = page.Next; after == "" {
			return r, nil
		}
	}
}

// matches reports whether the call matches the pattern and the condition of a lease.
func (r Ruling) matches(l *consent.Lease) bool {
	state := r.At.Machine.State(r.At.Run.State)
	rule, err := toolcall.NewLeaseRule(state, r.Req.Tool, l.Pattern, []byte(l.Only))
	return err == nil && rule.Match(state, toolcall.Call{Tool: r.Req.Tool, Input: r.Req.Input, Facts: r.askedOn()}, l.Rest)
}

// takeLease returns the ruling that a lease lets pass. If the lease has no call left, another rule asks or a
// limit denies, it returns the question.
func (c *Service) takeLease(ctx context.Context, r Ruling, l *consent.Lease) (Ruling, error) {
	counters, err := c.Store.Counters(ctx, ledger.LeaseOf(r.Caller.Namespace, l.ID))
	if err != nil {
		return r, err
	}
	if counters[ledger.LeaseCalls] >= l.Calls {
		c.endLease(ctx, r, l, consent.LeaseUsedUp, consent.EventLeaseUsedUp)
		return r, nil
	}
	if passes := r.WithAdmission(Admission{Lease: l, Rule: r.Decision.By}); passes.Combined.Decision == toolcall.Allow {
		return passes, nil
	}
	return r, nil
}

// spendLease adds the precondition that the lease is unchanged, and the call that it admits.
func (p *Plan) spendLease() {
	l := p.Admission.Lease
	if l == nil {
		return
	}
	key := ledger.LeaseOf(p.Caller.Namespace, l.ID)
	p.Batch.Checks = append(p.Batch.Checks, store.Check{Key: key, Version: l.Version})
	p.Batch.Counters = append(p.Batch.Counters, store.Counter{Owner: key, Name: ledger.LeaseCalls, Delta: 1, Limit: l.Calls})
}

// leaseFull reports the refusal of a lease that had no call left at the commit. The check begins anew, and asks.
func (p *Plan) leaseFull(err error) bool {
	var full *store.LimitError
	return p.Admission.Lease != nil && errors.As(err, &full) && full.Name == ledger.LeaseCalls
}

// endFullLease ends the lease of a decision that has taken its last call.
func (c *Service) endFullLease(ctx context.Context, p *Plan, counted []int64) {
	l := p.Admission.Lease
	if l == nil {
		return
	}
	for i := range p.Batch.Counters {
		if p.Batch.Counters[i].Name == ledger.LeaseCalls && i < len(counted) && counted[i] >= l.Calls {
			c.endLease(ctx, p.Ruling, l, consent.LeaseUsedUp, consent.EventLeaseUsedUp)
		}
	}
}

// endLease ends a lease that admits no call any more: none is left, or a halt has ended it. It admits none also if that
// fails, and the next question tries again. A dry run ends none.
func (c *Service) endLease(ctx context.Context, r Ruling, l *consent.Lease, status consent.LeaseStatus, kind string) {
	if r.Req.DryRun {
		return
	}
	namespace := r.Caller.Namespace
	next, _ := l.Ended(status)
	put, err := ledger.PutLease(namespace, next)
	if err == nil {
		var event store.Event
		if event, err = c.Announce.LeaseEvent(namespace, "interlock", kind, next, c.Clock().UTC()); err == nil {
			_, err = c.Store.Commit(context.WithoutCancel(ctx), store.Batch{Puts: []store.Put{put}, Events: []store.Event{event}})
		}
	}
	if err != nil && !retry.Lost(err) {
		c.Log.LogAttrs(ctx, slog.LevelWarn, "a lease that admits no call could not be ended", slog.String("lease_id", l.ID), slog.Any("cause", err))
	}
}
