package check

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Request is a question: may this tool be called, now, with this input?
type Request struct {
	Target enforcer.Target
	Tool   string
	Input  []byte
	// CallID is the caller's id of the call; minted when empty.
	CallID string
	// EstimatedCost is reserved of budgets until the report (S7.5).
	EstimatedCost rules.MicroUSD
	// Qualified is the tool's full name where Tool is not: policies judge that.
	Qualified string
	// Folder that the call is made in; empty when it is not known.
	Folder string
	// Jail is the level of the jail that the caller runs the line in; jail.None for none.
	Jail jail.Level
	// DeniedBecause is why the caller denies the call itself; empty when it does not.
	DeniedBecause string
	// DryRun decides and changes nothing.
	DryRun bool
	// Explain adds why.
	Explain bool
}

// question is a check while it is worked on.
type question struct {
	caller enforcer.Caller
	req    Request
	digest string
	// approved: humans have agreed to exactly this call. consumed are the approvals
	// that this check has used, by the digest of their actions.
	approved bool
	consumed map[string]string
	// rests are the shared states that the question rests on, as conditions of the commit.
	rests []store.Check
	// leased is the rule whose question a lease answers; nil for none.
	leased *rules.Source
	// now picks the periods of budgets.
	now time.Time
	// account is what the run has open, where the decision depends on it; nil otherwise.
	account *calls.Account
	// jail is the level of the jail that the state relies on; jail.None for none.
	jail jail.Level
	// offered is the level of the jail that the caller has for the line.
	offered jail.Level
	// repeats names the unknown call that this one would repeat; empty for none.
	repeats string
}

// bound is what the id of the call stands for: its tool and input, and also its folder, full name and
// jail, because evidence, policies and the rules of a state depend on them.
func (q *question) bound() string {
	switch {
	case q.req.Jail != jail.None:
		return calls.TextDigest("%s %q %q %d", q.digest, q.req.Qualified, q.req.Folder, q.req.Jail)
	case q.req.Folder == "" && q.req.Qualified == "":
		return q.digest
	default:
		return calls.TextDigest("%s %q %q", q.digest, q.req.Qualified, q.req.Folder)
	}
}

// Check decides one tool call, and tells metrics of the answer.
func (c *Service) Check(ctx context.Context, caller enforcer.Caller, req Request) (*Decision, error) {
	began := time.Now()
	d, err := c.check(ctx, caller, req)
	if err == nil && !req.DryRun && c.Answered != nil {
		c.Answered(ctx, d, time.Since(began))
	}
	return d, err
}

// check decides one tool call (S3, S7). The decision, its counters, its record in
// the log and its event are committed together, on condition that the run and the
// policies are still what was judged by.
func (c *Service) check(ctx context.Context, caller enforcer.Caller, req Request) (*Decision, error) {
	if req.DryRun {
		req.CallID = "" // nobody may report it
	} else if req.CallID == "" {
		req.CallID = typeid.New(typeid.Call)
	}
	if req.EstimatedCost < 0 {
		return nil, fault.New(fault.InvalidRequest, "estimated_cost_usd must not be negative").Violate("/estimated_cost_usd", "RANGE", "negative")
	}
	for _, name := range []string{req.Tool, req.Qualified} {
		if strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
			return nil, fault.New(fault.InvalidRequest, "the name of tool %s begins or ends with a blank, or has control characters: name the tool as it is called",
				document.Quote(name)).Violate("/tool", "FORMAT", "a blank at an end, or a control character")
		}
	}
	q := &question{caller: caller, req: req, digest: toolcall.InputDigest(req.Tool, req.Input), now: c.Clock().UTC(), consumed: map[string]string{}}
	read := c.Runs.Cached
	d, err := retry.Do(ctx, req.Target.String(), func() (*Decision, error) {
		s, err := c.Policies.Found(ctx, caller, req.Target, req.DeniedBecause != "", read)
		if err != nil {
			return nil, err
		}
		read = c.again
		return c.attempt(ctx, q, s)
	})
	if err != nil {
		return c.unavailable(ctx, q, err)
	}
	return d, nil
}

// again reads anew what has changed under a check.
func (c *Service) again(ctx context.Context, caller enforcer.Caller, target enforcer.Target) (*runs.Snapshot, error) {
	if _, err := c.Policies.Refresh(ctx, caller.Namespace); err != nil {
		return nil, err
	}
	s, err := c.Runs.Load(ctx, caller.Namespace, target)
	if err != nil {
		return nil, err
	}
	return s, c.Runs.Freshen(ctx, caller, s, target)
}

