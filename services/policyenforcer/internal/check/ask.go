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
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// ask turns a decision to ask into what humans have said of exactly this call: it
// waits, is admitted once, or is denied (S7.6).
func (c *Service) ask(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision) error {
	if c.Approvals == nil {
		return fault.New(fault.Unavailable, "a policy requires an approval, but there is no approval service")
	}
	// Over a limit a call is denied, and nobody is asked (S7.3).
	if err := c.Quota.Reserve(ctx, q.caller.Namespace, d.combined.Spends); err != nil {
		return err
	}
	action, err := actionOf(q, s, d)
	if err != nil {
		return err
	}
	rest, err := c.restOn(ctx, q, s, &action)
	if err != nil {
		return err
	}
	digest := action.Digest()
	// What was agreed to is this call, as this rule asks about it.
	consumed := digest + " " + askedBy(d)
	if q.consumed[consumed] == "" {
		session, root := s.Run.SessionID, ""
		if session != "" {
			root = std.Names[0]
		}
		question := enforcer.Ask{
			Action: action,
			Asker:  consent.Asker{Principal: q.caller.Principal.Name, SessionID: session, RootID: root},
			Message: fmt.Sprintf("May %s call %s in state %s of workflow %s?",
				document.Quote(q.caller.Principal.Name), document.Quote(d.Capability), document.Quote(s.Run.State), document.Quote(s.Run.Workflow)),
			Terms: s.Machine.Meta().Approval, RunID: s.Run.ID, UsedBy: q.req.CallID, WorkflowVersion: s.Run.WorkflowVersion,
			Entry: s.Run.Entry,
		}
		if d.By != nil {
			question.Policy, question.PolicyVersion, question.Rule = d.By.Policy, d.By.Version, d.By.Pointer()
		}
		asked, insteadOf, err := c.request(ctx, q, s, question)
		moved := rest.moved
		if err == nil && asked.Status == consent.Granted && !question.SameRule(&asked) {
			moved = question.RuleChange(&asked)
			asked, insteadOf, err = c.askInstead(ctx, q, s, question, asked, moved)
		}
		if err == nil {
			err = rest.keep(ctx, c.Store, asked.ID)
		}
		if err != nil {
			return err
		}
		d.ApprovalID = asked.ID
		switch asked.Status {
		case consent.Granted:
			// Policies and the run are judged by as they are remembered. An approval is used up
			// only by those that hold now: for a run that has changed it admits nothing, and would
			// be said to be used.
			if err := runs.CheckUnchanged(ctx, c.Store, append(std.Preconditions(), store.Check{Key: s.Key, Version: s.Run.Version})...); err != nil {
				return err
			}
			err := c.Approvals.Consume(ctx, q.caller.Namespace, asked.ID, digest, q.req.CallID, insteadOf)
			if fault.ReasonOf(err) == fault.FailedPrecondition || fault.ReasonOf(err) == fault.ApprovalDecided {
				// Another call was faster, or nothing was left of it: this one asks anew.
				return &store.ConflictError{Key: s.Key, Want: s.Run.Version, Have: s.Run.Version}
			}
			if err != nil {
				return err
			}
			q.consumed[consumed] = asked.ID
		case consent.Pending:
			q.rests = nil // nothing is admitted
			d.waits(asked)
			if moved != "" {
				d.Message += " What an earlier approval of this call was decided on has moved: " + moved + "."
			}
			return nil
		default:
			q.rests = nil
			d.refused(asked)
			return nil
		}
	}
	d.ApprovalID, q.approved = q.consumed[consumed], true
	d.settle(combine(q, s, std, d.combined.State, std.Live))
	q.approved = false
	return nil
}

// inFlight is how long after a call has used its approval its decision may still be on its way.
const inFlight = 2 * time.Second

// request asks, or finds what was asked. An approval that another call has used is granted
// when that call was never admitted, for example because its service died just then.
// insteadOf is that call.
func (c *Service) request(ctx context.Context, q *question, s *runs.Snapshot, ask enforcer.Ask) (asked enforcer.Approval, insteadOf string, err error) {
	asked, err = c.Approvals.Request(ctx, q.caller.Namespace, ask)
	if err != nil || asked.Status != consent.Used {
		return asked, "", err
	}
	busy := &store.ConflictError{Key: s.Key, Want: s.Run.Version, Have: s.Run.Version}
	if strings.HasPrefix(asked.UsedBy, typeid.Lease+"_") { // which does not answer any more
		return c.settled(ctx, q, ask, asked.UsedBy, busy)
	}
	first, err := c.Calls.Decided(ctx, s.Root, asked.UsedBy)
	switch {
	case err != nil:
		return asked, "", err
	case first == nil && c.Clock().Before(asked.UsedAt.Add(inFlight)):
		return asked, "", busy
	case first == nil:
		// After this its decision cannot be committed any more.
		if err := c.Calls.GiveUp(ctx, s.Root, asked.UsedBy, q.bound()); err != nil {
			return asked, "", err
		}
		fallthrough
	case first.GivenUp():
		insteadOf, asked.Status = asked.UsedBy, consent.Granted
		return asked, insteadOf, nil
	}
	return c.settled(ctx, q, ask, asked.UsedBy, busy)
}

// settled asks anew after a use that did come to something.
func (c *Service) settled(ctx context.Context, q *question, ask enforcer.Ask, use string, busy error) (asked enforcer.Approval, insteadOf string, err error) {
	ask.SettledUse = use
	asked, err = c.Approvals.Request(ctx, q.caller.Namespace, ask)
	if err == nil && asked.Status == consent.Used { // yet another call was faster
		err = busy
	}
	return asked, "", err
}

// waits tells that humans have not decided yet.
func (d *Decision) waits(asked enforcer.Approval) {
	if !asked.Created {
		d.Verdict.Code = toolcall.CodeApprovalPending
	}
	// No command line: agents read this, and would try one (S13.4).
	d.Message += " The approval is " + asked.ID + "; a person with the role approver decides it, in the console, /ui/approvals."
}

// refused is the denial of what humans have refused, as long as the run is where it
// was asked.
func (d *Decision) refused(asked enforcer.Approval) {
	d.Verdict = toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodePolicyDenied, Tool: d.Tool}
	d.Message = fmt.Sprintf("Tool %s is denied: a human was asked about exactly this call. %s Do something else, or fire an event; you can request a different call.",
		document.Quote(d.Tool), asked.Outcome)
}

// actionOf is exactly what is asked for: this capability, with this input, of the
// run as it stands.
func actionOf(q *question, s *runs.Snapshot, d *Decision) (consent.Action, error) {
	text := func(name, value string) document.Member {
		return document.Member{Name: name, Value: document.StringValue(value)}
	}
	var input document.Value
	if len(q.req.Input) > 0 {
		v, problem := document.Parse(q.req.Input, document.Limits{Bytes: len(q.req.Input) + 1})
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
			text("capability", d.Capability), text("tool", d.Tool),
		}),
		Data: input,
	}, nil
}
