package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
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
	AsIdentity string         `json:"as_identity,omitzero" doc:"Of a relay, which decides only as a person: the identity of the person, such as slack:T01/U02."`

	Signature *DecisionSignature `json:"signature,omitzero" doc:"The signature of the vote, over the statement of POST /v1/approvals/statement."`
}

// DecisionSignature is a signature over a statement: of a passkey or of an SSH key.
type DecisionSignature struct {
	Statement string                     `json:"statement" doc:"The statement as it was returned."`
	Passkey   *jsonview.PasskeyAssertion `json:"passkey,omitzero" doc:"An assertion whose challenge is the SHA-256 of the statement."`
	SSH       string                     `json:"ssh,omitzero" doc:"The output of ssh-keygen -Y sign -n interlock-approval over the statement."`
}

// StatementRequest is a vote that the caller means to sign.
type StatementRequest struct {
	Approve    *bool          `json:"approve" doc:"True to grant, false to reject."`
	Note       string         `json:"note,omitzero" doc:"The note of the vote."`
	Items      []DecideItem   `json:"items" minItems:"1" maxItems:"50" doc:"The approvals, each once."`
	EditedData jsontext.Value `json:"edited_data,omitzero" doc:"With one approval, the data of the vote."`
	Lease      *LeaseTerms    `json:"lease,omitzero" doc:"With one approval, the lease of the vote."`
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
	Note       string             `json:"note,omitzero" doc:"For the agent, and for the record."`
	AsIdentity string             `json:"as_identity,omitzero" doc:"Of a relay, which decides only as a person: the identity of the person, such as slack:T01/U02."`
	Signature  *DecisionSignature `json:"signature,omitzero" doc:"The signature of the vote, over the statement of POST /v1/approvals/statement."`
}

