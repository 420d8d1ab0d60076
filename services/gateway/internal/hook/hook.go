// Package hook translates between the hooks of coding agents and Interlock's
// contracts. It holds no rules, and it fails closed: what cannot be decided
// blocks.
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
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/subagent"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// Exit codes of a hook command: 2 blocks what the agent was about to do and
// shows it standard error.
const (
	exitDone  = 0
	exitBlock = 2
)

// autostartKey makes concurrent hooks of one session start one run.
const autostartKey = "hook-autostart"

// Answer is what the hook command does: print and exit.
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
	// Approvals is waited on for what people decide; without it nothing is waited for.
	Approvals approvalv1.ApprovalServiceClient
	// PublicURL is where people reach the gateway; empty for no links to approvals.
	PublicURL string
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	// Undecided is told of each call that was blocked because it could not be decided; nil
	// for nobody.
	Undecided func(error)
}

// Options of one hook event.
type Options struct {
	Agent Agent // ClaudeCode when empty
	// Workflow, when not empty, is the one that sessions must be on: one without a run
	// is put on it, and calls of one that drives a run of another are denied.
	Workflow string
	// Session, when not empty, is the session to work on instead of the event's: that of
	// clients whose MCP servers are not told the event's.
	Session string
	// Local is true when the agent's files are this machine's.
	Local bool
	// Patience is how long the hook waits for its answer; 10 s when it is 0.
	Patience time.Duration
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
	out, err := h.handle(ctx, ev, opts)
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

func (h *Handler) handle(ctx context.Context, ev *event, opts Options) (outcome, error) {
	switch ev.kind {
	case hookevent.Before:
		return h.before(ctx, ev, opts)
	case hookevent.After:
		return h.after(ctx, ev, opts, true)
	case hookevent.Failed:
		return h.after(ctx, ev, opts, false)
	case hookevent.Permission:
		return h.permit(ctx, ev)
	case hookevent.Prompt, hookevent.Start, hookevent.SubagentStart:
		return h.inform(ctx, ev, opts.Workflow)
	case hookevent.Stop, hookevent.SubagentStop:
		return h.stop(ctx, ev)
	default: // it gates nothing, and there is nothing to say
		return outcome{}, nil
	}
}

// before decides a tool call. Where nothing holds for it, the agent's own permissions
// continue as if there were no hook.
func (h *Handler) before(ctx context.Context, ev *event, opts Options) (outcome, error) {
	input, err := ev.rewritten()
	if err != nil {
		return outcome{}, err
	}
	at, err := h.seat(ctx, ev, opts.Workflow)
	switch {
	case err != nil:
		return outcome{}, err
	case at == nil && input != nil:
		return own(input), nil
	case at == nil && toolcall.Own(ev.Tool):
		return outcome{}, nil
	}
	if why := h.protected(ev, opts.Local); why != "" && at == nil {
		return outcome{verdict: deny, reason: why}, nil
	}
	if at == nil {
		return h.withoutRun(ctx, ev, opts)
	}
	if stray, err := h.astray(ctx, at, opts.Workflow); err != nil {
		return outcome{}, err
	} else if stray != "" && !toolcall.Own(ev.Tool) {
		return outcome{verdict: deny, reason: stray}, nil
	}
	asked := ev.input()
	if input != nil {
		asked = input
	}
	// By session, not by run: it may have been put on another run just now.
	call := &policyv1.CheckToolCallRequest{SessionId: at.session, Tool: ev.Tool, Input: asked, CallId: ev.ToolUseID}
	if len(at.run.GetEvidence()) > 0 {
		call.Folder = ev.WorkingDir
	}
	d, err := h.decide(ctx, call, at.run.GetWorkflowMeta().GetApprovalWait().AsDuration(), opts.Patience)
	if err != nil {
		return outcome{}, err
	}
	if why := h.protected(ev, opts.Local); why != "" && d.GetDecision() == policyv1.Decision_DECISION_ALLOW {
		// The enforcer does not know the folder of the agent, nor where links lead.
		return outcome{verdict: deny, reason: why}, nil
	}
	return h.decided(d, input)
}

// permit refuses a call that the agent would ask its user about, where what has been
// decided of it before stands against it. It was counted then, and is not again.
func (h *Handler) permit(ctx context.Context, ev *event) (outcome, error) {
	if toolcall.Own(ev.Tool) {
		return outcome{}, nil
	}
	session := ev.SessionID
	at, err := h.seat(ctx, ev, "")
	switch {
	case err != nil:
		return outcome{}, err
	case at != nil:
		session = at.session
	}
	call := &policyv1.CheckToolCallRequest{SessionId: session, Tool: ev.Tool, Input: ev.input(), DryRun: true}
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

// usedUp reports a denial for what calls use up: this one may have had the last of it.
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
	d, err := h.decide(ctx, call, 0, opts.Patience)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return outcome{}, nil
	case err != nil:
		return outcome{}, err
	}
	return h.decided(d, nil)
}

// decided is the answer to a call that was decided; input, when not nil, is what it is
// to be made with.
func (h *Handler) decided(d *policyv1.CheckToolCallResponse, input jsontext.Value) (outcome, error) {
	message := cmp.Or(d.GetMessage(), unexplained)
	switch d.GetDecision() {
	case policyv1.Decision_DECISION_ALLOW:
		if input != nil {
			return own(input), nil
		}
		if !d.GetToolsRestricted() {
			// Not refused is less than granted: the user's own permissions decide.
			return outcome{}, nil
		}
		return outcome{verdict: allow, reason: "allowed by workflow state " + d.GetState()}, nil
	case policyv1.Decision_DECISION_ASK:
		return h.refuseAsked(d, message), nil
	default:
		return outcome{verdict: deny, reason: message}, nil
	}
}

// after reports a call's result, and tells the agent what came of it. A call that
// never got an id cannot be told from another, and Interlock's own tools are no
// calls (S3): neither is reported.
func (h *Handler) after(ctx context.Context, ev *event, opts Options, ok bool) (outcome, error) {
	if ev.ToolUseID == "" || toolcall.Own(ev.Tool) {
		return outcome{}, nil
	}
	at, err := h.seat(ctx, ev, "")
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

// inform tells the agent where its run stands.
func (h *Handler) inform(ctx context.Context, ev *event, workflow string) (outcome, error) {
	if err := h.working(ctx, ev); err != nil {
		return outcome{}, err
	}
	out, err := h.standing(ctx, ev, workflow)
	if err != nil || h.Sessions == nil || ev.kind == hookevent.Prompt {
		return out, err
	}
	if component := h.component(ctx, ev); component != "" {
		out.context = strings.TrimPrefix(out.context+"\n"+component, "\n")
	}
	return out, nil
}

// component names the component that the session refers to, before the first turn (S15.2);
// empty for none, and where that cannot be told: nothing is decided by it.
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
	return "Component: " + slug + ". component_read shows what this session keeps there, component_update changes it."
}

// standing is where the agent's run stands.
func (h *Handler) standing(ctx context.Context, ev *event, workflow string) (outcome, error) {
	at, err := h.seat(ctx, ev, workflow)
	if err != nil || at == nil {
		return outcome{}, err
	}
	stray, err := h.astray(ctx, at, workflow)
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
	return outcome{context: brief.Injected(at.run)}, nil
}

// firstPrompt is what an agent reads before its first turn of a process; empty
// afterwards, and where there is none (S8.5).
func (h *Handler) firstPrompt(ctx context.Context, at *seat) (string, error) {
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
