package check

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

// Commit commits a plan, with the counters of policies and the record in the log. It returns the first answer
// if the call was decided before.
func (c *Service) Commit(ctx context.Context, p Plan) (*Decision, error) {
	result, err := c.commitPlan(ctx, &p)
	if err != nil {
		return nil, err
	}
	if result.Replayed {
		first, err := ledger.DecodeCall(p.At.Root.ID, result.Answer)
		if err != nil {
			return nil, fault.From(err)
		}
		if !first.GivenUp() && first.InputDigest != p.Digest {
			return nil, fault.From(&store.ReplayMismatchError{Owner: p.At.Root, Name: p.Batch.Idempotency.Name})
		}
		return c.answerAgain(ctx, p.Ruling, first)
	}
	d := p.Decision
	if d.Verdict.Counted {
		d.Iterations = result.Counters[0]
	}
	c.endFullLease(ctx, &p, result.Counters)
	c.measure(&p, result.Counters)
	return &d, nil
}

// commitPlan commits a plan with its record and the counters of policies, on condition that these are unchanged.
func (c *Service) commitPlan(ctx context.Context, p *Plan) (store.Result, error) {
	namespace, spends, batch := p.Caller.Namespace, p.Combined.Spends, p.Batch
	batch.Appends = []store.Append{decisionlog.Append(namespace, p.At.Root.ID, p.Record)}
	counters := c.Quota.Counters(namespace, spends)
	if !c.Quota.DropKnown(spends, counters) {
		if err := c.Quota.DropLater(ctx, namespace, spends); err != nil {
			return store.Result{}, err
		}
	}
	batch.Checks = append(batch.Checks, p.Effective.Preconditions()...)
	own := len(batch.Counters)
	batch.Counters = append(batch.Counters, counters...)
	result, err := c.Store.Commit(ctx, batch)
	if err == nil && !result.Replayed {
		c.Quota.RememberCounted(batch.Counters, &p.Decision.Verdict, spends, result.Counters, p.Now)
	}
	return result, asFull(own, err)
}

// asFull returns a *quota.FullError, with the index of the spend, for the refusal of a spend's counter. It returns
// any other error unchanged. The counters of spends begin at own.
func asFull(own int, err error) error {
	var limit *store.LimitError
	if !errors.As(err, &limit) || limit.Index < own {
		return err
	}
	return &quota.FullError{Index: limit.Index - own, Value: limit.Value, ReopensAt: limit.ReopensAt}
}

// measure reports a decision to metrics. The last counters are those of its spends.
func (c *Service) measure(p *Plan, counters []int64) {
	if c.Measure == nil {
		return
	}
	v := &p.Decision.Verdict
	o := &Measured{Decision: v.Decision, Code: v.Code, Workflow: p.At.Run.Workflow, State: p.At.Run.State}
	if o.Code == toolcall.CodeNotEnforced {
		o.Reason = v.Detail
	}
	spends := p.Combined.Spends
	first := len(counters) - len(spends)
	for i := range spends {
		if spend := &spends[i]; first >= 0 && spend.Max > 0 && spend.Scope == rules.PerPolicy && spend.Policy != "" {
			o.Limits = append(o.Limits, UsedLimit{
				Policy: spend.Policy, Pattern: spend.Pattern, Measure: spend.Measure, Used: float64(counters[first+i]) / float64(spend.Max),
			})
		}
	}
	c.Measure(o)
}
