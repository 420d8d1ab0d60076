package app

import (
	"context"
	"errors"
	"slices"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/once"
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
func (a *App) noteEvidence(ctx context.Context, q *question, s *snapshotOf, d *Decision, batch *store.Batch) error {
	d.observed = observed{}
	if d.Verdict.Decision != toolcall.Allow || s.unbound {
		return nil
	}
	declared := declaresEvidence(s)
	deadline := effectDeadline(s)
	if !declared && deadline == 0 && s.run.Parent == nil && len(s.run.Children()) == 0 {
		return nil
	}
	family := make([]*workflow.Machine, len(s.all))
	for i, of := range s.all {
		family[i] = of.Machine
	}
	call := toolcall.Call{Tool: q.req.Tool, Input: q.req.Input, Folder: q.req.Folder}
	d.observed.Notice = toolcall.Observe(s.Machine, family, s.run, call, q.req.Qualified)
	opens := deadline > 0 && d.observed.Affects
	if !d.observed.Voids && len(d.observed.Gives) == 0 && !opens {
		return nil
	}
	read := q.account
	if read == nil {
		var err error
		if read, err = a.accountOf(ctx, s.root); err != nil {
			return err
		}
	}
	version := read.version
	record, elapsed := read.record.Elapse(a.clock().UTC())
	switch {
	case !declared && !opens && version == store.Absent: // nothing to void, as long as that is so
		d.observed = observed{}
		batch.Checks = append(batch.Checks, store.Check{Key: ledger.EvidenceOf(s.root), Version: version})
		return nil
	case opens || d.observed.Voids:
		if !a.open(q, s, d, &record, deadline, batch) {
			return nil
		}
	case version != store.Absent && !elapsed:
		d.observed.edits = record.Edits
		batch.Checks = append(batch.Checks, store.Check{Key: ledger.EvidenceOf(s.root), Version: version})
		return nil
	}
	d.observed.edits = record.Edits
	return putEvidence(s.root, &record, version, batch)
}

// declaresEvidence reports that the run, or one that has invoked it, declares evidence.
func declaresEvidence(s *snapshotOf) bool {
	return slices.ContainsFunc(s.all, func(d *Definition) bool { return len(d.Machine.Evidence()) > 0 })
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

// reportedBy is what the store keeps of a report: whether it was observed.
func reportedBy(caller Caller) []byte {
	if caller.Observes {
		return []byte("observed")
	}
	return nil
}

// observeClaimed takes what a report shows of a call of which its agent has spoken before.
// That closes the call in all but evidence: an edit may still have been at work since, and
// a test may end otherwise than the agent has said. again is what the store said of the
// repeat; it stands where nothing is left to take.
func (a *App) observeClaimed(ctx context.Context, caller Caller, root store.Key, s *snapshotOf, call *ledger.Call, r *Reported, again error) error {
	if !caller.Observes || call == nil || !call.Voids && len(call.Gives) == 0 && effectDeadline(s) == 0 && r.BackgroundEnded == "" {
		return again
	}
	first, err := a.store.Answer(ctx, root, ledger.ReportName(r.CallID))
	if err != nil {
		return err
	}
	if len(first) > 0 {
		return again
	}
	batch := store.Batch{
		Checks: []store.Check{{Key: s.key, Version: s.run.Version}},
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
	_, err = a.store.Commit(ctx, batch)
	return err
}

// takeEvidence adds to the batch of a report what it shows. s is the run of the call.
func (a *App) takeEvidence(ctx context.Context, caller Caller, root store.Key, s *snapshotOf, call *ledger.Call, r *Reported, batch *store.Batch) error {
	r.Evidence = nil
	if call.WorkflowVersion != s.run.WorkflowVersion { // what another version calls by that name may be something else (S17.2)
		moved := *call
		moved.Gives = nil
		call = &moved
	}
	keeps := effectDeadline(s) > 0
	ends := caller.Observes && r.BackgroundEnded != ""
	if !call.Voids && len(call.Gives) == 0 && !keeps && !ends {
		return nil
	}
	record, version, err := a.evidence(ctx, root)
	if err != nil {
		return err
	}
	now := a.clock().UTC()
	record, _ = record.Elapse(now)
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
	return putEvidence(root, &record, version, batch)
}
