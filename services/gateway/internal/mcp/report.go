package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/codes"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/internal/jsonview"
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
		policy: cmp.Or[policyv1.PolicyEnforcerServiceClient](cfg.Reports, cfg.Policy), timeout: cfg.ReportTimeout, backoff: cfg.backoff, log: cfg.Logger,
		slots: make(chan struct{}, maxLateReports),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// settled is the part of a call's report that its agent must know.
type settled struct {
	interrupt *policyv1.Interrupted
	warning   string
	// late is true when the report could not be delivered yet, lost when it never
	// will be.
	late, lost bool
}

// settle reports the result of a call that was admitted. The client may be gone:
// the report is not.
func (s *Server) settle(ctx context.Context, g *gated, result *relay.Result) settled {
	if g.admitted.GetRunId() == "" {
		return settled{} // it was not judged by a run's rules, and reports are a run's
	}
	report := &policyv1.ReportToolCallRequest{
		RunId: g.at.Asked, CallId: g.callID, Tool: cmp.Or(g.judged, g.name), Ok: g.done, ResultBytes: result.Size(), CostUsd: g.cost,
		OutcomeUnknown: !g.answered,
	}
	if g.at.Asked == g.admitted.GetRunId() {
		report.Branch = g.admitted.GetBranch()
	}
	if g.done && g.caller.Alone {
		report.FilesChanged = realNames(g.caller.Workspace, g.name, g.input)
	}
	switch {
	case g.evident() && ambiguous(result):
		// The agent may read another result than evidence would.
	case g.evident() && structured(result) != nil:
		report.Output = structuredOutput(result)
	case g.captured() || g.evident():
		report.Output = result.Output(reply.MaxOutput)
	}
	noted := func(res *policyv1.ReportToolCallResponse) { s.noteReport(g, res) }
	res, way := s.reports.deliver(g.caller.Outgoing(context.WithoutCancel(ctx)), report, noted)
	return settled{interrupt: res.GetInterrupt(), warning: res.GetWarning(), late: way == deferred, lost: way == refused}
}

// captured reports whether history keeps the result, as far as is known: the workflow of
// a run never changes. Otherwise the enforcer sorts it out.
func (g *gated) captured() bool {
	return g.at.Run.GetRunId() != g.admitted.GetRunId() || g.at.Run.GetWorkflowMeta().GetCaptureOutput()
}

// evident reports whether evidence of the run may read the result.
func (g *gated) evident() bool {
	tools := g.at.Run.GetWorkflowMeta().GetOutputTools()
	return slices.Contains(tools, g.name) || slices.Contains(tools, g.target.Qualified) || g.at.Run.GetRunId() != g.admitted.GetRunId()
}

// ambiguous reports whether readers of a result may understand it differently.
func ambiguous(result *relay.Result) bool {
	return result.Repeats("content") || result.Repeats("structuredContent") || result.Repeats("isError")
}

// structured returns the structured content of a result; nil for none.
func structured(result *relay.Result) json.RawMessage {
	if content := result.Get("structuredContent"); string(content) != "null" {
		return content
	}
	return nil
}

// structuredOutput returns the structured content of a result, as the servers' form has
// it.
func structuredOutput(result *relay.Result) []byte {
	out := relay.Object([]relay.Member{{Name: "structuredContent", Value: structured(result)}})
	if len(out) > reply.MaxOutput {
		return result.Output(reply.MaxOutput)
	}
	return out
}

// noteReport notifies older clients when a report shows that the run has moved.
func (s *Server) noteReport(g *gated, res *policyv1.ReportToolCallResponse) {
	run := res.GetRun()
	switch {
	case res.GetInterrupt() != nil:
		s.sessions.Moved(g.caller, g.at.Asked, g.admitted.GetRunId(), run.GetRunId())
	case run.GetRunId() != "" && run.GetRunId() == g.admitted.GetRunId() && run.GetBranch() == g.admitted.GetBranch():
		s.sessions.Saw(g.caller, clients.ListingOf(run))
	}
}

// delivery is the present fate of a report.
type delivery uint8

const (
	delivered delivery = iota
	deferred           // it is tried again in the background
	refused            // it will never be taken
)

// deliver sends a report, for as long as the agent may wait for it, and leaves it
// to the background then. noted gets the answer, whenever it comes.
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

// realNames returns the real names of the files that a call has changed, where they are
// other than those in its input, which the enforcer has read. They can be had where the
// workspace is on this machine, as that of `interlock mcp` is.
func realNames(workspace, tool string, input json.RawMessage) []string {
	if workspace == "" {
		return nil
	}
	root := pathglob.RootOf(workspace)
	var found []string
	for _, name := range toolcall.NamedFiles(root, toolcall.Call{Tool: tool, Input: input}) {
		file := name
		if !root.Outside(name) {
			file = workspace + "/" + name
		}
		if real := realpath.Within(workspace, realpath.Of(file)); real != name {
			found = append(found, real)
		}
	}
	return found
}

const (
	lateReport = "[INTERLOCK] This result could not be reported in time; Interlock keeps trying. " +
		"An interrupt that the call fires takes effect then: read the state before you continue."
	lostReport = "[INTERLOCK] This result could not be reported, so it is not counted and fires no interrupt: read the state before you continue."
)

// addTo adds to a call's result the notices for its agent: an interrupt that it has fired
// (S4.3), a warning (S3.7), or that its report is late.
func (n settled) addTo(result *relay.Result) {
	if in := n.interrupt; in != nil {
		n.add(result, in.GetNotice(), reply.InterruptMeta, reply.Structure(jsonview.InterruptedOf(in)))
	}
	if n.warning != "" {
		n.add(result, "[INTERLOCK] "+n.warning, reply.WarningMeta, reply.Structure(n.warning))
	}
	switch {
	case n.late:
		n.add(result, lateReport, reply.UnreportedMeta, reply.Structure(true))
	case n.lost:
		n.add(result, lostReport, reply.UnreportedMeta, reply.Structure(true))
	}
}

func (settled) add(result *relay.Result, text, key string, details jsontext.Value) {
	result.AddContent(reply.TextElement(text))
	result.SetMeta(key, json.RawMessage(details))
}
