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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/status"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
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
}

// Agent is a coding agent whose hooks are understood.
type Agent string

// The agents. They differ in the answers that they take.
const (
	ClaudeCode Agent = "claude-code"
	// Codex knows denials only: it takes any other answer for an error of the hook,
	// and continues as if there were none.
	Codex Agent = "codex"
)

// Options of one hook event.
type Options struct {
	Agent Agent // ClaudeCode when empty
	// Workflow, when not empty, is the one that sessions must be on: one without a run
	// is put on it, and calls of one that drives a run of another are denied.
	Workflow string
	// Local is true when the agent's files are this machine's.
	Local bool
	// Patience is how long the hook waits for its answer; 10 s when it is 0.
	Patience time.Duration
}

// Handle responds to one hook event.
func (h *Handler) Handle(ctx context.Context, data []byte, opts Options) Answer {
	switch opts.Agent {
	case "", ClaudeCode, Codex:
	default:
		return block(fmt.Errorf("unknown agent %q: use %s or %s", opts.Agent, ClaudeCode, Codex))
	}
	ev, err := parseEvent(data)
	if err != nil {
		return block(err)
	}
	answer, err := h.handle(ctx, ev, opts)
	if err == nil {
		return answer
	}
	if ev.stoppedBefore() {
		return Answer{Stderr: block(err).Stderr}
	}
	return block(err)
}

func (h *Handler) handle(ctx context.Context, ev *event, opts Options) (Answer, error) {
	switch ev.Name {
	case preToolUse:
		return h.before(ctx, ev, opts)
	case postToolUse:
		return h.after(ctx, ev, opts, true)
	case postToolUseFailure:
		return h.after(ctx, ev, opts, false)
	case sessionStart, userPromptSubmit, subagentStart:
		return h.inform(ctx, ev, opts.Workflow)
	case stop, subagentStop:
		return h.stop(ctx, ev)
	default:
		return Answer{}, fmt.Errorf("unknown hook event %q; this version knows %s", ev.Name,
			strings.Join([]string{preToolUse, postToolUse, postToolUseFailure, userPromptSubmit, sessionStart, stop, subagentStart, subagentStop}, ", "))
	}
}

// before decides a tool call. Where nothing holds for it, the agent's own permissions
// continue as if there were no hook.
func (h *Handler) before(ctx context.Context, ev *event, opts Options) (Answer, error) {
	input, err := ev.rewritten()
	if err != nil {
		return Answer{}, err
	}
	at, err := h.seat(ctx, ev, opts.Workflow)
	switch {
	case err != nil:
		return Answer{}, err
	case at == nil && input != nil:
		return own(input)
	case at == nil && toolcall.Own(ev.Tool):
		return Answer{}, nil
	}
	if why := h.protected(ev, opts.Local); why != "" && at == nil {
		return decision("deny", why)
	}
	if at == nil {
		return h.withoutRun(ctx, ev, opts)
	}
	if stray, err := h.astray(ctx, at, opts.Workflow); err != nil {
		return Answer{}, err
	} else if stray != "" && !toolcall.Own(ev.Tool) {
		return decision("deny", stray)
	}
	asked := ev.input()
	if input != nil {
		asked = input
	}
	// By session, not by run: it may have been put on another run just now.
	call := &policyv1.CheckToolCallRequest{SessionId: at.session, Tool: ev.Tool, Input: asked, CallId: ev.ToolUseID}
	d, err := h.decide(ctx, call, at.run.GetWorkflowMeta().GetApprovalWait().AsDuration(), opts.Patience)
	if err != nil {
		return Answer{}, err
	}
	if why := h.protected(ev, opts.Local); why != "" && d.GetDecision() == policyv1.Decision_DECISION_ALLOW {
		// The enforcer does not know the folder of the agent, nor where links lead.
		return decision("deny", why)
	}
	return h.decided(d, input, opts.Agent)
}

// withoutRun decides a call of a session that drives no run: by the policies that hold
// for its role, or for the session or one above it, all the same (S7). The enforcer
// knows no such call where there are none.
func (h *Handler) withoutRun(ctx context.Context, ev *event, opts Options) (Answer, error) {
	call := &policyv1.CheckToolCallRequest{SessionId: ev.SessionID, Tool: ev.Tool, Input: ev.input(), CallId: ev.ToolUseID}
	d, err := h.decide(ctx, call, 0, opts.Patience)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return Answer{}, nil
	case err != nil:
		return Answer{}, err
	}
	return h.decided(d, nil, opts.Agent)
}

