package check

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Check decides one tool call (S3, S7). The decision, its counters, its record in the log and its event are
// committed together, on condition that the run and the policies are unchanged.
func (c *Service) Check(ctx context.Context, caller enforcer.Caller, req Request) (*Decision, error) {
	began := time.Now()
	d, err := c.check(ctx, caller, req)
	if err == nil && !req.DryRun && c.Answered != nil {
		c.Answered(ctx, d, time.Since(began))
	}
	return d, err
}

func (c *Service) check(ctx context.Context, caller enforcer.Caller, req Request) (*Decision, error) {
	if req.DryRun {
		req.CallID = "" // it gets no report
	} else if req.CallID == "" {
		req.CallID = typeid.New(typeid.Call)
	}
	if err := req.validate(); err != nil {
		return nil, err
	}
	first := Attempt{
		Caller: caller, Req: req, Digest: toolcall.InputDigest(req.Tool, req.Input), Now: c.Clock().UTC(),
		used: map[string]string{}, outside: map[inquiry]said{}, settings: &c.settings,
	}
	look := c.Runs.Cached // the first try may use old data, which the commit detects; later ones read it again
	d, err := retry.Do(ctx, req.Target.String(), func() (*Decision, error) {
		s, err := c.Policies.Found(ctx, caller, req.Target, req.DeniedBecause != "", look)
		if err != nil {
			return nil, err
		}
		look = c.reload
		a, err := c.attempt(ctx, first, s)
		if err != nil {
			return nil, err
		}
		return c.decide(ctx, a)
	})
	if err != nil {
		return c.unavailable(ctx, first, err)
	}
	return d, nil
}

// reload reads the policies, the run and its sessions again.
func (c *Service) reload(ctx context.Context, caller enforcer.Caller, target enforcer.Target) (*runs.Snapshot, error) {
	if _, err := c.Policies.Refresh(ctx, caller.Namespace); err != nil {
		return nil, err
	}
	s, err := c.Runs.Load(ctx, caller.Namespace, target)
	if err != nil {
		return nil, err
	}
	return s, c.Runs.Freshen(ctx, caller, s, target)
}

// attempt reads the policies of a call, and the open calls if a policy asks about repeats of an unknown call
// (S16.6).
func (c *Service) attempt(ctx context.Context, a Attempt, s *runs.Snapshot) (Attempt, error) {
	a.At = s
	var err error
	if a.Std, err = c.Policies.Effective(ctx, a.Caller, s, a.Req.Target, a.Req.Tool); err != nil {
		return a, err
	}
	if c.Described != nil && a.seesCall() {
		if a.Accepted, err = c.Described(ctx, a.Caller.Namespace, cmp.Or(a.Req.Qualified, a.Req.Tool)); err != nil {
			return a, err
		}
	}
	a.Facts = a.factsOf(a.Accepted, nil)
	a.StateFacts = a.Facts
	if meta := s.Machine.Meta(); len(meta.Described)+len(meta.EditTools) > 0 && !s.Unbound {
		a.StateFacts = a.factsOf(a.describedBy(meta.Described), meta.EditTools)
	}
	if s.Unbound || s.EffectDeadline() == 0 || !a.Std.AsksRepeats() {
		return a, nil
	}
	if a.Account, err = c.Calls.AccountOf(ctx, s.Root); err != nil {
		return a, err
	}
	if unknown := a.Account.Record.Repeats(a.Digest); unknown != nil {
		a.Repeats = unknown.ID
	}
	return a, nil
}

// decide judges an attempt, and makes the answer durable. A lease may answer a question. Otherwise approvers are
// asked, except in a dry run.
func (c *Service) decide(ctx context.Context, a Attempt) (*Decision, error) {
	r := a.Judge(Approval{})
	var err error
	if a.Req.Explain { // before the call is counted
		if r.Decision.Explanation, err = c.explain(ctx, a, r.State); err != nil {
			return nil, err
		}
	}
	if !a.Req.DryRun {
		r = c.agreed(ctx, r)
	}
	if r.asks() {
		if r, err = c.leased(ctx, r); err != nil {
			return nil, err
		}
	}
	if a.Req.DryRun {
		return c.conclude(ctx, r.unasked())
	}
	r.Decision.Shadows = c.shadows(ctx, r)
	if r.asks() {
		if d, err := c.repeated(ctx, r); d != nil || err != nil {
			return d, err
		}
		asked, err := c.ask(ctx, r)
		if denied, limited := r.Limited(err, c.Clock().UTC()); limited { // and no approver was asked
			asked, err = denied, nil
		}
		if err != nil {
			return nil, err
		}
		r = asked
	}
	return c.conclude(ctx, r)
}

