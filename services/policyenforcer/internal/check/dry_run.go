package check

import (
	"context"

	"github.com/interlock-run/interlock/services/internal/ledger"
)

// DryRun returns the decision that Commit would return. It has no effects.
func (c *Service) DryRun(ctx context.Context, p Plan) (*Decision, error) {
	if err := c.probe(ctx, &p); err != nil {
		return nil, err
	}
	counters, err := c.Store.Counters(ctx, p.At.Entry)
	if err != nil {
		return nil, err
	}
	d := p.Decision
	d.Iterations = counters[ledger.Iterations]
	return &d, nil
}

// probe asks the store whether it would commit a plan.
func (c *Service) probe(ctx context.Context, p *Plan) error {
	batch, counters := p.Batch, c.Quota.Counters(p.Caller.Namespace, p.Combined.Spends)
	own := len(batch.Counters)
	batch.Checks = append(batch.Checks, p.Effective.Preconditions()...)
	batch.Counters = append(batch.Counters, counters...)
	return asFull(own, c.Store.Probe(ctx, batch))
}
