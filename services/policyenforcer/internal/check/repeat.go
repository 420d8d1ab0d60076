package check

import (
	"context"
	"errors"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// firstAnswer returns the first answer to a call that was decided before, or nil.
func (c *Service) firstAnswer(ctx context.Context, r Ruling) (*Decision, error) {
	first, err := c.Calls.Decided(ctx, r.At.Root, r.Req.CallID)
	if first == nil || err != nil {
		return nil, err
	}
	gives := r.meaning().Gives
	missing := slices.ContainsFunc(first.Gives, func(name string) bool { return !slices.Contains(gives, name) })
	if !first.GivenUp() && (first.InputDigest != r.Digest || missing) {
		return nil, fault.From(&store.ReplayMismatchError{Owner: r.At.Root, Name: r.Req.CallID})
	}
	return c.answerAgain(ctx, r, first)
}

// answerAgain returns the first answer to a call, if the run is unchanged since then and the call was not reported.
// Otherwise it would be a decision on an old state, and the caller must ask for a new call.
func (c *Service) answerAgain(ctx context.Context, r Ruling, first *ledger.DecidedCall) (*Decision, error) {
	s, d := r.At, r.Decision
	if _, ended := r.Effective.EndedVerdict(d.Tool); ended || r.Effective.Halted != nil || d.Verdict.Code == toolcall.CodeNarrowed {
		return &d, nil // it is denied, also if it was allowed before the end, the halt or the narrowing
	}
	if err := runs.CheckUnchanged(ctx, c.Store, append(slices.Clone(r.Effective.Checks), r.Effective.Halts.Check())...); err != nil {
		return nil, err
	}
	if first.GivenUp() {
		return nil, fault.New(fault.IdempotencyMismatch,
			"call %q was given up before it was decided: its caller has withdrawn it, or its approval went to another call; use a new call_id", d.CallID)
	}
	if r.overtaken(first) {
		return nil, fault.New(fault.IdempotencyMismatch,
			"call %q was allowed, and a window of a policy has begun or ended since then; use a new call_id", d.CallID)
	}
	if s.Unbound && first.RunID == s.Run.ID {
		d.Verdict, d.Message, d.ApprovalID = first.Verdict, first.Message, first.ApprovalID
		return &d, nil
	}
	run, err := c.Engine.Lane(ctx, r.Caller.Namespace, first.RunID, first.Branch)
	if fault.ReasonOf(err) == fault.NotFound { // it was decided before there was a run
		run, err = new((&workflow.Run{}).At("")), nil
	}
	if err != nil {
		return nil, err
	}
	// The present version of the run decides; this replica's copy may be older than the first decision.
	if first.RunID != s.Run.ID || first.Branch != s.Run.Branch || run.Version != first.RunVersion {
		return nil, fault.New(fault.IdempotencyMismatch,
			"call %q was decided on run %s at version %d, and the run has changed since then; use a new call_id",
			d.CallID, first.RunID, first.RunVersion)
	}
	switch _, err := c.Store.Answer(ctx, s.Root, ledger.ReportName(d.CallID)); {
	case err == nil:
		return nil, fault.New(fault.IdempotencyMismatch, "call %q was already made and reported; use a new call_id for another call", d.CallID)
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	fresh, err := c.Runs.Snapshot(ctx, r.Caller.Namespace, run)
	if err != nil {
		return nil, err
	}
	counters, err := c.Store.Counters(ctx, fresh.Entry)
	if err != nil {
		return nil, err
	}
	d.Verdict, d.Message, d.Run, d.Machine, d.Jail = first.Verdict, first.Message, fresh.Run, fresh.Machine, first.Jail
	d.ApprovalID = first.ApprovalID
	d.Iterations = counters[ledger.Iterations]
	return &d, nil
}

// overtaken reports a call that was allowed, and that policies deny or ask about now because of the time (S21.16).
func (a Attempt) overtaken(first *ledger.DecidedCall) bool {
	if first.Verdict.Decision != toolcall.Allow || !a.looksAtTime() {
		return false
	}
	now := a.Decide(Admission{}).Decision.Verdict.Decision
	return now == toolcall.Deny || now == toolcall.Ask && first.ApprovalID == ""
}
