// Package hook translates between the hooks of coding agents and Interlock's contracts.
// It holds no rules, and it fails closed: an undecidable event blocks.
package hook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/status"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/subagent"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// Exit codes of a hook command: 2 blocks the act that the agent was about to do and shows
// it standard error.
const (
	exitDone  = 0
	exitBlock = 2
)

// autostartKey makes concurrent hooks of one session start one run.
const autostartKey = "hook-autostart"

// Answer is the effect of the hook command: print and exit.
type Answer struct {
	Exit   int    `json:"exit"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// Handler responds to hook events through the services.
type Handler struct {
	Runs   enginev1.RunServiceClient
	Policy policyv1.PolicyEnforcerServiceClient
	// Sessions is the state-store; without it no session shares a state.
	Sessions statev1.SessionServiceClient
	// Processes asks the questions of processes; without it there are none.
	Processes enginev1.ProcessServiceClient
	// Approvals is waited on for decisions of people; without it there is no wait.
	Approvals approvalv1.ApprovalServiceClient
	// PublicURL is where people reach the gateway; empty for no links to approvals.
	PublicURL string
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	// Undecided is notified of each call that was blocked because it could not be decided;
	// nil if there is none.
	Undecided func(error)
}

// Options of one hook event.
type Options struct {
	Agent Agent // ClaudeCode when empty
	// Workflow, when not empty, is the one that sessions must be on: one without a run
	// is put on it, and calls of one that drives a run of another are denied.
	Workflow string
	// Session, when not empty, is the session to work on instead of the event's: that of
	// clients whose MCP servers do not know the event's.
	Session string
	// Local is true when the agent's files are this machine's.
	Local bool
	// Refused is why the hook's program refuses calls of its client; empty when it does not.
	Refused string
	// Patience is how long the hook waits for its answer; 10 s when it is 0.
	Patience time.Duration
	// Jail is the jail of the agent's machine for commands.
	Jail Jail
}

// Handle responds to one hook event.
func (h *Handler) Handle(ctx context.Context, data []byte, opts Options) Answer {
	d, known := dialects[cmp.Or(opts.Agent, ClaudeCode)]
	if !known {
		return block(fmt.Errorf("unknown agent %q: use %s", opts.Agent, strings.Join(Agents(), ", ")))
	}
	ev, err := d.read(data)
	if err == nil && ev.kind == hookevent.Unknown && hookevent.CallLike(data) {
		err = fmt.Errorf("unknown hook event %q, which could be about a call of a tool: remove the hook for it", ev.Name)
	}
	if err != nil {
		return block(err)
	}
	ev.SessionID = cmp.Or(opts.Session, ev.SessionID)
	out, err := h.outcomeOf(ctx, ev, opts)
	if ev.inSkill() && out.verdict == deny {
		out.reason = fmt.Sprintf("The text of %q runs a command as it is loaded. %s", ev.Skill, out.reason)
	}
	if err == nil {
		var answer Answer
		if answer, err = d.write(ev, out); err == nil {
			return answer
		}
	}
	if ev.kind == hookevent.Before && h.Undecided != nil {
		h.Undecided(err)
	}
	if ev.stoppedBefore() {
		return Answer{Stderr: block(err).Stderr}
	}
	return block(err)
}

func (h *Handler) outcomeOf(ctx context.Context, ev *event, opts Options) (outcome, error) {
	switch ev.kind {
	case hookevent.Before:
		return h.before(ctx, ev, opts)
	case hookevent.After:
		return h.after(ctx, ev, opts, true)
	case hookevent.Failed:
		return h.after(ctx, ev, opts, false)
	case hookevent.Permission:
		return h.permit(ctx, ev, opts)
	case hookevent.Prompt, hookevent.Start, hookevent.SubagentStart:
		return h.inform(ctx, ev, opts)
	case hookevent.Stop, hookevent.SubagentStop:
		return h.stop(ctx, ev)
	default: // it has no gate, and needs no answer
		return outcome{}, nil
	}
}

// before decides a tool call. Where no rules hold for it, the agent's own permissions
// continue as if there were no hook.
func (h *Handler) before(ctx context.Context, ev *event, opts Options) (outcome, error) {
	input, err := ev.rewritten()
	if err != nil {
		return outcome{}, err
	}
	at, err := h.binding(ctx, ev, opts.Workflow)
	switch {
	case err != nil:
		return outcome{}, err
	case at == nil && input != nil:
		return own(input), nil
	case at == nil && toolcall.Own(ev.Tool):
		return outcome{}, nil
	case at == nil:
		return h.withoutRun(ctx, ev, opts)
	}
	stray, err := h.astray(ctx, at, opts.Workflow)
	if err != nil {
		return outcome{}, err
	}
	asked := ev.input()
	if input != nil {
		asked = input
	}
	// By session, not by run: it may have been put on another run just now.
	call := &policyv1.CheckToolCallRequest{SessionId: at.session, Tool: ev.Tool, Input: asked, CallId: ev.ToolUseID}
	ev.place(call, at.run.GetWorkspace(), opts.Local)
	call.JailLevel = ev.jailLevel(opts, at.run)
	call.DeniedBecause = h.refused(ev, opts, stray)
	held, err := h.heldByJail(ctx, ev, opts, stray, call)
	if err != nil {
		return outcome{}, err
	}
	call.DeniedBecause = cmp.Or(call.GetDeniedBecause(), ev.tooLong(opts, call.GetJailLevel()))
	d, err := h.decide(ctx, call, at.run.GetWorkflowMeta().GetApprovalWait().AsDuration(), opts.Patience)
	switch {
	case err != nil:
		return outcome{}, err
	case call.GetDeniedBecause() != "" && (opts.Refused != "" || stray != "" || d.GetDecision() != policyv1.Decision_DECISION_DENY):
		return outcome{verdict: deny, reason: call.GetDeniedBecause()}, nil // the rule of another workflow is no explanation
	case ev.inSkill() && d.GetDecision() == policyv1.Decision_DECISION_ALLOW:
		if err := h.reportSkill(ctx, at, ev, d.GetCallId()); err != nil {
			return outcome{}, err
		}
	}
	if held && d.GetDecision() == policyv1.Decision_DECISION_ALLOW && d.GetJail().GetLevel() < int32(jail.Full) {
		return outcome{}, fmt.Errorf("the run has moved while the call of %s was decided: make the call again", ev.Tool)
	}
	if d.GetDecision() == policyv1.Decision_DECISION_ALLOW && d.GetJail() != nil {
		if call.GetJailLevel() == 0 {
			return outcome{}, fmt.Errorf("the call of %s must run in a jail, and cannot", ev.Tool)
		}
		if input, err = ev.jailed(opts, d); err != nil {
			return outcome{}, err
		}
	}
	out, err := h.decided(d, input)
	if err == nil && d.GetDecision() == policyv1.Decision_DECISION_ALLOW && d.GetJail() == nil && call.GetJailLevel() > 0 {
		out.input, err = ev.pinned(opts)
	}
	return out, err
}

// refused returns why the hook denies a call itself: the enforcer does not know the folder of the
// agent, where links lead, the workflow that the hook was set up for, or which client asks. Empty
// when it does not. The enforcer records it (S13.12).
func (h *Handler) refused(ev *event, opts Options, stray string) string {
	if toolcall.Own(ev.Tool) {
		return ""
	}
	return cmp.Or(opts.Refused, stray, h.protected(ev, opts.Local, jail.None))
}

// reportSkill reports a command in the text of a skill as soon as it is allowed. The client does not report
// its end, so its outcome is unknown (S14.5).
func (h *Handler) reportSkill(ctx context.Context, at *binding, ev *event, id string) error {
	_, err := h.Policy.ReportToolCall(ctx, &policyv1.ReportToolCallRequest{
		RunId: at.asked, CallId: id, Tool: ev.Tool, OutcomeUnknown: true,
	})
	return err
}

// permit refuses a call that the agent would ask its user about, where an earlier
// decision stands against it. It was counted then, and is not again.
func (h *Handler) permit(ctx context.Context, ev *event, opts Options) (outcome, error) {
	if toolcall.Own(ev.Tool) {
		return outcome{}, nil
	}
	jailed, err := ev.unwrap(opts)
	if err != nil {
		return outcome{}, err
	}
	session, workspace := ev.SessionID, ""
	at, err := h.binding(ctx, ev, "")
	switch {
	case err != nil:
		return outcome{}, err
	case at != nil:
		session, workspace = at.session, at.run.GetWorkspace()
	}
	call := &policyv1.CheckToolCallRequest{SessionId: session, Tool: ev.Tool, Input: ev.input(), DryRun: true}
	ev.place(call, workspace, opts.Local)
	if jailed {
		call.JailLevel = int32(opts.Jail.Level) //nolint:gosec // 0 to 3
	}
	d, err := h.Policy.CheckToolCall(ctx, call)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return outcome{}, nil
	case err != nil:
		return outcome{}, err
	case d.GetDecision() == policyv1.Decision_DECISION_DENY && !usedUp(d.GetCode()):
		return outcome{verdict: deny, reason: cmp.Or(d.GetMessage(), unexplained)}, nil
	}
	return outcome{}, nil
}

// usedUp reports a denial for a limit that calls use up: this one may have had the last
// of it.
func usedUp(code policyv1.DecisionCode) bool {
	switch code {
	case policyv1.DecisionCode_DECISION_CODE_MAX_ITERATIONS, policyv1.DecisionCode_DECISION_CODE_TOO_MANY_FILES,
		policyv1.DecisionCode_DECISION_CODE_RATE_LIMITED, policyv1.DecisionCode_DECISION_CODE_BUDGET_EXCEEDED,
		policyv1.DecisionCode_DECISION_CODE_CONTEXT_BUDGET:
		return true
	default:
		return false
	}
}

// unexplained is the reason of a denial that gives none: agents refuse one without.
const unexplained = "Interlock does not allow it"

// withoutRun decides a call of a session that drives no run: by the policies that hold
// for its role, or for the session or one above it, all the same (S7). The enforcer
// knows no such call where there are none.
func (h *Handler) withoutRun(ctx context.Context, ev *event, opts Options) (outcome, error) {
	call := &policyv1.CheckToolCallRequest{SessionId: ev.SessionID, Tool: ev.Tool, Input: ev.input(), CallId: ev.ToolUseID}
	ev.place(call, "", opts.Local)
	call.DeniedBecause = h.refused(ev, opts, "")
	d, err := h.decide(ctx, call, 0, opts.Patience)
	switch {
	case call.GetDeniedBecause() != "" && (err == nil || fault.ReasonOf(err) == fault.NotFound):
		return outcome{verdict: deny, reason: call.GetDeniedBecause()}, nil
	case fault.ReasonOf(err) == fault.NotFound:
		return outcome{}, nil
	case err != nil:
		return outcome{}, err
	}
	return h.decided(d, nil)
}

// decided returns the answer to a call that was decided; input, when not nil, is the
// input to make it with.
func (h *Handler) decided(d *policyv1.CheckToolCallResponse, input jsontext.Value) (outcome, error) {
	message := cmp.Or(d.GetMessage(), unexplained)
	switch d.GetDecision() {
	case policyv1.Decision_DECISION_ALLOW:
		if input != nil && d.GetJail() == nil {
			return own(input), nil
		}
		if !d.GetToolsRestricted() {
			// Not refused is less than granted: the user's own permissions decide.
			return outcome{input: input}, nil
		}
		return outcome{verdict: allow, reason: "allowed by workflow state " + d.GetState(), input: input}, nil
	case policyv1.Decision_DECISION_ASK:
		return h.refuseAsked(d, message), nil
	default:
		return outcome{verdict: deny, reason: message}, nil
	}
}

// after reports a call's result, and informs the agent of the outcome. A call that never
// got an id cannot be distinguished from another, and Interlock's own tools are no calls
// (S3): neither is reported.
func (h *Handler) after(ctx context.Context, ev *event, opts Options, ok bool) (outcome, error) {
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
		RunId: at.asked, CallId: ev.ToolUseID, Tool: ev.Tool, Ok: ok, ResultBytes: ev.resultBytes(),
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

// inform returns to the agent where its run stands.
func (h *Handler) inform(ctx context.Context, ev *event, opts Options) (outcome, error) {
	if err := h.working(ctx, ev); err != nil {
		return outcome{}, err
	}
	out, err := h.runStatus(ctx, ev, opts)
	if err == nil && ev.kind == hookevent.Start && out.context != "" && opts.Jail.Level < int(jail.Full) && opts.Jail.Missing != "" {
		out.context += "\n" + jail.Sentence(jail.Level(opts.Jail.Level), opts.Jail.Missing)
	}
	if err != nil || h.Sessions == nil || ev.kind == hookevent.Prompt {
		return out, err
	}
	if component := h.component(ctx, ev); component != "" {
		out.context = strings.TrimPrefix(out.context+"\n"+component, "\n")
	}
	return out, nil
}

// component names the component that the session refers to, before the first turn (S15.2);
// empty for none, and where that is unknown: no decision depends on it.
func (h *Handler) component(ctx context.Context, ev *event) string {
	name := ev.SessionID
	if ev.AgentID != "" {
		name = subagent.Session(ev.SessionID, ev.AgentID)
	}
	got, err := h.Sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: name})
	slug := got.GetSession().GetStateRef()
	if err != nil || slug == "" {
		return ""
	}
	return "Component: " + slug + ". component_read shows the values, component_update changes them."
}

// runStatus returns where the agent's run stands.
func (h *Handler) runStatus(ctx context.Context, ev *event, opts Options) (outcome, error) {
	at, err := h.binding(ctx, ev, opts.Workflow)
	if err != nil || at == nil {
		return outcome{}, err
	}
	stray, err := h.astray(ctx, at, opts.Workflow)
	if err != nil {
		return outcome{}, err
	}
	if stray != "" {
		return outcome{context: stray}, nil
	}
	prompt, err := h.firstPrompt(ctx, at)
	switch {
	case err != nil:
		return outcome{}, err
	case prompt != "":
		return outcome{context: brief.Opening(prompt, at.run)}, nil
	}
	return outcome{context: brief.Injected(at.run) + h.jailOf(ctx, at, opts)}, nil
}

// jailOf is a line on the jail in which the agent's command lines run; empty without one. Nothing is decided by it.
func (h *Handler) jailOf(ctx context.Context, at *binding, opts Options) string {
	how := dialects[cmp.Or(opts.Agent, ClaudeCode)].jail
	if opts.Jail.Command == "" || len(how.shells) == 0 || how.granted && !at.run.GetRules().GetToolsRestricted() {
		return ""
	}
	question := brief.JailQuestion(at.asked, at.run, how.shells[0], int32(opts.Jail.Level)) //nolint:gosec // 0 to 3
	if question == nil {
		return ""
	}
	d, err := h.Policy.CheckToolCall(ctx, question)
	sentence := brief.Jail(d)
	if err != nil || sentence == "" {
		return ""
	}
	return "\n" + sentence
}

// firstPrompt returns the text for an agent before its first turn of a process; empty
// afterwards, and where there is none (S8.5).
func (h *Handler) firstPrompt(ctx context.Context, at *binding) (string, error) {
	if h.Processes == nil || !at.run.GetWorkflowMeta().GetProcess() || at.run.GetTransitionCount() > 0 {
		return "", nil
	}
	now, err := h.Processes.AnswerQuestion(ctx, &enginev1.AnswerQuestionRequest{SessionId: at.session})
	return now.GetTurn().GetInitialPrompt(), err
}

// own lets a call of one of Interlock's own tools through, which always may be
// made (S3), with another input.
func own(input jsontext.Value) outcome {
	return outcome{verdict: allow, reason: "Interlock's own tools are always allowed", input: input}
}

func block(err error) Answer {
	message := err.Error()
	if _, ok := status.FromError(err); ok {
		message = fault.From(err).Message
	}
	return Answer{Exit: exitBlock, Stderr: "Interlock blocks this: " + message}
}
