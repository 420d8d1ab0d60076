package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// mostAsked bounds how often one call is put as a new question.
const mostAsked = 4

// Decision is the answer to one tool call. It is an ALLOW only for exactly the call
// that was asked about: no other answer becomes one.
type Decision struct {
	Decision Verdict
	Tool     string
	// CallID is reported with the outcome, and so is RunID, or SessionID where policies have
	// decided without a run.
	CallID, RunID, SessionID string
	// Code is empty, CodeNotEnforced or CodeUngoverned, of an allowed call.
	Code Code
	// Message is one sentence for the agent; empty when the call is allowed.
	Message string
	// AllowedTools are those of the state, where it restricts them.
	AllowedTools    []string
	ToolsRestricted bool
	LegalEvents     []LegalEvent
	// ApprovalID is of the approval that humans are asked for, or that admitted the
	// call; empty for none.
	ApprovalID string
	// State and Branch are where the call was judged.
	State, Branch string
	// Iterations counts the allowed tool calls in this entry of the state, this one
	// included, of MaxIterations; 0 for no limit.
	Iterations, MaxIterations int64
	// DryRun marks a decision that does not allow the call: it only shows the answer.
	DryRun bool
	// Jail is that of a command that GuardCommand has asked about; nil for none.
	Jail *Jail
	// Explanation is why, with [Explain]; nil otherwise.
	Explanation *policyv1.Explanation
}

// Allowed reports whether the call may be made.
func (d Decision) Allowed() bool { return d.Decision == Allow && !d.DryRun }

// refusal returns nil for a call that may be made.
func (d Decision) refusal() error {
	switch {
	case d.DryRun:
		return &DeniedError{Code: CodeInvalidInput, Message: "the call was not made: a dry run allows no call; check the call without DryRun", CallID: d.CallID}
	case d.Decision == Allow:
		return nil
	case d.Decision == Ask:
		return &ApprovalRequiredError{Code: d.Code, Message: d.Message, ApprovalID: d.ApprovalID, CallID: d.CallID}
	default:
		return &DeniedError{
			Code: d.Code, Message: d.Message, CallID: d.CallID, LegalEvents: d.LegalEvents,
			AllowedTools: d.AllowedTools, ToolsRestricted: d.ToolsRestricted,
		}
	}
}

// Check returns the decision on a call that its caller makes, unlike [Client.Guard],
// which makes it too. An allowed call must be reported, with [Client.Report]. Without
// a decision the error is a [*DeniedError]: with the code CodePolicyUnavailable, or a
// [*ConfigurationError].
//
// A call whose check has ended without a decision, such as with ctx, is withdrawn in the
// background, unless its id is the caller's: then it can be checked again.
func (c *Client) Check(ctx context.Context, tool string, input any, opts ...CallOption) (Decision, error) {
	q, err := c.newCall(tool, input, opts)
	if err != nil {
		return Decision{}, err
	}
	return c.check(ctx, q, q.req.GetCallId() == "")
}

// newCall returns a call as it is checked.
func (c *Client) newCall(tool string, input any, opts []CallOption) (*call, error) {
	body, err := encode("input", input)
	if err != nil {
		return nil, &DeniedError{Code: CodeInvalidInput, Message: err.Error(), Err: err}
	}
	q := &call{}
	for _, opt := range opts {
		opt(q)
	}
	q.req.RunId, q.req.SessionId = c.driven()
	q.req.Tool, q.req.Input = tool, body
	return q, nil
}

// check asks for the decision on a call. With withdraw, a call of which the decision is not known
// is withdrawn.
func (c *Client) check(ctx context.Context, q *call, withdraw bool) (Decision, error) {
	fresh := q.req.GetCallId() == ""
	until := deadline(ctx)
	for asked := 1; ; asked++ {
		if fresh {
			q.req.CallId = newCallID()
		}
		d, last, err := c.ask(ctx, q)
		if err == nil {
			c.keepRefusal(q, d)
			return d, nil
		}
		if ctx.Err() == nil {
			if d, err = c.throughGlass(q, last, err); err == nil {
				return d, nil
			}
		}
		if withdraw && !q.req.GetDryRun() && mayBeAllowed(err) {
			c.withdraw(ctx, &policyv1.ReportToolCallRequest{
				RunId: q.req.GetRunId(), SessionId: q.req.GetSessionId(), CallId: q.req.GetCallId(), Tool: q.req.GetTool(),
			})
		}
		if denied := (*DeniedError)(nil); errors.As(err, &denied) {
			return Decision{}, err
		}
		// The run has moved on since a decision whose answer was lost, or faster than
		// it could be followed. The tool has not run, so it is a new question.
		again := fresh && (Reason(err) == fault.IdempotencyMismatch || Reason(err) == fault.VersionConflict)
		wait := delay(asked, 0)
		if !again || asked == mostAsked || time.Now().Add(wait).After(until) || pause(ctx, wait) != nil {
			return Decision{}, c.refused(q.req.GetCallId(), fault.From(err))
		}
	}
}

