package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// An allowed call that may change files is open from the commit of its decision, so that
// no agent can move on between the edit and its end, which voids. One that may give evidence
// keeps how many changes there were when it was allowed: the order of calls is that of
// their decisions, and a test that began before an edit never counts as after it.
//
// Runs whose workflow declares no evidence, and that neither were invoked nor have invoked
// another, pay nothing.

// observed is what a decision means for evidence.
type observed struct {
	toolcall.Notice
	edits int64
}

// noteEvidence adds to the batch of a decision what it means for evidence.
func (a *App) noteEvidence(ctx context.Context, q *question, s *runs.Snapshot, d *Decision, batch *store.Batch) error {
	d.observed = observed{}
	if d.Verdict.Decision != toolcall.Allow || s.Unbound {
		return nil
	}
	declared := declaresEvidence(s)
	deadline := effectDeadline(s)
	if !declared && deadline == 0 && s.Run.Parent == nil && len(s.Run.Children()) == 0 {
		return nil
	}
	d.observed.Notice = notice(q, s)
	opens := deadline > 0 && d.observed.Affects
	if !d.observed.Voids && len(d.observed.Gives) == 0 && !opens {
		return nil
	}
	read := q.account
	if read == nil {
		var err error
		if read, err = a.accountOf(ctx, s.Root); err != nil {
			return err
		}
	}
	key, version := ledger.EvidenceOf(read.root), read.version
	record, elapsed := read.record.Elapse(a.clock().UTC())
	switch {
	case !declared && !opens && version == store.Absent: // nothing to void, as long as that is so
		d.observed = observed{}
		batch.Checks = append(batch.Checks, store.Check{Key: key, Version: version})
		return nil
	case opens || d.observed.Voids:
		if !a.open(q, s, d, read.root, &record, deadline, batch) {
			return nil
		}
	case version != store.Absent && !elapsed:
		d.observed.edits = record.Edits
		batch.Checks = append(batch.Checks, store.Check{Key: key, Version: version})
		return nil
	}
	d.observed.edits = record.Edits
	return putEvidence(read.root, &record, version, batch)
}

