package engine_test

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
)

// humans is an approval service in memory: the contract around the core.
type humans struct {
	approvalv1.UnimplementedApprovalServiceServer
	peerv1.UnimplementedApprovalPeerServiceServer
	clock func() time.Time

	mu    sync.Mutex
	asked map[string]*question
	last  string
}

type question struct {
	*consent.Approval
	req    *approvalv1.CreateApprovalRequest
	usedBy string
}

func (h *humans) CreateApproval(_ context.Context, req *approvalv1.CreateApprovalRequest) (*approvalv1.CreateApprovalResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q := h.asked[req.GetApprovalId()]; q != nil {
		return &approvalv1.CreateApprovalResponse{Approval: q.proto()}, nil
	}
	terms := req.GetTerms()
	r, err := consent.Open(consent.Request{
		ID: req.GetApprovalId(), Editable: req.GetEditable(), Message: req.GetMessage(),
		Action: consent.Action{
			Kind:    consent.Kind(strings.ToLower(strings.TrimPrefix(req.GetKind().String(), "APPROVAL_KIND_"))),
			Subject: parse(req.GetSubject()), Data: parse(req.GetData()),
		},
		Asker: consent.Asker{Principal: req.GetAsker().GetPrincipal(), SessionID: req.GetAsker().GetSessionId(), RootSession: req.GetAsker().GetRootSessionId()},
		Terms: consent.Terms{Required: int(terms.GetRequired()), TTL: terms.GetExpiresAfter().AsDuration()},
	}, h.clock())
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "%s", err)
	}
	h.last = req.GetApprovalId()
	h.asked[h.last] = &question{Approval: r.Approval, req: req}
	return &approvalv1.CreateApprovalResponse{Approval: h.asked[h.last].proto(), Created: true}, nil
}

func parse(text []byte) document.Value {
	if len(text) == 0 {
		return document.Value{}
	}
	v, problem := document.Parse(text, document.Limits{})
	if problem != nil {
		panic(problem)
	}
	return v
}

// step is one command on an approval.
func (h *humans) step(id string, command func(q *question) consent.Result) (*approvalv1.Approval, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.asked[id]
	if q == nil {
		return nil, fault.New(fault.NotFound, "no approval %q", id)
	}
	q.Approval = q.Tick(h.clock()).Approval
	r := command(q)
	if r.Refusal != nil {
		return nil, fault.New(fault.FailedPrecondition, "%s", r.Refusal.Message)
	}
	q.Approval = r.Approval
	return q.proto(), nil
}

func (h *humans) GetApproval(_ context.Context, req *approvalv1.GetApprovalRequest) (*approvalv1.GetApprovalResponse, error) {
	a, err := h.step(req.GetApprovalId(), func(q *question) consent.Result { return consent.Result{Approval: q.Approval} })
	return &approvalv1.GetApprovalResponse{Approval: a}, err
}

func (h *humans) ConsumeApproval(_ context.Context, req *peerv1.ConsumeApprovalRequest) (*peerv1.ConsumeApprovalResponse, error) {
	a, err := h.step(req.GetApprovalId(), func(q *question) consent.Result {
		q.usedBy = req.GetUsedBy()
		return q.Consume(req.GetDigest(), h.clock())
	})
	return &peerv1.ConsumeApprovalResponse{Approval: a}, err
}

func (h *humans) VoidApproval(_ context.Context, req *peerv1.VoidApprovalRequest) (*peerv1.VoidApprovalResponse, error) {
	a, err := h.step(req.GetApprovalId(), func(q *question) consent.Result { return q.Void(req.GetReason(), h.clock()) })
	return &peerv1.VoidApprovalResponse{Approval: a}, err
}

func (h *humans) CancelApproval(_ context.Context, req *approvalv1.CancelApprovalRequest) (*approvalv1.CancelApprovalResponse, error) {
	a, err := h.step(req.GetApprovalId(), func(q *question) consent.Result { return q.Cancel("interlock", req.GetReason(), h.clock()) })
	return &approvalv1.CancelApprovalResponse{Approval: a}, err
}

// decide is what a human says of the last question.
func (h *humans) decide(d consent.Decision) error {
	_, err := h.step(h.last, func(q *question) consent.Result {
		return q.Decide(consent.Approver{Name: "alice", Role: consent.RoleApprover}, d, h.clock())
	})
	return err
}

func (q *question) proto() *approvalv1.Approval {
	status := string(q.Status)
	out := &approvalv1.Approval{
		ApprovalId: q.ID, RunId: q.req.GetRunId(), Kind: q.req.GetKind(), Subject: q.req.GetSubject(), Data: q.req.GetData(),
		Digest: q.Digest, Editable: q.Editable, Reason: q.Reason, By: q.By, Terms: &approvalv1.Terms{Required: int32(q.Terms.Required)},
		ExpiresAt: timestamppb.New(q.ExpiresAt),
	}
	if !q.UsedAt.IsZero() {
		status, out.UsedAt, out.UsedBy = "USED", timestamppb.New(q.UsedAt), q.usedBy
	}
	out.Status = approvalv1.ApprovalStatus(approvalv1.ApprovalStatus_value["APPROVAL_STATUS_"+status])
	for _, v := range q.Votes {
		out.Votes = append(out.Votes, &approvalv1.Vote{By: v.Name, Role: approvalv1.ApproverRole(approvalv1.ApproverRole_value["APPROVER_ROLE_"+strings.ToUpper(v.Role)]), Approve: v.Approve, Note: v.Note, Time: timestamppb.New(v.At)})
	}
	if q.Edit != nil {
		out.EditedData, out.EditedBy = q.Edit.Data.AppendJSON(nil), q.Edit.By
	}
	return out
}
