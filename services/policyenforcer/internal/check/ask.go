package check

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// askApprovers returns the ruling on a call after its approvers have answered, or while they have not: the call waits, is
// admitted once, or is denied (S7.6).
func (c *Service) askApprovers(ctx context.Context, r Ruling) (Ruling, error) {
	if c.Approvals == nil {
		return r, fault.New(fault.Unavailable, "a policy requires an approval, but there is no approval service")
	}
	// Over a limit a call is denied, and approvers are not asked (S7.3).
	if err := c.Quota.Room(ctx, r.Caller.Namespace, r.Combined.Spends); err != nil {
		return r, err
	}
	action, err := r.action()
	if err != nil {
		return r, err
	}
	basis, err := c.readBasis(ctx, r, &action)
	if err != nil {
		return r, err
	}
	// The grant is for this call, as this rule asks about it. A retry of the check finds the one that it has used.
	question := action.Digest() + " " + r.askedBy()
	if id := r.used[question]; id != "" {
		return r.WithAdmission(Admission{ID: id, Rests: basis.checks}), nil
	}
	ask := r.question(action)
	asked, insteadOf, err := c.request(ctx, r, ask)
	moved := basis.moved
	if err == nil && asked.Status == consent.Granted && !ask.SameRule(&asked) {
		moved = ask.RuleChange(&asked)
		asked, insteadOf, err = c.askInstead(ctx, r, ask, asked, moved)
	}
	if err == nil {
		err = basis.keep(ctx, c.Store, asked.ID)
	}
	if err != nil {
		return r, err
	}
	switch asked.Status {
	case consent.Granted:
		if err := c.consume(ctx, r, asked, action.Digest(), insteadOf); err != nil {
			return r, err
		}
		r.used[question] = asked.ID
		return r.WithAdmission(Admission{ID: asked.ID, Rests: basis.checks}), nil
	case consent.Pending:
		return r.Pending(asked, moved), nil
	default:
		return r.Rejected(asked), nil
	}
}

// question returns the question to approvers about an action.
func (r Ruling) question(action consent.Action) enforcer.Ask {
	s, caller := r.At, r.Caller.Principal.Name
	ask := enforcer.Ask{
		Action: action,
		Asker:  consent.Asker{Principal: caller, Person: r.Caller.Principal.Person, SessionID: s.Run.SessionID},
		Message: fmt.Sprintf("May %s call %s in state %s of workflow %s?",
			document.Quote(caller), document.Quote(r.Decision.Capability), document.Quote(s.Run.State), document.Quote(s.Run.Workflow)),
		Terms: s.Machine.ApprovalFor(r.StateFacts), Facts: r.recorded(), RunID: s.Run.ID, UsedBy: r.Req.CallID, WorkflowVersion: s.Run.WorkflowVersion,
		Entry: s.Run.Entry,
	}
	if s.Run.SessionID != "" {
		ask.Asker.RootSession = r.Effective.OutermostName()
	}
	if by := r.Decision.By; by != nil {
		ask.Policy, ask.PolicyVersion, ask.Rule = by.Policy, by.Version, by.Pointer()
	}
	return ask
}

// consume uses a granted approval for the call. The policies and the run of the attempt may be old: an approval
// must not be used for a run that has changed, where it admits no call.
func (c *Service) consume(ctx context.Context, r Ruling, asked enforcer.Approval, digest, insteadOf string) error {
	if err := runs.CheckUnchanged(ctx, c.Store, append(r.Effective.Preconditions(), r.Effective.Halts.Check(), store.Check{Key: r.At.Key, Version: r.At.Run.Version})...); err != nil {
		return err
	}
	err := c.Approvals.Consume(ctx, r.Caller.Namespace, asked.ID, digest, r.Req.CallID, insteadOf)
	if fault.ReasonOf(err) == fault.FailedPrecondition || fault.ReasonOf(err) == fault.ApprovalDecided {
		return r.busy() // another call was faster, or it has no use left: this call asks anew
	}
	return err
}

// busy returns a conflict, so that the check begins anew: another call has changed the approval.
func (a Attempt) busy() error {
	return &store.ConflictError{Key: a.At.Key, Want: a.At.Run.Version, Have: a.At.Run.Version}
}

// decisionGrace is the time that a call has between the use of its approval and the commit of its decision. After
// it, a call without a decision counts as never admitted.
const decisionGrace = 2 * time.Second

// request requests an approval, or returns the one that exists. An approval that another call has used counts as
// granted if that call was never admitted, for example because its service died just then. insteadOf is that
// call.
func (c *Service) request(ctx context.Context, r Ruling, ask enforcer.Ask) (asked enforcer.Approval, insteadOf string, err error) {
	asked, err = c.Approvals.Request(ctx, r.Caller.Namespace, ask)
	if err != nil || asked.Status != consent.Used {
		return asked, "", err
	}
	if strings.HasPrefix(asked.UsedBy, typeid.Lease+"_") { // a lease has no decision
		return c.requestAfter(ctx, r, ask, asked.UsedBy)
	}
	first, err := c.Calls.Decided(ctx, r.At.Root, asked.UsedBy)
	switch {
	case err != nil:
		return asked, "", err
	case first == nil && c.Clock().Before(asked.UsedAt.Add(decisionGrace)):
		return asked, "", r.busy()
	case first == nil:
		// From now on, its decision cannot be committed.
		if err := c.Calls.GiveUp(ctx, r.At.Root, asked.UsedBy, r.bound()); err != nil {
			return asked, "", err
		}
		fallthrough
	case first.GivenUp():
		insteadOf, asked.Status = asked.UsedBy, consent.Granted
		return asked, insteadOf, nil
	}
	return c.requestAfter(ctx, r, ask, asked.UsedBy)
}

// requestAfter requests a new approval after a use that has admitted a call, or that has made a lease.
func (c *Service) requestAfter(ctx context.Context, r Ruling, ask enforcer.Ask, use string) (asked enforcer.Approval, insteadOf string, err error) {
	ask.SettledUse = use
	asked, err = c.Approvals.Request(ctx, r.Caller.Namespace, ask)
	if err == nil && asked.Status == consent.Used { // another call was faster
		err = r.busy()
	}
	return asked, "", err
}

// action returns the object of the question: this capability, with this input, of the run in this version.
func (r Ruling) action() (consent.Action, error) {
	s := r.At
	text := func(name, value string) document.Member {
		return document.Member{Name: name, Value: document.StringValue(value)}
	}
	var input document.Value
	if len(r.Req.Input) > 0 {
		v, problem := document.Parse(r.Req.Input, document.Limits{Bytes: len(r.Req.Input) + 1})
		if problem != nil {
			return consent.Action{}, fault.New(fault.InvalidJSON, "input: %s", problem.Message)
		}
		input = v
	}
	return consent.Action{
		Kind: consent.ToolCall,
		Subject: document.ObjectValue([]document.Member{
			text("run_id", s.Run.ID),
			{Name: "run_version", Value: document.NumberValue(strconv.FormatInt(s.Run.Version, 10))},
			text("workflow", s.Run.Workflow), text("state", s.Run.State), text("branch", s.Run.Branch),
			text("capability", r.Decision.Capability), text("tool", r.Req.Tool),
		}),
		Data: input,
	}, nil
}
