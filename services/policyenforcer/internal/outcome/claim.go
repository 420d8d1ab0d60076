package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// vouchedReport is stored with the idempotency key of a vouched report. With that of any other report, a
// claim is stored.
const vouchedReport = "observed"

// claim is the agent's own report of its call, as far as a later vouched report corrects it.
type claim struct {
	OK      bool   `json:"ok,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	CostUSD string `json:"cost_usd,omitempty"`
}

// reportedBy returns the answer that is stored with a report: vouchedReport or a claim.
func reportedBy(caller enforcer.Caller, r *Report) []byte {
	if caller.Vouched {
		return []byte(vouchedReport)
	}
	data, err := json.Marshal(claim{OK: r.OK, Bytes: r.ResultBytes, CostUSD: r.CostUSD})
	if err != nil {
		panic(err) // a flag, a number and a text
	}
	return data
}

// claimOf returns the agent's own report of a call, nil where there is none or the report was vouched for.
func (o *Service) claimOf(ctx context.Context, root store.Key, callID string) (*claim, error) {
	first, err := o.store.Answer(ctx, root, ledger.ReportName(callID))
	if errors.Is(err, store.ErrNotFound) || err == nil && string(first) == vouchedReport {
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

// correctClaim commits a vouched report of a call that its agent has reported before. It corrects evidence,
// bytes and cost: an edit may have continued after the claim, and a test may have ended otherwise. again is the
// store's error for the second report, or nil; it is returned if a vouched report came before.
func (o *Service) correctClaim(ctx context.Context, caller enforcer.Caller, root store.Key, s *runs.Snapshot, call *ledger.DecidedCall, r *Reported, again error) error {
	if !caller.Vouched || call == nil {
		return again
	}
	claimed, err := o.claimOf(ctx, root, r.CallID)
	if err != nil {
		return err
	}
	if claimed == nil {
		return again
	}
	batch := store.Batch{
		Checks: []store.Check{{Key: s.Key, Version: s.Run.Version}},
		Idempotency: &store.Idempotency{
			Owner: root, Name: ledger.CorrectionName(r.CallID), Digest: r.digest(), TTL: idempotency.TTL,
		},
	}
	if err := o.takeEvidence(ctx, caller, root, s, call, r, &batch); err != nil {
		return err
	}
	if len(r.Evidence) > 0 {
		if err := o.keepResult(caller, s, r, false, &batch); err != nil {
			return err
		}
	}
	o.correct(caller, s, call, r, claimed, &batch)
	_, err = o.store.Commit(ctx, batch)
	return err
}

// correct adds to the batch of a vouched report its corrections of the bytes and the cost that the agent has
// claimed.
func (o *Service) correct(caller enforcer.Caller, s *runs.Snapshot, call *ledger.DecidedCall, r *Reported, claimed *claim, batch *store.Batch) {
	if more := r.ResultBytes - claimed.Bytes; more > 0 && countsBytes(s, r) {
		batch.Counters = []store.Counter{{Owner: s.Entry, Name: ledger.ContextBytes, Delta: more, Limit: store.NoLimit}}
	}
	changes := budgetChanges(call, &r.Report)
	for _, c := range budgetChanges(call, &Report{OK: claimed.OK, CostUSD: claimed.CostUSD}) {
		at := slices.IndexFunc(changes, func(seen rules.Change) bool { return seen.Account == c.Account })
		if at < 0 {
			at = len(changes)
			changes = append(changes, rules.Change{Account: c.Account})
		}
		changes[at].Delta -= c.Delta
	}
	changes = slices.DeleteFunc(changes, func(c rules.Change) bool { return c.Delta == 0 })
	o.settle(caller.Namespace, changes, batch)
}
