// Package hook translates between the hooks of coding agents and Interlock's
// contracts. It holds no rules, and it fails closed: what cannot be decided
// blocks.
package hook

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
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

// Handler answers hook events through the services.
type Handler struct {
	Runs   enginev1.RunServiceClient
	Policy policyv1.PolicyEnforcerServiceClient
}

// Agent is a coding agent whose hooks are understood.
type Agent string

// The agents. They differ in the answers that they take.
const (
	ClaudeCode Agent = "claude-code"
	// Codex knows denials only: it takes "ask" for an error of the hook, and goes
	// on as if there were none.
	Codex Agent = "codex"
)

// Options of one hook event.
type Options struct {
	Agent Agent // ClaudeCode when empty
	// Workflow, when not empty, is the one that a session without a run is put on.
	Workflow string
}

// Handle answers one hook event.
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
	workflow := opts.Workflow
	switch ev.Name {
	case preToolUse:
		return h.before(ctx, ev, opts)
	case postToolUse:
		return h.after(ctx, ev, true)
	case postToolUseFailure:
		return h.after(ctx, ev, false)
	case sessionStart, userPromptSubmit:
		return h.inform(ctx, ev, workflow)
	case stop, subagentStop:
		// Reached, so that an unreachable Interlock is noticed here too.
		_, err := h.run(ctx, ev, "")
		return Answer{}, err
	default:
		return Answer{}, fmt.Errorf("unknown hook event %q; this version knows %s", ev.Name,
			strings.Join([]string{preToolUse, postToolUse, postToolUseFailure, userPromptSubmit, sessionStart, stop, subagentStop}, ", "))
	}
}

// run answers the run that the session drives, starting one of the workflow when
// it drives none, or nil.
func (h *Handler) run(ctx context.Context, ev *event, workflow string) (*enginev1.Run, error) {
	got, err := h.Runs.Get(ctx, &enginev1.RunServiceGetRequest{SessionId: ev.SessionID})
	if err == nil {
		return got.GetRun(), nil
	}
	if status.Code(err) != codes.NotFound {
		return nil, err
	}
	if workflow == "" {
		return nil, nil
	}
	started, err := h.Runs.Start(ctx, &enginev1.StartRequest{
		Workflow: workflow, SessionId: ev.SessionID, Workspace: ev.WorkingDir, IdempotencyKey: autostartKey,
	})
	if err != nil {
		return nil, err
	}
	// A repeat answers the run as it was when it was started.
	now, err := h.Runs.Get(ctx, &enginev1.RunServiceGetRequest{RunId: started.GetRun().GetRunId()})
	if err != nil {
		return nil, err
	}
	if now.GetRun().GetStatus() == enginev1.RunStatus_RUN_STATUS_CANCELLED {
		return nil, nil // the session left the workflow, which its definition allows
	}
	return now.GetRun(), nil
}

// before decides a tool call. Without a run there is nothing to enforce, and the
// agent's own permissions go on as if there were no hook.
func (h *Handler) before(ctx context.Context, ev *event, opts Options) (Answer, error) {
	run, err := h.run(ctx, ev, opts.Workflow)
	if err != nil || run == nil {
		return Answer{}, err
	}
	// By session, not by run: it may have been put on another run just now.
	d, err := h.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		SessionId: ev.SessionID, Tool: ev.Tool, Input: ev.input(), CallId: ev.ToolUseID,
	})
	if err != nil {
		return Answer{}, err
	}
	message := d.GetMessage()
	if message == "" {
		message = "the workflow does not allow it" // agents refuse a denial without a reason
	}
	switch d.GetDecision() {
	case policyv1.Decision_DECISION_ALLOW:
		if !d.GetToolsRestricted() || opts.Agent == Codex {
			// Not refused is less than granted: the user's own permissions decide.
			return Answer{}, nil
		}
		return decision("allow", "allowed by workflow state "+d.GetState())
	case policyv1.Decision_DECISION_ASK:
		if opts.Agent == Codex {
			return decision("deny", message)
		}
		return decision("ask", message)
	default:
		return decision("deny", message)
	}
}

// after reports a call's result. A call that never got an id cannot be told from
// another, and Interlock's own tools are no calls (S3): neither is reported.
func (h *Handler) after(ctx context.Context, ev *event, ok bool) (Answer, error) {
	if ev.ToolUseID == "" || toolcall.Own(ev.Tool) {
		return Answer{}, nil
	}
	run, err := h.run(ctx, ev, "")
	if err != nil || run == nil {
		return Answer{}, err
	}
	report := &policyv1.ReportToolCallRequest{
		RunId: run.GetRunId(), CallId: ev.ToolUseID, Tool: ev.Tool, Ok: ok, ResultBytes: ev.resultBytes(),
	}
	if ok {
		report.FilesChanged = ev.filesChanged()
	}
	_, err = h.Policy.ReportToolCall(ctx, report)
	return Answer{}, err
}

// inform tells the agent where its run stands.
func (h *Handler) inform(ctx context.Context, ev *event, workflow string) (Answer, error) {
	run, err := h.run(ctx, ev, workflow)
	if err != nil || run == nil {
		return Answer{}, err
	}
	return output(map[string]any{"hookEventName": ev.Name, "additionalContext": brief.Injected(run)})
}

func decision(verdict, reason string) (Answer, error) {
	return output(map[string]any{
		"hookEventName": preToolUse, "permissionDecision": verdict, "permissionDecisionReason": reason,
	})
}

func output(specific map[string]any) (Answer, error) {
	data, err := json.Marshal(map[string]any{"hookSpecificOutput": specific}, json.Deterministic(true))
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
