package sdk

import (
	"context"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

const (
	// reportTime bounds a report, also after the caller has gone.
	reportTime = 15 * time.Second
	// mostOutput is the size of an output in the history (S6.4), and one byte that shows
	// that there was more.
	mostOutput = 64<<10 + 1
)

// Report is the server's answer to the outcome of a call.
type Report struct {
	// Accounted is false when no such call was allowed.
	Accounted bool
	// Interrupt is the one that the call has fired; nil for none (S4).
	Interrupt *Interrupt
	// Warning is for the agent, such as that its context budget is nearly spent; often empty.
	Warning string
	// Evidence names the evidence that the call has given (S14).
	Evidence []string
	// Run is the run as it is now; nil for a call that policies have allowed without one.
	Run *Run
	// Notice is for the agent to read with the output: the interrupt and the warning.
	Notice string
}

// Interrupt is an interrupt that a call has fired.
type Interrupt struct {
	Name string
	// From is the state that was left, To that of the handler.
	From, To string
	Notice   string
}

// Report reports the outcome of a call that [Client.Check] has allowed. The agent must read the
// notice of the answer. The outcome is reported also when ctx has ended. The error is a
// [*ReportError].
func (c *Client) Report(ctx context.Context, d Decision, r Result, ok bool) (Report, error) {
	if !d.Allowed() {
		return Report{}, &ReportError{CallID: d.CallID, Err: fault.New(fault.InvalidRequest, "the call was not allowed: only a call that was is reported")}
	}
	if d.Code == CodeUngoverned { // its spool is handed in
		return Report{}, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	defer cancel()
	if r.Bytes == 0 {
		r.Bytes = int64(len(r.Output))
	}
	req := reportOf(d)
	req.Ok, req.FilesChanged, req.ResultBytes, req.CostUsd = ok, r.FilesChanged, r.Bytes, r.CostUSD
	req.Output = r.Output[:min(len(r.Output), mostOutput)]
	req.OutcomeUnknown, req.Background, req.BackgroundEnded = r.OutcomeUnknown, r.Background, r.BackgroundEnded
	resp, err := retry(ctx, c.policy.ReportToolCall, req)
	if err != nil {
		return Report{}, &ReportError{CallID: d.CallID, Err: err}
	}
	return reportFrom(resp), nil
}

// reportOf returns the report of a call. It names the run that was decided on, since the
// session may drive another one by now, or the session where policies have decided without a
// run.
func reportOf(d Decision) *policyv1.ReportToolCallRequest {
	req := &policyv1.ReportToolCallRequest{RunId: d.RunID, CallId: d.CallID, Tool: d.Tool}
	if d.RunID == "" {
		req.SessionId = d.SessionID
	}
	return req
}

func reportFrom(resp *policyv1.ReportToolCallResponse) Report {
	r := Report{Accounted: resp.GetAccounted(), Warning: resp.GetWarning(), Evidence: resp.GetEvidence(), Notice: resp.GetWarning()}
	if run := resp.GetRun(); run != nil {
		r.Run = runOf(run)
	}
	if i := resp.GetInterrupt(); i != nil {
		r.Interrupt = &Interrupt{Name: i.GetName(), From: i.GetFrom(), To: i.GetTo(), Notice: i.GetNotice()}
		r.Notice = i.GetNotice()
		if r.Warning != "" && r.Notice != "" {
			r.Notice += "\n"
		}
		r.Notice += r.Warning
	}
	return r
}
