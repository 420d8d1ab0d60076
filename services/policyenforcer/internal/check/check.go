package check

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
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
	if err == nil && !req.DryRun && c.TimeAnswer != nil {
		c.TimeAnswer(ctx, d, time.Since(began))
	}
	return d, err
}

// check reads, decides and commits, and begins again with fresh records when the commit shows that they were old.
func (c *Service) check(ctx context.Context, caller enforcer.Caller, req Request) (*Decision, error) {
	if req.DryRun {
		req.CallID = "" // it gets no report
	} else if req.CallID == "" {
		req.CallID = typeid.New(typeid.Call)
	}
	if err := req.validate(); err != nil {
		return nil, err
	}
	base := Attempt{
		Caller: caller, Req: req, Digest: toolcall.InputDigest(req.Tool, req.Input), Now: c.Clock().UTC(),
		used: map[string]string{}, outside: map[inquiry]said{}, settings: &c.settings,
	}
	look := c.Runs.Cached // the first try may use old data, which the commit detects; later ones read it again
	load := func() (*runs.Snapshot, error) {
		return c.Policies.LoadOrStandIn(ctx, caller, req.Target, req.DeniedBecause != "" || req.Observe && !req.DryRun, look)
	}
	d, err := retry.Do(ctx, req.Target.String(), func() (*Decision, error) {
		s, err := load()
		look = c.reload
		if err == nil && req.moved(s) != nil { // it may be old
			s, err = load()
		}
		if err != nil {
			return nil, err
		}
		if err := req.moved(s); err != nil {
			return nil, err
		}
		a, err := c.readAttempt(ctx, base, s)
		if err != nil {
			return nil, err
		}
		return c.resolve(ctx, a)
	})
	if err != nil {
		return c.denyUnavailable(ctx, base, err)
	}
	return d, nil
}

// reload reads the policies, the run and its sessions again.
func (c *Service) reload(ctx context.Context, caller enforcer.Caller, target enforcer.Target) (*runs.Snapshot, error) {
	s, err := c.Runs.Load(ctx, caller.Namespace, target)
	if err != nil {
		return nil, err
	}
	if err := c.Policies.Freshen(ctx, caller, s); err != nil {
		return nil, err
	}
	return s, c.Runs.Freshen(ctx, caller, s, target)
}

// readAttempt reads the policies of a call, and the open calls if a policy asks about repeats of an unknown call
// (S16.6).
func (c *Service) readAttempt(ctx context.Context, a Attempt, s *runs.Snapshot) (Attempt, error) {
	a.At = s
	var err error
	if a.Effective, err = c.Policies.Effective(ctx, a.Caller, s, a.Req.Target, a.Req.Tool); err != nil {
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
	if s.Unbound || s.EffectDeadline() == 0 || !a.Effective.AsksRepeats() {
		return a, nil
	}
	if a.OpenCalls, err = c.Calls.AccountOf(ctx, s.Root); err != nil {
		return a, err
	}
	if unknown := a.OpenCalls.Record.Repeats(a.Digest); unknown != nil {
		a.Repeats = unknown.ID
	}
	return a, nil
}

// resolve decides an attempt, consults decision points, and makes the decision durable. A call that people must approve is admitted
// by a lease, or they are asked. A dry run consults and asks no one.
func (c *Service) resolve(ctx context.Context, a Attempt) (*Decision, error) {
	r := a.Decide(Admission{})
	var err error
	if a.Req.Explain { // before the call is counted
		if r.Decision.Explanation, err = c.explain(ctx, a, r.State); err != nil {
			return nil, err
		}
	}
	if !a.Req.DryRun {
		r = c.consultPoints(ctx, r)
	}
	if r.asks() {
		if r, err = c.admitByLease(ctx, r); err != nil {
			return nil, err
		}
	}
	if a.Req.DryRun {
		return c.conclude(ctx, r.notingUnasked())
	}
	r.Decision.Shadows = c.shadows(ctx, r)
	if r.asks() {
		if d, err := c.firstAnswer(ctx, r); d != nil || err != nil {
			return d, err
		}
		asked, err := c.askApprovers(ctx, r)
		if denied, limited := r.DeniedByLimit(err, c.Clock().UTC()); limited { // and no approver was asked
			asked, err = denied, nil
		}
		if err != nil {
			return nil, err
		}
		r = asked
	}
	return c.conclude(ctx, r)
}

// conclude commits a ruling, or probes it in a dry run. If a limit is full, it concludes the denial.
func (c *Service) conclude(ctx context.Context, r Ruling) (*Decision, error) {
	for {
		ready, err := c.readForPlan(ctx, r)
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
			d, err = c.Commit(ctx, plan)
		}
		if err == nil {
			return d, nil
		}
		if plan.leaseFull(err) { // others were faster
			return nil, &store.ConflictError{Key: ledger.LeaseOf(r.Caller.Namespace, plan.Admission.Lease.ID)}
		}
		denied, limited := plan.DeniedByLimit(err, c.Clock().UTC())
		if !limited {
			return nil, err
		}
		r = denied
	}
}

// readForPlan reads the records that the plan of a ruling depends on: the changed files, and the account of the
// family.
func (c *Service) readForPlan(ctx context.Context, r Ruling) (_ Ruling, err error) {
	if r.countsFiles() {
		if r.files, err = c.Calls.FilesOf(ctx, r.At.Key); err != nil {
			return r, err
		}
	}
	r, needs := r.withEffects()
	if !needs || r.OpenCalls != nil {
		return r, nil
	}
	r.OpenCalls, err = c.Calls.AccountOf(ctx, r.At.Root)
	return r, err
}

// denyUnavailable returns the denial for a failure (S7.2), and the fault for a mistake of the caller.
func (c *Service) denyUnavailable(ctx context.Context, a Attempt, err error) (*Decision, error) {
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