// decided is the answer to a call that was decided; input, when not nil, is what it is
// to be made with.
func (h *Handler) decided(d *policyv1.CheckToolCallResponse, input jsontext.Value, agent Agent) (Answer, error) {
	message := cmp.Or(d.GetMessage(), "Interlock does not allow it") // agents refuse a denial without a reason
	switch d.GetDecision() {
	case policyv1.Decision_DECISION_ALLOW:
		if input != nil {
			return own(input)
		}
		if !d.GetToolsRestricted() || agent == Codex {
			// Not refused is less than granted: the user's own permissions decide.
			return Answer{}, nil
		}
		return decision("allow", "allowed by workflow state "+d.GetState())
	case policyv1.Decision_DECISION_ASK:
		return h.refuseAsked(d, message)
	default:
		return decision("deny", message)
	}
}

// after reports a call's result, and tells the agent what came of it. A call that
// never got an id cannot be told from another, and Interlock's own tools are no
// calls (S3): neither is reported.
func (h *Handler) after(ctx context.Context, ev *event, opts Options, ok bool) (Answer, error) {
	if ev.ToolUseID == "" || toolcall.Own(ev.Tool) {
		return Answer{}, nil
	}
	at, err := h.seat(ctx, ev, "")
	if err != nil || at == nil {
		return Answer{}, err
	}
	report := &policyv1.ReportToolCallRequest{
		RunId: at.asked, CallId: ev.ToolUseID, Tool: ev.Tool, Ok: ok, ResultBytes: ev.resultBytes(),
	}
	if ok {
		report.FilesChanged = ev.filesChanged(at.run.GetWorkspace(), opts.Local)
	}
	if at.run.GetWorkflowMeta().GetCaptureOutput() {
		report.Output = ev.output()
	}
	reported, err := h.Policy.ReportToolCall(ctx, report)
	if err != nil {
		return Answer{}, err
	}
	told := []string{reported.GetInterrupt().GetNotice(), reported.GetWarning()}
	told = slices.DeleteFunc(told, func(text string) bool { return text == "" })
	if len(told) == 0 {
		return Answer{}, nil
	}
	return inject(ev, strings.Join(told, "\n"))
}

// inform tells the agent where its run stands.
func (h *Handler) inform(ctx context.Context, ev *event, workflow string) (Answer, error) {
	if err := h.working(ctx, ev); err != nil {
		return Answer{}, err
	}
	at, err := h.seat(ctx, ev, workflow)
	if err != nil || at == nil {
		return Answer{}, err
	}
	stray, err := h.astray(ctx, at, workflow)
	if err != nil {
		return Answer{}, err
	}
	if stray != "" {
		return inject(ev, stray)
	}
	prompt, err := h.firstPrompt(ctx, at)
	switch {
	case err != nil:
		return Answer{}, err
	case prompt != "":
		return inject(ev, brief.Opening(prompt, at.run))
	}
	return inject(ev, brief.Injected(at.run))
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
func own(input jsontext.Value) (Answer, error) {
	return specific(map[string]any{
		"hookEventName": preToolUse, "permissionDecision": "allow", "updatedInput": input,
		"permissionDecisionReason": "Interlock's own tools are always allowed",
	})
}

// inject adds to what the agent reads with this event.
func inject(ev *event, text string) (Answer, error) {
	return specific(map[string]any{"hookEventName": ev.Name, "additionalContext": text})
}

func decision(verdict, reason string) (Answer, error) {
	return specific(map[string]any{
		"hookEventName": preToolUse, "permissionDecision": verdict, "permissionDecisionReason": reason,
	})
}

func specific(fields map[string]any) (Answer, error) {
	return answerWith(map[string]any{"hookSpecificOutput": fields})
}

func answerWith(output map[string]any) (Answer, error) {
	data, err := json.Marshal(output, json.Deterministic(true))
	if err != nil {
		return Answer{}, fmt.Errorf("encode the hook's answer: %w", err)
	}
	return Answer{Exit: exitDone, Stdout: string(data)}, nil
}

func block(err error) Answer {
	message := err.Error()
	if _, ok := status.FromError(err); ok {
		message = fault.From(err).Message
	}
	return Answer{Exit: exitBlock, Stderr: "Interlock blocks this: " + message}
}
