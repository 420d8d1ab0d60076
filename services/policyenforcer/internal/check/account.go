package check

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Where a workflow sets effect_deadline, an allowed call with an effect stands in the record
// of the family from its decision to its report (S16). Both are one commit with that record,
// so that no crash loses a call: what was allowed and is not reported is there.

// readAccount reads what is open where a policy wants to know whether a call repeats one
// whose outcome is unknown (S16.6).
func (c *Service) readAccount(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective) error {
	q.account, q.repeats = nil, ""
	if s.Unbound || s.EffectDeadline() == 0 || !std.AsksRepeats() {
		return nil
	}
	var err error
	if q.account, err = c.Calls.AccountOf(ctx, s.Root); err != nil {
		return err
	}
	if c := q.account.Record.Repeats(q.digest); c != nil {
		q.repeats = c.ID
	}
	return nil
}

// open adds a call to the record: one that may change files keeps evidence from being held, and one that is
// accounted has a time at which it becomes unknown. False: there are too many, and the decision
// is a denial.
func (c *Service) open(q *question, s *runs.Snapshot, d *Decision, root store.Key, record *evidence.Record, deadline time.Duration, batch *store.Batch) bool {
	now := c.Clock().UTC()
	call := evidence.Call{
		ID: d.CallID, RunID: s.Run.ID, Tool: q.req.Tool, What: c.Masks.Text(d.observed.What), Digest: q.digest,
		By: q.caller.Principal.Name, At: now,
	}
	accounted := deadline > 0 && d.observed.Affects
	if accounted {
		call.Due = now.Add(deadline)
	}
	if d.observed.Background {
		call.Background = evidence.Unnamed
	}
	add := record.Open
	switch family := s.Run.Parent != nil || len(s.Run.Children()) > 0; {
	case d.observed.Voids && (family || s.DeclaresEvidence()):
		add = record.Changes
	case d.observed.Voids: // nothing asks when it ends
		*record = record.Edited(evidence.Edit{At: now, CallID: d.CallID, What: call.What})
		if !accounted {
			return true
		}
		add = record.Open
	}
	next, fits := add(call)
	if !fits {
		d.observed = observed{}
		d.denyByState(toolcall.TooManyOpen(evidence.MostCalls))
		return false
	}
	*record = next
	if accounted {
		batch.SetTimers = append(batch.SetTimers, ledger.EffectTimer(root, record))
	}
	return true
}
