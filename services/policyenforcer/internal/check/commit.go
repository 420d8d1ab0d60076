package check

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// plan returns the preconditions of a decision and what its call counts in the run: that the run is
// unchanged, the files, the evidence, the counters of the state and the lease. It may make the decision a
// denial. Policies add their counters when the plan is recorded or probed.
func (c *Service) plan(ctx context.Context, q *question, s *runs.Snapshot, d *Decision) (store.Batch, error) {
	batch := store.Batch{Checks: []store.Check{{Key: s.Key, Version: s.Run.Version}}}
	if err := c.countFiles(ctx, s, d, &batch); err != nil {
		return batch, err
	}
	if !q.req.DryRun { // the call of a dry run gets no report
		if err := c.noteEvidence(ctx, q, s, d, &batch); err != nil {
			return batch, err
		}
		batch.Checks = append(batch.Checks, q.restsWithin(c.Store, s.Key)...)
	}
	batch.Counters = stateCounters(s, &d.Verdict)
	d.spendLease(q.caller.Namespace, &batch)
	return batch, nil
}

// record commits the plan of a decision, with the counters of policies, the record in the log and the event.
func (c *Service) record(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision) error {
	batch, err := c.plan(ctx, q, s, d)
	if err != nil {
		return err
	}
	now := c.Clock().UTC()
	told := c.told(d)
	log := decisionRecord(q, s, told, c.Masks)
	log.Limits = c.nearLimits(q, s, d)
	event, err := c.Announce.Decided(q.caller.Namespace, s.Root.ID, log)
	if err != nil {
		return fault.From(err)
	}
	key := decisionlog.PartitionKey(q.caller.Namespace, s.Root.ID)
	event.Entry = key
	batch.Events = []store.Event{event}
	batch.SetTimers = append(batch.SetTimers, decisionlog.SealTimer(q.caller.Namespace, s.Root.ID, now))
	if d.Verdict.Decision != toolcall.Ask && d.Verdict.Code != toolcall.CodeCallerDenied { // what is asked again may be answered otherwise
		batch.Idempotency = &store.Idempotency{
			Owner: s.Root, Name: ledger.CallName(d.CallID), Digest: q.bound()[:calls.ShortDigest], Entry: key, TTL: once.Kept,
		}
	}
	v := &d.Verdict
	result, err := c.commit(ctx, q, s, std, d, log, batch)
	switch {
	case err != nil:
		return err
	case result.Replayed:
		first, err := ledger.DecodeCall(s.Root.ID, result.Answer)
		if err != nil {
			return fault.From(err)
		}
		if !first.GivenUp() && first.InputDigest != d.InputDigest {
			return fault.From(&store.ReplayMismatchError{Owner: s.Root, Name: batch.Idempotency.Name})
		}
		return c.repeat(ctx, q.caller, s, std, d, first)
	case v.Counted:
		d.Iterations = result.Counters[0]
	}
	c.noteLease(ctx, q.caller.Namespace, d, &batch, result.Counters)
	c.observe(s, d, result.Counters)
	return nil
}

// observe tells metrics of a decision. The last counters are those of its spends.
func (c *Service) observe(s *runs.Snapshot, d *Decision, counters []int64) {
	if c.Observe == nil {
		return
	}
	told := &Observed{Decision: d.Verdict.Decision, Code: d.Verdict.Code, Workflow: s.Run.Workflow, State: s.Run.State}
	if told.Code == toolcall.CodeNotEnforced {
		told.Reason = d.Verdict.Detail
	}
	spends := d.combined.Spends
	first := len(counters) - len(spends)
	for i := range spends {
		if spend := &spends[i]; first >= 0 && spend.Max > 0 && spend.Scope == rules.PerPolicy && spend.Policy != "" {
			told.Limits = append(told.Limits, UsedLimit{
				Policy: spend.Policy, Pattern: spend.Pattern, Measure: spend.Measure, Used: float64(counters[first+i]) / float64(spend.Max),
			})
		}
	}
	c.Observe(told)
}

// stateCounters are what a state counts for a call.
func stateCounters(s *runs.Snapshot, v *toolcall.Verdict) []store.Counter {
	if !v.Counted {
		return nil
	}
	counters := []store.Counter{{Owner: s.Entry, Name: ledger.Iterations, Delta: 1, Limit: limitOr(v.MaxIterations)}}
	if v.ContextBudget > 0 {
		// Adds nothing: it is refused when the budget is spent (S3.7).
		counters = append(counters, store.Counter{Owner: s.Entry, Name: ledger.ContextBytes, Limit: v.ContextBudget - 1})
	}
	return counters
}