// notice describes the effect of the call on evidence if it is allowed.
func notice(q *question, s *runs.Snapshot) toolcall.Notice {
	if s.Unbound {
		return toolcall.Notice{}
	}
	call := toolcall.Call{Tool: q.req.Tool, Input: q.req.Input, Folder: q.req.Folder, Jail: q.jail}
	return toolcall.Observe(s.Machine, s.Machines(), s.Run, call, q.req.Qualified)
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// declaresEvidence reports that the run, or one that has invoked it, declares evidence.
func declaresEvidence(s *runs.Snapshot) bool {
	return slices.ContainsFunc(s.All, func(d *Definition) bool { return len(d.Machine.Evidence()) > 0 })
}

// evidence is what has been observed of a family, and the version of that.
func (a *App) evidence(ctx context.Context, root store.Key) (evidence.Record, int64, error) {
	stored, err := a.store.Get(ctx, ledger.EvidenceOf(root))
	if errors.Is(err, store.ErrNotFound) {
		return evidence.Record{}, store.Absent, nil
	}
	if err != nil {
		return evidence.Record{}, 0, err
	}
	record, err := ledger.DecodeEvidence(stored.Data)
	if err != nil {
		return record, 0, fault.From(err)
	}
	return record, stored.Version, nil
}

func putEvidence(root store.Key, record *evidence.Record, version int64, batch *store.Batch) error {
	data, err := ledger.EncodeEvidence(record)
	if err != nil {
		return fault.From(err)
	}
	batch.Puts = append(batch.Puts, store.Put{Key: ledger.EvidenceOf(root), Expect: version, Data: data})
	return nil
}

// observedReport is the stored form of a report that was observed. Of another one, the store keeps
// the claim.
const observedReport = "observed"

// claim is what an agent has said itself of its call, as far as a later observation corrects it.
type claim struct {
	OK      bool   `json:"ok,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	CostUSD string `json:"cost_usd,omitempty"`
}

func reportedBy(caller Caller, r *Report) []byte {
	if caller.Observes {
		return []byte(observedReport)
	}
	data, err := json.Marshal(claim{OK: r.OK, Bytes: r.ResultBytes, CostUSD: r.CostUSD})
	if err != nil {
		panic(err) // a flag, a number and a text
	}
	return data
}

// claimOf returns the agent's own report of a call, nil where there is none or it was observed.
func (a *App) claimOf(ctx context.Context, root store.Key, callID string) (*claim, error) {
	first, err := a.store.Answer(ctx, root, ledger.ReportName(callID))
	if errors.Is(err, store.ErrNotFound) || err == nil && string(first) == observedReport {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c claim
	if err := json.Unmarshal(first, &c); err != nil {
		return nil, fault.From(err)
	}
	return &c, nil
}

// observeClaimed takes what a report shows of a call of which its agent has spoken before: an edit
// may still have been at work since, a test may end otherwise than the agent has said, and so may
// bytes and cost be others. again is what the store said of the repeat; it stands where
// the call was observed before.
func (a *App) observeClaimed(ctx context.Context, caller Caller, root store.Key, s *runs.Snapshot, call *ledger.Call, r *Reported, again error) error {
	if !caller.Observes || call == nil {
		return again
	}
	claimed, err := a.claimOf(ctx, root, r.CallID)
	if err != nil {
		return err
	}
	if claimed == nil {
		return again
	}
	batch := store.Batch{
		Checks: []store.Check{{Key: s.Key, Version: s.Run.Version}},
		Idempotency: &store.Idempotency{
			Owner: root, Name: ledger.ObservedName(r.CallID), Digest: r.digest(), TTL: once.Kept,
		},
	}
	if err := a.takeEvidence(ctx, caller, root, s, call, r, &batch); err != nil {
		return err
	}
	if len(r.Evidence) > 0 {
		if err := a.keepResult(caller, s, r, false, &batch); err != nil {
			return err
		}
	}
	if err := a.correct(ctx, caller, root, s, call, r, claimed, &batch); err != nil {
		return err
	}
	_, err = a.store.Commit(ctx, batch)
	return err
}

// correct adds to the batch of an observed report what it changes of the bytes and the cost that its
// agent has claimed.
func (a *App) correct(
	ctx context.Context, caller Caller, root store.Key, s *runs.Snapshot, call *ledger.Call, r *Reported, claimed *claim, batch *store.Batch,
) error {
	if more := r.ResultBytes - claimed.Bytes; more > 0 && countsBytes(s, r) {
		batch.Counters = []store.Counter{{Owner: s.Entry, Name: ledger.ContextBytes, Delta: more, Limit: store.NoLimit}}
	}
	changes := settled(call, &r.Report)
	for _, c := range settled(call, &Report{OK: claimed.OK, CostUSD: claimed.CostUSD}) {
		at := slices.IndexFunc(changes, func(seen rules.Change) bool { return seen.Account == c.Account })
		if at < 0 {
			at = len(changes)
			changes = append(changes, rules.Change{Account: c.Account})
		}
		changes[at].Delta -= c.Delta
	}
	changes = slices.DeleteFunc(changes, func(c rules.Change) bool { return c.Delta == 0 })
	return a.settle(ctx, caller.Namespace, root, "correct/", changes, r, batch)
}

// takeEvidence adds to the batch of a report what it shows. s is the run of the call.
func (a *App) takeEvidence(ctx context.Context, caller Caller, root store.Key, s *runs.Snapshot, call *ledger.Call, r *Reported, batch *store.Batch) error {
	r.Evidence = nil
	if call.WorkflowVersion != s.Run.WorkflowVersion { // what another version calls by that name may be something else (S17.2)
		moved := *call
		moved.Gives = nil
		call = &moved
	}
	if call.Jail != nil {
		return a.takeJailed(ctx, caller, root, s, call, r, batch)
	}
	keeps := effectDeadline(s) > 0
	ends := caller.Observes && r.BackgroundEnded != ""
	if !call.Voids && len(call.Gives) == 0 && !keeps && !ends {
		return nil
	}
	read, err := a.accountOf(ctx, root)
	if err != nil {
		return err
	}
	now := a.clock().UTC()
	record, _ := read.record.Elapse(now)
	if keeps {
		lost, closed := closeReported(caller, r, &record)
		settled := reconcile(caller, s, r, &record)
		if !closed && len(settled) == 0 && !call.Voids && len(call.Gives) == 0 && !ends {
			return nil
		}
		if err := a.announceLost(root, lost, batch); err != nil {
			return err
		}
		if err := a.announceSettled(root, settled, batch); err != nil {
			return err
		}
	}
	if call.Voids {
		record = record.Reported(evidence.Edit{At: now, CallID: r.CallID}, r.Background, caller.Observes)
	}
	if ends {
		record = record.EndsBackground(call.RunID, r.BackgroundEnded, now)
	}
	if !r.Unknown {
		specs := s.Machine.Evidence()
		seen := evidence.Observation{At: now, CallID: r.CallID, By: caller.Principal.Name, Edits: call.Edits, Entry: call.Entry}
		for i := range specs {
			switch spec := &specs[i]; {
			case !slices.Contains(call.Gives, spec.Name):
			case !caller.Observes:
				record = record.Claims(call.RunID, spec, seen)
			default:
				as := spec.As(r.OK, r.Output)
				record = record.Seen(call.RunID, spec, seen, as)
				if as {
					r.Evidence = append(r.Evidence, spec.Name)
				}
			}
		}
	}
	return putEvidence(read.root, &record, read.version, batch)
}
