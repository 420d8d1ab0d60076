package authzen

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// Interlock asks people when it decides ASK, so an access request finds the question: the
// approval is the profile's task, and its id that of the evaluation.

// task is an approval as the profile shows it.
type task struct {
	ID             string            `json:"id"`
	Status         string            `json:"status"`
	StatusEndpoint string            `json:"status_endpoint"`
	ExpiresAt      string            `json:"expires_at,omitzero"`
	Links          map[string]string `json:"links,omitzero"`
	Display        *display          `json:"display,omitzero"`
}

// result is the advice after a grant: to ask again.
type result struct {
	Mode     string   `json:"mode"`
	Approval approval `json:"approval"`
}

type approval struct {
	ID            string `json:"id"`
	ApprovedAt    string `json:"approved_at,omitzero"`
	ApprovedUntil string `json:"approved_until"`
}

// tasked is the body about a task.
type tasked struct {
	Task   task    `json:"task"`
	Result *result `json:"result,omitzero"`
}

// problem is an error of the profile (RFC 9457).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func refuse(w http.ResponseWriter, status int, kind, detail string) {
	write(w, status, contentProblem, problem{
		Type:  "urn:openid:authzen:access-request:error:" + kind,
		Title: http.StatusText(status), Status: status, Detail: detail,
	})
}

func (h *Handler) statusEndpoint(id string) string {
	return h.PublicURL + requestsPath + "/" + url.PathEscape(id)
}

// submit finds the question that was asked when the call was denied. It creates nothing,
// and so is idempotent.
func (h *Handler) submit(w http.ResponseWriter, r *http.Request) {
	var in struct {
		question
		Items  jsontext.Value `json:"items"`
		Denial *struct {
			EvaluationID string `json:"evaluation_id"`
		} `json:"denial"`
	}
	if why := read(w, r, &in); why != nil {
		refuse(w, why.status, "invalid_request", why.message)
		return
	}
	switch {
	case in.Items != nil:
		refuse(w, http.StatusBadRequest, "invalid_request", "request access to one call at a time, without items")
		return
	case in.Denial == nil || in.Denial.EvaluationID == "":
		refuse(w, http.StatusBadRequest, "invalid_denial_binding",
			"denial.evaluation_id is required: context.evaluation_id of the denial")
		return
	}
	call, unknown, why := h.call(&in.question)
	if why != nil {
		refuse(w, why.status, "invalid_request", why.message)
		return
	}
	found, ok := h.find(w, r, in.Denial.EvaluationID)
	if !ok {
		return
	}
	where := found.GetAsker().GetSessionId() == call.GetSessionId()
	if run := call.GetRunId(); run != "" {
		where = found.GetRunId() == run
	}
	if unknown || !where || !asks(found, call.GetTool(), call.GetInput()) {
		refuse(w, http.StatusBadRequest, "invalid_denial_binding", "the denial was of another call")
		return
	}
	shown := h.shown(found)
	w.Header().Set("Location", shown.Task.StatusEndpoint)
	write(w, http.StatusAccepted, contentJSON, shown)
}

// asks reports whether an approval is about this tool with this input.
func asks(a *approvalv1.Approval, tool string, input []byte) bool {
	var subject struct {
		Tool string `json:"tool"`
	}
	if json.Unmarshal(a.GetSubject(), &subject) != nil || subject.Tool != tool {
		return false
	}
	if len(input) == 0 || len(a.GetData()) == 0 {
		return len(input) == 0 && len(a.GetData()) == 0
	}
	asked, problem := document.Parse(a.GetData(), document.Limits{Bytes: maxBody})
	if problem != nil {
		return false
	}
	given, problem := document.Parse(input, document.Limits{Bytes: maxBody})
	return problem == nil && document.Equal(asked, given)
}

// task reports how an approval stands.
func (h *Handler) task(w http.ResponseWriter, r *http.Request) {
	if found, ok := h.find(w, r, r.PathValue("id")); ok {
		shown := h.shown(found)
		if shown.Task.Status == taskPending {
			w.Header().Set("Retry-After", "5")
		}
		write(w, http.StatusOK, contentJSON, shown)
	}
}

// find reads the approval of a tool call with the caller's own rights, or refuses.
func (h *Handler) find(w http.ResponseWriter, r *http.Request, id string) (*approvalv1.Approval, bool) {
	ctx, why := outgoing(r)
	if why != nil {
		refuse(w, why.status, "invalid_request", why.message)
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	got, err := h.Approvals.GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: id})
	f := fault.From(err)
	switch {
	case err == nil && got.GetApproval().GetKind() == approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL:
		return got.GetApproval(), true
	case err == nil, f.Reason == fault.NotFound, f.Reason == fault.InvalidRequest:
		refuse(w, http.StatusNotFound, "unknown_task", "there is no such task")
	default:
		refuse(w, f.HTTPStatus(), "invalid_request", f.Message)
	}
	return nil, false
}

// Statuses of tasks.
const (
	taskPending  = "pending"
	taskApproved = "approved"
)

// statuses of approvals as the profile calls them. An unknown one is not approved.
var statuses = map[approvalv1.ApprovalStatus]string{
	approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING:   taskPending,
	approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED:   taskApproved,
	approvalv1.ApprovalStatus_APPROVAL_STATUS_USED:      taskApproved,
	approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED:  "denied",
	approvalv1.ApprovalStatus_APPROVAL_STATUS_EXPIRED:   "expired",
	approvalv1.ApprovalStatus_APPROVAL_STATUS_CANCELLED: "cancelled",
	approvalv1.ApprovalStatus_APPROVAL_STATUS_STALE:     "failed",
}

func (h *Handler) shown(a *approvalv1.Approval) tasked {
	id := a.GetApprovalId()
	status, known := statuses[a.GetStatus()]
	if !known {
		status = "failed"
	}
	link := brief.ApprovalLink(h.PublicURL, id)
	out := tasked{Task: task{ID: id, Status: status, StatusEndpoint: h.statusEndpoint(id)}}
	if link != "" {
		out.Task.Links = map[string]string{"review": link}
	}
	if a.GetOutcome() != "" {
		out.Task.Display = &display{Title: "People decide this call", Description: a.GetOutcome()}
	}
	if status == taskPending {
		out.Task.ExpiresAt = moment(a.GetExpiresAt())
	}
	if status == taskApproved {
		until := a.GetExpiresAt()
		if a.GetUsedAt() != nil {
			until = a.GetUsedAt() // it was for one call, which has been made
		}
		out.Result = &result{Mode: "reevaluate", Approval: approval{
			ID: id, ApprovedAt: moment(a.GetDecidedAt()), ApprovedUntil: moment(until),
		}}
	}
	return out
}

func moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Format(time.RFC3339)
}
