package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Calls that a session has left open in one run may change files, or have effects, in its next run as
// well (S14.8): that run begins with them. Otherwise an agent would forget them by failing on purpose.

// takeOver adds to the batch the open calls that the next run of a session, by the outermost of its family, takes over
// from the run that the session has driven. From a family that has ended the calls move: a decision on
// a call of it that is made at the same time loses to this commit. A family that continues keeps them, too.
func (h *handover) takeOver(ctx context.Context, from *workflow.Run, root string) error {
	key, record, version, err := h.account(ctx, runKey(h.namespace, from.Root()))
	if err != nil {
		return err
	}
	if version == store.Absent && key.ID != from.Root() { // the run that had the calls is forgotten
		return nil
	}
	before, err := h.known(ctx, key.ID)
	if err != nil {
		return err
	}
	m, err := h.app.registry.Machine(ctx, h.namespace, before.Workflow, before.WorkflowVersion)
	if err != nil {
		return err
	}
	keeps := version != store.Absent || len(m.Evidence()) > 0 || m.KeepsAccount()
	if !keeps || key.ID == root {
		return nil
	}
	to := runKey(h.namespace, root)
	next, nextVersion, err := h.app.views.evidenceRecord(ctx, ledger.EvidenceOf(to))
	if err != nil {
		return err
	}
	next = next.TakeOver(root, key.ID, record.Calls)
	here := bindingKey(h.namespace, h.session)
	batch, separate := &h.batch, store.Batch{}
	if !h.together(to, here) {
		batch = &separate
	}
	if err := putRecord(batch, to, &next, nextVersion); err != nil {
		return err
	}
	if !next.NextDue().IsZero() {
		batch.SetTimers = append(batch.SetTimers, ledger.EffectTimer(to, &next))
	}
	switch {
	case batch == &separate: // it may only be too early
		_, err := h.app.ports.Commit(ctx, separate)
		return err
	case h.together(key, here):
		if before.Status.Ended() {
			record = record.Left(root)
		}
		return putRecord(batch, key, &record, version)
	default:
		h.checks = append(h.checks, store.Check{Key: ledger.EvidenceOf(key), Version: version})
		return nil
	}
}

// account holds the open calls of a family, and the record that has them now.
func (h *handover) account(ctx context.Context, root store.Key) (store.Key, evidence.Record, int64, error) {
	for range mostHandovers {
		record, version, err := h.app.views.evidenceRecord(ctx, ledger.EvidenceOf(root))
		if err != nil || record.After == "" {
			return root, record, version, err
		}
		root = runKey(root.Namespace, record.After)
	}
	return root, evidence.Record{}, 0, fault.New(fault.FailedPrecondition,
		"run %s is followed by more than %d runs of its session", root.ID, mostHandovers)
}

// mostHandovers bounds how many runs of a session are followed to the calls that are open.
const mostHandovers = 64

// together reports that records are in one shard.
func (h *handover) together(key, other store.Key) bool {
	shards := h.app.ports.Store.Shards()
	return key.Shard(shards) == other.Shard(shards)
}

func putRecord(batch *store.Batch, root store.Key, record *evidence.Record, version int64) error {
	data, err := ledger.EncodeEvidence(record)
	if err != nil {
		return fault.From(err)
	}
	batch.Puts = append(batch.Puts, store.Put{Key: ledger.EvidenceOf(root), Expect: version, Data: data})
	return nil
}