// commit commits a decision with its record in the log and what policies count, and on
// condition that they are unchanged.
func (c *Service) commit(
	ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision, log *ledger.Decision, batch store.Batch,
) (store.Result, error) {
	spends := d.combined.Spends
	if !c.Store.Spans() {
		return c.commitReserved(ctx, q, s, std, &d.Verdict, spends, log, batch)
	}
	batch.Appends = []store.Append{decisionlog.Append(q.caller.Namespace, s.Root.ID, log)}
	counters := c.Quota.Counters(q.caller.Namespace, spends)
	if !c.Quota.DropKnown(spends, counters) {
		if err := c.Quota.DropLater(ctx, q.caller.Namespace, spends); err != nil {
			return store.Result{}, err
		}
	}
	batch.Checks = append(batch.Checks, std.Preconditions()...)
	own := len(batch.Counters)
	batch.Counters = append(batch.Counters, counters...)
	result, err := c.Store.Commit(ctx, batch)
	if err == nil && !result.Replayed {
		c.Quota.RememberCounted(batch.Counters, &d.Verdict, spends, result.Counters, q.now)
	}
	var limit *store.LimitError
	if errors.As(err, &limit) && limit.Index >= own {
		return result, &quota.FullError{Index: limit.Index - own, Value: limit.Value, ReopensAt: limit.ReopensAt}
	}
	return result, err
}

// commitReserved is commit in a store that does not span shards.
func (c *Service) commitReserved(
	ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, verdict *toolcall.Verdict, spends []rules.Spend, log *ledger.Decision, batch store.Batch,
) (store.Result, error) {
	if err := c.Quota.Reserve(ctx, q.caller.Namespace, spends); err != nil {
		return store.Result{}, err
	}
	log.Time = admitted(spends)
	batch.Appends = []store.Append{decisionlog.Append(q.caller.Namespace, s.Root.ID, log)}
	err := runs.CheckUnchanged(ctx, c.Store, std.Preconditions()...)
	if err == nil {
		var result store.Result
		if result, err = c.Store.Commit(ctx, batch); err == nil && !result.Replayed {
			c.Quota.RememberCounted(batch.Counters, verdict, nil, result.Counters, q.now)
			return result, nil
		} else if err == nil {
			c.Quota.Release(ctx, q.caller.Namespace, spends)
			return result, nil
		}
	}
	if !errors.Is(err, store.ErrUncertain) { // it may have been applied: then it is spent
		c.Quota.Release(ctx, q.caller.Namespace, spends)
	}
	return store.Result{}, err
}

// admitted is when rolling windows have counted spends that were reserved, by the last of
// them; zero for none.
func admitted(spends []rules.Spend) (at time.Time) {
	for i := range spends {
		if spends[i].Window > 0 && spends[i].Admitted.After(at) {
			at = spends[i].Admitted
		}
	}
	return at.UTC()
}

func limitOr(limit int64) int64 {
	if limit > 0 {
		return limit
	}
	return store.NoLimit
}

// countFiles counts the files that an allowed call would change, where the state
// limits them; over the limit it makes the decision a denial (S3.6).
func (c *Service) countFiles(ctx context.Context, s *runs.Snapshot, d *Decision, batch *store.Batch) error {
	v := &d.Verdict
	if !v.Counted || v.MaxFiles == 0 || len(v.Paths) == 0 {
		return nil
	}
	key := ledger.FilesOf(s.Key)
	record, err := c.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		record, err = store.Record{Version: store.Absent}, nil
	}
	if err != nil {
		return err
	}
	kept, err := ledger.DecodeFiles(record.Data)
	if err != nil {
		return fault.From(err)
	}
	before := kept.Of(s.Run.Branch, s.Run.Entry)
	files, added, fits := before.Files.Add(v.Paths, v.MaxFiles)
	if before.Unknown && len(added) > 0 {
		d.denyByState(toolcall.FilesUnknown(s.Machine, s.Run, added))
		return nil
	}
	if !fits {
		d.denyByState(toolcall.FileLimitReached(s.Machine, s.Run, before.Files, added))
		return nil
	}
	d.files = int64(len(files))
	if len(added) == 0 {
		batch.Checks = append(batch.Checks, store.Check{Key: key, Version: record.Version})
		return nil
	}
	data, err := kept.With(s.Run.Branch, ledger.FilesOfEntry{Entry: s.Run.Entry, Files: files, Unknown: before.Unknown}).Encode()
	if err != nil {
		return fault.From(err)
	}
	batch.Puts = append(batch.Puts, store.Put{Key: key, Expect: record.Version, Data: data})
	return nil
}