// attempt judges a call by a snapshot and makes the answer durable.
func (c *Service) attempt(ctx context.Context, q *question, s *runs.Snapshot) (*Decision, error) {
	state := c.judge(s, q.req)
	q.offered = c.offered(s, q.req)
	q.jail = jail.None
	if state.Jail != nil {
		q.jail = q.offered
	}
	if s.Superseded != "" && lifted(state, q.req.Tool) {
		state = toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeRunNotActive, Tool: q.req.Tool}
	}
	std, err := c.Policies.Effective(ctx, q.caller, s, q.req.Target, q.req.Tool)
	if err != nil {
		return nil, err
	}
	denied, ended := std.Verdict(q.req.Tool)
	if ended {
		state = denied
	}
	d := &Decision{
		CallID: q.req.CallID, Tool: q.req.Tool, Capability: capabilityOf(s, q.req), InputDigest: q.digest,
		Run: s.Run, Machine: s.Machine, EstimatedCost: q.req.EstimatedCost, Unbound: s.Unbound,
	}
	if err := c.readAccount(ctx, q, s, std); err != nil {
		return nil, err
	}
	d.settle(combine(q, s, std, state, std.Live))
	if s.Superseded != "" && d.Verdict.Code == toolcall.CodeRunNotActive {
		d.Message = fmt.Sprintf("Tool %s is denied: run %s is %s, and its session now drives run %s. Name that run, or the session.",
			document.Quote(q.req.Tool), s.Run.ID, s.Run.Status, s.Superseded)
	}
	if ended {
		d.Message = std.Message(q.req.Tool)
	}
	if q.req.Explain { // before anything is counted
		if d.Explanation, err = c.explain(ctx, q, s, std, state); err != nil {
			return nil, err
		}
	}
	d.denyByCaller(q.req.DeniedBecause)
	d.confine(q, s)
	if d.Verdict.Decision == toolcall.Ask {
		if err := c.leased(ctx, q, s, std, d); err != nil {
			return nil, err
		}
	}
	if q.req.DryRun {
		return d, c.dryRun(ctx, q, s, std, d)
	}
	d.Shadows = c.shadows(ctx, q, s, std, d.combined)
	if d.Verdict.Decision == toolcall.Ask {
		if known, err := c.repeated(ctx, q, s, std, d); known || err != nil {
			return d, err
		}
		if err = c.ask(ctx, q, s, std, d); exceeded(d, err) {
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	for {
		err := c.record(ctx, q, s, std, d)
		if err == nil {
			return d, nil
		}
		if d.leaseFull(err) { // others were faster
			return nil, &store.ConflictError{Key: ledger.LeaseOf(q.caller.Namespace, d.LeaseID)}
		}
		if !exceeded(d, err) && !overLimit(s, d, err) {
			return nil, err
		}
	}
}

// repeated handles a call whose id has been decided already: what would be asked now
// has been admitted then.
func (c *Service) repeated(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision) (bool, error) {
	first, err := c.Calls.Decided(ctx, s.Root, d.CallID)
	if first == nil || err != nil {
		return false, err
	}
	other := first.InputDigest != d.InputDigest || !containsAll(notice(q, s).Gives, first.Gives)
	if !first.GivenUp() && other {
		return false, fault.From(&store.ReplayMismatchError{Owner: s.Root, Name: d.CallID})
	}
	return true, c.repeat(ctx, q.caller, s, std, d, first)
}

// combine takes the strictest of what the state and the policies say.
func combine(q *question, s *runs.Snapshot, std *policystore.Effective, state toolcall.Verdict, sets []*rules.Set) rules.Combined {
	if len(sets) == 0 || toolcall.Own(q.req.Tool) {
		return rules.Combine(state, nil, nil)
	}
	call := callOf(q, s, std)
	verdicts := make([]rules.Verdict, len(sets))
	taken := 0
	for i, set := range sets {
		verdicts[i] = set.Decide(call, nil)
		taken += len(verdicts[i].Spends)
	}
	return rules.Combine(state, verdicts, make([]rules.Spend, 0, taken))
}

// callOf is a call as policies are asked about it.
func callOf(q *question, s *runs.Snapshot, std *policystore.Effective) rules.Call {
	call := std.Call(q.caller, s, q.req.Tool, q.req.Input, q.now)
	call.Capability, call.EstimatedCost = qualified(q.req), q.req.EstimatedCost
	call.Approved, call.Leased, call.Repeats = q.approved, q.leased, q.repeats
	return call
}

// qualified is the capability of a tool of an MCP server that is called by its plain
// name, and empty for any other: a full name must be that of the tool. What restricts
// shells restricts it all the same when it is one.
func qualified(req Request) string {
	plain := !strings.HasPrefix(rules.CapabilityOf(req.Tool), "mcp:")
	if c := rules.CapabilityOf(req.Qualified); plain && strings.HasPrefix(c, "mcp:") && strings.HasSuffix(c, ":"+req.Tool) {
		return c
	}
	return ""
}

// capabilityOf is what policies call the tool of a call.
func capabilityOf(s *runs.Snapshot, req Request) string {
	if c := qualified(req); c != "" {
		return c
	}
	v := rules.Verdict{Tool: req.Tool}
	if c := v.Capability(); c == rules.Shell || !toolcall.Shell(s.Machine.State(s.Run.State), req.Tool) {
		return c
	}
	return rules.CapabilityOf(req.Tool)
}

// exceeded turns the refusal of a policy's account into the denial that it stands
// for.
func exceeded(d *Decision, err error) bool {
	var full *quota.FullError
	if !errors.As(err, &full) {
		return false
	}
	d.ApprovalID = ""
	d.unlease()
	d.full = []ledger.Limit{quota.LimitOf(&d.combined.Spends[full.Index], full.Value, time.Now())}
	d.settle(d.combined.Exceeded(full.Index, full.Value, full.ReopensAt))
	return true
}

// overLimit turns the refusal of a counter of the state into the denial that it
// stands for.
func overLimit(s *runs.Snapshot, d *Decision, err error) bool {
	var limit *store.LimitError
	if !errors.As(err, &limit) {
		return false
	}
	v := toolcall.IterationLimitReached(s.Machine, s.Run, limit.Value)
	if limit.Name == ledger.ContextBytes {
		v = toolcall.ContextBudgetSpent(s.Machine, s.Run, limit.Value)
	} else {
		d.Iterations = limit.Value
	}
	d.denyByState(v)
	return true
}

// denyByState makes a limit of the state the answer.
func (d *Decision) denyByState(v toolcall.Verdict) {
	v.Tool = d.Tool
	d.unlease()
	d.settle(rules.Combine(v, nil, nil))
}

// denyByCaller makes the caller's denial the answer to a call that would not be denied otherwise (S13.12).
func (d *Decision) denyByCaller(because string) {
	if because == "" || d.Verdict.Decision == toolcall.Deny {
		return
	}
	d.denyByState(toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeCallerDenied})
	d.Message = because
}

