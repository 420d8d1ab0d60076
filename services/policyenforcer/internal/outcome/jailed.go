package outcome

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// addFinished adds to the answer of a client's report the evidence that the witness of its command has given.
func (o *Service) addFinished(ctx context.Context, root store.Key, call *ledger.DecidedCall, r *Reported) error {
	if call == nil || call.Jail == nil || len(r.Evidence) > 0 {
		return nil
	}
	data, err := idempotency.Answer(ctx, o.store, root, ledger.FinishedName(r.CallID))
	if data == nil || err != nil {
		return err
	}
	var finished FinishedCommand
	if err := json.Unmarshal(data, &finished); err != nil {
		return fault.From(err)
	}
	r.Evidence = finished.Evidence
	return nil
}

// takeJailed adds to the batch of a client's report the parts that its jail does not know: the output of the
// command, and that it continues in the background.
func (o *Service) takeJailed(ctx context.Context, caller enforcer.Caller, root store.Key, s *runs.Snapshot, call *ledger.DecidedCall, r *Reported, batch *store.Batch) error {
	if !call.Voids && len(call.Gives) == 0 && s.EffectDeadline() == 0 {
		return nil
	}
	read, err := o.calls.AccountOf(ctx, root)
	if err != nil {
		return err
	}
	record, _ := read.Record.Elapse(o.clock().UTC())
	if r.withdrawn {
		record, _, _ = record.Settle(r.CallID)
		return read.Put(&record, batch)
	}
	if !caller.Vouched {
		return nil
	}
	record = record.Leaves(r.CallID, r.Background)
	w, err := o.witnessOf(ctx, root, r.CallID)
	if err != nil {
		return err
	}
	if w != nil && w.Failed == "" {
		ended := &Reported{Report: Report{CallID: r.CallID, OK: w.OK()}}
		seen := o.sighting(caller, call, ended, w)
		if !ranAlone(&record, call, r.CallID) {
			seen.Tree = ""
		}
		specs := s.Machine.Evidence()
		for i := range specs {
			if spec := &specs[i]; slices.Contains(call.Gives, spec.Name) && spec.Output != nil {
				record = ended.addSighting(record, call, spec, seen, r.Output)
			}
		}
		r.Evidence, r.Tree, r.Witness = ended.Evidence, w.tree(), w.digest
	}
	return read.Put(&record, batch)
}
