package hook

import (
	"context"
	"slices"
	"strings"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// afterCall reports a call's result, and informs the agent of the outcome. A call that never
// got an id cannot be distinguished from another, and Interlock's own tools are no calls
// (S3): neither is reported.
func (h *Handler) afterCall(ctx context.Context, ev *event, opts Options, ok bool) (outcome, error) {
	if ev.ToolUseID == "" || toolcall.Own(ev.Tool) {
		return outcome{}, nil
	}
	if _, err := ev.unwrap(opts); err != nil {
		return outcome{}, err
	}
	at, err := h.binding(ctx, ev, "")
	if err != nil || at == nil {
		return outcome{}, err
	}
	report := &policyv1.ReportToolCallRequest{
		RunId: at.target, CallId: ev.ToolUseID, Tool: ev.Tool, Ok: ok, ResultBytes: ev.resultBytes(), KnownRunVersion: at.run.GetVersion(),
	}
	if ok {
		report.FilesChanged = ev.filesChanged(at.run.GetWorkspace(), opts.Local)
	}
	// A status that Claude Code takes for an answer, such as diff's 1, is not that of a success.
	report.Ok = ok && ev.ran().Interpretation == ""
	report.OutcomeUnknown = ev.outcomeUnknown(opts.Agent)
	report.Background, report.BackgroundEnded = ev.background()
	meta := at.run.GetWorkflowMeta()
	if meta.GetCaptureOutput() || slices.Contains(meta.GetOutputTools(), ev.Tool) {
		report.Output = ev.output()
	}
	reported, err := h.Policy.ReportToolCall(ctx, report)
	if err != nil {
		return outcome{}, err
	}
	told := []string{reported.GetInterrupt().GetNotice(), reported.GetWarning()}
	told = slices.DeleteFunc(told, func(text string) bool { return text == "" })
	if len(told) == 0 {
		return outcome{}, nil
	}
	return outcome{context: strings.Join(told, "\n")}, nil
}

// withdraw reports an allowed call that the hook blocks as not made, so that it is not open.
func (h *Handler) withdraw(ctx context.Context, at *binding, ev *event, id string) error {
	_, err := h.Policy.ReportToolCall(ctx, &policyv1.ReportToolCallRequest{RunId: at.target, CallId: id, Tool: ev.Tool, NotExecuted: true})
	return err
}

// reportSkill reports a command in the text of a skill as soon as it is allowed. The client does not report
// its end, so its outcome is unknown (S14.5).
func (h *Handler) reportSkill(ctx context.Context, at *binding, ev *event, id string) error {
	_, err := h.Policy.ReportToolCall(ctx, &policyv1.ReportToolCallRequest{
		RunId: at.target, CallId: id, Tool: ev.Tool, OutcomeUnknown: true,
	})
	return err
}