// repeat handles a call id that was decided before: it returns the first decision, as
// long as the run is what that was made on. Otherwise it would be a decision on
// an old state, and the caller must ask about a new call; so must one whose call
// was made and reported.
func (c *Service) repeat(ctx context.Context, caller enforcer.Caller, s *runs.Snapshot, std *policystore.Effective, d *Decision, first *ledger.Call) error {
	if _, ended := std.Verdict(d.Tool); ended {
		return nil // the denial stands, whatever was allowed before the end
	}
	if err := runs.CheckUnchanged(ctx, c.Store, std.Checks...); err != nil {
		return err
	}
	if first.GivenUp() {
		return fault.New(fault.IdempotencyMismatch,
			"call %q was given up before it was decided: its caller has withdrawn it, or its approval went to another call; use a new call_id", d.CallID)
	}
	if s.Unbound && first.RunID == s.Run.ID {
		d.Verdict, d.Message, d.ApprovalID = first.Verdict, first.Message, first.ApprovalID
		return nil
	}
	run, err := c.Engine.Lane(ctx, caller.Namespace, first.RunID, first.Branch)
	if fault.ReasonOf(err) == fault.NotFound { // it was decided before there was a run
		run, err = new((&workflow.Run{}).At("")), nil
	}
	if err != nil {
		return err
	}
	// The version of the run as it is now decides; this replica's copy may be older than the first decision.
	if first.RunID != s.Run.ID || first.Branch != s.Run.Branch || run.Version != first.RunVersion {
		return fault.New(fault.IdempotencyMismatch,
			"call %q was decided on run %s at version %d, and the run has changed since then; use a new call_id",
			d.CallID, first.RunID, first.RunVersion)
	}
	switch _, err := c.Store.Answer(ctx, s.Root, ledger.ReportName(d.CallID)); {
	case err == nil:
		return fault.New(fault.IdempotencyMismatch, "call %q was already made and reported; use a new call_id for another call", d.CallID)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	fresh, err := c.Runs.Snapshot(ctx, caller.Namespace, run)
	if err != nil {
		return err
	}
	counters, err := c.Store.Counters(ctx, fresh.Entry)
	if err != nil {
		return err
	}
	d.Verdict, d.Message, d.Run, d.Machine, d.Jail = first.Verdict, first.Message, fresh.Run, fresh.Machine, first.Jail
	d.ApprovalID = first.ApprovalID
	d.Iterations = counters[ledger.Iterations]
	return nil
}

// unavailable turns a failure into the answer: what the caller did wrong is an
// error that says so, anything else denies (S7.2).
func (c *Service) unavailable(ctx context.Context, q *question, err error) (*Decision, error) {
	req := q.req
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
		return &Decision{Verdict: v, Message: message, CallID: req.CallID, Tool: req.Tool, InputDigest: q.digest, Undecided: reason}, nil
	default:
		return nil, fault.From(err)
	}
}

// ParseCost reads the estimate of a call.
func ParseCost(text string) (rules.MicroUSD, error) {
	cost, ok := quota.ReadCost(text)
	if !ok {
		return 0, fault.New(fault.InvalidRequest, `estimated_cost_usd must be a decimal number of US dollars such as "0.02", at most 1000000, not %q`, text).
			Violate("/estimated_cost_usd", "NUMBER", "not a decimal number")
	}
	return cost, nil
}
