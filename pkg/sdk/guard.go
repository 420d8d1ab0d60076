package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/typeid"
)

const (
	// reportTime bounds a report, whatever became of the caller.
	reportTime = 15 * time.Second
	// mostOutput is what history keeps of an output (S6.4), and one byte that shows
	// that there was more.
	mostOutput = 64<<10 + 1
	// mostAsked bounds how often one call is put as a new question.
	mostAsked = 4
)

// Result is the outcome of a tool call.
type Result struct {
	// Output is what the tool answered. Its first 64 KiB are kept in the run's
	// history, where the workflow says so (S6.4).
	Output []byte
	// Bytes is what it costs of the context budget (S3.7); the length of Output
	// when 0.
	Bytes int64
	// FilesChanged, next to those that the input names, can fire interrupts (S4.1).
	FilesChanged []string
	// CostUSD is decimal US dollars, e.g. "0.02"; empty for none.
	CostUSD string

	// Notice is for the agent to read with the output: an interrupt that the call
	// has fired (S4.3), a budget that is nearly spent. Guard sets it.
	Notice string
}

// Guard puts a tool call before the gate, runs it with do when it is allowed, and
// reports the outcome. The input is the tool's arguments, a JSON object or what
// encodes to one; nil is none.
//
// When do has not run the error is a [*DeniedError] or an [*ApprovalRequiredError].
// Otherwise it is do's own. A report that failed is a [*ReportError], returned with
// the result and joined with do's error: the tool has run, so do not run it again.
//
// A call is reported as failed when do returns an error or panics; a panic continues
// afterwards. It is reported even when ctx has ended.
func (c *Client) Guard(ctx context.Context, tool string, input any, do func(context.Context) (Result, error)) (Result, error) {
	call, err := c.Check(ctx, tool, input)
	if err == nil {
		err = call.refusal()
	}
	if err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil { // nobody waits any more, so the tool is not run
		err := contextEnded(ctx, nil)
		if _, lost := c.report(ctx, call, Result{}, false); lost != nil {
			err = errors.Join(err, lost)
		}
		return Result{}, undecided(call.CallID, "its caller has gone away", err)
	}
	return c.perform(ctx, call, do)
}

// perform makes a call and reports it.
func (c *Client) perform(ctx context.Context, call Decision, do func(context.Context) (Result, error)) (Result, error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		// do has panicked, or ended its goroutine. That continues.
		if _, lost := c.report(ctx, call, Result{}, false); lost != nil {
			c.log.LogAttrs(ctx, slog.LevelWarn, "the failure of a tool call was not reported",
				slog.String("tool", call.Tool), slog.Any("error", lost))
		}
	}()
	result, err := do(ctx)
	returned = true
	notice, lost := c.report(ctx, call, result, err == nil)
	result.Notice = notice
	switch {
	case lost == nil:
		return result, err
	case err == nil:
		return result, lost
	default:
		return result, errors.Join(err, lost)
	}
}

// Decision is the answer to one tool call. It is an ALLOW only for exactly the call
// that was asked about: no other answer becomes one.
type Decision struct {
	// Decision is "ALLOW", "ASK" or "DENY".
	Decision string
	Tool     string
	// CallID and RunID are what the outcome is reported with.
	CallID, RunID string
	// Code is UPPER_SNAKE, such as "TOOL_NOT_ALLOWED"; of an allowed call it is empty, or "NOT_ENFORCED".
	Code string
	// Message is one sentence for the agent; empty when the call is allowed.
	Message string
	// AllowedTools are those of the state, where it restricts them.
	AllowedTools    []string
	ToolsRestricted bool
	LegalEvents     []LegalEvent
	// ApprovalID is of the approval that humans are asked for, or that admitted the
	// call; empty for none.
	ApprovalID string
	// State and Branch are what the call was judged in.
	State, Branch string
	// Iterations counts the allowed tool calls in this entry of the state, this one
	// included, of MaxIterations; 0 for no limit.
	Iterations, MaxIterations int64
}

// Allowed is true when the call may be made.
func (d Decision) Allowed() bool { return d.Decision == "ALLOW" }

// refusal is nil for a call that may be made.
func (d Decision) refusal() error {
	switch d.Decision {
	case "ALLOW":
		return nil
	case "ASK":
		return &ApprovalRequiredError{Code: d.Code, Message: d.Message, ApprovalID: d.ApprovalID, CallID: d.CallID}
	default:
		return &DeniedError{
			Code: d.Code, Message: d.Message, CallID: d.CallID, LegalEvents: d.LegalEvents,
			AllowedTools: d.AllowedTools, ToolsRestricted: d.ToolsRestricted,
		}
	}
}

