package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// evidenceFor returns how the evidence of a run stands for an event, or for a transition
// that was parked; none where that does not ask for any. The reads are a precondition of
// the commit: an edit that was allowed since makes it fail.
func (f *family) evidenceFor(ctx context.Context, at workflow.View, m definition.Compiled, event string) (evidence.Statuses, error) {
	if !m.AsksEvidence(at.State, event) {
		return nil, nil
	}
	key := ledger.EvidenceOf(f.key(at.Root()))
	record, version, err := f.app.views.evidenceRecord(ctx, key)
	if err != nil {
		return nil, err
	}
	f.scene.checks = append(f.scene.checks, store.Check{Key: key, Version: version})
	return f.app.views.judge(ctx, f.caller.Namespace, at, m.Machine, record, f.treeFor(ctx, &at, m.Machine, &record))
}

// evidenceRecord returns the evidence of a family, and its version.
func (vs *Views) evidenceRecord(ctx context.Context, key store.Key) (evidence.Record, int64, error) {
	stored, err := vs.ports.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return evidence.Record{}, store.Absent, nil
	}
	if err != nil {
		return evidence.Record{}, 0, fault.From(err)
	}
	record, err := ledger.DecodeEvidence(stored.Data)
	if err != nil {
		return record, 0, fault.From(err)
	}
	return record, stored.Version, nil
}

// judge returns the standings of the evidence of a run for a lane. tree is the digest of the workspace's files now, empty
// when that is not known.
func (vs *Views) judge(
	ctx context.Context, namespace string, at workflow.View, m *workflow.Machine, record evidence.Record, tree string,
) (evidence.Statuses, error) {
	basis := at.EvidenceOf(record, vs.ports.Clock().UTC())
	basis.Tree = tree
	specs := m.Evidence()
	for i := range specs {
		spec := &specs[i]
		if spec.State == nil {
			continue
		}
		written := evidence.Written{Unknown: "the run has no session with a shared state"}
		if session := at.SessionIn(at.Branch); session != "" && vs.ports.SharedState != nil {
			var err error
			written, err = vs.ports.SharedState.Written(ctx, namespace, session, spec.State.Pointer, spec.Writer != "" || spec.MaxAge > 0)
			if err != nil {
				return nil, fault.From(err)
			}
		}
		if basis.Written == nil {
			basis.Written = map[string]evidence.Written{}
		}
		basis.Written[spec.Name] = written
	}
	standings := basis.Judge(specs)
	if m.KeepsAccount() {
		if standings == nil {
			standings = evidence.Statuses{}
		}
		standings[evidence.NoUnknownEffects] = record.Effects()
	}
	return standings, nil
}

// addEvidence adds to a view how the evidence of its workflow stands.
func (vs *Views) addEvidence(ctx context.Context, namespace string, v *View, tree string) error {
	specs := v.Machine.Evidence()
	if len(specs) == 0 {
		return nil
	}
	record, _, err := vs.evidenceRecord(ctx, ledger.EvidenceOf(runKey(namespace, v.Run.Root())))
	if err != nil {
		return err
	}
	standings, err := vs.judge(ctx, namespace, v.At, v.Machine, record, tree)
	if err != nil {
		return err
	}
	v.Evidence = make([]evidence.Status, len(specs))
	for i := range specs {
		v.Evidence[i] = standings[specs[i].Name]
	}
	return nil
}

// voidResumed voids observations from before a pause: the files were not watched in the
// meantime. It concerns the whole family.
func (f *family) voidResumed(ctx context.Context, s *step, batch *store.Batch) error {
	declared := false
	for _, step := range f.steps {
		declared = declared || len(step.m.Evidence()) > 0
	}
	if !declared || !s.out.Changed || s.out.Entry.Type != workflow.EventResumed {
		return nil
	}
	key := ledger.EvidenceOf(f.key(s.out.Run.Root()))
	record, version, err := f.app.views.evidenceRecord(ctx, key)
	if err != nil {
		return err
	}
	record = record.Edited(evidence.Edit{At: f.now, What: "a pause of the run, during which no call was observed"})
	data, err := ledger.EncodeEvidence(&record)
	if err != nil {
		return fault.From(err)
	}
	batch.Puts = append(batch.Puts, store.Put{Key: key, Expect: version, Data: data})
	return nil
}
