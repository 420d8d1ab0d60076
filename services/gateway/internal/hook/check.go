package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/await"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// beforeCall answers the event before a call of a tool: by a check of the call, where rules may hold for it. Where none do,
// the agent's own permissions continue as if there were no hook.
func (h *Handler) beforeCall(ctx context.Context, ev *event, opts Options) (outcome, error) {
	rewritten, err := ev.rewritten()
	if err != nil {
		return outcome{}, err
	}
	at, err := h.binding(ctx, ev, opts.Workflow)
	switch {
	case err != nil:
		return outcome{}, err
	case at == nil && rewritten != nil:
		return allowOwn(rewritten), nil
	case at == nil && toolcall.Own(ev.Tool):
		return outcome{}, nil
	case at == nil:
		return h.checkWithoutRun(ctx, ev, opts)
	}
	q, err := h.question(ctx, ev, opts, at, rewritten)
	if err != nil {
		return outcome{}, err
	}
	d, err := h.checkAndAwait(ctx, q.req, at.run.GetWorkflowMeta().GetApprovalWait().AsDuration(), opts.Patience)
	if err != nil {
		return outcome{}, err
	}
	if reason := q.denialBesides(d); reason != "" {
		return outcome{verdict: deny, reason: reason}, nil
	}
	if d.GetDecision() == policyv1.Decision_DECISION_ALLOW {
		return h.letThrough(ctx, ev, opts, at, q, d, rewritten)
	}
	return h.outcomeOf(d, nil), nil
}

// question is the check of a call in a run, with what only the hook knows of the call.
type question struct {
	req *policyv1.CheckToolCallRequest
	// elsewhere is true where the client or the session is the hook's reason to deny: then the rules of the run are not
	// those of the call.
	elsewhere bool
	// held is true where only a full jail keeps the call from what the hook denies otherwise.
	held bool
}

// question returns the check of a call in a run. rewritten is the input that it is made with, where that is another one.
func (h *Handler) question(ctx context.Context, ev *event, opts Options, at *binding, rewritten jsontext.Value) (question, error) {
	stray, err := h.astray(ctx, at, opts.Workflow)
	if err != nil {
		return question{}, err
	}
	input := ev.input()
	if rewritten != nil {
		input = rewritten
	}
	// By session, not by run: it may have been put on another run just now.
	req := &policyv1.CheckToolCallRequest{SessionId: at.session, Tool: ev.Tool, Input: input, CallId: ev.ToolUseID}
	ev.place(req, at.run.GetWorkspace(), opts.Local)
	req.JailLevel = ev.jailLevel(opts, at.run)
	req.DeniedBecause = h.reasonToDeny(ev, opts, stray)
	q := question{req: req, elsewhere: opts.Refused != "" || stray != ""}
	if q.held, err = h.heldByJail(ctx, ev, opts, q); err != nil {
		return question{}, err
	}
	if q.held {
		req.DeniedBecause = "" // where the state denies the line, its reason is the better one
	}
	req.DeniedBecause = cmp.Or(req.GetDeniedBecause(), ev.tooLong(opts, req.GetJailLevel()))
	return q, nil
}

// denialBesides returns the hook's own reason to deny a call where that is the answer, and not the decision; empty otherwise.
// The rule of another workflow is no explanation.
func (q question) denialBesides(d *policyv1.CheckToolCallResponse) string {
	if !q.elsewhere && d.GetDecision() == policyv1.Decision_DECISION_DENY {
		return ""
	}
	return q.req.GetDeniedBecause()
}

// checkWithoutRun answers for a call of a session that drives no run: by the policies that hold
// for its role, or for the session or one above it, all the same (S7). The enforcer
// knows no such call where there are none.
func (h *Handler) checkWithoutRun(ctx context.Context, ev *event, opts Options) (outcome, error) {
	req := &policyv1.CheckToolCallRequest{SessionId: ev.SessionID, Tool: ev.Tool, Input: ev.input(), CallId: ev.ToolUseID, Observe: opts.Observe}
	ev.place(req, "", opts.Local)
	req.DeniedBecause = h.reasonToDeny(ev, opts, "")
	d, err := h.checkAndAwait(ctx, req, 0, opts.Patience)
	switch {
	case req.GetDeniedBecause() != "" && (err == nil || fault.ReasonOf(err) == fault.NotFound):
		return outcome{verdict: deny, reason: req.GetDeniedBecause()}, nil
	case fault.ReasonOf(err) == fault.NotFound:
		return outcome{}, nil
	case err != nil:
		return outcome{}, err
	}
	return h.outcomeOf(d, nil), nil
}

const (
	// defaultPatience is that of hooks that do not say.
	defaultPatience = 10 * time.Second
	// checkTime is the part of a hook's patience for all work but waiting.
	checkTime = 3 * time.Second
)

