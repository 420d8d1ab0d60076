package app

import (
	"context"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// Lease is a lease that lasts, and how many calls it still admits.
type Lease struct {
	*consent.Lease
	Left int64
}

// codeLease is the code of refused leases.
const codeLease = "INVALID_LEASE"

func badLease(pointer, format string, args ...any) error {
	e := fault.New(fault.InvalidRequest, format, args...)
	return e.Violate(pointer, codeLease, e.Message).Meta("code", codeLease)
}

// lease returns the lease of a vote, but for when it is granted; nil for none. A lease
// that cannot be given is refused before the vote is cast.
func (a *App) lease(ctx context.Context, caller Caller, id string, v *Vote) (*consent.Lease, error) {
	if v.Lease == nil {
		return nil, nil //nolint:nilnil // most votes have none
	}
	if !v.Approve {
		return nil, badLease("/lease", "a rejection gives no lease; remove it")
	}
	terms, err := v.Lease.Within(a.leases)
	if err != nil {
		return nil, badLease("/lease", "%s", err)
	}
	r, err := a.load(ctx, approvalKey(caller.Namespace, id))
	if err != nil {
		return nil, err
	}
	why := r.Because()
	scope := consent.Scope{
		RunID: r.RunID, Branch: r.subject("branch"), Entry: why.Entry, State: why.State, RootSession: r.Asker.RootSession,
		Policy: why.Policy, PolicyVersion: why.PolicyVersion, Rule: why.Rule, Capability: r.subject("capability"),
	}
	l, err := r.Lease(typeid.New(typeid.Lease), terms, scope, caller.Principal.Name, a.now())
	if err != nil {
		return nil, badLease("/lease", "%s", err)
	}
	state, err := a.stateOf(ctx, r, &why)
	if err != nil {
		return nil, err
	}
	data := r.Bound().Data
	call := toolcall.Call{Tool: r.subject("tool"), Facts: facet.Recorded(r.Facts, data)}
	if !data.IsZero() {
		call.Input = data.AppendJSON(nil)
	}
	rule, err := toolcall.NewLeaseRule(state, call.Tool, terms.Pattern, []byte(terms.Only))
	if err != nil {
		return nil, badLease("/lease", "%s", err)
	}
	if against := rule.Against(call); against != "" {
		return nil, badLease("/lease/only", "the condition does not hold for the call that is asked about: %s; a lease is for calls like that one", against)
	}
	l.Rest = rule.Rest(call.Input)
	if !rule.Match(state, call, l.Rest) {
		return nil, badLease("/lease/pattern", "the pattern %s does not match the call that is asked about; a lease is for calls like that one",
			document.Quote(terms.Pattern))
	}
	return l, nil
}

// stateOf returns the state that a call was asked about in; nil when no definitions are
// known.
func (a *App) stateOf(ctx context.Context, r *Record, why *Why) (*workflow.StateView, error) {
	if a.definitions == nil {
		return nil, nil //nolint:nilnil // the name of the tool shows its kind
	}
	m, err := a.definitions.Machine(ctx, r.Namespace, why.Workflow, why.WorkflowVersion)
	if err != nil {
		return nil, fault.From(err)
	}
	return m.State(why.State), nil
}

// leaseEvent announces a change of a lease.
func (a *App) leaseEvent(namespace, actor, change string, l *consent.Lease, at time.Time) (store.Event, error) {
	event, err := a.announce.LeaseEvent(namespace, actor, change, l, at)
	if err != nil {
		return event, fault.From(err)
	}
	return event, nil
}

// Leases returns a page of the leases that last, newest first, and where the next one begins
// after. An empty run is any.
func (a *App) Leases(ctx context.Context, caller Caller, runID, after string, limit int) (leases []Lease, next string, err error) {
	query := store.Query{
		Namespace: caller.Namespace, Kind: ledger.KindLease, Labels: ledger.LeaseLabels(runID, consent.LeaseActive), Descending: true, After: after,
	}
	now, entries := a.now(), map[string]int64{}
	for {
		query.Limit = min(limit-len(leases), readAhead)
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			l, err := ledger.DecodeLease(record)
			if err != nil {
				return nil, "", fault.From(err)
			}
			holds, err := a.holds(ctx, caller.Namespace, l, now, entries)
			if err != nil {
				return nil, "", err
			}
			left, err := a.left(ctx, caller.Namespace, l)
			if err != nil {
				return nil, "", err
			}
			if holds && left > 0 {
				leases = append(leases, Lease{l, left})
			}
		}
		query.After = page.Next
		if page.Next == "" || len(leases) >= limit {
			return leases, page.Next, nil
		}
	}
}

