package mcp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

const (
	// reportFor is how long a report is tried again in the background.
	reportFor = 5 * time.Minute
	// maxLateReports bounds the reports in the background.
	maxLateReports = 1024
	// lastReport is how long Close waits for them.
	lastReport = 5 * time.Second
)

// reports sends results to the policy service. Reports are idempotent by call id
// (S3.9), so they are repeated until one arrives.
type reports struct {
	policy  policyv1.PolicyEnforcerServiceClient
	timeout time.Duration
	backoff time.Duration
	log     *slog.Logger

	slots  chan struct{}
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newReports(cfg Config) *reports {
	r := &reports{
		policy: cfg.Policy, timeout: cfg.ReportTimeout, backoff: cfg.backoff, log: cfg.Logger,
		slots: make(chan struct{}, maxLateReports),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// settle reports the result of a call that was admitted. The client may be gone:
// the report is not.
func (s *Server) settle(ctx context.Context, g *gated, result *sdk.CallToolResult) {
	if g.admitted == nil {
		return
	}
	report := &policyv1.ReportToolCallRequest{
		RunId: g.admitted.GetRunId(), CallId: g.callID, Tool: g.name, Ok: !result.IsError,
		ResultBytes: resultBytes(result), Output: resultOutput(result),
	}
	if report.GetRunId() == "" {
		report.RunId, report.SessionId = g.caller.RunID, sessionOf(g.caller)
	}
	if report.GetOk() {
		report.FilesChanged = filesChanged(g.target.tool.Name, g.input)
	}
	ctx = g.caller.outgoing(context.WithoutCancel(ctx))
	res, delivered := s.reports.deliver(ctx, report)
	if !delivered {
		s.noteState(g.caller, g.admitted)
		return
	}
	if run := res.GetRun(); run.GetRunId() != "" {
		s.sessions.moved(g.caller, run.GetRunId(), run.GetState(), false)
	}
}

// deliver sends a report now, or leaves it to the background.
func (r *reports) deliver(ctx context.Context, report *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, bool) {
	now, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	res, again := r.send(now, report)
	if !again {
		return res, res != nil
	}
	select {
	case r.slots <- struct{}{}:
	default:
		r.log.Error("mcp: a report is lost: too many wait already", "call_id", report.GetCallId(), "run_id", report.GetRunId())
		return nil, false
	}
	r.wg.Go(func() {
		defer func() { <-r.slots }()
		r.late(ctx, report)
	})
	return nil, false
}

// send tries once. again is whether another try may succeed.
func (r *reports) send(ctx context.Context, report *policyv1.ReportToolCallRequest) (res *policyv1.ReportToolCallResponse, again bool) {
	res, err := r.policy.ReportToolCall(ctx, report)
	if err == nil {
		return res, false
	}
	switch f := fault.From(err); f.Reason.Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.ResourceExhausted, codes.Internal:
		return nil, true
	default:
		r.log.Warn("mcp: a report was refused", "call_id", report.GetCallId(), "run_id", report.GetRunId(), "reason", string(f.Reason))
		return nil, false
	}
}

// late repeats a report until it arrives. When the server closes it has one more
// try.
func (r *reports) late(ctx context.Context, report *policyv1.ReportToolCallRequest) {
	ctx, cancel := context.WithTimeout(ctx, reportFor)
	defer cancel()
	wait := r.backoff
	for closing := false; !closing; wait = min(2*wait, 10*time.Second) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-r.ctx.Done():
			closing = true
		case <-ctx.Done():
			closing = true
		}
		timer.Stop()
		try, cancelTry := context.WithTimeout(context.WithoutCancel(ctx), min(r.timeout, lastReport))
		_, again := r.send(try, report)
		cancelTry()
		if !again {
			return
		}
	}
	r.log.Error("mcp: a report is lost: the policy service did not take it", "call_id", report.GetCallId(), "run_id", report.GetRunId())
}

func (r *reports) close() {
	r.cancel()
	r.wg.Wait()
}