// ask returns the answer to a call. last is the error of the last attempt, as gRPC has it.
func (c *Client) ask(ctx context.Context, q *call) (d Decision, last, err error) {
	resp, err := retry(ctx, func(ctx context.Context, req *policyv1.CheckToolCallRequest, opts ...grpc.CallOption) (*policyv1.CheckToolCallResponse, error) {
		resp, err := c.policy.CheckToolCall(ctx, req, opts...)
		last = err
		return resp, err
	}, &q.req)
	if err != nil {
		return Decision{}, last, err
	}
	d, err = c.verdict(&q.req, resp)
	return d, nil, err
}

// mayBeAllowed reports whether the server may have allowed a call that has failed with
// err.
func mayBeAllowed(err error) bool {
	switch reason := Reason(err); reason {
	case "", fault.Internal, fault.IdempotencyMismatch: // "" is an answer that cannot be used
		return true
	default:
		return transient(reason)
	}
}

// refused returns the denial of a call without a decision: a mistake of the configuration
// where the caller may not ask, or has named no run that there is, and undecided otherwise.
func (c *Client) refused(id string, f *fault.Error) error {
	denied := undecided(id, f.Message, f)
	named := c.run != "" || c.session != ""
	if advice := howToFix(f, named); advice != "" {
		denied.Code, denied.Message = Code(f.Reason), denied.Message+"; "+advice
		return &ConfigurationError{*denied}
	}
	return denied
}

// howToFix describes how to mend a mistake of the configuration; empty for any other
// failure.
func howToFix(f *fault.Error, named bool) string {
	switch {
	case f.Reason == fault.Unauthenticated:
		return "give the client a token of this server, in Options.Token or INTERLOCK_TOKEN"
	case f.Reason == fault.PermissionDenied:
		return "give the client a token that permits it, or name the run or session that its token is for"
	case f.Reason == fault.NotFound && named:
		return "load a workflow or start a run for the session, or name another one, in Options.Session or INTERLOCK_SESSION, Options.Run or INTERLOCK_RUN"
	case (f.Reason == fault.InvalidRequest || f.Reason == fault.SessionRequired) && !named:
		return "name a session or a run, in Options.Session or INTERLOCK_SESSION, Options.Run or INTERLOCK_RUN"
	default:
		return ""
	}
}

// undecided returns the denial of a call without a decision, or without a caller.
func undecided(id, why string, err error) *DeniedError {
	return &DeniedError{Code: CodePolicyUnavailable, Message: "the call was not made: " + why, CallID: id, Err: err}
}

// verdict reads a decision.
func (c *Client) verdict(req *policyv1.CheckToolCallRequest, resp *policyv1.CheckToolCallResponse) (Decision, error) {
	id := req.GetCallId()
	d := Decision{
		Tool: req.GetTool(), CallID: id, RunID: resp.GetRunId(), SessionID: req.GetSessionId(), DryRun: req.GetDryRun(),
		Code: Code(word(resp.GetCode(), "DECISION_CODE_")), Message: resp.GetMessage(),
		AllowedTools: resp.GetAllowedTools(), ToolsRestricted: resp.GetToolsRestricted(), LegalEvents: legalEvents(resp.GetLegalEvents()),
		ApprovalID: resp.GetApprovalId(), State: resp.GetState(), Branch: resp.GetBranch(),
		Iterations: resp.GetIterations(), MaxIterations: resp.GetMaxIterations(), Explanation: resp.GetExplanation(),
		Jail: jailOf(resp.GetJail()),
	}
	if d.DryRun {
		d.CallID = ""
	}
	switch resp.GetDecision() {
	case policyv1.Decision_DECISION_ALLOW:
		// Without a run, policies have decided for the session; a run that was named is judged by.
		if resp.GetCallId() != d.CallID || d.RunID == "" && req.GetRunId() != "" {
			return Decision{}, undecided(id, "the response was for another call", nil)
		}
		if d.Jail != nil && req.GetJailLevel() == 0 {
			return Decision{}, undecided(id, "the server demands a jail for it, which only GuardCommand has", nil)
		}
		d.Decision = Allow
	case policyv1.Decision_DECISION_ASK:
		d.Decision = Ask
	case policyv1.Decision_DECISION_DENY:
		d.Decision = Deny
	default:
		return Decision{}, undecided(id, fmt.Sprintf("this version does not know the decision %v", resp.GetDecision()), nil)
	}
	return d, nil
}

// Abandon reports in the background that a call that was checked is not made. Close waits for it.
func (c *Client) Abandon(ctx context.Context, d Decision) {
	if d.Allowed() && d.Code != CodeUngoverned {
		c.withdraw(ctx, reportOf(d))
	}
}

// withdraw reports in the background that a call is not made. It is bounded, and Close waits for it.
func (c *Client) withdraw(ctx context.Context, req *policyv1.ReportToolCallRequest) {
	req.NotExecuted = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	c.background.Go(func() {
		defer cancel()
		if _, err := retry(ctx, c.policy.ReportToolCall, req); err != nil {
			c.log.LogAttrs(ctx, slog.LevelWarn, "a tool call that was not made could not be withdrawn",
				slog.String("tool", req.GetTool()), slog.String("call_id", req.GetCallId()), slog.Any("error", err))
		}
	})
}
