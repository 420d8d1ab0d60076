package gate

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Reported is a call whose outcome was reported: the last stage.
type Reported struct {
	text      *relay.Result
	interrupt *policyv1.Interrupted
	warning   string
	delivery  delivery
}

// report reports the outcome of a call that was allowed. The client may be gone: the report
// is made all the same.
func (g *Gate) report(ctx context.Context, sent Sent) Reported {
	if sent.decision == nil {
		return Reported{text: sent.text} // no rules judged it
	}
	noted := func(res *policyv1.ReportToolCallResponse) { g.noteReport(sent.Allowed, res) }
	res, way := g.reports.deliver(sent.caller.Outgoing(context.WithoutCancel(ctx)), sent.message(), noted)
	return Reported{text: sent.text, interrupt: res.GetInterrupt(), warning: res.GetWarning(), delivery: way}
}

// message returns the report of a call.
func (s Sent) message() *policyv1.ReportToolCallRequest {
	m := &policyv1.ReportToolCallRequest{
		RunId: s.at.Target, CallId: s.id, Tool: s.reportAs, Ok: s.done, ResultBytes: s.text.Size(), CostUsd: s.cost,
		OutcomeUnknown: !s.answered && !s.unmade, NotExecuted: s.unmade, KnownRunVersion: s.decision.GetRunVersion(),
	}
	if s.decision.GetRunId() == "" { // policies alone have allowed it
		m.RunId, m.SessionId = "", s.unboundSession()
	}
	if s.at.Target == s.decision.GetRunId() { // a branch of a run that it has invoked is none of the named run
		m.Branch = s.decision.GetBranch()
	}
	if s.done && s.caller.Alone {
		m.FilesChanged = changedFiles(s.caller.Workspace, s.name, s.input)
	}
	switch {
	case s.evident() && ambiguous(s.text):
		// The agent may read another result than evidence would.
	case s.evident() && structured(s.text) != nil:
		m.Output = structuredOutput(s.text)
	case s.captured() || s.evident():
		m.Output = s.text.Output(reply.MaxOutput)
	}
	return m
}

// changedFiles returns the real names of the files that a call has changed, where they are
// other than those in its input, which the enforcer has read. They can be had where the
// workspace is on this machine, as that of `interlock mcp` is.
func changedFiles(workspace, tool string, input json.RawMessage) []string {
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

// captured reports whether history may keep the result. If the decision is on another run than the one that was
// looked up, that is not known here, and the enforcer leaves out the result.
func (a Allowed) captured() bool {
	return a.at.Run.GetRunId() != a.decision.GetRunId() || a.at.Run.GetWorkflowMeta().GetCaptureOutput()
}

// evident reports whether evidence may read the result. If the decision is on another run than the one that was
// looked up, it may.
func (a Allowed) evident() bool {
	tools := a.at.Run.GetWorkflowMeta().GetOutputTools()
	return slices.Contains(tools, a.name) || slices.Contains(tools, a.target.Qualified) || a.at.Run.GetRunId() != a.decision.GetRunId()
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
func (g *Gate) noteReport(allowed Allowed, res *policyv1.ReportToolCallResponse) {
	run := res.GetRun()
	switch {
	case res.GetInterrupt() != nil:
		g.cfg.Clients.NotifyMoved(allowed.caller, allowed.at.Target, allowed.decision.GetRunId(), run.GetRunId())
	case run.GetRunId() != "" && run.GetRunId() == allowed.decision.GetRunId() && run.GetBranch() == allowed.decision.GetBranch():
		g.cfg.Clients.NotifyRun(allowed.caller, clients.ListingOf(run))
	}
}

const (
	lateReport = "[INTERLOCK] This result could not be reported in time; Interlock keeps trying. " +
		"An interrupt that the call fires takes effect then: read the state before you continue."
	lostReport = "[INTERLOCK] This result could not be reported, so it is not counted and fires no interrupt: read the state before you continue."
)

// result returns the result for the client, with the notices for its agent: an interrupt that
// the call has fired (S4.3), a warning (S3.7), or that its report is late. It must be called
// once.
func (r Reported) result() *relay.Result {
	if in := r.interrupt; in != nil {
		r.add(in.GetNotice(), reply.InterruptMeta, reply.Structure(jsonview.InterruptedOf(in)))
	}
	if r.warning != "" {
		r.add("[INTERLOCK] "+r.warning, reply.WarningMeta, reply.Structure(r.warning))
	}
	switch r.delivery {
	case delivered:
	case deferred:
		r.add(lateReport, reply.UnreportedMeta, reply.Structure(true))
	case refused:
		r.add(lostReport, reply.UnreportedMeta, reply.Structure(true))
	}
	return r.text
}

// add adds a notice to the result.
func (r Reported) add(text, key string, details jsontext.Value) {
	r.text.AddContent(reply.TextElement(text))
	r.text.SetMeta(key, json.RawMessage(details))
}
