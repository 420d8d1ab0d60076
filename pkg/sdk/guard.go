package sdk

import (
	"context"
	"errors"
	"log/slog"
)

// Result is the outcome of a tool call.
type Result struct {
	// Output is the answer of the tool. Its first 64 KiB are kept in the run's history,
	// where the workflow says so (S6.4).
	Output []byte
	// Bytes is its cost against the context budget (S3.7); the length of Output when 0.
	Bytes int64
	// FilesChanged, next to those that the input names, can fire interrupts (S4.1).
	FilesChanged []string
	// CostUSD is decimal US dollars, e.g. "0.02"; empty for none.
	CostUSD string
	// OutcomeUnknown: it is not known whether the call has succeeded. It is no evidence then (S14.5).
	OutcomeUnknown bool
	// Background is the client's name of the program that the call has left running, and
	// BackgroundEnded that of one whose end the result shows; empty for none (S14.6).
	Background, BackgroundEnded string

	// Notice is that of the report, and Report the rest of it. Guard sets both.
	Notice string
	Report Report
}

// Guard puts a tool call before the gate, runs it with do when it is allowed, and reports
// the outcome. The input is the tool's arguments, a JSON object or a value that encodes
// to one; nil is none. [GuardSeq] does the same for a tool that yields items.
//
// When do has not run the error is a [*DeniedError] or an [*ApprovalRequiredError].
// Otherwise it is do's own. A report that failed is a [*ReportError], returned with
// the result and joined with do's error: the tool has run, so do not run it again.
//
// A call is reported as failed when do returns an error or panics; a panic continues
// afterwards. It is reported even when ctx has ended, and then its outcome is unknown if
// do has failed. A call whose caller goes away during the check is withdrawn in the
// background.
func (c *Client) Guard(ctx context.Context, tool string, input any, do func(context.Context) (Result, error), opts ...CallOption) (Result, error) {
	q, d, err := c.admit(ctx, tool, input, opts)
	if err != nil {
		return Result{}, err
	}
	p := performed{client: c, call: q, decision: d}
	defer p.panicked(ctx)
	result, err := do(ctx)
	return p.end(ctx, result, err)
}

// admit returns a call that may be made now, by a caller that still waits for it.
func (c *Client) admit(ctx context.Context, tool string, input any, opts []CallOption) (*call, Decision, error) {
	q, err := c.newCall(tool, input, opts)
	if err != nil {
		return nil, Decision{}, err
	}
	d, err := c.check(ctx, q, true)
	if err == nil {
		err = d.refusal()
	}
	if err == nil && ctx.Err() != nil { // the caller has gone, so the tool is not run
		c.withdraw(ctx, reportOf(d))
		err = undecided(d.CallID, "its caller has gone away", contextEnded(ctx, nil))
	}
	return q, d, err
}

// performed is a call that was allowed and is made.
type performed struct {
	client   *Client
	call     *call
	decision Decision
	ended    bool
}

// end reports how the call has ended.
func (p *performed) end(ctx context.Context, result Result, err error) (Result, error) {
	p.ended = true
	if err != nil && ctx.Err() != nil {
		result.OutcomeUnknown = true
	}
	report, lost := p.client.Report(ctx, p.decision, result, err == nil)
	result.Report, result.Notice = report, report.Notice
	if lost == nil && p.call.onReport != nil {
		p.call.onReport(report)
	}
	switch {
	case lost == nil:
		return result, err
	case err == nil:
		return result, lost
	default:
		return result, errors.Join(err, lost)
	}
}

// panicked reports a call that has not ended: it has panicked, or ended its goroutine. That
// continues.
func (p *performed) panicked(ctx context.Context) {
	if p.ended {
		return
	}
	if _, lost := p.client.Report(ctx, p.decision, Result{}, false); lost != nil {
		p.client.log.LogAttrs(ctx, slog.LevelWarn, "the failure of a tool call was not reported",
			slog.String("tool", p.decision.Tool), slog.Any("error", lost))
	}
}
