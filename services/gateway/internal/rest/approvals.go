package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// maxWait bounds the long poll for a decision.
const maxWait = time.Minute

// ApprovalList is one page of approvals, newest first.
type ApprovalList struct {
	Approvals     []jsonview.Approval `json:"approvals"`
	NextPageToken string              `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// ApproveRequest agrees to the exact action that was shown.
type ApproveRequest struct {
	Note       string         `json:"note,omitzero" doc:"For the agent, and for the record."`
	EditedData jsontext.Value `json:"edited_data,omitzero" doc:"Replaces the data of the request."`
	Lease      *LeaseTerms    `json:"lease,omitzero" doc:"Of a tool call that a policy asks about: later calls like it pass too, for a while."`
	Digest     string         `json:"digest,omitzero" doc:"The digest that was shown: 409 when it is another by now. It may be absent as long as the data is not edited."`
}

// LeaseTerms describe the calls that pass besides the one that was asked about.
type LeaseTerms struct {
	Pattern string         `json:"pattern,omitzero" doc:"Of a tool that runs command lines: an entry of allowed_commands, which the command that was asked about must match too."`
	Only    jsontext.Value `json:"only,omitzero" doc:"A condition that later calls must meet, and the call that was asked about too: an object. What it does not name stays as in that call. Of a tool that runs command lines it is optional."`
	Calls   int64          `json:"calls,omitzero" doc:"Calls that it admits. Give calls, minutes or both; an absent value is the maximum of the configuration."`
	Minutes int64          `json:"minutes,omitzero" doc:"Minutes that it lasts."`
}

// RejectRequest says no.
type RejectRequest struct {
	Note string `json:"note,omitzero" doc:"For the agent, and for the record."`
}

// DecideRequest is one vote on approvals that ask for the same thing.
type DecideRequest struct {
	Approve *bool        `json:"approve" doc:"True to grant, false to reject."`
	Note    string       `json:"note,omitzero" doc:"For the agents, and for the record."`
	Items   []DecideItem `json:"items" minItems:"1" maxItems:"100" doc:"The approvals, each once: of one kind, asked by the same rule of the same version of a policy for the same tool, or the same event in the same state of the same version of a workflow."`
}

// DecideItem is an approval, and the digest that the approver was shown.
type DecideItem struct {
	ApprovalID string `json:"approval_id"`
	Digest     string `json:"digest" doc:"The digest that was shown."`
}

// DecidedApprovals are approvals after a vote.
type DecidedApprovals struct {
	Approvals []jsonview.Approval `json:"approvals" doc:"In the order of the request."`
}

// approvals serves the routes of approvals.
type approvals struct {
	approvals approvalv1.ApprovalServiceClient
}

func (h *approvals) routes(add func(route)) {
	const path = "/v1/approvals/{id}"
	id := inPath("id", "Id of the approval.")
	fields := map[string]string{"approval_id": "id"}
	one := answers[jsonview.Approval](http.StatusOK)
	add(route{
		method: http.MethodGet, path: "/v1/approvals", id: "listApprovals", summary: "List approvals",
		params: []param{
			{name: "status", in: "query", about: "Only approvals in this status.", values: jsonview.ApprovalStatuses()},
			inQuery("run_id", "Only approvals of this run."), beforeParam, prefixParam, pageSizeParam, pageTokenParam,
		},
		fields: map[string]string{"run_id": "run_id"}, answers: answers[ApprovalList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: path, id: "getApproval", summary: "Get an approval, or wait for its decision",
		about:  "With wait it answers when the approval is decided, or when the time is over, and then it is still PENDING.",
		params: []param{id, inQuery("wait", "How long to wait for the decision, e.g. 30s; at most 60s.")},
		fields: fields, answers: one, timeout: maxWait + callTimeout, serve: h.get,
	})
	add(route{
		method: http.MethodPost, path: path + "/approve", id: "approveApproval", summary: "Approve",
		about:  "403 for the requester, and for callers that may not decide it; 409 when it was decided before, with the decision.",
		params: []param{id, idempotencyParam}, body: optionalJSON, request: reflect.TypeFor[ApproveRequest](), maxBody: maxDocumentBody,
		fields: fields, answers: one, serve: taking(h.approve),
	})
	add(route{
		method: http.MethodPost, path: "/v1/approvals/decide", id: "decideApprovals", summary: "Decide several approvals at once",
		about: "All of them or none: 403 when the caller may not decide one, and 409 when one was decided before or differs from the first; errors names those. " +
			"On a Redis Cluster only approvals of one shard can go together, and the 409 says which.",
		params: []param{idempotencyParam}, body: jsonBody, request: reflect.TypeFor[DecideRequest](),
		answers: answers[DecidedApprovals](http.StatusOK), serve: taking(h.decideAll),
	})
	add(route{
		method: http.MethodPost, path: path + "/reject", id: "rejectApproval", summary: "Reject",
		about:  "403 for the requester, and for callers that may not decide it; 409 when it was decided before, with the decision.",
		params: []param{id, idempotencyParam}, body: optionalJSON, request: reflect.TypeFor[RejectRequest](),
		fields: fields, answers: one, serve: taking(h.reject),
	})
}

// answerApproval returns the approval of a response.
func answerApproval[R interface{ GetApproval() *approvalv1.Approval }](resp R, err error) (*answer, error) {
	return shown(resp.GetApproval(), err, jsonview.ApprovalOf)
}

func (h *approvals) list(c *call) (*answer, error) {
	status, err := c.upperChoice("status", approvalv1.ApprovalStatus_value, "APPROVAL_STATUS_", jsonview.ApprovalStatuses())
	if err != nil {
		return nil, err
	}
	resp, err := h.approvals.ListApprovals(c.ctx, &approvalv1.ListApprovalsRequest{
		PageSize: c.size, PageToken: c.token,
		Filter: listing.Filter(
			listing.Term{Key: "status", Value: protomap.Word(approvalv1.ApprovalStatus(status), "APPROVAL_STATUS_")},
			listing.Term{Key: "run_id", Value: c.query.Get("run_id")}, c.before(), c.prefix(),
		),
	})
	if err != nil {
		return nil, err
	}
	return ok(ApprovalList{Approvals: jsonview.Each(resp.GetApprovals(), jsonview.ApprovalOf), NextPageToken: resp.GetNextPageToken()}), nil
}

func (h *approvals) get(c *call) (*answer, error) {
	wait, err := c.duration("wait", maxWait)
	if err != nil {
		return nil, err
	}
	resp, err := h.approvals.GetApproval(c.ctx, &approvalv1.GetApprovalRequest{ApprovalId: c.path("id")})
	if err != nil {
		return nil, err
	}
	now := resp.GetApproval()
	if wait > 0 && pending(now) {
		if now, err = h.await(c.ctx, now, wait); err != nil {
			return nil, err
		}
	}
	return ok(jsonview.ApprovalOf(now)), nil
}

func pending(a *approvalv1.Approval) bool {
	return a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING
}

// await returns the approval as it is decided, or as it stands when the time is
// over or the server drains.
func (h *approvals) await(ctx context.Context, now *approvalv1.Approval, wait time.Duration) (*approvalv1.Approval, error) {
	drained, release := untilDrain(ctx)
	defer release()
	waiting, cancel := context.WithTimeout(drained, wait)
	defer cancel()
	changes, err := h.approvals.WatchApproval(waiting, &approvalv1.WatchApprovalRequest{ApprovalId: now.GetApprovalId()})
	for err == nil && pending(now) {
		var change *approvalv1.WatchApprovalResponse
		if change, err = changes.Recv(); err == nil {
			now = change.GetApproval()
		}
	}
	if errors.Is(err, io.EOF) || waiting.Err() != nil && ctx.Err() == nil {
		err = nil
	}
	return now, err
}

func (h *approvals) approve(c *call, in ApproveRequest) (*answer, error) {
	edited, err := object("/edited_data", in.EditedData)
	if err != nil {
		return nil, err
	}
	vote := &approvalv1.DecideApprovalRequest{Approve: true, Note: in.Note, EditedData: edited, Digest: in.Digest}
	if l := in.Lease; l != nil {
		only, err := object("/lease/only", l.Only)
		if err == nil {
			err = missing(requirement{"/lease/only", l.Pattern != "" || len(only) > 0})
		}
		if err != nil {
			return nil, err
		}
		vote.Lease = &approvalv1.LeaseTerms{Pattern: l.Pattern, Only: only, Calls: l.Calls, Minutes: l.Minutes}
	}
	return h.decide(c, vote)
}

func (h *approvals) reject(c *call, in RejectRequest) (*answer, error) {
	return h.decide(c, &approvalv1.DecideApprovalRequest{Note: in.Note})
}

// decide casts the caller's vote on the approval that the path names.
func (h *approvals) decide(c *call, vote *approvalv1.DecideApprovalRequest) (*answer, error) {
	vote.ApprovalId, vote.IdempotencyKey = c.path("id"), c.header(headerIdempotency)
	return answerApproval(h.approvals.DecideApproval(c.ctx, vote))
}

func (h *approvals) decideAll(c *call, in DecideRequest) (*answer, error) {
	if err := missing(requirement{"/approve", in.Approve != nil}, requirement{"/items", len(in.Items) > 0}); err != nil {
		return nil, err
	}
	req := &approvalv1.DecideApprovalsRequest{Approve: *in.Approve, Note: in.Note, IdempotencyKey: c.header(headerIdempotency)}
	for i, item := range in.Items {
		at := fmt.Sprintf("/items/%d", i)
		if err := missing(requirement{at + "/approval_id", item.ApprovalID != ""}, requirement{at + "/digest", item.Digest != ""}); err != nil {
			return nil, err
		}
		req.Items = append(req.Items, &approvalv1.DecideApprovalsItem{ApprovalId: item.ApprovalID, Digest: item.Digest})
	}
	resp, err := h.approvals.DecideApprovals(c.ctx, req)
	if err != nil {
		return nil, err
	}
	return ok(DecidedApprovals{Approvals: jsonview.Each(resp.GetApprovals(), jsonview.ApprovalOf)}), nil
}