// conclude records a ruling, or probes it in a dry run. If a limit is full, it concludes the denial.
func (c *Service) conclude(ctx context.Context, r Ruling) (*Decision, error) {
	for {
		ready, err := c.prepare(ctx, r)
		if err != nil {
			return nil, err
		}
		plan, err := ready.Plan(c.Clock().UTC())
		if err != nil {
			return nil, err
		}
		var d *Decision
		if r.Req.DryRun {
			d, err = c.DryRun(ctx, plan)
		} else {
			d, err = c.Record(ctx, plan)
		}
		if err == nil {
			return d, nil
		}
		if plan.leaseFull(err) { // others were faster
			return nil, &store.ConflictError{Key: ledger.LeaseOf(r.Caller.Namespace, plan.Approval.Lease.ID)}
		}
		denied, limited := plan.Limited(err, c.Clock().UTC())
		if !limited {
			return nil, err
		}
		r = denied
	}
}

// prepare reads the records that the plan of a ruling depends on: the changed files, and the account of the
// family.
func (c *Service) prepare(ctx context.Context, r Ruling) (_ Ruling, err error) {
	if r.countsFiles() {
		if r.files, err = c.Calls.FilesOf(ctx, r.At.Key); err != nil {
			return r, err
		}
	}
	r, needs := r.observe()
	if !needs || r.Account != nil {
		return r, nil
	}
	r.Account, err = c.Calls.AccountOf(ctx, r.At.Root)
	return r, err
}

// repeated returns the first answer to a call that was decided before, or nil.
func (c *Service) repeated(ctx context.Context, r Ruling) (*Decision, error) {
	first, err := c.Calls.Decided(ctx, r.At.Root, r.Req.CallID)
	if first == nil || err != nil {
		return nil, err
	}
	gives := r.noticed().Gives
	missing := slices.ContainsFunc(first.Gives, func(name string) bool { return !slices.Contains(gives, name) })
	if !first.GivenUp() && (first.InputDigest != r.Digest || missing) {
		return nil, fault.From(&store.ReplayMismatchError{Owner: r.At.Root, Name: r.Req.CallID})
	}
	return c.repeat(ctx, r, first)
}

// repeat returns the first answer to a call, if the run is unchanged since then and the call was not reported.
// Otherwise it would be a decision on an old state, and the caller must ask for a new call.
func (c *Service) repeat(ctx context.Context, r Ruling, first *ledger.Call) (*Decision, error) {
	s, d := r.At, r.Decision
	if _, ended := r.Std.Verdict(d.Tool); ended {
		return &d, nil // it is denied, also if it was allowed before the end
	}
	if err := runs.CheckUnchanged(ctx, c.Store, r.Std.Checks...); err != nil {
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
func (a Attempt) overtaken(first *ledger.Call) bool {
	if first.Verdict.Decision != toolcall.Allow || !a.looksAtTime() {
		return false
	}
	now := a.Judge(Approval{}).Decision.Verdict.Decision
	return now == toolcall.Deny || now == toolcall.Ask && first.ApprovalID == ""
}

// unavailable returns the denial for a failure (S7.2), and the fault for a mistake of the caller.
func (c *Service) unavailable(ctx context.Context, a Attempt, err error) (*Decision, error) {
	req := &a.Req
	if errors.Is(err, context.Canceled) || errors.Is(ctx.Err(), context.Canceled) {
		return nil, fault.From(err)
	}
	switch reason := fault.ReasonOf(err); reason {
	case fault.Unavailable, fault.StoreRolledBack, fault.CommitUncertain, fault.DeadlineExceeded, fault.Internal:
		c.Log.LogAttrs(ctx, slog.LevelError, "tool call denied: no decision could be made durable",
			slog.String("run_id", req.Target.RunID), slog.String("call_id", req.CallID), slog.String("tool", req.Tool),
			slog.String("reason", string(reason)), slog.Any("error", err))
		v := toolcall.Unavailable()
		message := v.Message(nil, nil)
		if reason == fault.StoreRolledBack {
			message += " " + string(reason) + ": " + fault.From(err).Message + "."
		}
		return &Decision{Verdict: v, Message: message, CallID: req.CallID, Tool: req.Tool, InputDigest: a.Digest, Undecided: reason}, nil
	default:
		return nil, fault.From(err)
	}
}