// DecideRequest is one vote on approvals that ask for the same thing.
type DecideRequest struct {
	Approve *bool        `json:"approve" doc:"True to grant, false to reject."`
	Note    string       `json:"note,omitzero" doc:"For the agents, and for the record."`
	Items   []DecideItem `json:"items" minItems:"1" maxItems:"100" doc:"The approvals, each once: of one kind, asked by the same rule of the same version of a policy for the same tool, or the same event in the same state of the same version of a workflow."`

	Signature *DecisionSignature `json:"signature,omitzero" doc:"The signature of the votes, over the statement of all items in order."`
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

// QuestionList counts the approvals of each question.
type QuestionList struct {
	Questions []jsonview.Question `json:"questions" doc:"The most frequent first."`
	Complete  bool                `json:"complete" doc:"False when there are more than the newest 10,000, which were counted."`
}

// approvals serves the routes of approvals.
type approvals struct {
	approvals approvalv1.ApprovalServiceClient
	now       func() time.Time
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
		method: http.MethodGet, path: "/v1/approvals/stats", id: "getApprovalStats", summary: "Count the questions that people are asked",
		about:   "By request and by the rule that asks, with the answers. A hint points at questions that are hardly ever rejected.",
		params:  []param{inQuery("since", "Only approvals that were asked for at this time or later: RFC 3339, or how long ago, e.g. 7d; 30d when absent.")},
		answers: answers[QuestionList](http.StatusOK), serve: h.stats,
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
		about:  "All of them or none: 403 when the caller may not decide one, and 409 when one was decided before or differs from the first; errors names those.",
		params: []param{idempotencyParam}, body: jsonBody, request: reflect.TypeFor[DecideRequest](),
		answers: answers[DecidedApprovals](http.StatusOK), serve: taking(h.decideAll),
	})
	add(route{
		method: http.MethodPost, path: "/v1/approvals/statement", id: "getApprovalStatement", summary: "Get the statement to sign",
		about: "The text that the caller signs to approve or to reject, good for five minutes. Send it with its signature to approve, reject or decide. " +
			"403 when the caller is no registered person, or may not decide.",
		body: jsonBody, request: reflect.TypeFor[StatementRequest](), maxBody: maxDocumentBody,
		answers: answers[jsonview.ApprovalStatement](http.StatusOK), serve: taking(h.statement),
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

func (h *approvals) stats(c *call) (*answer, error) {
	since, valid := moment(cmp.Or(c.query.Get("since"), "30d"), h.now())
	if !valid {
		return nil, badParameter("since", "INVALID", momentMend)
	}
	resp, err := h.approvals.GetApprovalStats(c.ctx, &approvalv1.GetApprovalStatsRequest{Since: since})
	if err != nil {
		return nil, err
	}
	return ok(QuestionList{Questions: jsonview.Each(resp.GetQuestions(), jsonview.QuestionOf), Complete: resp.GetComplete()}), nil
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
	vote := &approvalv1.DecideApprovalRequest{Approve: true, Note: in.Note, EditedData: edited, Digest: in.Digest, AsIdentity: in.AsIdentity}
	if vote.Lease, err = in.Lease.proto(); err != nil {
		return nil, err
	}
	if vote.Signature, err = in.Signature.proto(); err != nil {
		return nil, err
	}
	return h.decide(c, vote)
}

// proto returns the terms, nil for none.
func (l *LeaseTerms) proto() (*approvalv1.LeaseTerms, error) {
	if l == nil {
		return nil, nil //nolint:nilnil // most votes have none
	}
	only, err := object("/lease/only", l.Only)
	if err == nil {
		err = missing(requirement{"/lease/only", l.Pattern != "" || len(only) > 0})
	}
	if err != nil {
		return nil, err
	}
	return &approvalv1.LeaseTerms{Pattern: l.Pattern, Only: only, Calls: l.Calls, Minutes: l.Minutes}, nil
}

// proto returns the signature, nil for none.
func (s *DecisionSignature) proto() (*approvalv1.DecisionSignature, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // most votes have none
	}
	if err := missing(requirement{"/signature/statement", s.Statement != ""}, requirement{"/signature/passkey", s.Passkey != nil || s.SSH != ""}); err != nil {
		return nil, err
	}
	out := &approvalv1.DecisionSignature{Statement: []byte(s.Statement), Ssh: s.SSH}
	if s.Passkey != nil {
		a, err := s.Passkey.Assertion()
		if err != nil {
			return nil, fault.New(fault.InvalidRequest, "the assertion cannot be read: %s", err).Violate("/signature/passkey", "FORMAT", err.Error())
		}
		out.Passkey = &approvalv1.PasskeyAssertion{
			CredentialId: a.CredentialID, AuthenticatorData: a.AuthenticatorData, ClientDataJson: a.ClientDataJSON, Signature: a.Signature,
		}
	}
	return out, nil
}

func (h *approvals) statement(c *call, in StatementRequest) (*answer, error) {
	if err := missing(requirement{"/approve", in.Approve != nil}, requirement{"/items", len(in.Items) > 0}); err != nil {
		return nil, err
	}
	edited, err := object("/edited_data", in.EditedData)
	if err != nil {
		return nil, err
	}
	req := &approvalv1.GetApprovalStatementRequest{Approve: *in.Approve, Note: in.Note, EditedData: edited}
	if req.Lease, err = in.Lease.proto(); err != nil {
		return nil, err
	}
	if req.Items, err = items(in.Items); err != nil {
		return nil, err
	}
	resp, err := h.approvals.GetApprovalStatement(c.ctx, req)
	return shown(resp, err, jsonview.ApprovalStatementOf)
}

// items returns the approvals of a request.
func items(in []DecideItem) (out []*approvalv1.DecideApprovalsItem, err error) {
	for i, item := range in {
		at := fmt.Sprintf("/items/%d", i)
		if err := missing(requirement{at + "/approval_id", item.ApprovalID != ""}, requirement{at + "/digest", item.Digest != ""}); err != nil {
			return nil, err
		}
		out = append(out, &approvalv1.DecideApprovalsItem{ApprovalId: item.ApprovalID, Digest: item.Digest})
	}
	return out, nil
}

func (h *approvals) reject(c *call, in RejectRequest) (*answer, error) {
	signed, err := in.Signature.proto()
	if err != nil {
		return nil, err
	}
	return h.decide(c, &approvalv1.DecideApprovalRequest{Note: in.Note, AsIdentity: in.AsIdentity, Signature: signed})
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
	var err error
	if req.Items, err = items(in.Items); err != nil {
		return nil, err
	}
	if req.Signature, err = in.Signature.proto(); err != nil {
		return nil, err
	}
	resp, err := h.approvals.DecideApprovals(c.ctx, req)
	if err != nil {
		return nil, err
	}
	return ok(DecidedApprovals{Approvals: jsonview.Each(resp.GetApprovals(), jsonview.ApprovalOf)}), nil
}