// checkAndAwait checks a call. One that policies ask people about waits for them, as long
// as the workflow says (meta.approval.wait_seconds) and the hook has patience, and
// is checked again then: the same call, by the same id, which the answer ASK does
// not use up (S7.6).
func (h *Handler) checkAndAwait(
	ctx context.Context, req *policyv1.CheckToolCallRequest, wait, patience time.Duration,
) (*policyv1.CheckToolCallResponse, error) {
	first, err := h.Policy.CheckToolCall(ctx, req)
	if err != nil || first.GetDecision() != policyv1.Decision_DECISION_ASK {
		return first, err
	}
	limit := min(wait, cmp.Or(patience, defaultPatience)-checkTime)
	if limit <= 0 || h.Approvals == nil || first.GetApprovalId() == "" {
		return first, nil
	}
	approval, err := await.Decision(ctx, h.Approvals, first.GetApprovalId(), limit)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil || !await.Decided(approval):
		return first, nil // it is pending, for all that is known
	}
	switch approval.GetStatus() {
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED, approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED:
		return h.Policy.CheckToolCall(ctx, req)
	default:
		return &policyv1.CheckToolCallResponse{
			Decision: policyv1.Decision_DECISION_ASK,
			Message:  approval.GetOutcome() + ". To ask again, make the call again.",
		}, nil
	}
}

// letThrough answers for an allowed call: with its jail, and with a report where the client makes none. A call that cannot
// be made as it was allowed is withdrawn.
func (h *Handler) letThrough(
	ctx context.Context, ev *event, opts Options, at *binding, q question, d *policyv1.CheckToolCallResponse, rewritten jsontext.Value,
) (outcome, error) {
	jailed, err := ev.inItsJail(opts, d, q.req.GetJailLevel(), q.held)
	if err != nil {
		return outcome{}, errors.Join(err, h.withdraw(ctx, at, ev, d.GetCallId()))
	}
	if ev.inSkill() {
		if err := h.reportSkill(ctx, at, ev, d.GetCallId()); err != nil {
			return outcome{}, err
		}
	}
	input := rewritten
	if jailed != nil {
		input = jailed
	}
	out := h.outcomeOf(d, input)
	if d.GetJail() == nil && q.req.GetJailLevel() > 0 {
		out.input, err = ev.pinned(opts)
	}
	return out, err
}

// inItsJail returns the input that runs an allowed call in its jail, nil for a call without one, or why the call cannot be made as
// it was allowed. held is true where only a full jail keeps the call from what the hook denies.
func (ev *event) inItsJail(opts Options, d *policyv1.CheckToolCallResponse, offered int32, held bool) (jsontext.Value, error) {
	switch {
	case held && d.GetJail().GetLevel() < int32(jail.Full):
		return nil, fmt.Errorf("the run has moved while the call of %s was decided: make the call again", ev.Tool)
	case d.GetJail() == nil:
		return nil, nil
	case offered == 0:
		return nil, fmt.Errorf("the call of %s must run in a jail, and cannot", ev.Tool)
	}
	return ev.jailed(opts, d)
}

// unexplained is the reason of a denial that gives none: agents refuse one without.
const unexplained = "Interlock does not allow it"

// outcomeOf returns what a decision means for the agent; input, when not nil, is the input to make an
// allowed call with.
func (h *Handler) outcomeOf(d *policyv1.CheckToolCallResponse, input jsontext.Value) outcome {
	message := cmp.Or(d.GetMessage(), unexplained)
	switch d.GetDecision() {
	case policyv1.Decision_DECISION_ALLOW:
		if input != nil && d.GetJail() == nil {
			return allowOwn(input)
		}
		if !d.GetToolsRestricted() {
			// Not denied is less than granted: the user's own permissions decide.
			return outcome{input: input}
		}
		return outcome{verdict: allow, reason: allowedBy(d), input: input}
	case policyv1.Decision_DECISION_ASK:
		return h.denyUntilApproved(d, message)
	default:
		return outcome{verdict: deny, reason: message}
	}
}

// allowedBy describes the reason of an allowed call: the state, and people where they were asked.
func allowedBy(d *policyv1.CheckToolCallResponse) string {
	reason := "allowed by workflow state " + d.GetState()
	if d.GetApprovalId() != "" {
		reason += ", and by people: approval " + d.GetApprovalId()
	}
	return reason
}

// allowOwn lets a call of one of Interlock's own tools through, which always may be
// made (S3), with another input.
func allowOwn(input jsontext.Value) outcome {
	return outcome{verdict: allow, reason: "Interlock's own tools are always allowed", input: input}
}

// denyUntilApproved denies a call that people have not approved. The agent's own prompt is not
// an answer to that: a person who sits at the terminal would let the call through without
// being asked who they are, and it would not be recorded. So the denial says how the call can
// be let through (S7.6, S9.3).
func (h *Handler) denyUntilApproved(d *policyv1.CheckToolCallResponse, message string) outcome {
	reason := "Interlock asks people first: " + message
	if id := d.GetApprovalId(); id != "" {
		reason += " " + brief.Asked(message, id, brief.ApprovalLink(h.PublicURL, id), "")
	}
	return outcome{verdict: deny, reason: reason}
}
