package authzen

import (
	"context"
	"net/http"
	"strings"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/outside"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// decision is the answer to a question.
type decision struct {
	Decision bool    `json:"decision"`
	Context  *detail `json:"context,omitzero"`
}

// detail has Interlock's details of a decision.
type detail struct {
	jsonview.Decision
	// RunID is the run that the call was judged by, State the state of it.
	RunID string `json:"run_id,omitzero"`
	State string `json:"state,omitzero"`
	// Reason is the code as AuthZEN's profiles write theirs.
	Reason string `json:"reason,omitzero"`
	// EvaluationID and AccessRequest make a denial one that access can be requested for: people
	// have been asked, under this id.
	EvaluationID  string         `json:"evaluation_id,omitzero"`
	AccessRequest *accessRequest `json:"access_request,omitzero"`
	// Error is set where the question could not be answered.
	Error *evaluationError `json:"error,omitzero"`
}

// evaluationError describes the problem with one question of several.
type evaluationError struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
}

// accessRequest is where to learn the decision of people (AuthZEN Access Request and
// Approval Profile, draft 1).
type accessRequest struct {
	Endpoint  string  `json:"endpoint"`
	ExpiresAt string  `json:"expires_at"`
	Display   display `json:"display"`
	// StatusEndpoint is that of the task that there is already.
	StatusEndpoint string `json:"status_endpoint"`
}

type display struct {
	Title       string `json:"title"`
	Description string `json:"description"`
}

// denial returns a question that has no decision, and so is denied.
func denial(code, message string, status int) *decision {
	return &decision{Context: &detail{
		Decision: jsonview.Decision{Decision: "DENY", Code: code, Message: message, LegalEvents: []jsonview.LegalEvent{}},
		Reason:   strings.ToLower(code), Error: &evaluationError{Status: status, Message: message},
	}}
}

// decide asks the policy enforcer. Only its ALLOW permits.
func (h *Handler) decide(ctx context.Context, q *question) (*decision, *failure) {
	call, unknown, why := h.call(q)
	switch {
	case why != nil:
		return nil, why
	case unknown:
		return denial("UNKNOWN_RESOURCE",
			"Interlock decides on resources of the types run, server and, for the action tools/call, tool", http.StatusNotFound), nil
	}
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	resp, err := h.Policy.CheckToolCall(asking, call)
	if err != nil {
		if !call.GetDryRun() && h.Undecided != nil {
			h.Undecided(err)
		}
		return undecided(call, err)
	}
	if outside.Unbound(resp) && !h.AllowUnbound {
		return denial(outside.CodeNoWorkflow, outside.NoWorkflow, http.StatusNotFound), nil
	}
	d := &decision{
		Decision: resp.GetDecision() == policyv1.Decision_DECISION_ALLOW,
		Context:  &detail{Decision: jsonview.DecisionOf(resp), RunID: resp.GetRunId(), State: resp.GetState()},
	}
	if !d.Decision {
		d.Context.Reason = strings.ToLower(d.Context.Code)
	}
	if resp.GetDecision() == policyv1.Decision_DECISION_ASK && resp.GetApprovalId() != "" {
		d.Context.Reason = "approval_required"
		h.requestable(ctx, d.Context)
	}
	return d, nil
}

// undecided returns the answer where there is no decision. A mistake of the caller is an
// error of the transport; the rest denies.
func undecided(call *policyv1.CheckToolCallRequest, err error) (*decision, *failure) {
	f := fault.From(err)
	switch f.Reason {
	case fault.Unauthenticated:
		return nil, &failure{http.StatusUnauthorized, f.Message}
	case fault.PermissionDenied:
		return nil, &failure{http.StatusForbidden, f.Message}
	case fault.InvalidRequest, fault.InvalidJSON, fault.TooLarge:
		return nil, &failure{http.StatusBadRequest, f.Message}
	case fault.Unavailable, fault.CommitUncertain, fault.DeadlineExceeded:
		d := denial(string(fault.Unavailable), "", http.StatusServiceUnavailable)
		d.Context.Decision = jsonview.Undecided(call.GetCallId(), f.Message)
		d.Context.Error.Message = d.Context.Message
		return d, nil
	case fault.Internal, fault.Cancelled, fault.Unimplemented:
		return nil, &failure{http.StatusInternalServerError, "internal error; the server's log has the cause"}
	default:
		return denial(string(f.Reason), f.Message, f.HTTPStatus()), nil
	}
}

// requestable adds where to learn the decision of people. It is left out where the expiry
// is unknown: the denial stands in any case.
func (h *Handler) requestable(ctx context.Context, d *detail) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	got, err := h.Approvals.GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: d.ApprovalID})
	expires := got.GetApproval().GetExpiresAt()
	if err != nil || expires == nil || h.PublicURL == "" {
		return
	}
	d.EvaluationID = d.ApprovalID
	d.AccessRequest = &accessRequest{
		Endpoint: h.PublicURL + requestsPath, ExpiresAt: expires.AsTime().UTC().Format(time.RFC3339),
		StatusEndpoint: h.statusEndpoint(d.ApprovalID),
		Display: display{
			Title: "People decide this call", Description: brief.Deciders(brief.ApprovalLink(h.PublicURL, d.ApprovalID)),
		},
	}
}