// Check gets the decision on a call that its caller makes, unlike [Client.Guard],
// which makes it too. What was allowed must be reported, with [Client.Report]. Without
// a decision the error is a [*DeniedError] with the code [CodeUndecided], or with UNAUTHENTICATED or
// PERMISSION_DENIED where the client's token does not permit to ask.
func (c *Client) Check(ctx context.Context, tool string, input any) (Decision, error) {
	body, err := encode("input", input)
	if err != nil {
		return Decision{}, &DeniedError{Code: "INVALID_INPUT", Message: err.Error(), Err: err}
	}
	run, session := c.driven()
	until := deadline(ctx)
	for asked := 1; ; asked++ {
		id := typeid.New(typeid.Call)
		resp, err := retry(ctx, c.policy.CheckToolCall, &policyv1.CheckToolCallRequest{
			RunId: run, SessionId: session, Tool: tool, Input: body, CallId: id,
		})
		if err == nil {
			return verdict(tool, id, resp)
		}
		// The run has moved on since a decision whose answer was lost, or faster than
		// it could be followed. The tool has not run, so it is a new question.
		again := Reason(err) == fault.IdempotencyMismatch || Reason(err) == fault.VersionConflict
		wait := delay(asked, 0)
		if !again || asked == mostAsked || time.Now().Add(wait).After(until) || pause(ctx, wait) != nil {
			return Decision{}, refused(id, fault.From(err))
		}
	}
}

// refused is the denial of a call that no decision was had on: by the code of the fault where the
// caller may not ask, which trying again does not change, and as undecided otherwise.
func refused(id string, f *fault.Error) *DeniedError {
	denied := undecided(id, f.Message, f)
	if f.Reason == fault.Unauthenticated || f.Reason == fault.PermissionDenied {
		denied.Code = string(f.Reason)
	}
	return denied
}

// undecided is the denial of a call that there is no decision on, or nobody to make.
func undecided(id, why string, err error) *DeniedError {
	return &DeniedError{Code: CodeUndecided, Message: "the call was not made: " + why, CallID: id, Err: err}
}

// verdict reads a decision.
func verdict(tool, id string, resp *policyv1.CheckToolCallResponse) (Decision, error) {
	d := Decision{
		Tool: tool, CallID: id, RunID: resp.GetRunId(), Code: word(resp.GetCode(), "DECISION_CODE_"), Message: resp.GetMessage(),
		AllowedTools: resp.GetAllowedTools(), ToolsRestricted: resp.GetToolsRestricted(), LegalEvents: legalEvents(resp.GetLegalEvents()),
		ApprovalID: resp.GetApprovalId(), State: resp.GetState(), Branch: resp.GetBranch(),
		Iterations: resp.GetIterations(), MaxIterations: resp.GetMaxIterations(),
	}
	switch resp.GetDecision() {
	case policyv1.Decision_DECISION_ALLOW:
		if resp.GetCallId() != id || resp.GetRunId() == "" {
			return Decision{}, undecided(id, "the response was for another call", nil)
		}
		d.Decision = "ALLOW"
	case policyv1.Decision_DECISION_ASK:
		d.Decision = "ASK"
	case policyv1.Decision_DECISION_DENY:
		d.Decision = "DENY"
	default:
		return Decision{}, undecided(id, fmt.Sprintf("this version does not know the decision %v", resp.GetDecision()), nil)
	}
	return d, nil
}

// Report says the outcome of a call that [Client.Check] has allowed, and returns what
// the agent should be told with it; often nothing. It is said also when ctx has ended.
// The error is a [*ReportError].
func (c *Client) Report(ctx context.Context, call Decision, r Result, ok bool) (notice string, err error) {
	return c.report(ctx, call, r, ok)
}

// report says the outcome of a call, and returns what the agent should be told. It
// names the run that was decided on: the session may drive another one by now.
func (c *Client) report(ctx context.Context, call Decision, r Result, ok bool) (notice string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	defer cancel()
	if r.Bytes == 0 {
		r.Bytes = int64(len(r.Output))
	}
	resp, err := retry(ctx, c.policy.ReportToolCall, &policyv1.ReportToolCallRequest{
		RunId: call.RunID, CallId: call.CallID, Tool: call.Tool, Ok: ok, FilesChanged: r.FilesChanged,
		ResultBytes: r.Bytes, CostUsd: r.CostUSD, Output: r.Output[:min(len(r.Output), mostOutput)],
	})
	if err != nil {
		return "", &ReportError{CallID: call.CallID, Err: err}
	}
	notice = resp.GetInterrupt().GetNotice()
	if warning := resp.GetWarning(); notice != "" && warning != "" {
		notice += "\n" + warning
	} else if notice == "" {
		notice = warning
	}
	return notice, nil
}
