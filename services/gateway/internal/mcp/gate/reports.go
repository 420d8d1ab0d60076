package gate

import (
	"context"
	"log/slog"
	"sync"
	"time"

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

func newReports(policy policyv1.PolicyEnforcerServiceClient, timeout, backoff time.Duration, log *slog.Logger) *reports {
	r := &reports{policy: policy, timeout: timeout, backoff: backoff, log: log, slots: make(chan struct{}, maxLateReports)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// delivery is the status of a report.
type delivery uint8

const (
	delivered delivery = iota
	deferred           // it is tried again in the background
	refused            // the policy service refuses it, or it is given up
)

// deliver sends a report until it arrives, for as long as the agent may wait for it. After that it continues in
// the background. It calls noted with the answer, now or later.
func (r *reports) deliver(
	ctx context.Context, report *policyv1.ReportToolCallRequest, noted func(*policyv1.ReportToolCallResponse),
) (*policyv1.ReportToolCallResponse, delivery) {
	now, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for wait := r.backoff; ; wait *= 2 {
		res, way := r.send(now, report)
		if way == delivered {
			noted(res)
		}
		if way != deferred {
			return res, way
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			continue
		case <-now.Done():
		}
		timer.Stop()
		return nil, r.leave(ctx, report, noted)
	}
}

// leave leaves a report to the background.
func (r *reports) leave(
	ctx context.Context, report *policyv1.ReportToolCallRequest, noted func(*policyv1.ReportToolCallResponse),
) delivery {
	select {
	case r.slots <- struct{}{}:
	default:
		r.log.Error("mcp: a report is lost: too many reports are waiting", "call_id", report.GetCallId(), "run_id", report.GetRunId())
		return refused
	}
	r.wg.Go(func() {
		defer func() { <-r.slots }()
		if res, way := r.late(ctx, report); way == delivered {
			noted(res)
		}
	})
	return deferred
}

// send tries once. Deferred means that another try may deliver it.
func (r *reports) send(ctx context.Context, report *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, delivery) {
	res, err := r.policy.ReportToolCall(ctx, report)
	if err == nil {
		return res, delivered
	}
	switch f := fault.From(err); f.Reason.Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.ResourceExhausted, codes.Internal:
		return nil, deferred
	default:
		r.log.Warn("mcp: a report was refused", "call_id", report.GetCallId(), "run_id", report.GetRunId(), "reason", string(f.Reason))
		return nil, refused
	}
}

// late repeats a report until it arrives. When the server closes it has one more
// try.
func (r *reports) late(ctx context.Context, report *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, delivery) {
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
		res, way := r.send(try, report)
		cancelTry()
		if way != deferred {
			return res, way
		}
	}
	r.log.Error("mcp: a report is lost: the policy service did not accept it", "call_id", report.GetCallId(), "run_id", report.GetRunId())
	return nil, refused
}

func (r *reports) close() {
	r.cancel()
	r.wg.Wait()
}