// holds reports that the run is still in the entry of the state that a lease is for. entries
// remembers those of runs that were asked for.
func (a *App) holds(ctx context.Context, namespace string, l *consent.Lease, now time.Time, entries map[string]int64) (bool, error) {
	if !l.Lasts(now) {
		return false, nil
	}
	if a.runs == nil {
		return true, nil
	}
	name := l.RunID + "/" + l.Branch
	entry, known := entries[name]
	if !known {
		var err error
		entry, err = a.runs.Entry(ctx, namespace, l.RunID, l.Branch)
		if err != nil && fault.ReasonOf(err) != fault.NotFound {
			return false, fault.From(err)
		}
		entries[name] = entry
	}
	return entry == l.Entry, nil
}

// left returns how many calls a lease still admits.
func (a *App) left(ctx context.Context, namespace string, l *consent.Lease) (int64, error) {
	counters, err := a.store.Counters(ctx, ledger.LeaseOf(namespace, l.ID))
	if err != nil {
		return 0, fault.From(err)
	}
	return max(0, l.Calls-counters[ledger.LeaseCalls]), nil
}

// Revoke ends a lease. No decision that is made afterwards goes by it.
func (a *App) Revoke(ctx context.Context, caller Caller, id string) (Lease, error) {
	if err := bound(caller.Principal); err != nil {
		return Lease{}, err
	}
	return retry.Do(ctx, "lease "+id, func() (Lease, error) {
		return a.endLease(ctx, ledger.LeaseOf(caller.Namespace, id), caller.Principal.Name)
	})
}

func (a *App) endLease(ctx context.Context, key store.Key, actor string, clear ...store.TimerID) (none Lease, err error) {
	gone := fault.New(fault.NotFound, "there is no lease %s that lasts", document.Quote(key.ID))
	record, err := a.store.Get(ctx, key)
	if notFound(err) {
		return none, gone
	}
	if err != nil {
		return none, fault.From(err)
	}
	l, err := ledger.DecodeLease(record)
	if err != nil {
		return none, fault.From(err)
	}
	now := a.now()
	next, changed := l.Ended(consent.LeaseRevoked)
	if !changed || !l.Lasts(now) {
		return none, gone
	}
	put, err := ledger.PutLease(key.Namespace, next)
	if err != nil {
		return none, fault.From(err)
	}
	event, err := a.leaseEvent(key.Namespace, actor, consent.EventLeaseRevoked, next, now)
	if err != nil {
		return none, err
	}
	if _, err := a.store.Commit(ctx, store.Batch{Puts: []store.Put{put}, Events: []store.Event{event}, ClearTimers: clear}); err != nil {
		return none, retry.Fault(err)
	}
	left, err := a.left(ctx, key.Namespace, next)
	return Lease{next, left}, err
}

// EndLease returns the timer that a restore sets on a record, if that is a lease: it may have
// been revoked, or used, since the backup was made.
func EndLease(record store.Record, now time.Time) (timer store.Timer, ends bool) {
	if record.Key.Kind != ledger.KindLease || record.Labels["status"] != string(consent.LeaseActive) {
		return timer, false
	}
	return store.Timer{TimerID: store.TimerID{Key: record.Key, Name: restoredName}, Due: now}, true
}

// fireLease ends a lease that was restored.
func (a *App) fireLease(ctx context.Context, timer store.Timer) error {
	_, err := a.endLease(ctx, timer.Key, interlock, timer.TimerID)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return sweep.Clear(ctx, a.store, timer.TimerID)
	case retry.Lost(err):
		return nil // the next sweep tries again
	}
	return err
}

// forgetLease drops the lease that an approval was used by, with it.
func (a *App) forgetLease(ctx context.Context, r *Record) error {
	if !strings.HasPrefix(r.UsedBy, typeid.Lease+"_") {
		return nil
	}
	key := ledger.LeaseOf(r.Namespace, r.UsedBy)
	_, err := a.store.Commit(ctx, store.Batch{Deletes: []store.Check{{Key: key, Version: store.AnyVersion}}, Reset: []store.Key{key}})
	if err != nil && !retry.Lost(err) {
		return fault.From(err)
	}
	return nil
}
