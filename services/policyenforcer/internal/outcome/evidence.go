package outcome

import (
	"context"
	"slices"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// takeEvidence adds the evidence and the effects of a report to its batch. s is the run of the call.
func (o *Service) takeEvidence(ctx context.Context, caller enforcer.Caller, root store.Key, s *runs.Snapshot, call *ledger.DecidedCall, r *Reported, batch *store.Batch) error {
	r.Evidence = nil
	if call.WorkflowVersion != s.Run.WorkflowVersion { // evidence of that name may differ in another version (S17.2)
		moved := *call
		moved.Gives = nil
		call = &moved
	}
	if call.Jail != nil {
		return o.takeJailed(ctx, caller, root, s, call, r, batch)
	}
	keeps := s.EffectDeadline() > 0
	ends := caller.Vouched && r.BackgroundEnded != ""
	if !call.Voids && len(call.Gives) == 0 && !keeps && !ends {
		return nil
	}
	read, err := o.calls.AccountOf(ctx, root)
	if err != nil {
		return err
	}
	now := o.clock().UTC()
	record, _ := read.Record.Elapse(now)
	if keeps {
		lost, closed := closeReported(caller, r, &record)
		settled := reconcile(caller, s, r, &record)
		if !closed && len(settled) == 0 && !call.Voids && len(call.Gives) == 0 && !ends {
			return nil
		}
		if err := o.announceLost(root, lost, batch); err != nil {
			return err
		}
		if err := o.announceSettled(root, settled, batch); err != nil {
			return err
		}
	}
	if call.Voids {
		record = record.Reported(evidence.Edit{At: now, CallID: r.CallID}, r.Background, caller.Vouched)
	}
	if ends {
		record = record.EndsBackground(call.RunID, r.BackgroundEnded, now)
	}
	if !r.Unknown {
		specs := s.Machine.Evidence()
		seen := evidence.Sighting{At: now, CallID: r.CallID, By: caller.Principal.Name, Edits: call.Edits, Entry: call.Entry}
		for i := range specs {
			switch spec := &specs[i]; {
			case !slices.Contains(call.Gives, spec.Name):
			case !caller.Vouched:
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
	return read.Put(&record, batch)
}
