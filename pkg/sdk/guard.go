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
	call, err := c.ask(ctx, tool, input)
	if err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil { // nobody waits any more, so the tool is not run
		err := contextEnded(ctx, nil)
		if _, lost := c.report(ctx, call, Result{}, false); lost != nil {
			err = errors.Join(err, lost)
		}
		return Result{}, undecided(call.id, "its caller has gone away", err)
	}
	return c.perform(ctx, call, do)
}

// allowedCall is a tool call that may be made.
type allowedCall struct{ tool, id, run string }

// perform makes a call and reports it.
func (c *Client) perform(ctx context.Context, call allowedCall, do func(context.Context) (Result, error)) (Result, error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		// do has panicked, or ended its goroutine. That continues.
		if _, lost := c.report(ctx, call, Result{}, false); lost != nil {
			c.log.LogAttrs(ctx, slog.LevelWarn, "the failure of a tool call was not reported",
				slog.String("tool", call.tool), slog.Any("error", lost))
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

// ask gets the decision on a call. Anything but an ALLOW of exactly this call is
// an error.
func (c *Client) ask(ctx context.Context, tool string, input any) (allowedCall, error) {
	body, err := encode("input", input)
	if err != nil {
		return allowedCall{}, &DeniedError{Code: "INVALID_INPUT", Message: err.Error(), Err: err}
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
			return allowedCall{}, undecided(id, fault.From(err).Message, err)
		}
	}
}

// undecided is the denial of a call that there is no decision on, or nobody to make.
func undecided(id, why string, err error) *DeniedError {
	return &DeniedError{Code: CodeUndecided, Message: "the call was not made: " + why, CallID: id, Err: err}
}

// verdict reads a decision.
func verdict(tool, id string, resp *policyv1.CheckToolCallResponse) (allowedCall, error) {
	code := word(resp.GetCode(), "DECISION_CODE_")
	switch resp.GetDecision() {
	case policyv1.Decision_DECISION_ALLOW:
		if resp.GetCallId() != id || resp.GetRunId() == "" {
			return allowedCall{}, undecided(id, "the response was for another call", nil)
		}
		return allowedCall{tool: tool, id: id, run: resp.GetRunId()}, nil
	case policyv1.Decision_DECISION_ASK:
		return allowedCall{}, &ApprovalRequiredError{
			Code: code, Message: resp.GetMessage(), ApprovalID: resp.GetApprovalId(), CallID: id,
		}
	case policyv1.Decision_DECISION_DENY:
		return allowedCall{}, &DeniedError{
			Code: code, Message: resp.GetMessage(), CallID: id, LegalEvents: legalEvents(resp.GetLegalEvents()),
			AllowedTools: resp.GetAllowedTools(), ToolsRestricted: resp.GetToolsRestricted(),
		}
	default:
		return allowedCall{}, undecided(id, fmt.Sprintf("this version does not know the decision %v", resp.GetDecision()), nil)
	}
}

// report says the outcome of a call, and returns what the agent should be told. It
// names the run that was decided on: the session may drive another one by now.
func (c *Client) report(ctx context.Context, call allowedCall, r Result, ok bool) (notice string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	defer cancel()
	if r.Bytes == 0 {
		r.Bytes = int64(len(r.Output))
	}
	resp, err := retry(ctx, c.policy.ReportToolCall, &policyv1.ReportToolCallRequest{
		RunId: call.run, CallId: call.id, Tool: call.tool, Ok: ok, FilesChanged: r.FilesChanged,
		ResultBytes: r.Bytes, CostUsd: r.CostUSD, Output: r.Output[:min(len(r.Output), mostOutput)],
	})
	if err != nil {
		return "", &ReportError{CallID: call.id, Err: err}
	}
	notice = resp.GetInterrupt().GetNotice()
	if warning := resp.GetWarning(); notice != "" && warning != "" {
		notice += "\n" + warning
	} else if notice == "" {
		notice = warning
	}
	return notice, nil
}
